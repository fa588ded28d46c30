"""The transactional store: authoritative state of a run, and the chain of what was committed to it.

A transaction reads one version of the state, its tenant's records and the shared ones, and its own
writes; it buffers those writes and applies them at commit, all or none. It commits only if every
expectation holds and every record that it was shown still has the revision that it saw, so what a
write is based on cannot have moved; a record that appeared meanwhile and would have been found is
not noticed. A transaction that writes nothing has nothing to check.

Each commit that changes something appends an entry, whose digest covers the entry before it and the
digests of the state before and after. Only one thread at a time may be at work in a run's store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from hashlib import sha256
from operator import attrgetter
from typing import Final, final

from arh.canonical import Json, JsonValue, line
from arh.errors import HarnessError
from arh.ports.sue import Clock
from arh.records.setup import SeedRecord
from arh.records.state import (
    SHARED_TENANT,
    Change,
    CommitEntry,
    CommitResult,
    Conflict,
    Operation,
    Receipt,
    Record,
)
from arh.state.versions import RecordId, Version, frozen, matches, seeded, start

SYSTEM_COLLECTIONS: Final = ("_limits", "_operations", "_redemptions")


@final
class MemoryStore:
    """Implements `arh.ports.sue.Store` in memory; every version that it ever had stays readable."""

    def __init__(self, clock: Clock) -> None:
        """Begin empty, with the system collections."""
        self._clock = clock
        self._names: tuple[str, ...] = SYSTEM_COLLECTIONS
        self._versions = [start(SYSTEM_COLLECTIONS)]
        self._entries: list[CommitEntry] = []
        self._mirrored: frozenset[str] = frozenset()
        self._seeded = False
        self._committing = False

    def transaction(self, operation: Operation) -> Transaction:
        """Open a transaction on the state as it is now."""
        return Transaction(self, self._versions[-1], operation)

    def reader(self) -> VersionReader:
        """Return a reader of the committed state, always current."""
        return VersionReader(self._versions, self._entries, None)

    def declare(self, names: Iterable[str]) -> None:
        """Make these collections exist, if only as empty ones."""
        self._names = tuple(dict.fromkeys((*self._names, *names)))
        self._versions[-1] = self._versions[-1].declare(self._names)

    def mirror(self, names: Iterable[str]) -> None:
        """Let these collections show another system's rows: transactions cannot write them."""
        self._mirrored = frozenset(names)

    def mirrors(self, name: str) -> bool:
        """Return whether the collection shows another system's rows."""
        return name in self._mirrored

    def observed(
        self, operation: Operation, changes: Iterable[tuple[RecordId, Json | None]]
    ) -> int:
        """Enter what another system was seen to have changed; return the entry's sequence."""
        before = self._versions[-1]
        after, changed = _applied(before, changes)
        self._versions.append(after)
        self._entries.append(self._entry(operation, before, after, changed))
        return after.sequence

    def seed(self, records: Iterable[SeedRecord], collections: Iterable[str] = ()) -> None:
        """Put the records that exist before the run, at sequence 0 and without commit entries.

        Several rows of one key are its revisions 1 to n, in order.

        Raises:
            HarnessError: The store was seeded or written to before, or a value is not an object.
        """
        if self._seeded or self._entries:
            raise HarnessError("the state is seeded once, before the first commit")
        rows = tuple(records)
        for row in rows:
            _require_object(row)
        self._seeded = True
        self.declare(collections)
        self._versions[-1] = seeded(rows, self._names)

    def commit(self, transaction: Transaction) -> CommitResult:
        """Apply a transaction to the current version; for `Transaction.commit`."""
        if self._committing:
            raise HarnessError("two commits at once: a store takes one thread at a time")
        self._committing = True
        try:
            return self._commit(transaction)
        finally:
            self._committing = False

    def _commit(self, transaction: Transaction) -> CommitResult:
        """Return the conflict, changing nothing, or the receipt of all changes."""
        before = self._versions[-1]
        conflict = transaction.conflict_with(before)
        if conflict is not None:
            return conflict
        after, changes = transaction.applied_to(before)
        entry = self._entry(transaction.operation, before, after, changes)
        if changes:
            self._versions.append(after)
            self._entries.append(entry)
        return Receipt(entry)

    def _entry(
        self, operation: Operation, before: Version, after: Version, changes: tuple[Change, ...]
    ) -> CommitEntry:
        """Return the next entry of the chain; without changes, one that is never appended."""
        bare = CommitEntry(
            after.sequence,
            self._clock.now_ms(),
            operation,
            changes,
            before.trie.root,
            after.trie.root,
            self._entries[-1].digest if self._entries else "",
            "",
        )
        return _sealed(bare) if changes else bare


