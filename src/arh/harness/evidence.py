"""Reads the lines of one run back into the typed view that evaluators judge.

The view is built from the written bytes alone, in a live run as from disk, so that what is judged
is what was persisted. Reading never raises for bad evidence: what cannot be read becomes a problem,
and a run with problems cannot pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from arh.canonical import Refused, parse
from arh.harness import reading
from arh.harness.delivery import deliveries
from arh.harness.reconcile import reconcile
from arh.harness.recorder import ENVELOPE
from arh.harness.states import final_state
from arh.records.control.evidence import (
    CallEvidence,
    CommitEvidence,
    Event,
    Evidence,
    ExchangeEvidence,
    StateView,
)
from arh.records.faults import FaultPlan

HIDDEN = frozenset({*ENVELOPE, "chain"})
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)

Data = Mapping[str, Any]
T = TypeVar("T")


def build_evidence(
    run_id: str,
    lines: Iterable[bytes],
    initial: StateView | None,
    *,
    faults: Sequence[FaultPlan] = (),
) -> Evidence:
    """Return the typed view of one run; `faults` are the plans whose delivery must be proven."""
    book = _Book(run_id, lines)
    header, end = book.single("run_started"), book.single("run_ended")
    commits = book.read("state_changed", reading.read_commit)
    calls = _placed(book, commits)
    exchanges = _exchanges(book)
    notes = (
        *book.read("budget_refused", reading.read_note),
        *book.read("progress_stopped", reading.read_note),
    )
    checks = book.read("invariant_checked", reading.read_invariants)
    evidence = Evidence(
        run_id=run_id,
        scenario_id=str(header.get("scenario", "")),
        header=header,
        events=book.events,
        calls=calls,
        commits=commits,
        exchanges=exchanges,
        user_turns=book.read("user_said", reading.read_turn),
        notes=tuple(sorted(notes, key=lambda note: note.seq)),
        faults=deliveries(faults, book.events, calls, exchanges),
        finishes=book.read("agent_finished", reading.read_finish),
        invariants=tuple(check for several in checks for check in several),
        initial=initial,
        final=final_state(initial, commits),
        termination=str(end.get("termination", "")),
        stopped_by=str(end.get("stopped_by", "")),
        stop_detail=str(end.get("detail", "")),
        discrepancies=reconcile(calls, commits, end, initial),
    )
    return replace(evidence, problems=(*book.problems, *end.get("problems", ())))


class _Book:
    """The events of one run by kind, and what of them could not be read."""

    def __init__(self, run_id: str, lines: Iterable[bytes]) -> None:
        self.problems: list[str] = []
        self.events = tuple(self._events(run_id, lines))
        self.kinds: dict[str, list[Event]] = {}
        for event in self.events:
            self.kinds.setdefault(event.kind, []).append(event)

    def of(self, kind: str) -> list[Event]:
        return self.kinds.get(kind, [])

    def single(self, kind: str) -> Data:
        found = self.of(kind)
        if len(found) != 1:
            self.problems.append(f"{len(found)} events `{kind}` where exactly one is due")
        return found[0].data if found else {}

    def read(self, kind: str, reader: Callable[[Event], T]) -> tuple[T, ...]:
        out: list[T] = []
        for event in self.of(kind):
            try:
                out.append(reader(event))
            except UNREADABLE as failure:
                self.problems.append(f"event {event.id} `{kind}`: {type(failure).__name__}")
        return tuple(out)

    def _events(self, run_id: str, lines: Iterable[bytes]) -> Iterable[Event]:
        for number, written in enumerate(lines, 1):
            try:
                yield _event(run_id, number, parse(written))
            except (Refused, *UNREADABLE) as failure:
                self.problems.append(f"line {number} cannot be read: {type(failure).__name__}")


def _event(run_id: str, number: int, data: Any) -> Event:  # noqa: ANN401 - undecoded JSON
    if data["seq"] != number:
        raise ValueError(number)
    rest = {key: value for key, value in data.items() if key not in HIDDEN}
    identity = f"{run_id}#{number}"
    return Event(identity, number, data["kind"], data["source"], data["at_ms"], data["actor"], rest)


def _placed(book: _Book, commits: Sequence[CommitEvidence]) -> tuple[CallEvidence, ...]:
    """Return all attempts in order of their beginning, each with the commit of its operation."""
    entries = {commit.operation_id: commit.sequence for commit in commits}
    attempts = book.read("tool_call", reading.read_call)
    refused = book.read("budget_refused", reading.read_budget_refusal)
    calls = sorted((*attempts, *(r for r in refused if r is not None)), key=lambda call: call.seq)
    return tuple(
        replace(call, index=index, entry=entries.get(call.operation_id) or None)
        for index, call in enumerate(calls)
    )


def _exchanges(book: _Book) -> tuple[ExchangeEvidence, ...]:
    """Pair questions and answers of each actor by their number.

    An unanswered question stays out.
    """
    answers = {(event.actor, event.data.get("ask")): event for event in book.of("model_answered")}
    out = []
    for asked in book.of("model_asked"):
        answered = answers.get((asked.actor, asked.data.get("ask")))
        if answered is not None:
            out.append(reading.read_exchange(asked, answered))
    return tuple(out)
