"""Builds the evidence of a run by telling what happened, for tests of whatever judges evidence.

A `RunBuilder` keeps a state of its own and writes what a real run would: a write gets its commit
entry, chained digests and bookkeeping rows, a repeat is a replay, a lost reply leaves its caller in
doubt. Every default is that of a healthy run; what a test is about, it says. `tamper` and the
keyword overrides make evidence that no healthy run leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from arh.canonical import JsonValue, digest
from arh.records.control.evidence import (
    ApprovalEvidence,
    CallEvidence,
    CommitEvidence,
    DecisionEvidence,
    Discrepancy,
    Event,
    Evidence,
    ExchangeEvidence,
    FaultEvidence,
    FaultState,
    FinishEvidence,
    InvariantEvidence,
    NoteEvidence,
    StateRow,
    StateView,
    TurnEvidence,
)
from arh.testing.examples import POLICY

TENANT = "tenant-a"
SUBJECT = "support-agent-role"
ACTOR = "agent"
VERSION = "1.1"
STEP_MS = 10
RUN = "run-0001"

Anything: TypeAlias = Any  # the value of whatever field a test names
Value: TypeAlias = Mapping[str, JsonValue]
Rows: TypeAlias = dict[tuple[str, str], StateRow]
DecisionStatus = Literal["allow", "deny", "indeterminate"]
ApprovalResult = Literal["denied", "unavailable", "not_required"]


@dataclass(frozen=True, slots=True)
class Write:
    """One record that a commit writes, or removes where `value` is `None`."""

    collection: str
    key: str
    value: Value | None
    tenant: str = ""


def put(collection: str, key: str, value: Value, *, tenant: str = "") -> Write:
    """Return a write of the record, for the acting tenant unless one is named."""
    return Write(collection, key, value, tenant)


def remove(collection: str, key: str, *, tenant: str = "") -> Write:
    """Return the removal of the record."""
    return Write(collection, key, None, tenant)


@dataclass
class RunBuilder:
    """The evidence of one run, in the order in which it is told; `build` may be called at any time.

    `collections` exist even when they are empty, as those of a pack do.
    """

    collections: Iterable[str] = ("accounts", "incidents", "tickets", "credits")
    scenario_id: str = "a-scenario-001"
    tenant: str = TENANT
    subject: str = SUBJECT
    actor: str = ACTOR
    policy_digest: str = POLICY.digest
    events: list[Event] = field(default_factory=list, repr=False)
    calls: list[CallEvidence] = field(default_factory=list)
    commits: list[CommitEvidence] = field(default_factory=list)
    exchanges: list[ExchangeEvidence] = field(default_factory=list)
    turns: list[TurnEvidence] = field(default_factory=list)
    notes: list[NoteEvidence] = field(default_factory=list)
    faults: list[FaultEvidence] = field(default_factory=list)
    finishes: list[FinishEvidence] = field(default_factory=list)
    invariants: list[InvariantEvidence] = field(default_factory=list)
    discrepancies: list[Discrepancy] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with every collection there and empty."""
        system = ("_limits", "_operations", "_redemptions")
        self._state: dict[str, Rows] = {name: {} for name in (*system, *self.collections)}
        self._initial: StateView | None = None
        self._state_digest = ""

    def seed(self, collection: str, key: str, value: Value, *, tenant: str = "") -> RunBuilder:
        """Put a record into the state before the run begins."""
        row = self._row(Write(collection, key, value, tenant), 1)
        self._state.setdefault(collection, {})[row.tenant, key] = row
        return self

    def call(
        self,
        tool: str,
        arguments: dict[str, JsonValue] | None = None,
        *,
        writes: Iterable[Write] | None = None,
        decision: DecisionStatus | None = "allow",
        approval: ApprovalResult | str = "not_required",
        reason: str = "",
        lost: bool = False,
        **fields: Anything,
    ) -> CallEvidence:
        """Tell of one attempt at the gateway and return it.

        Args:
            tool: The tool that is asked for.
            arguments: Its arguments; `idempotency_key` among them is the key.
            writes: What the tool commits. `None` says that it reads, or repeats a committed write.
            decision: What the decision point says; `None` if the call never came that far.
            approval: How the approval stage ends, once the decision allows; any other word is the
                id of a grant that is given, and redeemed in the commit.
            reason: Why the call fails, if it does: nothing is committed then.
            lost: The write is committed and its reply never arrives.
            fields: Any field of `CallEvidence`, to say otherwise.
        """
        self._begin()
        given = dict(arguments or {})
        key = str(given.get("idempotency_key", ""))
        action = digest({"tool": tool, "version": VERSION, "arguments": given})
        operation = f"op-{digest([self.tenant, tool, key, action])[:12]}"
        repeats = any(entry.operation_id == operation for entry in self.commits)
        writing = writes is not None or repeats
        stage = _Stage(decision, approval, reason, writing, repeats and writes is None, lost)
        call = replace(
            self._attempt(tool),
            arguments=given,
            argument_digest=action,
            key=key,
            key_source="argument" if key else "",
            operation_id=operation if writing or key else "",
            decision=self._decision(tool, decision),
            approval=_approval(decision, approval),
            **stage.end(),
        )
        call = replace(call, **fields)
        if writes is not None and (lost or call.executed):
            entry = self.commit(call, *writes, *_bookkeeping(call))
            call = replace(call, entry=entry.sequence)
        self.calls.append(call)
        return call

    def refused(
        self, tool: str, arguments_text: str = "{}", *, budget: str = "tool_call_budget"
    ) -> CallEvidence:
        """Tell of a call that the agent's own supervisor kept from the gateway."""
        call = replace(
            self._attempt(tool),
            arguments_text=arguments_text,
            version="",
            status="rejected",
            reason="budget_refused",
            cause=budget,
            commit_belief="not_started",
            refused_by_budget=True,
        )
        self.calls.append(call)
        return call

    def commit(self, call: CallEvidence, *writes: Write, **fields: Anything) -> CommitEvidence:
        """Tell of a commit entry and return it: the call's own, unless the fields say otherwise."""
        self._begin()
        seq = self._event("state_changed", "store")
        before = self._state_digest
        changes = tuple(map(self._apply, writes))
        self._state_digest = self._digest()
        entry = CommitEvidence(
            event_id=f"{RUN}#{seq}",
            seq=seq,
            sequence=len(self.commits) + 1,
            at_ms=seq * STEP_MS,
            operation_id=call.operation_id,
            key=call.key,
            tool=call.tool,
            version=call.version,
            argument_digest=call.argument_digest,
            subject=self.subject,
            actor=call.actor,
            tenant=self.tenant,
            call_id=call.call_id,
            decision_id=call.decision.decision_id if call.decision is not None else "",
            approval_id=call.approval.approval_id if call.approval is not None else "",
            changes=changes,
            state_before=before,
            state_after=self._state_digest,
        )
        entry = replace(entry, **fields)
        self.commits.append(entry)
        return entry

    def tamper(self, write: Write) -> RunBuilder:
        """Change the state behind the back of every transaction."""
        self._begin()
        self._apply(write)
        return self

    def user(self, text: str, *, generated: bool = False) -> RunBuilder:
        """Tell what the user said."""
        seq = self._event("user_said", "user")
        self.turns.append(TurnEvidence(f"{RUN}#{seq}", seq, self.actor, text, generated))
        return self

    def finish(
        self, answer: JsonValue = None, *, termination: str = "completed", task: str = "task-0001"
    ) -> RunBuilder:
        """Tell how the agent ended: with prose, with an envelope, or with no answer at all."""
        seq = self._event("agent_finished", "agent")
        structured = isinstance(answer, dict)
        self.finishes.append(
            FinishEvidence(
                f"{RUN}#{seq}", seq, self.actor, task, termination, answer, structured, ""
            )
        )
        return self

    def fault(
        self,
        state: FaultState = "delivered",
        *,
        target: str = "create_ticket",
        phase: str = "after_commit",
        effect: str = "timeout",
        calls: Iterable[str] = (),
    ) -> RunBuilder:
        """Tell how far the delivery of the next declared fault is proven."""
        seq = self._event("fault_injected", "fault_proxy")
        name = f"fault-{len(self.faults) + 1}"
        self.faults.append(
            FaultEvidence(
                name, "tool", target, phase, effect, state, (f"{RUN}#{seq}",), tuple(calls)
            )
        )
        return self

    def invariant(
        self, name: str, *, holds: bool | None, found: str = "", after: str = "call-0001"
    ) -> RunBuilder:
        """Tell what the runner saw of an invariant."""
        seq = self._event("invariant_checked", "runner")
        self.invariants.append(InvariantEvidence(f"{RUN}#{seq}", seq, name, holds, found, after))
        return self

    def discrepancy(
        self,
        kind: Literal["gap", "conflict"],
        message: str,
        *,
        operation_id: str = "",
        events: Iterable[str] = (),
    ) -> RunBuilder:
        """Tell of two sources that do not agree."""
        self.discrepancies.append(Discrepancy(kind, operation_id, message, tuple(events)))
        return self

    def build(self, **fields: Anything) -> Evidence:
        """Return the evidence so far; `fields` replace what they name."""
        self._begin()
        ends = [finish.termination for finish in self.finishes]
        evidence = Evidence(
            run_id=RUN,
            scenario_id=self.scenario_id,
            header={"sue": {"policy_digest": self.policy_digest}},
            events=tuple(self.events),
            calls=tuple(self.calls),
            commits=tuple(self.commits),
            exchanges=tuple(self.exchanges),
            user_turns=tuple(self.turns),
            notes=tuple(self.notes),
            faults=tuple(self.faults),
            finishes=tuple(self.finishes),
            invariants=tuple(self.invariants),
            initial=self._initial,
            final=self._view(),
            termination=next((end for end in ends if end != "completed"), "completed"),
            stopped_by="",
            stop_detail="",
            discrepancies=tuple(self.discrepancies),
        )
        return replace(evidence, **fields)

    def _begin(self) -> None:
        """Fix the initial state, once."""
        if self._initial is None:
            self._state_digest = self._digest()
            self._initial = self._view()

    def _event(self, kind: str, source: str) -> int:
        seq = len(self.events) + 1
        event = Event(f"{RUN}#{seq}", seq, kind, source, seq * STEP_MS, self.actor, {})
        self.events.append(event)
        return seq

    def _attempt(self, tool: str) -> CallEvidence:
        """Return the next attempt, of which nothing is known yet."""
        seq, number = self._event("tool_call", "gateway"), len(self.calls) + 1
        return CallEvidence(
            event_id=f"{RUN}#{seq}",
            seq=seq,
            index=number - 1,
            actor=self.actor,
            call_id=f"call-{number:04d}",
            requested_id=f"c{number}",
            tool=tool,
            version=VERSION,
            arguments=None,
            arguments_text="",
            argument_digest="",
            key="",
            key_source="",
            operation_id="",
            requested_ms=seq * STEP_MS,
            returned_ms=seq * STEP_MS,
            decision=None,
            approval=None,
            lookup="",
            entered=False,
            status="error",
            reason="unresolved",
            cause="",
            commit_belief="not_applicable",
            delivery="delivered",
            result=None,
            reads=(),
            marks=(),
            stages=(),
        )

    def _decision(self, tool: str, status: DecisionStatus | None) -> DecisionEvidence | None:
        if status is None:
            return None
        identity = f"decision-{len(self.calls) + 1:04d}"
        return DecisionEvidence(
            status=status,
            reason="scope_granted" if status == "allow" else "insufficient_scope",
            decision_id="" if status == "indeterminate" else identity,
            policy="a-policy@1.0",
            policy_digest=self.policy_digest,
            rule=f"allow-{tool.replace('_', '-')}",
            cause="pdp_timeout" if status == "indeterminate" else "",
        )

    def _apply(self, write: Write) -> Mapping[str, Any]:
        """Write one record and return the change as a commit entry has it."""
        rows = self._state.setdefault(write.collection, {})
        place = (write.tenant or self.tenant, write.key)
        old = rows.pop(place, None)
        revision = old.revision if old is not None else 0
        row = self._row(write, revision + 1) if write.value is not None else None
        if row is not None:
            rows[place] = row
        return {
            "tenant": place[0],
            "collection": write.collection,
            "key": write.key,
            "revision_before": revision,
            "revision_after": row.revision if row is not None else 0,
            "digest_before": old.digest if old is not None else "",
            "digest_after": row.digest if row is not None else "",
            "value": dict(write.value) if write.value is not None else None,
        }

    def _row(self, write: Write, revision: int) -> StateRow:
        value = dict(write.value or {})
        tenant = write.tenant or self.tenant
        return StateRow(tenant, write.collection, write.key, revision, digest(value), value)

    def _view(self) -> StateView:
        rows = {
            name: tuple(sorted(found.values(), key=lambda row: (row.key, row.tenant)))
            for name, found in self._state.items()
        }
        return StateView(self._digest(), len(self.commits), rows)

    def _digest(self) -> str:
        return digest(
            [
                [name, *place, row.revision, row.digest]
                for name, rows in sorted(self._state.items())
                for place, row in sorted(rows.items())
            ]
        )