@final
class Transaction:
    """Implements `arh.ports.sue.OpenTx`: one operation's reads of one version, and its writes."""

    __slots__ = ("_doomed", "_open", "_seen", "_store", "_version", "_writes", "operation")

    def __init__(self, store: MemoryStore, version: Version, operation: Operation) -> None:
        """Open on a version of the state; nothing is locked."""
        self.operation = operation
        self._store = store
        self._version = version
        self._seen: dict[RecordId, int] = {}
        self._writes: dict[RecordId, _Write] = {}
        self._doomed: Conflict | None = None
        self._open = True

    def get(self, collection: str, key: str) -> Record | None:
        """Return the record as the transaction sees it, or `None`."""
        self._require_open()
        own = self._own(collection, key)
        record = self._version.of(own)
        self._see(own, record)
        if own in self._writes:
            value = self._writes[own].value
            if value is not None:
                return self._provisional(own, value)
            record = None
        return self._shared(collection, key) if record is None else record

    def find(self, collection: str, where: Mapping[str, JsonValue]) -> tuple[Record, ...]:
        """Return the records whose fields equal `where`, own writes included, in key order."""
        self._require_open()
        self._own(collection, "")
        conditions = frozen(where)
        found = self._version.collection(collection).find(self.operation.tenant, conditions)
        found.sort(key=_by_key)
        written = [key for name, _, key in self._writes if name == collection]
        if written:
            found = [record for record in found if record.key not in written]
        for record in found:
            self._see((collection, record.tenant, record.key), record)
        if not written:
            return tuple(found)
        mine = (self.get(collection, key) for key in written)
        found += [r for r in mine if r is not None and matches(r.value, conditions)]
        return tuple(sorted(found, key=_by_key))

    def put(
        self, collection: str, key: str, value: JsonValue, *, expect_revision: int | None = None
    ) -> None:
        """Write the tenant's own record at commit; the value is copied now.

        `expect_revision` is the revision as this transaction sees it; 0 says that there is none.

        Raises:
            ValueError: The value is not a JSON object, or a name is not text.
        """
        self._require_open()
        own = self._own(collection, key)
        if type(value) is not dict:
            raise ValueError("expected the value of a record to be an object")
        self._write(own, Json.of(value), expect_revision)

    def remove(self, collection: str, key: str) -> None:
        """Remove the tenant's own record at commit; a shared one stays."""
        self._require_open()
        self._write(self._own(collection, key), None, None)

    def commit(self) -> CommitResult:
        """Commit all or nothing and close the transaction.

        Without any change the receipt's entry has no digest, and is not on the chain.
        """
        self._require_open()
        self._open = False
        return self._store.commit(self)

    def conflict_with(self, current: Version) -> Conflict | None:
        """Return the first expectation that `current` breaks: writes first, in their order."""
        if self._doomed is not None or not self._writes:
            return self._doomed
        expected = {at: w.expected for at, w in self._writes.items() if w.expected is not None}
        if current is self._version:  # nothing that was seen can have moved
            return _first_broken(expected, current)
        for at in self._writes:
            if at in self._seen:
                expected.setdefault(at, self._seen[at])
        return _first_broken(expected, current) or _first_broken(self._seen, current)

    def applied_to(self, before: Version) -> tuple[Version, tuple[Change, ...]]:
        """Return the version after the writes, and what they changed in it."""
        return _applied(before, [(at, write.value) for at, write in self._writes.items()])

    def _write(self, own: RecordId, value: Json | None, expected: int | None) -> None:
        """Buffer one write; a second one of a record keeps what the first one expects."""
        if self._store.mirrors(own[0]):
            raise PermissionError("the collection is another system's: only its own tools write it")
        first = self._writes.get(own)
        if first is None:
            self._writes[own] = _Write(value, expected)
            return
        found = 0 if first.value is None else self._version.next_revision(own)
        if expected is not None and expected != found and self._doomed is None:
            self._doomed = Conflict(own[0], own[2], expected, found)
        self._writes[own] = _Write(value, first.expected)

    def _own(self, collection: str, key: str) -> RecordId:
        """Return the identity under which this transaction writes."""
        if type(collection) is not str or type(key) is not str:
            raise ValueError("expected collection and key to be text")
        (collection + key).encode()  # a lone surrogate has no bytes to digest
        return collection, self.operation.tenant, key

    def _see(self, identity: RecordId, record: Record | None) -> None:
        """Remember the revision that the transaction was shown, 0 for none."""
        if identity not in self._seen:
            self._seen[identity] = 0 if record is None else record.revision

    def _shared(self, collection: str, key: str) -> Record | None:
        identity = (collection, SHARED_TENANT, key)
        record = self._version.of(identity)
        if record is not None and self.operation.tenant != SHARED_TENANT:
            self._see(identity, record)
            return record
        return None

    def _provisional(self, own: RecordId, value: Json) -> Record:
        """Return an uncommitted record at the revision that it will have, or conflict over."""
        return _record(own, self._version.next_revision(own), value)

    def _require_open(self) -> None:
        if not self._open:
            raise HarnessError("the transaction is closed: it was committed, open another")


