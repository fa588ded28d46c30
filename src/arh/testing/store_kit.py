"""What every store must do, as plain functions over a way to make one.

Each check makes its own stores and raises `StoreViolation` when one misbehaves; its docstring says
what is true of a store that passes. Run all of `CHECKS` under any test runner, or `violations` for
the list of what is wrong. A store need not keep past versions (`at` and `previous` answer `None`),
but what it does answer must be right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from arh.canonical import Json, JsonValue
from arh.errors import ArhError, HarnessError
from arh.foreign import ForeignFailure, call
from arh.ports.sue import Store
from arh.records.setup import SeedRecord
from arh.records.state import (
    SHARED_TENANT,
    CommitEntry,
    CommitResult,
    Conflict,
    Operation,
    Receipt,
    Record,
    record_digest,
)

Make: TypeAlias = Callable[[tuple[SeedRecord, ...], tuple[str, ...]], Store]
Check: TypeAlias = Callable[[Make], None]

OURS: Final = "tenant-ours"
THEIRS: Final = "tenant-theirs"


class StoreViolation(AssertionError):  # noqa: N818 - it says what is wrong with a store
    """A store does not do what every store must."""


def violations(make: Make) -> tuple[str, ...]:
    """Return a line for each check that the stores made by `make` fail."""
    found = ((check.__name__, _violation(check, make)) for check in CHECKS)
    return tuple(f"{name}: {violation}" for name, violation in found if violation)


def operation(tenant: str = OURS, key: str = "key-1") -> Operation:
    """Return an operation of a tenant; the store only looks at the tenant."""
    return Operation(
        operation_id=f"operation-{key}",
        key=key,
        tool="tool",
        version="1",
        argument_digest="0" * 64,
        subject="subject",
        actor="actor",
        tenant=tenant,
    )


def shows_its_own_and_the_shared_records(make: Make) -> None:
    """A tenant sees its own records and the shared ones, its own first where both exist."""
    store = make(
        (_seed("own", 1), _seed("all", 2, SHARED_TENANT), _seed("own", 3, SHARED_TENANT)), ()
    )

    tx = store.transaction(operation())

    _equal("get of its own", {"n": 1}, _value(tx.get("things", "own")))
    _equal("get of a shared one", {"n": 2}, _value(tx.get("things", "all")))
    _equal("find", ["all", "own"], [r.key for r in tx.find("things", {})])
    _equal("find hides what it shadows", [], list(tx.find("things", {"n": 3})))


def hides_other_tenants(make: Make) -> None:
    """No read of a transaction, and no write, ever reaches another tenant's record."""
    store = make((_seed("secret", 1, THEIRS),), ())
    tx = store.transaction(operation())

    _equal("get", None, tx.get("things", "secret"))
    _equal("find", (), tx.find("things", {}))
    tx.remove("things", "secret")
    tx.put("things", "secret", {"n": 2})
    _committed(tx.commit())

    _equal("theirs", {"n": 1}, _value(store.reader().get(THEIRS, "things", "secret")))
    _equal("ours", {"n": 2}, _value(store.reader().get(OURS, "things", "secret")))


def leaves_shared_records_alone(make: Make) -> None:
    """A tenant's write or removal at a shared record's key leaves the shared record as it is."""
    store = make((_seed("all", 1, SHARED_TENANT),), ())
    tx = store.transaction(operation())
    tx.put("things", "all", {"n": 2})
    _committed(tx.commit())
    tx = store.transaction(operation())
    tx.remove("things", "all")
    _committed(tx.commit())

    _equal("ours", {"n": 1}, _value(store.reader().get(OURS, "things", "all")))
    _equal("shared", {"n": 1}, _value(store.reader().get(THEIRS, "things", "all")))


def shows_a_transaction_its_own_writes_only(make: Make) -> None:
    """A write is seen at once by its own transaction and by nobody else before the commit."""
    store = make((_seed("a", 1), _seed("b", 1)), ())
    tx, other = store.transaction(operation()), store.transaction(operation(key="key-2"))
    tx.put("things", "a", {"n": 2})
    tx.put("things", "c", {"n": 2})
    tx.remove("things", "b")

    _equal("own get", {"n": 2}, _value(tx.get("things", "a")))
    _equal("own find", ["a", "c"], [r.key for r in tx.find("things", {"n": 2})])
    _equal("own removal", None, tx.get("things", "b"))
    _equal("another's get", {"n": 1}, _value(other.get("things", "a")))
    _equal("the reader", {"n": 1}, _value(store.reader().get(OURS, "things", "a")))