@dataclass(frozen=True, slots=True)
class _Stage:
    """What decides how a call ends: the first stage that stops it."""

    decision: DecisionStatus | None
    approval: str
    reason: str
    writing: bool
    repeats: bool
    lost: bool

    def end(self) -> dict[str, Anything]:
        """Return how the call ended, as fields of its evidence."""
        stopped = self._stopped()
        if stopped:
            return self._fields("rejected", self.reason or stopped, "not_started", entered=False)
        if self.reason:
            return self._fields("error", self.reason, "not_committed")
        if self.lost:
            return {**self._fields("error", "timeout", "unknown"), "delivery": "timeout"}
        if self.repeats:
            return self._fields("executed", "replayed", "replayed", entered=False)
        return self._fields("executed", "ok", "committed")

    def _stopped(self) -> str:
        if self.decision is None:
            return "arguments_invalid"
        if self.decision != "allow":
            denied = self.decision == "deny"
            return "authorization_denied" if denied else "authorization_unavailable"
        stopped = {"denied": "approval_denied", "unavailable": "approval_unavailable"}
        return stopped.get(self.approval, "")

    def _fields(
        self, status: str, reason: str, belief: str, *, entered: bool = True
    ) -> dict[str, Anything]:
        return {
            "status": status,
            "reason": reason,
            "commit_belief": belief if self.writing else "not_applicable",
            "entered": entered,
        }


def _approval(decision: DecisionStatus | None, said: str) -> ApprovalEvidence | None:
    """Return how the approval stage ended; a word that is no result is the id of a grant."""
    if decision != "allow":
        return None
    if said == "not_required":
        return ApprovalEvidence("not_required", "")
    if said == "denied":
        return ApprovalEvidence("denied", "no_matching_approval")
    if said == "unavailable":
        return ApprovalEvidence("unavailable", "approval_timeout")
    return ApprovalEvidence("granted", "", said, "duty-manager-role")


def _bookkeeping(call: CallEvidence) -> tuple[Write, ...]:
    """Return the rows that a write stands on: its operation, and its approval's redemption."""
    value: Value = {"operation_id": call.operation_id}
    operation = put("_operations", f"{call.tool}\x1f{call.key}", value)
    approval = call.approval.approval_id if call.approval is not None else ""
    return (operation, put("_redemptions", approval, value)) if approval else (operation,)
