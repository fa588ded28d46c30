"""What a workflow pack declares of its tools.

Manifests, milestones, and the handler's vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from arh.canonical import EMPTY, Json
from arh.records.messages import ToolSpec


class Effect(StrEnum):
    """Where a tool's effects happen, which decides what a lost reply means."""

    READ = "read"
    TRANSACTIONAL = "transactional"
    KEYED_REMOTE = "keyed_remote"
    REMOTE = "remote"


@dataclass(frozen=True, slots=True)
class ResourceArgument:
    """The argument `argument` names a record of `collection`: the decision must know its owner."""

    argument: str
    collection: str


@dataclass(frozen=True, slots=True)
class ToolManifest:
    """A tool's contract.

    `parameters` and `result` are JSON Schemas; `key_argument` names the idempotency key; a second
    equal write without a key is a replay unless the tool is `repeatable`; `amount_argument` is in
    integer minor units; `sensitive_fields` name argument and result fields that must never be
    persisted; `credential` names a secret that belongs to the gateway alone; `service` names the
    pack's `RemoteService` that fulfils the tool over HTTP, if one does.
    """

    name: str
    version: str
    description: str
    effect: Effect
    parameters: Json
    result: Json
    key_argument: str | None = None
    repeatable: bool = False
    resources: tuple[ResourceArgument, ...] = ()
    amount_argument: str | None = None
    sensitive_fields: tuple[str, ...] = ()
    credential: str | None = None
    service: str | None = None

    @property
    def writes(self) -> bool:
        """True if a call can change state."""
        return self.effect is not Effect.READ

    def spec(self) -> ToolSpec:
        """Return what the model sees of this tool."""
        return ToolSpec(self.name, self.version, self.description, self.parameters)


@dataclass(frozen=True, slots=True)
class Milestone:
    """A verified step towards an acceptable outcome, read off an executed call's result.

    Satisfied when `tool` was executed (and, for a write, committed once) and every field of `when`
    equals the result's. `per_arguments` and `per_result` name fields whose values make the step
    distinct (a second account, the next page). With `justified`, the step counts only if that value
    occurs in what the user said.
    """

    id: str
    tool: str
    when: Json = EMPTY
    per_arguments: tuple[str, ...] = ()
    per_result: tuple[str, ...] = ()
    justified: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A handler's typed refusal.

    `not_found`, `precondition_failed`, or a pack's own `x-pack:slug`.
    """

    reason: str
    detail: str = ""
