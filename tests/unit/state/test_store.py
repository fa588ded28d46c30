"""The memory store beyond what the kit asks of every store: isolation, history, cost, misuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from arh.canonical import Json, JsonValue
from arh.errors import HarnessError
from arh.records.setup import SeedRecord
from arh.records.state import (
    CommitEntry,
    Conflict,
    Operation,
    Receipt,
    Record,
    record_digest,
)
from arh.state import merkle, store, versions
from arh.state.store import MemoryStore, Transaction, entry_digest

ACCOUNT: dict[str, JsonValue] = {"id": "A1", "tier": "gold"}


class SteppedClock:
    """A clock that moves one millisecond each time it is read."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        """Return the next millisecond."""
        self.ms += 1
        return self.ms


def operation(tenant: str = "acme", key: str = "k1") -> Operation:
    """Return an operation of a tenant."""
    return Operation("operation-1", key, "tool", "1.0", "0" * 64, "subject", "actor", tenant)


def seed(key: str, value: JsonValue, *, tenant: str = "acme", to: str = "accounts") -> SeedRecord:
    """Return one row of a seeded state."""
    return SeedRecord(tenant, to, key, Json.of(value))


def made(*seeds: SeedRecord, collections: tuple[str, ...] = ()) -> MemoryStore:
    """Return a store with these records."""
    made_store = MemoryStore(SteppedClock())
    made_store.seed(seeds, collections)
    return made_store


def opened(on: MemoryStore, key: str = "k1", tenant: str = "acme") -> Transaction:
    """Return an open transaction."""
    return on.transaction(operation(tenant, key))


def test_a_commit_entry_tells_the_whole_change() -> None:
    """An entry holds the operation, the change with both record digests, and both states."""
    state = made(seed("A1", ACCOUNT))
    start = state.reader().digest()
    tx = opened(state)
    tx.put("accounts", "A1", {"id": "A1", "tier": "basic"}, expect_revision=1)
    result = tx.commit()
    old = Record("acme", "accounts", "A1", 1, Json.of(ACCOUNT))
    new = Record("acme", "accounts", "A1", 2, Json.of({"id": "A1", "tier": "basic"}))

    assert isinstance(result, Receipt)
    entry = result.entry
    assert (entry.sequence, entry.at_ms, entry.operation) == (1, 1, operation())
    assert (entry.state_before, entry.state_after) == (start, state.reader().digest())
    assert (entry.previous, entry.digest) == ("", entry_digest(entry))
    assert [(c.digest_before, c.digest_after, c.value) for c in entry.changes] == [
        (record_digest(old), record_digest(new), new.value)
    ]


def test_a_record_read_but_not_written_must_not_move_either() -> None:
    """A write that was based on another record conflicts once that record has moved."""
    state = made(seed("A1", ACCOUNT))
    slow, quick = opened(state), opened(state, "k2")
    slow.get("accounts", "A1")
    slow.put("tickets", "T1", {"account": "A1"})
    quick.put("accounts", "A1", {"id": "A1", "tier": "none"})
    quick.commit()

    assert slow.commit() == Conflict("accounts", "A1", 1, 2)


def test_a_record_found_must_not_move_either() -> None:
    """What a search showed counts as read."""
    state = made(seed("A1", ACCOUNT))
    slow, quick = opened(state), opened(state, "k2")
    slow.find("accounts", {"tier": "gold"})
    slow.put("tickets", "T1", {"account": "A1"})
    quick.remove("accounts", "A1")
    quick.commit()

    assert slow.commit() == Conflict("accounts", "A1", 1, 0)


def test_reading_alone_never_conflicts() -> None:
    """A transaction that wrote nothing commits whatever happened meanwhile."""
    state = made(seed("A1", ACCOUNT))
    slow, quick = opened(state), opened(state, "k2")
    slow.get("accounts", "A1")
    quick.remove("accounts", "A1")
    quick.commit()

    assert isinstance(slow.commit(), Receipt)


def test_an_open_transaction_reads_the_state_it_opened_on() -> None:
    """A commit by another is not seen half way through a transaction."""
    state = made(seed("A1", ACCOUNT))
    slow, quick = opened(state), opened(state, "k2")
    quick.put("accounts", "A1", {"id": "A1"})
    quick.put("accounts", "A2", {"id": "A2"})
    quick.commit()

    assert [r.revision for r in slow.find("accounts", {})] == [1]


def test_the_first_written_conflict_is_reported() -> None:
    """Of several conflicts the one of the earliest write is told, before those of mere reads."""
    state = made(seed("A1", ACCOUNT), collections=("tickets",))
    tx, other = opened(state), opened(state, "k2")
    tx.get("accounts", "A1")
    tx.put("tickets", "T2", {}, expect_revision=0)
    tx.put("tickets", "T1", {}, expect_revision=0)
    for collection, key in (("accounts", "A1"), ("tickets", "T1"), ("tickets", "T2")):
        other.put(collection, key, {})
    other.commit()

    assert tx.commit() == Conflict("tickets", "T2", 0, 1)


def test_a_second_write_expects_the_first() -> None:
    """Within a transaction an expected revision is about the record as it stands there."""
    state = made(seed("A1", ACCOUNT))
    right, wrong = opened(state), opened(state, "k2")
    for tx, second in ((right, 2), (wrong, 1)):
        tx.put("accounts", "A1", {}, expect_revision=1)
        tx.put("accounts", "A1", {"again": True}, expect_revision=second)

    assert wrong.commit() == Conflict("accounts", "A1", 1, 2)
    assert isinstance(right.commit(), Receipt)


def test_removing_what_is_not_there_changes_nothing() -> None:
    """A removal of nothing is no change, and so no entry."""
    state = made()
    tx = opened(state)
    tx.remove("accounts", "A1")
    tx.commit()

    assert state.reader().changes_since(0) == ()


def test_a_record_put_back_in_one_transaction_is_one_change() -> None:
    """Removal and return of a record in one transaction are one change to the next revision."""
    state = made(seed("A1", ACCOUNT))
    tx = opened(state)
    tx.remove("accounts", "A1")
    tx.put("accounts", "A1", ACCOUNT)
    tx.commit()

    changes = state.reader().changes_since(0)[0].changes
    assert [(c.revision_before, c.revision_after) for c in changes] == [(1, 2)]


def test_every_version_stays_readable() -> None:
    """A reader of a past sequence shows the state, the entries and the history of that time."""
    state = made(seed("A1", {"n": 1}), seed("A1", {"n": 2}))
    for number in (3, 4):
        tx = opened(state, f"k{number}")
        tx.put("accounts", "A1", {"n": number})
        tx.commit()
    past = state.reader().at(1)

    assert past is not None
    assert past.get("acme", "accounts", "A1") == Record(
        "acme", "accounts", "A1", 3, Json.of({"n": 3})
    )
    assert [e.sequence for e in past.changes_since(0)] == [1]
    assert [
        getattr(past.previous("acme", "accounts", "A1", n), "revision", 0) for n in range(4)
    ] == [
        3,
        2,
        1,
        0,
    ]
    assert past.at(2) is None


def test_a_removed_record_is_one_revision_ago() -> None:
    """After a removal the last revision is the previous one."""
    state = made(seed("A1", ACCOUNT))
    tx = opened(state)
    tx.remove("accounts", "A1")
    tx.commit()
    reader = state.reader()

    assert reader.get("acme", "accounts", "A1") is None
    assert reader.previous("acme", "accounts", "A1") == Record(
        "acme", "accounts", "A1", 1, Json.of(ACCOUNT)
    )


def test_a_stale_shared_record_stays_visible() -> None:
    """The previous revision of a shared record is told to all tenants, another's to none."""
    state = made(
        seed("p", {"n": 1}, tenant="*", to="policies"),
        seed("p", {"n": 2}, tenant="*", to="policies"),
        seed("x", {"n": 1}, tenant="rival"),
        seed("x", {"n": 2}, tenant="rival"),
    )
    reader = state.reader()

    assert getattr(reader.previous("acme", "policies", "p"), "revision", None) == 1
    assert reader.previous("acme", "accounts", "x") is None