def forgets_a_dropped_transaction(make: Make) -> None:
    """A transaction that is never committed leaves nothing behind."""
    store = make((_seed("a", 1),), ())
    before = store.reader().digest()
    tx = store.transaction(operation())
    tx.put("things", "a", {"n": 2})
    tx.put("things", "b", {"n": 2})
    del tx

    _equal("digest", before, store.reader().digest())
    _equal("entries", (), store.reader().changes_since(0))


def honours_expected_revisions(make: Make) -> None:
    """A write with an expected revision commits only over that revision; 0 means no record."""
    store = make((_seed("a", 1), _seed("a", 2)), ())

    _equal("right", 3, _committed(_put(store, "a", 3, expect=2)).changes[0].revision_after)
    _equal("stale", Conflict("things", "a", 2, 3), _put(store, "a", 4, expect=2))
    _equal("absent, wrongly", Conflict("things", "a", 0, 3), _put(store, "a", 4, expect=0))
    _equal(
        "absent, rightly", 1, _committed(_put(store, "b", 1, expect=0)).changes[0].revision_after
    )
    _equal("present, wrongly", Conflict("things", "c", 1, 0), _put(store, "c", 1, expect=1))


def changes_nothing_on_conflict(make: Make) -> None:
    """A conflicting commit keeps none of its writes, those before the conflict included."""
    store = make((_seed("a", 1),), ())
    before = store.reader().digest()
    tx = store.transaction(operation())
    tx.put("things", "first", {"n": 1})
    tx.put("things", "a", {"n": 2}, expect_revision=7)
    tx.put("things", "last", {"n": 1})

    _equal("result", Conflict("things", "a", 7, 1), tx.commit())
    _equal("digest", before, store.reader().digest())
    _equal("entries", (), store.reader().changes_since(0))


def refuses_a_lost_update(make: Make) -> None:
    """Of two transactions that read a record and write it, only the first commits."""
    store = make((_seed("a", 1),), ())
    first, second = store.transaction(operation()), store.transaction(operation(key="key-2"))
    for tx in (first, second):
        tx.get("things", "a")
        tx.put("things", "a", {"n": 2})
    _committed(first.commit())

    _equal("second", Conflict("things", "a", 1, 2), second.commit())


def lets_one_of_two_insert_a_key(make: Make) -> None:
    """Of two transactions that insert the same key, only the first commits."""
    store = make((), ("things",))
    first, second = store.transaction(operation()), store.transaction(operation(key="key-2"))
    for tx in (first, second):
        tx.put("things", "a", {"n": 2}, expect_revision=0)
    _committed(first.commit())

    _equal("second", Conflict("things", "a", 0, 1), second.commit())


def never_repeats_a_revision(make: Make) -> None:
    """A record that comes back after its removal goes on counting."""
    store = make((_seed("a", 1),), ())
    tx = store.transaction(operation())
    tx.remove("things", "a")
    removal = _committed(tx.commit()).changes[0]
    back = _committed(_put(store, "a", 1, expect=0)).changes[0]

    _equal(
        "removal",
        (1, 0, ""),
        (removal.revision_before, removal.revision_after, removal.digest_after),
    )
    _equal("return", (0, 2), (back.revision_before, back.revision_after))


def chains_its_entries(make: Make) -> None:
    """Each commit that changes something appends one entry, linked to the one before it."""
    store = make((_seed("a", 1),), ())
    start = store.reader().digest()
    first = _committed(_put(store, "a", 2))
    second = _committed(_put(store, "b", 1))

    _equal("entries", (first, second), store.reader().changes_since(0))
    _equal("after the first", (second,), store.reader().changes_since(1))
    _equal("sequences", (1, 2), (first.sequence, second.sequence))
    _equal("links", first.digest, second.previous)
    _equal("states", (start, first.state_after), (first.state_before, second.state_before))
    _equal("last state", store.reader().digest(), second.state_after)
    _true("digests differ", len({first.digest, second.digest, ""}) == 3)  # noqa: PLR2004 - as many as there are


