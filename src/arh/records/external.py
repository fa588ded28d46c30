"""A team's own system as a source of authoritative state: what it shows, and how far it is trusted.

The team writes how rows are read (a query, a request); what becomes of them is arh's. A source is
read at its consistency point: when it has come as far as it says that it must, and stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from arh.canonical import JsonValue

Row: TypeAlias = Mapping[str, JsonValue]
Rows: TypeAlias = Mapping[str, Iterable[Row]]
Prepare: TypeAlias = Callable[[str, Mapping[str, Sequence[Row]]], None]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a system shows at one moment: all rows of its collections, at a revision.

    Revisions never run back. `watermark` is the revision which the system itself says that a
    reader must have seen, where it shows a copy that may lag behind.
    """

    revision: int
    rows: Rows = field(repr=False)
    watermark: int = 0


class StateSource(Protocol):
    """Reads a team's own system, from one thread at a time."""

    def read(self) -> Reading:
        """Return the rows and the revision that they belong to, read as of one moment."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


@dataclass(frozen=True, slots=True)
class Consistency:
    """When a source counts as read: at its watermark, unchanged in `quiet_reads` readings.

    All of it within `deadline_ms` of this machine's time and `attempts_max` readings, which are
    `interval_ms` apart. Whatever is not met by then leaves the run indeterminate.
    """

    deadline_ms: int = 2_000
    attempts_max: int = 50
    interval_ms: int = 20
    quiet_reads: int = 2


@dataclass(frozen=True, slots=True)
class ExternalState:
    """Collections of a pack whose authority is a system of the team's own.

    `connect` makes the source from an address: the environment variable `ARH_STATE_<NAME>`, else
    `address`. `tools` are those whose effects show here, so that it says whether they took effect.
    `prepare` brings the system to the rows that a run begins with; without it a run begins with
    what is there. `operation_field` is the field of a row that holds the key of the operation which
    wrote it; without one a change belongs to the last write before it was seen. `watermark_field`
    is the field of a tool's result that says at which revision its effect shows. `every_attempt`
    reads the system after each attempt, and not only at the end.
    """

    name: str
    collections: tuple[str, ...]
    connect: Callable[[str], StateSource] = field(repr=False)
    address: str = field(default="", repr=False)
    tools: tuple[str, ...] = ()
    prepare: Prepare | None = field(default=None, repr=False)
    operation_field: str | None = None
    watermark_field: str | None = None
    consistency: Consistency = Consistency()
    every_attempt: bool = True


Point: TypeAlias = Literal["start", "attempt", "end"]


@dataclass(frozen=True, slots=True)
class Observation:
    """How one reading of a source went; `entries` are the commit entries that it led to.

    It took `attempts` within `deadline_ms`. `met` says that it counts. `problem` is a word for why
    it does not: `unreachable`, `timeout`, `unreadable` (no rows that could be records), `ran_back`,
    `late` (the watermark was not reached), `restless` (no two readings alike) or `unread` (it was
    not read at the start).
    """

    name: str
    point: Point
    met: bool
    attempts: int
    revision: int = 0
    watermark: int = 0
    problem: str = ""
    entries: tuple[int, ...] = ()
    deadline_ms: int = 0
