"""Turns single events into typed records, one function a kind.

A field that is missing, a row of the wrong length, and a name that is no text where two sources are
compared by it raise `KeyError`, `TypeError` or `ValueError`; the caller turns that into a problem
of the run. The types of the other fields are taken as written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

from arh.harness.evidence.outside import took_effect
from arh.records.control.evidence import (
    ApprovalEvidence,
    CallEvidence,
    CommitEvidence,
    DecisionEvidence,
    Event,
    ExchangeEvidence,
    FinishEvidence,
    InvariantEvidence,
    NoteEvidence,
    TurnEvidence,
)

Data = Mapping[str, Any]
Fields = Callable[[Data], Any]

# What every run has many of is read by position, in the order of the record's fields: with a
# keyword for each, an attempt took twice as long to read.
_ASKED: Final[Fields] = itemgetter(
    *("call_id", "requested_id", "tool", "version", "arguments", "arguments_text"),
    *("argument_digest", "key", "key_source", "operation_id", "requested_ms", "returned_ms"),
)
_ENDED: Final[Fields] = itemgetter(
    *("lookup", "entered", "status", "reason", "cause", "commit_belief", "delivery", "result"),
)
_NAMES: Final[Fields] = itemgetter("operation_id", "call_id", "tool")
_DECIDED: Final[Fields] = itemgetter(
    *("status", "reason", "decision_id", "policy", "policy_digest", "rule", "cause"),
)
_APPROVED: Final[Fields] = itemgetter("result", "reason", "approval_id", "approver")


def read_call(event: Event, *, index: int, entry: int | None = None) -> CallEvidence:
    """Read an attempt of the gateway's log: the `index`th of the run, committed as `entry`."""
    d = event.data
    _check_names(d)
    fields: tuple[Any, ...] = (
        *(event.id, event.seq, index, event.actor),
        *_ASKED(d),
        *(_decision(d["decision"]), _approval(d["approval"])),
        *_ENDED(d),
        tuple([(c, k, r) for c, k, r in d["reads"]]),
        tuple([(m, t, j) for m, t, j in d["marks"]]),
        tuple([(s, r) for s, r in d["stages"]]),
        entry,
    )
    return CallEvidence(*fields)


def read_budget_refusal(event: Event, *, index: int) -> CallEvidence | None:
    """Read a call that the agent's own supervisor kept from the gateway.

    An attempt all the same.
    """
    request = event.data.get("request")
    if request is None:
        return None
    call_id, tool, text = request
    return CallEvidence(
        event_id=event.id,
        seq=event.seq,
        index=index,
        actor=event.actor,
        call_id=f"refused-{event.seq:04d}",
        requested_id=call_id,
        tool=tool,
        version="",
        arguments=None,
        arguments_text=text,
        argument_digest="",
        key="",
        key_source="",
        operation_id="",
        requested_ms=event.at_ms,
        returned_ms=event.at_ms,
        decision=None,
        approval=None,
        lookup="",
        entered=False,
        status="rejected",
        reason="budget_refused",
        cause=event.data["budget"],
        commit_belief="not_started",
        delivery="delivered",
        result=None,
        reads=(),
        marks=(),
        stages=(),
        refused_by_budget=True,
    )


def _check_names(data: Data) -> None:
    """Return only if what other sources are compared by is text; else raise as `join` does."""
    "".join(_NAMES(data))


def _decision(data: Data | None) -> DecisionEvidence | None:
    if data is None:
        return None
    fields: tuple[Any, ...] = (*_DECIDED(data), tuple(data["resources"]))
    return DecisionEvidence(*fields)


def _approval(data: Data | None) -> ApprovalEvidence | None:
    if data is None:
        return None
    return ApprovalEvidence(*_APPROVED(data))


def read_commit(event: Event, *, sourced: frozenset[str] = frozenset()) -> CommitEvidence:
    """Read a commit entry of the store; effects of `sourced` tools are seen in another system."""
    d = event.data
    _check_names(d)
    return CommitEvidence(
        event_id=event.id,
        seq=event.seq,
        sequence=d["sequence"],
        at_ms=event.at_ms,
        operation_id=d["operation_id"],
        key=d["key"],
        tool=d["tool"],
        version=d["version"],
        argument_digest=d["argument_digest"],
        subject=d["subject"],
        actor=d["acting"],
        tenant=d["tenant"],
        call_id=d["call_id"],
        decision_id=d["decision_id"],
        approval_id=d["approval_id"],
        changes=tuple(d["changes"]),
        state_before=d["state_before"],
        state_after=d["state_after"],
        effective=took_effect(d["changes"], seen_outside=d["tool"] in sourced),
    )


def read_exchange(asked: Event, answered: Event) -> ExchangeEvidence:
    """Read a question to the model with its answer."""
    q, a = asked.data, answered.data
    if not isinstance(a["input_tokens"] + a["output_tokens"], int):
        raise TypeError
    return ExchangeEvidence(
        event_id=answered.id,
        seq=answered.seq,
        actor=answered.actor,
        asked_ms=asked.at_ms,
        answered_ms=answered.at_ms,
        message_count=q["message_count"],
        new_messages=tuple(q["new_messages"]),
        decision=a["decision"],
        requests=tuple([(i, t, x) for i, t, x in a.get("requests", ())]),
        text=str(a.get("text", "")),
        input_tokens=a["input_tokens"],
        output_tokens=a["output_tokens"],
        cached_tokens=a["cached_tokens"],
        latency_ms=a["latency_ms"],
        model=a["model"],
    )


def read_turn(event: Event) -> TurnEvidence:
    """Read something that was said in the user's name."""
    text, generated = event.data["text"], event.data.get("generated", False)
    spoken = event.data["role"] == "user"
    return TurnEvidence(event.id, event.seq, event.actor, text, generated or not spoken)


def read_note(event: Event) -> NoteEvidence:
    """Read what an agent's own supervisor put on record."""
    return NoteEvidence(event.id, event.seq, event.actor, event.kind, event.data)


def read_finish(event: Event) -> FinishEvidence:
    """Read how an agent says that it ended."""
    d = event.data
    return FinishEvidence(
        event_id=event.id,
        seq=event.seq,
        actor=event.actor,
        task=d["task"],
        termination=d["termination"],
        answer=d["answer"],
        structured=d["structured"],
        detail=d["detail"],
    )


def read_invariants(event: Event) -> tuple[InvariantEvidence, ...]:
    """Read one check of all invariants of the run."""
    return tuple(
        InvariantEvidence(event.id, event.seq, name, holds, found, event.data["after"])
        for name, holds, found in event.data["results"]
    )
