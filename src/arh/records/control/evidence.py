"""The evidence of one run as evaluators see it: a typed view built from the written lines alone.

Sources stay apart: `calls` come from the gateway's attempt log, `commits` from the store,
`exchanges` and `user_turns` from the runner's side of the session, `faults` from the fault proxies,
`notes` from the agent's own supervisor. They meet only by operation id, in
`harness.evidence.evidence.reconcile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from arh.canonical import JsonValue
from arh.records.quick import quick

FaultState = Literal["delivered", "not_armed", "not_exposed", "not_injected", "not_witnessed"]


@quick
@dataclass(frozen=True, slots=True)
class Event:
    """One line of evidence.

    `data` holds every field but the envelope's (`seq kind source at_ms actor`).
    """

    id: str
    seq: int
    kind: str
    source: str
    at_ms: int
    actor: str
    data: Mapping[str, Any]


@quick
@dataclass(frozen=True, slots=True)
class DecisionEvidence:
    """What the decision point answered, as the gateway recorded it.

    `cause` explains indeterminate.
    """

    status: Literal["allow", "deny", "indeterminate"]
    reason: str
    decision_id: str
    policy: str
    policy_digest: str
    rule: str
    cause: str
    resources: tuple[Mapping[str, Any], ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class ApprovalEvidence:
    """How the approval stage ended: granted, denied, unavailable or not_required."""

    result: Literal["granted", "denied", "unavailable", "not_required"]
    reason: str
    approval_id: str = ""
    approver: str = ""


@quick
@dataclass(frozen=True, slots=True)
class CallEvidence:
    """One attempt at the gateway: its decision, its effect as the caller learned it, its times.

    `call_id` is the gateway's own, unique in the run; `requested_id` is what the agent called it.

    `arguments` is `None` where the text could not be parsed (`arguments_text` then holds it,
    redacted). `entered` is true once the tool client was called. `refused_by_budget` marks calls
    that the agent's own supervisor kept from the gateway. `entry` is the sequence of the commit
    entry of this operation, if the store holds one, whoever's attempt wrote it.
    """

    event_id: str
    seq: int
    index: int
    actor: str
    call_id: str
    requested_id: str
    tool: str
    version: str
    arguments: Mapping[str, JsonValue] | None
    arguments_text: str
    argument_digest: str
    key: str
    key_source: str
    operation_id: str
    requested_ms: int
    returned_ms: int
    decision: DecisionEvidence | None
    approval: ApprovalEvidence | None
    lookup: str
    entered: bool
    status: str
    reason: str
    cause: str
    commit_belief: str
    delivery: str
    result: JsonValue
    reads: tuple[tuple[str, str, int], ...]
    marks: tuple[tuple[str, str, bool], ...]
    stages: tuple[tuple[str, str], ...]
    entry: int | None = None
    refused_by_budget: bool = False

    @property
    def executed(self) -> bool:
        """True if the caller was told that the call was executed."""
        return self.status == "executed"


@quick
@dataclass(frozen=True, slots=True)
class CommitEvidence:
    """One commit entry of the store: the truth about an effect.

    One that is not `effective` only keeps the books of a call to a remote: its intent, that this
    came to nothing, or what a remote reported whose state is read from itself.
    """

    event_id: str
    seq: int
    sequence: int
    at_ms: int
    operation_id: str
    key: str
    tool: str
    version: str
    argument_digest: str
    subject: str
    actor: str
    tenant: str
    call_id: str
    decision_id: str
    approval_id: str
    changes: tuple[Mapping[str, Any], ...]
    state_before: str
    state_after: str
    effective: bool = True


@quick
@dataclass(frozen=True, slots=True)
class ExchangeEvidence:
    """One question to the model and its answer. `requests` are (call id, tool, argument text)."""

    event_id: str
    seq: int
    actor: str
    asked_ms: int
    answered_ms: int
    message_count: int
    new_messages: tuple[Mapping[str, Any], ...]
    decision: str
    requests: tuple[tuple[str, str, str], ...]
    text: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    latency_ms: int
    model: str


@quick
@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """Something the user said; `generated` marks filler context."""

    event_id: str
    seq: int
    actor: str
    text: str
    generated: bool = False


@dataclass(frozen=True, slots=True)
class NoteEvidence:
    """What an agent's own supervisor put on record.

    `kind` is budget_refused or progress_stopped.
    """

    event_id: str
    seq: int
    actor: str
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FaultEvidence:
    """One declared fault and how far its delivery is proven; `calls` are the call ids it struck."""

    fault_id: str
    target_type: str
    target_name: str
    phase: str
    effect: str
    state: FaultState
    events: tuple[str, ...]
    calls: tuple[str, ...]


@quick
@dataclass(frozen=True, slots=True)
class FinishEvidence:
    """How one agent ended by its own report; `answer` is text, or the JSON value of an envelope."""

    event_id: str
    seq: int
    actor: str
    task: str
    termination: str
    answer: JsonValue
    structured: bool
    detail: str


@quick
@dataclass(frozen=True, slots=True)
class InvariantEvidence:
    """One check of one invariant by the runner."""

    event_id: str
    seq: int
    invariant: str
    holds: bool | None
    found: str
    after: str


@quick
@dataclass(frozen=True, slots=True)
class StateRow:
    """One record of a state, its value decoded; `None` values were redacted away."""

    tenant: str
    collection: str
    key: str
    revision: int
    digest: str
    value: Mapping[str, JsonValue]


@quick
@dataclass(frozen=True, slots=True)
class StateView:
    """A whole state at one point: rows by collection, each in key order."""

    digest: str
    sequence: int
    collections: Mapping[str, tuple[StateRow, ...]]

    def rows(self, collection: str) -> tuple[StateRow, ...] | None:
        """Return the rows, or `None` if the state has no such collection to read."""
        return self.collections.get(collection)


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Two sources of one run that do not agree.

    `gap` means one is silent, `conflict` that both speak.
    """

    kind: Literal["gap", "conflict"]
    operation_id: str
    message: str
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything known of one run.

    `sourced` are the tools whose effects were read from a team's own system. `derived` keeps what
    `harness.judging.derived.once` has worked out of the rest; a copy begins without.
    """

    run_id: str
    scenario_id: str
    header: Mapping[str, Any]
    events: tuple[Event, ...] = field(repr=False)
    calls: tuple[CallEvidence, ...]
    commits: tuple[CommitEvidence, ...]
    exchanges: tuple[ExchangeEvidence, ...]
    user_turns: tuple[TurnEvidence, ...]
    notes: tuple[NoteEvidence, ...]
    faults: tuple[FaultEvidence, ...]
    finishes: tuple[FinishEvidence, ...]
    invariants: tuple[InvariantEvidence, ...]
    initial: StateView | None
    final: StateView | None
    termination: str
    stopped_by: str
    stop_detail: str
    discrepancies: tuple[Discrepancy, ...]
    problems: tuple[str, ...] = ()
    sourced: frozenset[str] = frozenset()
    derived: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def commit_of(self, operation_id: str) -> CommitEvidence | None:
        """Return the commit entry of an operation, or `None` if nothing was committed."""
        done = (c for c in self.commits if c.operation_id == operation_id and c.effective)
        return next(done, None)