def test_system_collections_exist_from_the_start() -> None:
    """A new store has the collections of operations, redemptions and limits."""
    names = MemoryStore(SteppedClock()).reader().collections()

    assert names == ("_limits", "_operations", "_redemptions")


def test_declared_collections_survive_seeding() -> None:
    """A collection may be declared before or with the seeds, in any order."""
    state = MemoryStore(SteppedClock())
    state.declare(["tickets"])
    state.seed([seed("A1", ACCOUNT)], ["credits"])
    state.declare(["later"])

    names = state.reader().collections()
    assert names[3:] == ("accounts", "credits", "later", "tickets")


def test_seeding_is_once_and_first() -> None:
    """A store that was seeded or written to cannot be seeded."""
    seeded, written = made(), MemoryStore(SteppedClock())
    tx = opened(written)
    tx.put("accounts", "A1", {})
    tx.commit()

    for state in (seeded, written):
        with pytest.raises(HarnessError, match="seeded once, before the first commit"):
            state.seed([seed("A1", ACCOUNT)])


def test_a_seed_that_is_no_object_is_refused() -> None:
    """A record's value is an object, also where the environment makes it."""
    with pytest.raises(HarnessError, match="not an object"):
        made(seed("A1", [1]))


def test_stores_that_begin_alike_share_nothing_that_changes() -> None:
    """A commit to one store is not seen in another that was seeded with the same rows."""
    one, other = made(seed("A1", ACCOUNT)), made(seed("A1", ACCOUNT))
    tx = opened(one)
    tx.find("accounts", {"tier": "gold"})
    tx.put("accounts", "A2", ACCOUNT)
    tx.commit()

    assert [r.key for r in opened(one).find("accounts", {"tier": "gold"})] == ["A1", "A2"]
    assert [r.key for r in opened(other).find("accounts", {"tier": "gold"})] == ["A1"]


