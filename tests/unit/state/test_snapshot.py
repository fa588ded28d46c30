"""Snapshots stay as they were taken, and the projection sees business only."""

from __future__ import annotations

from typing import cast

import pytest

from arh.canonical import Json, JsonValue
from arh.ports.sue import StateReader
from arh.records.packs import CollectionSpec
from arh.records.setup import SeedRecord
from arh.records.state import Operation, Record
from arh.state import snapshot
from arh.state.snapshot import Projection, capture
from arh.state.store import MemoryStore
from tests.unit.state.anew import projection_digest

SPECS = (
    CollectionSpec("accounts", ("id",)),
    CollectionSpec("tickets", ("ticket_id",), volatile=("ticket_id", "opened_ms")),
)


class StoppedClock:
    """A clock that always shows the same time."""

    def now_ms(self) -> int:
        """Return that time."""
        return 0


def made(size: int = 1) -> MemoryStore:
    """Return a store with accounts `A0` and so on."""
    store = MemoryStore(StoppedClock())
    store.seed([SeedRecord("acme", "accounts", f"A{n}", Json.of({"n": n})) for n in range(size)])
    return store


def write(
    store: MemoryStore, collection: str, key: str, value: dict[str, JsonValue] | None
) -> None:
    """Commit one put, or a removal."""
    operation = Operation("o", "k", "tool", "1", "", "subject", "actor", "acme")
    tx = store.transaction(operation)
    if value is None:
        tx.remove(collection, key)
    else:
        tx.put(collection, key, value)
    tx.commit()


def test_a_snapshot_stays_as_it_was() -> None:
    """A snapshot shows its sequence, digest and rows whatever is committed later."""
    store = made()
    write(store, "accounts", "A0", {"n": 7})
    taken = capture(store.reader())
    digest = store.reader().digest()
    write(store, "accounts", "A0", {"n": 8})
    write(store, "accounts", "A1", {"n": 9})

    assert (taken.sequence, taken.digest) == (1, digest)
    assert taken.rows == (Record("acme", "accounts", "A0", 2, Json.of({"n": 7})),)


def test_a_snapshot_of_a_reader_without_a_past_is_listed_at_once() -> None:
    """Rows of a reader that cannot show a past state are those of the moment."""
    store = made()
    reader = store.reader()

    class Forgetful:
        """A reader of the present alone."""

        sequence, digest = reader.sequence, reader.digest
        collections, records = reader.collections, reader.records

        def at(self, _sequence: int) -> None:
            """Know no past state."""

    taken = capture(cast("StateReader", Forgetful()))
    write(store, "accounts", "A0", {"n": 8})

    assert taken.rows == (Record("acme", "accounts", "A0", 1, Json.of({"n": 0})),)


def test_a_snapshot_lists_no_rows_until_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking a snapshot looks at no record."""
    store = made(100)
    monkeypatch.setattr(snapshot, "_listed", lambda _reader: pytest.fail("rows were listed"))

    assert capture(store.reader()).sequence == 0


def test_volatile_fields_and_generated_keys_do_not_count() -> None:
    """Two tickets that differ only in generated ids and times project alike."""
    one, other = made(), made()
    write(one, "tickets", "T1", {"ticket_id": "T1", "opened_ms": 5, "about": "x"})
    write(other, "tickets", "T9", {"ticket_id": "T9", "opened_ms": 9, "about": "x"})

    assert projection_digest(one.reader(), SPECS) == projection_digest(other.reader(), SPECS)
    assert projection_digest(one.reader(), ()) != projection_digest(other.reader(), ())


def test_how_many_records_project_alike_counts() -> None:
    """A second ticket that projects like the first is another business state."""
    store = made()
    write(store, "tickets", "T1", {"ticket_id": "T1", "about": "x"})
    first = projection_digest(store.reader(), SPECS)
    write(store, "tickets", "T2", {"ticket_id": "T2", "about": "x"})

    assert projection_digest(store.reader(), SPECS) != first


def test_system_collections_and_revisions_do_not_count() -> None:
    """An operation's row, and a write of the same value, leave the projection as it is."""
    store = made()
    before = projection_digest(store.reader(), SPECS)
    write(store, "_operations", "tool k", {"status": "committed"})
    write(store, "accounts", "A0", {"n": 0})

    assert projection_digest(store.reader(), SPECS) == before


def test_a_followed_projection_equals_a_fresh_one() -> None:
    """Following puts, changes and removals gives the digest that a new look gives."""
    store = made(3)
    followed = Projection(store.reader(), SPECS)
    steps: tuple[tuple[str, str, dict[str, JsonValue] | None], ...] = (
        ("tickets", "T1", {"ticket_id": "T1", "about": "x"}),
        ("tickets", "T2", {"ticket_id": "T2", "about": "x"}),
        ("accounts", "A1", {"n": 5}),
        ("tickets", "T1", None),
        ("accounts", "A0", None),
        ("tickets", "T2", {"ticket_id": "T2", "about": "y"}),
    )
    seen = [followed.digest()]
    for collection, key, value in steps:
        write(store, collection, key, value)
        seen.append(followed.digest())
        assert seen[-1] == projection_digest(store.reader(), SPECS)

    assert len(set(seen)) == len(seen)


def test_a_cycle_comes_back_to_the_same_projection() -> None:
    """Undoing a change gives the projection that was before it."""
    store = made()
    followed = Projection(store.reader(), SPECS)
    before = followed.digest()
    write(store, "accounts", "A0", {"n": 1})
    away = followed.digest()
    write(store, "accounts", "A0", {"n": 0})

    assert away != before
    assert followed.digest() == before


def test_following_costs_only_what_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a state of 1,000 records one change projects one record."""
    store = made(1_000)
    followed = Projection(store.reader(), SPECS)
    projected: list[object] = []
    real = snapshot._projected

    def counted(identity: tuple[str, str, str], value: Json, spec: CollectionSpec | None) -> str:
        projected.append(identity)
        return real(identity, value, spec)

    monkeypatch.setattr(snapshot, "_projected", counted)
    write(store, "accounts", "A5", {"n": 0})
    followed.digest()
    followed.digest()

    assert projected == [("accounts", "acme", "A5")]


def test_runs_that_begin_alike_project_their_start_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second store with the same state projects no record, and follows only its own changes."""
    first = Projection(made(5).reader(), SPECS)
    second_store = made(5)
    monkeypatch.setattr(snapshot, "_formed", lambda *_: pytest.fail("projected anew"))
    second = Projection(second_store.reader(), SPECS)
    start = second.digest()
    write(second_store, "accounts", "A0", {"n": 9})

    assert (first.digest(), second.digest() == start) == (start, False)
    assert Projection(made(5).reader(), SPECS).digest() == start


def test_other_volatile_fields_give_another_start() -> None:
    """A shared start is of the same collections' declarations too."""
    rows = (
        CollectionSpec("accounts", ("id",)),
        CollectionSpec("accounts", ("id",), volatile=("n",)),
    )
    digests = {Projection(made().reader(), (spec,)).digest() for spec in rows}

    assert len(digests) == len(rows)
