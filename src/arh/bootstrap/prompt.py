"""The prompt bundle of a configuration: the pack's part, the agent's part, the model's part."""

from __future__ import annotations

from arh.agent.prompt import CONTEXT_RULES, CONTRACT
from arh.bootstrap.models import ModelsUnderTest
from arh.records.packs import WorkflowPack
from arh.records.prompts import PromptBundle

REFERENCE = "reference"


def prompt_bundle(pack: WorkflowPack, agent: str, models: ModelsUnderTest) -> PromptBundle:
    """Return the bundle; how an agent of the user's own makes its context is part of that agent."""
    ours = agent == REFERENCE
    return PromptBundle(
        system=pack.system_prompt,
        tools=tuple(tool.manifest.spec() for tool in pack.tools),
        contract=CONTRACT if ours else "",
        conduct=models.conduct,
        context=CONTEXT_RULES if ours else (),
        parameters=models.parameters,
    )