@pytest.mark.parametrize("value", [[1], "text", None, {"x": {1, 2}}, {1: 2}, {"x": float("nan")}])
def test_a_value_that_is_no_json_object_is_the_callers_fault(value: object) -> None:
    """What is no JSON object is refused at once with a ValueError, and nothing is written."""
    tx = opened(made())

    with pytest.raises(ValueError):
        tx.put("accounts", "A1", cast("JsonValue", value))
    assert tx.get("accounts", "A1") is None


@pytest.mark.parametrize(
    "use",
    [
        lambda tx: tx.get("accounts", "\ud800"),
        lambda tx: tx.put("accounts", "\ud800", {}),
        lambda tx: tx.put("\ud800", "A1", {}),
        lambda tx: tx.remove("accounts", 7),
        lambda tx: tx.get(None, "A1"),
        lambda tx: tx.find(type("Sly", (str,), {})("accounts"), {}),
        lambda tx: tx.find("accounts", {"x": {1}}),
    ],
)
def test_what_cannot_name_a_record_is_refused_at_once(use: Callable[[Any], object]) -> None:
    """A name that is not plain text with bytes is refused before anything depends on it."""
    with pytest.raises(ValueError):
        use(opened(made(seed("A1", ACCOUNT))))


def test_two_commits_at_once_are_our_defect() -> None:
    """A commit entered while another is under way is refused: the baton was not held."""
    state = made()
    inner = opened(state, "k2")

    class Meddler:
        def now_ms(self) -> int:
            """Commit something else in the middle of a commit."""
            inner.commit()
            return 0

    state._clock = Meddler()
    tx = opened(state)
    tx.put("accounts", "A1", {})
    with pytest.raises(HarnessError, match="two commits at once"):
        tx.commit()


def test_owner_prefers_the_shared_record() -> None:
    """Where several tenants have a key, the shared one is told, else the first by name."""
    shared = made(seed("A1", {}, tenant="zeta"), seed("A1", {}, tenant="*"))
    apart = made(seed("A1", {}, tenant="zeta"), seed("A1", {}, tenant="acme"))

    assert getattr(shared.reader().owner("accounts", "A1"), "tenant", None) == "*"
    assert getattr(apart.reader().owner("accounts", "A1"), "tenant", None) == "acme"


