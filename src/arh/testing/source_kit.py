"""What every source of a team's own state must do, as plain functions over one that is running.

A case names the source, a way to change the system past arh, and an address where nothing is. Each
check reads the source anew and raises `SourceViolation` when it misbehaves; its docstring says what
is true of a source that passes. Run all of `CHECKS` under any test runner, or `violations` for the
list of what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from arh.ports.sue import StateReader
from arh.records.external import ExternalState, Observation
from arh.records.packs import CollectionSpec
from arh.records.state import Record
from arh.sim.clock import pause, wall_ms
from arh.state.external import OutsideState, Wall

WALL: Final = Wall(wall_ms, pause)


class SourceViolation(AssertionError):  # noqa: N818 - it says what is wrong with a source
    """A source does not do what every source must."""


@dataclass(frozen=True, slots=True)
class SourceCase:
    """A source with a running system behind it.

    `change` makes one row appear there or differ, by other means than arh. `nowhere` is an address
    at which there is no such system.
    """

    state: ExternalState
    collections: tuple[CollectionSpec, ...]
    change: Callable[[], object]
    nowhere: str


Check: TypeAlias = Callable[[SourceCase], None]


def violations(case: SourceCase) -> tuple[str, ...]:
    """Return a line for each check that the source fails."""
    found: list[str] = []
    for check in CHECKS:
        try:
            check(case)
        except SourceViolation as violation:
            found.append(f"{check.__name__}: {violation}")
    return tuple(found)


def reads_at_its_consistency_point(case: SourceCase) -> None:
    """The source is read as often as it must be to be believed, within its own deadline."""
    with _opened(case.state, case) as outside:
        _met(outside.read())


def makes_records(case: SourceCase) -> None:
    """Each row is a record of a declared collection, with a key of its own."""
    with _opened(case.state, case) as outside:
        _met(outside.read())
        case.change()
        _met(outside.read())
        records = _records(outside.reader(), case)
    if not records:
        raise SourceViolation("after a change there is no row at all: it shows another system")


def stands_still_while_nobody_writes(case: SourceCase) -> None:
    """Two readings without a change between them are alike: no row holds the time of reading."""
    with _opened(case.state, case) as outside:
        _met(outside.read())
        before = outside.reader().digest()
        seen = _met(outside.read())
        if seen.entries or outside.reader().digest() != before:
            raise SourceViolation(
                "rows differ although nobody wrote: leave out what moves by itself"
            )


def shows_a_change_once(case: SourceCase) -> None:
    """A change is entered when it is first read, at a higher revision, and never again."""
    with _opened(case.state, case) as outside:
        first = _met(outside.read())
        case.change()
        second, third = _met(outside.read()), _met(outside.read())
        if not second.entries:
            raise SourceViolation("a change of the system does not show in the rows")
        if second.revision <= first.revision:
            text = f"expected a revision above {first.revision} after a change"
            raise SourceViolation(f"{text}, found {second.revision}")
        if third.entries:
            raise SourceViolation("one change is entered twice")


def keeps_what_was_before(case: SourceCase) -> None:
    """The state before a change stays readable, and is not what it is now."""
    with _opened(case.state, case) as outside:
        _met(outside.read())
        case.change()
        _met(outside.read())
        now = outside.reader()
        before = now.at(0)
        if before is None or before.digest() == now.digest():
            raise SourceViolation("the state before the change cannot be told from the one after")


def fails_where_nothing_is(case: SourceCase) -> None:
    """At an address without such a system the reading fails: nothing there is no empty state."""
    limits = replace(case.state.consistency, attempts_max=2)
    state = replace(case.state, address=case.nowhere, consistency=limits, prepare=None)
    with _opened(state, case) as outside:
        seen = outside.read()
    if seen is None or seen.met:
        raise SourceViolation("where no system is, it reads an empty one: let errors through")


CHECKS: Final[tuple[Check, ...]] = (
    reads_at_its_consistency_point,
    makes_records,
    stands_still_while_nobody_writes,
    shows_a_change_once,
    keeps_what_was_before,
    fails_where_nothing_is,
)


@contextmanager
def _opened(state: ExternalState, case: SourceCase) -> Iterator[OutsideState]:
    outside = OutsideState(replace(state, prepare=None), case.collections, WALL)
    try:
        yield outside
    finally:
        outside.close()


def _met(seen: Observation | None) -> Observation:
    """Return the reading if it counts."""
    if seen is None or not seen.met:
        why = "it was not read" if seen is None else seen.problem
        raise SourceViolation(f"expected a reading at the consistency point, found: {why}")
    return seen


def _records(reader: StateReader, case: SourceCase) -> list[Record]:
    return [record for name in case.state.collections for record in reader.records(name)]
