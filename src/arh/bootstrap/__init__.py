"""The composition root.

The one place that names concrete classes, loads packs, reads the environment.

It joins the zones: a workflow pack and its scripts become a system under evaluation for each run,
all dependencies wrapped by the run's environment. Nothing else may import both zone 1 and zone 3.
Each module is one thing that a user chooses: the pack, the suite, what is under test.
"""

from __future__ import annotations

from arh.bootstrap.elsewhere import ROOTS_FLAG, roots_elsewhere
from arh.bootstrap.model_arguments import add_model
from arh.bootstrap.models import ModelsUnderTest, ScriptedModels
from arh.bootstrap.options import (
    add_agent,
    add_seed,
    add_sources,
    shares_our_process,
    sources,
    under_test,
)
from arh.bootstrap.packs import (
    Configuration,
    Installed,
    configure,
    installed_packs,
    load_pack,
    pack_names,
)
from arh.bootstrap.prompt import prompt_bundle
from arh.bootstrap.runs import idle_bench, idle_of, pipeline, replayer, trace_to
from arh.bootstrap.subject import about
from arh.bootstrap.suite import (
    SEED,
    WORKFLOW,
    Sources,
    Suite,
    default_evaluators,
    ground,
    grounded,
    prepare,
    workflow_at,
)
from arh.bootstrap.system import AgentFactory, ComposedSystem, Composer, reference_agent
from arh.bootstrap.under_test import (
    AgentUnderTest,
    CallableUnderTest,
    CommandUnderTest,
    MadeAgent,
    McpCommandUnderTest,
    ReferenceUnderTest,
    ServedUnderTest,
    UnderTest,
)

__all__ = [
    "ROOTS_FLAG",
    "SEED",
    "WORKFLOW",
    "AgentFactory",
    "AgentUnderTest",
    "CallableUnderTest",
    "CommandUnderTest",
    "ComposedSystem",
    "Composer",
    "Configuration",
    "Installed",
    "MadeAgent",
    "McpCommandUnderTest",
    "ModelsUnderTest",
    "ReferenceUnderTest",
    "ScriptedModels",
    "ServedUnderTest",
    "Sources",
    "Suite",
    "UnderTest",
    "about",
    "add_agent",
    "add_model",
    "add_seed",
    "add_sources",
    "configure",
    "default_evaluators",
    "ground",
    "grounded",
    "idle_bench",
    "idle_of",
    "installed_packs",
    "load_pack",
    "pack_names",
    "pipeline",
    "prepare",
    "prompt_bundle",
    "reference_agent",
    "replayer",
    "roots_elsewhere",
    "shares_our_process",
    "sources",
    "trace_to",
    "under_test",
    "workflow_at",
]