def test_an_index_follows_every_change() -> None:
    """A search by a field that was searched before sees puts, changes and removals since."""
    state = made(seed("A1", ACCOUNT), seed("A2", ACCOUNT), seed("A3", {"id": "A3"}))
    opened(state).find("accounts", {"tier": "gold"})
    tx = opened(state)
    tx.put("accounts", "A1", {"id": "A1", "tier": "none"})
    tx.put("accounts", "A3", {"id": "A3", "tier": "gold"})
    tx.put("accounts", "A4", {"id": "A4", "tier": "gold"})
    tx.remove("accounts", "A2")
    tx.commit()

    assert [r.key for r in opened(state).find("accounts", {"tier": "gold"})] == ["A3", "A4"]
    assert [r.key for r in opened(state).find("accounts", {"tier": "none"})] == ["A1"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c", "d"), ("a", "bc", "d")),
        (("a", "b", "cd"), ("a", "bc", "d")),
        (("a", "1:b", "c"), ("a1:", "b", "c")),
        (("", "", "1:a"), ("", "a", "")),
    ],
)
def test_no_two_identities_share_a_place_in_the_digest(
    one: versions.RecordId, other: versions.RecordId
) -> None:
    """Names that run together differently are told apart."""
    assert versions.trie_key(one) != versions.trie_key(other)


class Work:
    """A deterministic count of what an action costs: hashes of nodes and rows, decoded values."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for module, name in ((merkle, "sha256"), (versions, "record_digest"), (store, "matches")):
            patch.setattr(module, name, self.counted(getattr(module, name)))
        patch.setattr(Json, "value", self.counted(Json.value))

    def counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, counting its calls."""

        def call(*arguments: object, **named: object) -> Any:  # noqa: ANN401 - any function's
            self.count += 1
            return real(*arguments, **named)

        return call


def cost_of_an_action(size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the work of a search, a read, two writes, a commit and a snapshot."""
    versions.seeded.cache_clear()
    state = made(*(seed(f"A{n}", {"id": f"A{n}", "group": n}) for n in range(size)))
    opened(state).find("accounts", {"id": "A1"})
    state.reader().digest()
    with monkeypatch.context() as patch:
        work = Work(patch)
        tx = opened(state)
        tx.find("accounts", {"id": "A1"})
        tx.get("accounts", "A2")
        tx.put("accounts", "A2", {"id": "A2"})
        tx.put("tickets", "T1", {"account": "A1"})
        tx.commit()
        state.reader().at(1)
        state.reader().owner("accounts", "A3")
        state.reader().digest()
    return work.count


def test_an_action_costs_no_more_in_a_large_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 records instead of 10 an action does at most half as much again."""
    small, large = (cost_of_an_action(size, monkeypatch) for size in (10, 10_000))

    assert small > 0
    assert large <= small * 1.5


def test_the_cost_counter_sees_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that looks at every record is told by the same count."""

    def scanned(self: versions.Collection, _: str, where: versions.Where) -> list[Record]:
        return [
            r for r in self.rows.values() if r.value.value() and versions.matches(r.value, where)
        ]

    monkeypatch.setattr(versions.Collection, "find", scanned)
    small, large = (cost_of_an_action(size, monkeypatch) for size in (10, 1_000))

    assert large > small * 10


@pytest.mark.parametrize(
    "tamper",
    [
        lambda e: replace(e, sequence=2),
        lambda e: replace(e, at_ms=9),
        lambda e: replace(e, previous="0"),
        lambda e: replace(e, state_before="0"),
        lambda e: replace(e, state_after="0"),
        lambda e: replace(e, changes=()),
        lambda e: replace(e, changes=(replace(e.changes[0], digest_after="0"),)),
        lambda e: replace(e, changes=(replace(e.changes[0], tenant="rival"),)),
        lambda e: replace(e, operation=replace(e.operation, subject="other")),
        lambda e: replace(e, operation=replace(e.operation, approval_id="AP1")),
    ],
)
def test_an_entry_that_was_altered_has_another_digest(
    tamper: Callable[[CommitEntry], CommitEntry],
) -> None:
    """Every part of an entry is under its digest."""
    state = made()
    tx = opened(state)
    tx.put("accounts", "A1", {})
    tx.commit()
    entry = state.reader().changes_since(0)[0]

    assert entry_digest(tamper(entry)) != entry.digest
