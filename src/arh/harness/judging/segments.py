"""A run in pieces: what one actor did for one task, from the end of its last task to this one's.

Each task has budgets, progress and an answer of its own, so whatever judges those judges a piece.
What an actor did after its last end (or without ever ending) is a piece too, without an end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from arh.harness.judging.derived import once
from arh.records.control.evidence import (
    CallEvidence,
    Evidence,
    ExchangeEvidence,
    FinishEvidence,
    NoteEvidence,
    TurnEvidence,
)
from arh.records.quick import quick


class _Placed(Protocol):
    @property
    def seq(self) -> int: ...

    @property
    def actor(self) -> str: ...


T = TypeVar("T", bound=_Placed)


@quick
@dataclass(frozen=True, slots=True)
class Segment:
    """One actor's work on one task, everything in order; `finish` is how it ended."""

    actor: str
    calls: tuple[CallEvidence, ...]
    exchanges: tuple[ExchangeEvidence, ...]
    turns: tuple[TurnEvidence, ...]
    notes: tuple[NoteEvidence, ...]
    finish: FinishEvidence | None


@once
def segments_of(evidence: Evidence) -> tuple[Segment, ...]:
    """Return the pieces of a run, actor by actor in the order in which they first appear."""
    sources: tuple[Iterable[_Placed], ...] = (
        evidence.user_turns,
        evidence.exchanges,
        evidence.calls,
        evidence.notes,
        evidence.finishes,
    )
    actors = dict.fromkeys(each.actor for source in sources for each in source)
    return tuple(segment for actor in actors for segment in _of(actor, evidence))


def _of(actor: str, evidence: Evidence) -> Iterable[Segment]:
    finishes = [each for each in evidence.finishes if each.actor == actor]
    ends = [finish.seq for finish in finishes]
    calls = _split(actor, evidence.calls, ends)
    exchanges = _split(actor, evidence.exchanges, ends)
    turns = _split(actor, evidence.user_turns, ends)
    notes = _split(actor, evidence.notes, ends)
    for number, finish in enumerate((*finishes, None)):
        if finish is not None or calls[number] or exchanges[number]:
            yield Segment(
                actor, calls[number], exchanges[number], turns[number], notes[number], finish
            )


def _split(actor: str, records: Iterable[T], ends: list[int]) -> list[tuple[T, ...]]:
    """Return the actor's records, cut at its ends, with a last piece for what follows them."""
    own = [record for record in records if record.actor == actor]
    if not own or not ends or own[-1].seq <= ends[0]:
        return [tuple(own), *([()] * len(ends))]
    pieces: list[list[T]] = [[] for _ in range(len(ends) + 1)]
    piece = 0
    for record in own:
        while piece < len(ends) and record.seq > ends[piece]:
            piece += 1
        pieces[piece].append(record)
    return [tuple(each) for each in pieces]