def says_what_a_commit_changed(make: Make) -> None:
    """A change tells the record's revision and digest before and after, and its value."""
    store = make((_seed("a", 1),), ())
    before = store.reader().get(OURS, "things", "a")
    change = _committed(_put(store, "a", 2)).changes[0]
    after = store.reader().get(OURS, "things", "a")

    _equal("place", (OURS, "things", "a"), (change.tenant, change.collection, change.key))
    _equal("revisions", (1, 2), (change.revision_before, change.revision_after))
    _equal("digest before", _digest(before), change.digest_before)
    _equal("digest after", _digest(after), change.digest_after)
    _equal("value", Json.of({"n": 2}), change.value)


def appends_nothing_without_a_change(make: Make) -> None:
    """A transaction that wrote nothing, or took its only write back, appends no entry."""
    store = make((_seed("a", 1),), ())
    tx = store.transaction(operation())
    tx.get("things", "a")
    tx.put("things", "new", {"n": 1})
    tx.remove("things", "new")
    _committed(tx.commit())

    _equal("entries", (), store.reader().changes_since(0))


def tells_empty_from_unknown(make: Make) -> None:
    """A declared collection exists without records; one that nobody declared does not."""
    store = make((_seed("a", 1),), ("empty",))
    names = store.reader().collections()

    _true("the empty one is there", "empty" in names and store.reader().records("empty") == ())
    _true("the seeded one is there", "things" in names)
    _true("an unknown one is not", "unknown" not in names)
    _equal("order", tuple(sorted(names)), names)


def finds_by_exact_values(make: Make) -> None:
    """A search tells 1 from true and a missing field from null, and answers in key order."""
    rows: tuple[tuple[str, JsonValue], ...] = (
        ("d", {"n": 1}),
        ("b", {"n": True}),
        ("c", {"n": None}),
        ("a", {"n": 1, "more": [1]}),
        ("e", {}),
    )
    store = make(tuple(SeedRecord(OURS, "things", key, Json.of(row)) for key, row in rows), ())
    tx = store.transaction(operation())

    _equal("1", ["a", "d"], [r.key for r in tx.find("things", {"n": 1})])
    _equal("true", ["b"], [r.key for r in tx.find("things", {"n": True})])
    _equal("null", ["c"], [r.key for r in tx.find("things", {"n": None})])
    _equal("two fields", ["a"], [r.key for r in tx.find("things", {"n": 1, "more": [1]})])
    _equal("an unknown collection", (), tx.find("unknown", {"n": 1}))


def keeps_its_values_to_itself(make: Make) -> None:
    """Changing what was put, or what was read, changes no record."""
    store = make((), ("things",))
    row: dict[str, JsonValue] = {"list": [1]}
    tx = store.transaction(operation())
    tx.put("things", "a", row)
    row["list"] = [1, 2]
    _committed(tx.commit())
    read = _value(store.reader().get(OURS, "things", "a"))
    if isinstance(read, dict):
        read.clear()

    _equal("value", {"list": [1]}, _value(store.reader().get(OURS, "things", "a")))


def closes_a_transaction_with_its_commit(make: Make) -> None:
    """Nothing can be done with a transaction once it was committed."""
    store = make((), ("things",))
    tx = store.transaction(operation())
    _committed(tx.commit())
    uses: tuple[Callable[[], object], ...] = (
        lambda: tx.get("things", "a"),
        lambda: tx.find("things", {}),
        lambda: tx.put("things", "a", {}),
        lambda: tx.remove("things", "a"),
        tx.commit,
    )

    _equal("uses that were let through", [], [i for i, use in enumerate(uses) if not _refused(use)])


