"""The thread of a source: one that hangs is left behind, and the next use connects anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

from arh.errors import DependencyFailure, RunStopped
from arh.records.external import Reading
from arh.state.link import Failure, Link


class Source:
    """A source that counts how often it is made and closed, and on which thread it is used."""

    made = 0
    closed = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.thread = threading.current_thread()

    def read(self) -> Reading:
        """Return nothing, on the thread that made the source."""
        assert threading.current_thread() is self.thread
        return Reading(0, {})

    def close(self) -> None:
        """Count it, on the same thread."""
        assert threading.current_thread() is self.thread
        type(self).closed += 1


def fresh() -> type[Source]:
    """Return a class of sources with counts of its own."""
    return type("Fresh", (Source,), {"made": 0, "closed": 0})


def test_one_thread_makes_and_uses_a_source() -> None:
    """Several uses share one connection, which is closed in the end."""
    kind = fresh()
    link = Link(kind)

    readings = [link.use(lambda source: source.read(), 1000) for _ in range(3)]
    link.close()

    assert readings == [Reading(0, {})] * 3
    assert (kind.made, kind.closed) == (1, 1)


def test_a_failure_is_a_value_and_closes_the_connection() -> None:
    """Whatever a source raises, errors of ours too, the next use has a connection of its own."""
    kind = fresh()
    link = Link(kind)
    raised: list[BaseException] = [
        *(ValueError(), SystemExit(), DependencyFailure("timeout"), RunStopped("hung"))
    ]

    found = [link.use(_raising(error), 1000) for error in raised]
    link.close()

    assert found == [Failure("unreachable")] * 4
    assert (kind.made, kind.closed) == (4, 4)


def _raising(error: BaseException) -> Callable[[object], None]:
    def work(_source: object) -> None:
        raise error

    return work


def test_a_source_that_hangs_is_left_behind() -> None:
    """After its time the caller goes on, and the next use does not wait for the one that hangs."""
    kind, released = fresh(), threading.Event()
    link = Link(kind)

    hung = link.use(lambda _source: released.wait(10), 20)
    after = link.use(lambda source: source.read(), 1000)
    released.set()
    link.close()

    assert (hung, after) == (Failure("timeout"), Reading(0, {}))
    assert (kind.made, kind.closed) == (2, 1)


def test_a_connection_that_fails_is_no_source() -> None:
    """Where nothing can be connected, nothing is read and nothing needs closing."""

    def refuse() -> Source:
        raise ConnectionRefusedError

    link = Link(refuse)

    assert link.use(lambda source: source.read(), 1000) == Failure("unreachable")
    link.close()
