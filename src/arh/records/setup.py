"""What a run needs to be composed: identities, grants, tools on offer, configuration, datasets.

The control plane derives it from a scenario. It holds nothing that says what is expected.
"""

from __future__ import annotations

from dataclasses import dataclass

from arh.canonical import Json
from arh.records.authorization import Grant
from arh.records.identity import SecurityContext
from arh.records.messages import Message
from arh.records.tasks import Budgets, ProgressLimits


@dataclass(frozen=True, slots=True)
class ActorSetup:
    """One acting agent of a run: its trusted identity, its tools, its opening conversation."""

    actor: str
    context: SecurityContext
    tools: tuple[str, ...]
    messages: tuple[Message, ...]
    model_configuration: str


@dataclass(frozen=True, slots=True)
class SeedRecord:
    """A record to exist before the run begins.

    Several rows of one key are its revisions in order.
    """

    tenant: str
    collection: str
    key: str
    value: Json


@dataclass(frozen=True, slots=True)
class RunSetup:
    """The composition of one run.

    `defect` names a seeded defect and is empty outside self-tests.
    """

    run_id: str
    seed: int
    workflow: str
    policy: str
    actors: tuple[ActorSetup, ...]
    grants: tuple[Grant, ...]
    budgets: Budgets
    progress: ProgressLimits
    seeds: tuple[SeedRecord, ...]
    tool_versions: tuple[tuple[str, str], ...] = ()
    output_contract: Json | None = None
    defect: str = ""
