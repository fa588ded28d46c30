"""Reads the lines of one run back into the typed view that evaluators judge.

The view is built from the written bytes alone, in a live run as from disk, so that what is judged
is what was persisted. Reading never raises for bad evidence: what cannot be read becomes a problem,
and a run with problems cannot pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from jiter import from_json

from arh.canonical import Refused, parse
from arh.harness.evidence import reading
from arh.harness.evidence.delivery import deliveries
from arh.harness.evidence.outside import Outside
from arh.harness.evidence.reconcile import reconcile
from arh.harness.evidence.states import final_state
from arh.records.control.evidence import (
    CallEvidence,
    CommitEvidence,
    Event,
    Evidence,
    ExchangeEvidence,
    StateView,
)
from arh.records.faults import FaultPlan

UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)

Data = Mapping[str, Any]
Read = Callable[[bytes], Any]

# Reads a line that our own recorder wrote in this process. Such a line has no key twice, and its
# numbers and depth were checked where they came in, so that to check them again would only double
# what it costs to read a run.
read_own: Final[Read] = partial(from_json, allow_inf_nan=False)
T = TypeVar("T")


def build_evidence(
    run_id: str,
    lines: Iterable[bytes],
    initial: StateView | None,
    *,
    faults: Sequence[FaultPlan] = (),
    read: Read = parse,
) -> Evidence:
    """Return the typed view of one run; `faults` are the plans whose delivery must be proven.

    `read` decodes a line: `read_own` for lines that this process has written, else strictly.
    """
    book = _Book(run_id, lines, read)
    header, end = book.single("run_started"), book.single("run_ended")
    outside = Outside.of(header, end)
    commits = book.read(partial(reading.read_commit, sourced=outside.tools), "state_changed")
    calls = _placed(book, commits)
    exchanges = _exchanges(book)
    checks = book.read(reading.read_invariants, "invariant_checked")
    return Evidence(
        run_id=run_id,
        scenario_id=str(header.get("scenario", "")),
        header=header,
        events=book.events,
        calls=calls,
        commits=commits,
        exchanges=exchanges,
        user_turns=book.read(reading.read_turn, "user_said"),
        notes=book.read(reading.read_note, "budget_refused", "progress_stopped"),
        faults=deliveries(faults, book.events, calls, exchanges),
        finishes=book.read(reading.read_finish, "agent_finished"),
        invariants=tuple(check for several in checks for check in several),
        initial=outside.of_view(initial),
        final=outside.of_view(final_state(initial, commits)),
        termination=str(end.get("termination", "")),
        stopped_by=str(end.get("stopped_by", "")),
        stop_detail=str(end.get("detail", "")),
        discrepancies=(*reconcile(calls, commits, end, initial), *outside.discrepancies()),
        sourced=outside.tools,
        # The last, once everything else was read.
        problems=(*book.problems, *book.ended_with(end)),
    )


class _Book:
    """The events of one run by kind, and what of them could not be read."""

    def __init__(self, run_id: str, lines: Iterable[bytes], read: Read) -> None:
        self.problems: list[str] = []
        self.kinds: dict[str, list[Event]] = {}
        events: list[Event] = []
        for number, written in enumerate(lines, 1):
            try:
                event = _event(run_id, number, read(written))
                self.kinds.setdefault(event.kind, []).append(event)
                events.append(event)
            except (Refused, *UNREADABLE) as failure:
                self.problems.append(f"line {number} cannot be read: {type(failure).__name__}")
        self.events = tuple(events)

    def of(self, *kinds: str) -> Sequence[Event]:
        """Return the events of some kinds, in order."""
        found = [self.kinds[kind] for kind in kinds if kind in self.kinds]
        if len(found) > 1:
            return [event for event in self.events if event.kind in kinds]
        return found[0] if found else ()

    def single(self, kind: str) -> Data:
        found = self.of(kind)
        if len(found) != 1:
            self.problems.append(f"{len(found)} events `{kind}` where exactly one is due")
        return found[0].data if found else {}

    def ended_with(self, end: Data) -> Iterable[str]:
        """Return the problems that the runner had, which its last event lists."""
        problems = end.get("problems", [])
        return map(str, problems) if isinstance(problems, list) else ["problems cannot be read"]

    def read(self, reader: Callable[[Event], T | None], *kinds: str) -> tuple[T, ...]:
        """Return what a reader makes of the events of some kinds, if it makes anything of them."""
        found = [self.one(reader, event) for event in self.of(*kinds)]
        return tuple([one for one in found if one is not None])

    def one(self, reader: Callable[[Event], T | None], event: Event) -> T | None:
        """Return what a reader makes of an event; what it cannot read is a problem of the run."""
        try:
            return reader(event)
        except UNREADABLE as failure:
            self.problems.append(f"event {event.id} `{event.kind}`: {type(failure).__name__}")
            return None


def _event(run_id: str, number: int, data: Any) -> Event:  # noqa: ANN401 - undecoded JSON
    """Return the event of a line that was just decoded, whose own fields are taken out of it."""
    take = data.pop
    seq, kind, source = take("seq"), take("kind"), take("source")
    at_ms, actor = take("at_ms"), take("actor")
    if seq != number or not isinstance(actor, str):
        raise ValueError(number)
    take("chain", None)
    return Event(f"{run_id}#{number}", number, kind, source, at_ms, actor, data)


def _placed(book: _Book, commits: Sequence[CommitEvidence]) -> tuple[CallEvidence, ...]:
    """Return all attempts in order, each with the commit of its operation."""
    entries = {commit.operation_id: commit.sequence for commit in commits if commit.operation_id}
    calls: list[CallEvidence] = []

    def read(event: Event) -> CallEvidence | None:
        if event.kind == "budget_refused":
            return reading.read_budget_refusal(event, index=len(calls))
        entry = entries.get(event.data["operation_id"])
        return reading.read_call(event, index=len(calls), entry=entry)

    for event in book.of("tool_call", "budget_refused"):
        call = book.one(read, event)
        if call is not None:
            calls.append(call)
    return tuple(calls)


def _exchanges(book: _Book) -> tuple[ExchangeEvidence, ...]:
    """Pair questions and answers of each actor by their number.

    An unanswered question stays out.
    """
    answers: dict[tuple[str, object], Event] = {}

    def file(answered: Event) -> None:
        answers[answered.actor, answered.data.get("ask")] = answered

    def read(asked: Event) -> ExchangeEvidence | None:
        answered = answers.get((asked.actor, asked.data["ask"]))
        return None if answered is None else reading.read_exchange(asked, answered)

    book.read(file, "model_answered")
    return book.read(read, "model_asked")