@final
class VersionReader:
    """Implements `arh.ports.sue.StateReader` over the current version, or over one past version."""

    __slots__ = ("_entries", "_pinned", "_versions")

    def __init__(
        self, versions: list[Version], entries: list[CommitEntry], pinned: int | None
    ) -> None:
        """Read the version that is pinned, or always the last."""
        self._versions = versions
        self._entries = entries
        self._pinned = pinned

    def sequence(self) -> int:
        """Return the sequence of the last commit that the reader shows."""
        return self._version().sequence

    def get(self, tenant: str, collection: str, key: str) -> Record | None:
        """Return the tenant's (or the shared) record, or `None`."""
        return self._version().collection(collection).visible(tenant, key)

    def owner(self, collection: str, key: str) -> Record | None:
        """Return the record of that key, the shared one first, then by the owner's name."""
        return self._version().collection(collection).owner(key)

    def records(self, collection: str) -> tuple[Record, ...]:
        """Return every record of the collection, of all tenants, in key order."""
        return self._version().collection(collection).ordered()

    def collections(self) -> tuple[str, ...]:
        """Return the names of all collections, empty ones and system ones included, in order."""
        return tuple(sorted(self._version().collections))

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return the commit entries after `sequence`, in order."""
        return tuple(self._entries[max(sequence, 0) : self._version().sequence])

    def digest(self) -> str:
        """Return the digest of all records, system collections included."""
        return self._version().trie.root

    def at(self, sequence: int) -> VersionReader | None:
        """Return a reader of the state as it was after that commit, `None` if there was none."""
        if not 0 <= sequence <= self._version().sequence:
            return None
        return VersionReader(self._versions, self._entries, sequence)

    def previous(self, tenant: str, collection: str, key: str, back: int = 1) -> Record | None:
        """Return the visible record as it was `back` revisions ago; a removed one counts as ago."""
        version = self._version()
        record = version.collection(collection).visible(tenant, key)
        owner = tenant if record is None else record.tenant
        past = version.past.get((collection, owner, key))
        for _ in range(back if record is not None else back - 1):
            past = None if past is None else past.older
        return None if past is None else past.record

    def _version(self) -> Version:
        return self._versions[-1 if self._pinned is None else self._pinned]


@final
class _Write:
    """A buffered write: the value, `None` to remove, and the revision that it expects, if any."""

    __slots__ = ("expected", "value")

    def __init__(self, value: Json | None, expected: int | None) -> None:
        self.value = value
        self.expected = expected


def _applied(
    before: Version, writes: Iterable[tuple[RecordId, Json | None]]
) -> tuple[Version, tuple[Change, ...]]:
    """Return the version after the writes, `None` to remove, and what they changed in it."""
    after = before
    sequence = before.sequence + 1
    changed = []
    for identity, value in writes:
        old = before.of(identity)
        if value is not None:
            revision = before.next_revision(identity)
            after = after.put(sequence, _record(identity, revision, value))
            changed.append((identity, old))
        elif old is not None:
            after = after.remove(sequence, old)
            changed.append((identity, old))
    return after, tuple([_change(at, old, before, after) for at, old in changed])


def entry_digest(entry: CommitEntry) -> str:
    """Return the digest of an entry over everything in it but itself, `previous` included."""
    parts = [
        entry.previous,
        entry.sequence,
        entry.at_ms,
        _operation_fields(entry.operation),
        [_digested(change) for change in entry.changes],
        entry.state_before,
        entry.state_after,
    ]
    return sha256(line(parts)).hexdigest()


def _digested(change: Change) -> list[JsonValue]:
    """Return a change without its value, which `digest_after` stands for."""
    return [
        change.collection,
        change.tenant,
        change.key,
        change.revision_before,
        change.revision_after,
        change.digest_before,
        change.digest_after,
    ]


def _sealed(entry: CommitEntry) -> CommitEntry:
    return CommitEntry(
        entry.sequence,
        entry.at_ms,
        entry.operation,
        entry.changes,
        entry.state_before,
        entry.state_after,
        entry.previous,
        entry_digest(entry),
    )


def _first_broken(expected: Mapping[RecordId, int], current: Version) -> Conflict | None:
    """Return the first record that does not have the revision expected of it."""
    for identity, revision in expected.items():
        found = current.revision(identity)
        if found != revision:
            return Conflict(identity[0], identity[2], revision, found)
    return None


def _change(identity: RecordId, old: Record | None, before: Version, after: Version) -> Change:
    collection, tenant, key = identity
    new = after.of(identity)
    return Change(
        tenant,
        collection,
        key,
        0 if old is None else old.revision,
        0 if new is None else new.revision,
        "" if old is None else before.past[identity].digest,
        "" if new is None else after.past[identity].digest,
        None if new is None else new.value,
    )


def _record(identity: RecordId, revision: int, value: Json) -> Record:
    collection, tenant, key = identity
    return Record(tenant, collection, key, revision, value)


def _require_object(row: SeedRecord) -> None:
    if not row.value.data.startswith(b"{"):
        raise HarnessError(
            "a seeded record is not an object: check it where datasets are loaded, before the run"
        )


def _by_key(record: Record) -> str:
    return record.key


_operation_fields: Final = attrgetter(*(field.name for field in fields(Operation)))
