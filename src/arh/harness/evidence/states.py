"""State views.

The seeded state as the runner captured it, and later states replayed from commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arh.errors import HarnessError
from arh.harness.evidence.recorder import Data, Redact
from arh.ports.sue import StateReader
from arh.records.control.evidence import CommitEvidence, StateRow, StateView
from arh.records.state import record_digest

Rows = dict[str, StateRow]


def captured(reader: StateReader) -> Data:
    """Return the JSON form of the whole state behind an unfaulted handle."""
    collections = reader.collections()
    rows = [
        [r.tenant, r.collection, r.key, r.revision, record_digest(r), r.value.value()]
        for name in collections
        for r in reader.records(name)
    ]
    return {"digest": reader.digest(), "collections": list(collections), "rows": rows}


def redacted_state(redact: Redact, state: Data) -> Data:
    """Return what of a captured state may be persisted; what is judged is read from the same.

    Raises:
        HarnessError: It could not be redacted: nothing of it may be written, so there is no run.
    """
    kept = redact("initial_state", state)
    if "redaction_failed" in kept:
        raise HarnessError("the initial state could not be redacted")
    return kept


def state_from(data: Mapping[str, Any]) -> StateView:
    """Return the view of a captured state; raises on a shape that `captured` never writes."""
    collections: dict[str, list[StateRow]] = {str(name): [] for name in data["collections"]}
    for tenant, collection, key, revision, digest, value in data["rows"]:
        collections[collection].append(StateRow(tenant, collection, key, revision, digest, value))
    return StateView(data["digest"], 0, {name: tuple(rows) for name, rows in collections.items()})


def final_state(initial: StateView | None, commits: Sequence[CommitEvidence]) -> StateView | None:
    """Return the state after every commit, or `None` if there is none to start from."""
    return None if initial is None else replayed(initial, commits)


def replayed(initial: StateView, commits: Iterable[CommitEvidence]) -> StateView:
    """Return the state after these commits, rebuilding only the collections that they touch.

    A collection that could not be read at first stays unread: what commits put there is not all
    that it holds.
    """
    touched: dict[str, Rows] = {}
    digest, sequence = initial.digest, initial.sequence
    for commit in commits:
        for change in commit.changes:
            _apply(touched, initial, change)
        digest, sequence = commit.state_after, commit.sequence
    rebuilt = {
        name: tuple(rows[key] for key in sorted(rows))
        for name, rows in touched.items()
        if name in initial.collections
    }
    return StateView(digest, sequence, {**initial.collections, **rebuilt})


def _apply(touched: dict[str, Rows], initial: StateView, change: Mapping[str, Any]) -> None:
    name = change["collection"]
    if name not in touched:
        touched[name] = {_place(row.tenant, row.key): row for row in initial.rows(name) or ()}
    place = _place(change["tenant"], change["key"])
    if change["digest_after"] == "":
        touched[name].pop(place, None)
    else:
        touched[name][place] = StateRow(
            change["tenant"],
            name,
            change["key"],
            change["revision_after"],
            change["digest_after"],
            change["value"] or {},
        )


def _place(tenant: str, key: str) -> str:
    return f"{key}\x1f{tenant}"
