"""Whose word counts where a team's own system holds the state: its own, if it was read in time.

A tool whose effects show in an outside system took effect when that system was seen to change, not
when it said so. Where the system was not read up to its consistency point nobody knows: then its
collections are unread from beginning to end, and what it said is all there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arh.records.control.evidence import Discrepancy, StateView

Data = Mapping[str, Any]

OPERATIONS = "_operations"
INTENT = "intent"

_NOT_READ = {
    "unreachable": "it could not be read",
    "timeout": "it did not answer in time",
    "unreadable": "what it showed are no records",
    "ran_back": "its revision ran back",
    "late": "it did not reach the watermark by the deadline",
    "restless": "it did not stand still by the deadline",
    "unread": "it could not be read before the run",
}


@dataclass(frozen=True, slots=True)
class Outside:
    """The outside systems of one run.

    `tools` are those whose effects were read from one; `unread` are collections that were not.
    """

    tools: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    gaps: tuple[str, ...] = ()

    @classmethod
    def of(cls, header: Data, end: Data) -> Outside:
        """Return what header and last event say of them."""
        declared = header.get("external")
        if not isinstance(declared, Mapping):
            return NONE
        read = _readings(end)
        tools, unread, gaps = set[str](), set[str](), list[str]()
        for name, what in declared.items():
            seen = read.get(str(name), {})
            if seen.get("met") is True:
                tools.update(_names(what, "tools"))
            else:
                unread.update(_names(what, "collections"))
                gaps.append(_why(str(name), seen))
        return cls(frozenset(tools), frozenset(unread), tuple(gaps))

    def discrepancies(self) -> Iterator[Discrepancy]:
        """Yield a gap for each system that was not read at its consistency point."""
        for message in self.gaps:
            yield Discrepancy("gap", "", message, ())

    def of_view(self, view: StateView | None) -> StateView | None:
        """Return the state without what was not read."""
        if view is None or not self.unread:
            return view
        kept = {name: rows for name, rows in view.collections.items() if name not in self.unread}
        return StateView(view.digest, view.sequence, kept)


NONE = Outside()


def took_effect(changes: Sequence[Any], *, seen_outside: bool) -> bool:
    """Return whether a commit entry is an effect, or only keeps the books of a remote call.

    An intent, and one that is taken back, are none. That a remote reported success is one, unless
    its effects are `seen_outside`.
    """
    kept_books = False
    for change in changes:
        if not isinstance(change, Mapping):  # what it is nobody can say, so it counts
            return True
        collection = str(change.get("collection", ""))
        if not collection.startswith("_"):
            return True
        if collection == OPERATIONS:
            value = change.get("value")
            status = value.get("status") if isinstance(value, Mapping) else None
            if value is not None and status != INTENT:
                return not seen_outside
            kept_books = True
    return not kept_books


def _readings(end: Data) -> dict[str, Data]:
    """Return the last reading of each system, by its name."""
    consistency = end.get("consistency")
    given = consistency.get("external") if isinstance(consistency, Mapping) else None
    rows = given if isinstance(given, list) else []
    return {str(row.get("source")): row for row in rows if isinstance(row, Mapping)}


def _names(what: object, part: str) -> list[str]:
    names = what.get(part) if isinstance(what, Mapping) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _why(name: str, seen: Data) -> str:
    why = _NOT_READ.get(str(seen.get("problem")), "no reading of it is on record")
    return f"the state of `{name}` was not read at its consistency point: {why}"