def reads_the_present(make: Make) -> None:
    """A reader shows every commit at once, and all tenants' records in key order."""
    store = make((_seed("b", 1, THEIRS), _seed("a", 1)), ())
    reader = store.reader()
    _committed(_put(store, "c", 1))

    _equal("sequence", 1, reader.sequence())
    _equal("records", ["a", "b", "c"], [r.key for r in reader.records("things")])
    _equal("owner", THEIRS, getattr(reader.owner("things", "b"), "tenant", None))
    _equal("no owner", None, reader.owner("things", "z"))
    _equal("another tenant's", None, reader.get(OURS, "things", "b"))


def remembers_rightly_or_not_at_all(make: Make) -> None:
    """What a reader tells of the past is what was true then."""
    store = make((_seed("a", 1), _seed("a", 2)), ())
    start = store.reader().digest()
    _committed(_put(store, "a", 3))
    reader = store.reader()
    past, one, two = reader.at(0), *(reader.previous(OURS, "things", "a", n) for n in (1, 2))

    if past is not None:
        _equal("state at 0", start, past.digest())
        _equal("record at 0", {"n": 2}, _value(past.get(OURS, "things", "a")))
        _equal("entries at 0", (), past.changes_since(0))
    if one is not None:
        _equal("one revision ago", {"n": 2}, _value(one))
    if two is not None:
        _equal("two revisions ago", {"n": 1}, _value(two))
    _equal("before the first", None, reader.previous(OURS, "things", "a", 3))
    _equal("in the future", None, reader.at(reader.sequence() + 1))


def digests_its_content_alone(make: Make) -> None:
    """Equal content has one digest whatever the order of its making, other content another."""
    rows = (_seed("a", 1), _seed("b", 1), _seed("c", 1, THEIRS))
    one, other = make(rows, ()), make(rows[::-1], ("more",))

    _equal("same content", one.reader().digest(), other.reader().digest())
    _committed(_put(one, "a", 1))
    _true("a revision counts", one.reader().digest() != other.reader().digest())


CHECKS: Final[tuple[Check, ...]] = (
    shows_its_own_and_the_shared_records,
    hides_other_tenants,
    leaves_shared_records_alone,
    shows_a_transaction_its_own_writes_only,
    forgets_a_dropped_transaction,
    honours_expected_revisions,
    changes_nothing_on_conflict,
    refuses_a_lost_update,
    lets_one_of_two_insert_a_key,
    never_repeats_a_revision,
    chains_its_entries,
    says_what_a_commit_changed,
    appends_nothing_without_a_change,
    tells_empty_from_unknown,
    finds_by_exact_values,
    keeps_its_values_to_itself,
    closes_a_transaction_with_its_commit,
    reads_the_present,
    remembers_rightly_or_not_at_all,
    digests_its_content_alone,
)


def _violation(check: Check, make: Make) -> str:
    """Return what is wrong, "" if nothing is; a store that raises is wrong as well."""

    def run() -> str:
        try:
            check(make)
        except (StoreViolation, ArhError) as violation:
            return str(violation)
        return ""

    ended = call("store", run)
    return f"raised {ended.type_name}" if isinstance(ended, ForeignFailure) else ended


def _seed(key: str, number: int, tenant: str = OURS) -> SeedRecord:
    return SeedRecord(tenant, "things", key, Json.of({"n": number}))


def _put(store: Store, key: str, number: int, *, expect: int | None = None) -> CommitResult:
    tx = store.transaction(operation(key=f"{key}-{number}"))
    tx.put("things", key, {"n": number}, expect_revision=expect)
    return tx.commit()


def _committed(result: CommitResult) -> CommitEntry:
    """Return the entry of a commit that had no reason to fail."""
    if isinstance(result, Receipt):
        return result.entry
    raise StoreViolation(f"expected a receipt, found {result}")


def _value(record: Record | None) -> JsonValue:
    return None if record is None else record.value.value()


def _digest(record: Record | None) -> str:
    return "" if record is None else record_digest(record)


def _refused(use: Callable[[], object]) -> bool:
    try:
        use()
    except HarnessError:
        return True
    return False


def _equal(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise StoreViolation(f"{what}: expected {expected!r}, found {found!r}")


def _true(what: str, holds: bool) -> None:  # noqa: FBT001 - the statement that must hold
    if not holds:
        raise StoreViolation(f"expected that {what}")
