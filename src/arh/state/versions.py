"""One immutable version of the whole state: what a commit makes and a snapshot keeps.

Every commit makes a `Version` out of the one before and shares all but the changed paths with it,
so that keeping each of them costs next to nothing and an old one can be read like the current one.
Nothing here costs more for a larger state except what must look at every record: listing a
collection, and the first search by a field, which builds an index that later versions inherit.

The digest is the root of a Merkle trie over the records: each stands at its identity, its digest
is its leaf. Past revisions and empty collections are not part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias, final

from immutables import Map

from arh.canonical import Json, JsonValue, encode
from arh.records.setup import SeedRecord
from arh.records.state import SHARED_TENANT, Record, record_digest
from arh.state.merkle import EMPTY, Trie

RecordId: TypeAlias = "tuple[str, str, str]"  # collection, tenant, key
Where: TypeAlias = "tuple[tuple[str, bytes], ...]"  # field and the canonical bytes of its value

_Index: TypeAlias = "Map[tuple[str, bytes], Map[str, None]]"  # tenant and value -> keys


@final
class Version:
    """The state after one commit; `sequence` is that commit's, 0 before the first."""

    __slots__ = ("collections", "past", "sequence", "trie")

    def __init__(
        self,
        sequence: int,
        collections: Map[str, Collection],
        past: Map[RecordId, Past],
        trie: Trie,
    ) -> None:
        """Hold the parts; only the methods below and `start` make versions."""
        self.sequence = sequence
        self.collections = collections
        self.past = past
        self.trie = trie

    def of(self, identity: RecordId) -> Record | None:
        """Return the record of exactly this identity."""
        collection = self.collections.get(identity[0])
        return None if collection is None else collection.rows.get(identity[1:])

    def revision(self, identity: RecordId) -> int:
        """Return the record's revision, 0 where there is none."""
        record = self.of(identity)
        return 0 if record is None else record.revision

    def next_revision(self, identity: RecordId) -> int:
        """Return the revision that the next write makes, which no write before it made."""
        past = self.past.get(identity)
        return 1 if past is None else past.record.revision + 1

    def collection(self, name: str) -> Collection:
        """Return the collection, an empty one where nobody declared it."""
        return self.collections.get(name, _NO_RECORDS)

    def declare(self, names: Iterable[str]) -> Version:
        """Return the version in which these collections exist, if only as empty ones."""
        collections = self.collections
        for name in names:
            if name not in collections:
                collections = collections.set(name, _NO_RECORDS)
        return Version(self.sequence, collections, self.past, self.trie)

    def put(self, sequence: int, record: Record) -> Version:
        """Return the version with the record in it."""
        identity = (record.collection, record.tenant, record.key)
        collection = self.collection(record.collection).put(record)
        past = Past(record, record_digest(record), self.past.get(identity))
        return Version(
            sequence,
            self.collections.set(record.collection, collection),
            self.past.set(identity, past),
            self.trie.put(trie_key(identity), bytes.fromhex(past.digest)),
        )

    def remove(self, sequence: int, record: Record) -> Version:
        """Return the version without the record; its revisions stay taken."""
        identity = (record.collection, record.tenant, record.key)
        collection = self.collection(record.collection).remove(record)
        return Version(
            sequence,
            self.collections.set(record.collection, collection),
            self.past,
            self.trie.remove(trie_key(identity)),
        )


@final
class Past:
    """A revision, its digest and, in `older`, the one before it: all that a record ever was."""

    __slots__ = ("digest", "older", "record")

    def __init__(self, record: Record, digest: str, older: Past | None) -> None:
        """Put a revision on top of the older ones."""
        self.record = record
        self.digest = digest
        self.older = older


@final
class Collection:
    """An immutable collection: its rows, who owns each key, the indexes that searches asked for."""

    __slots__ = ("_indexes", "_ordered", "owners", "rows")

    def __init__(
        self,
        rows: Map[tuple[str, str], Record],
        owners: Map[str, tuple[str, ...]],
        indexes: dict[str, _Index],
    ) -> None:
        """Hold rows by (tenant, key), tenants by key, and the indexes over just these rows."""
        self.rows = rows
        self.owners = owners
        self._indexes = indexes
        self._ordered: tuple[Record, ...] | None = None

    def visible(self, tenant: str, key: str) -> Record | None:
        """Return the tenant's record, else the shared one."""
        record = self.rows.get((tenant, key))
        return self.rows.get((SHARED_TENANT, key)) if record is None else record

    def owner(self, key: str) -> Record | None:
        """Return the record of the key: the shared one, else the first owner's by name."""
        owners = self.owners.get(key)
        return None if owners is None else self.rows[owners[0], key]

    def ordered(self) -> tuple[Record, ...]:
        """Return all records by key and tenant, sorted when first asked for."""
        if self._ordered is None:
            self._ordered = tuple(sorted(self.rows.values(), key=_by_key_and_tenant))
        return self._ordered

    def find(self, tenant: str, where: Where) -> list[Record]:
        """Return what the tenant sees of the records that match, in no order."""
        if not where:
            return [record for record in self.rows.values() if self._sees(tenant, record)]
        indexes = [(self._index(field), wanted) for field, wanted in where]
        found = self._candidates(indexes, tenant)
        if tenant != SHARED_TENANT:
            found += [r for r in self._candidates(indexes, SHARED_TENANT) if self._sees(tenant, r)]
        if len(where) == 1:  # then the index has said all there is to say
            return found
        return [record for record in found if matches(record.value, where)]

    def put(self, record: Record) -> Collection:
        """Return the collection with the record in it."""
        at = (record.tenant, record.key)
        before = self.rows.get(at)
        owners = self.owners
        if before is None:
            others = owners.get(record.key)
            tenants = sorted((record.tenant, *others)) if others else (record.tenant,)
            owners = owners.set(record.key, tuple(tenants))
        return Collection(self.rows.set(at, record), owners, self._reindexed(before, record))

    def remove(self, record: Record) -> Collection:
        """Return the collection without the record, which is in it."""
        tenants = tuple(t for t in self.owners[record.key] if t != record.tenant)
        owners = self.owners
        owners = owners.set(record.key, tenants) if tenants else owners.delete(record.key)
        rows = self.rows.delete((record.tenant, record.key))
        return Collection(rows, owners, self._reindexed(record, None))

    def _sees(self, tenant: str, record: Record) -> bool:
        """Return whether the record is the tenant's, or shared and not hidden by one of its own."""
        if record.tenant == tenant:
            return True
        return record.tenant == SHARED_TENANT and (tenant, record.key) not in self.rows

    def _candidates(self, indexes: list[tuple[_Index, bytes]], tenant: str) -> list[Record]:
        """Return the tenant's records that match the field by which the fewest do."""
        keys = [index.get((tenant, wanted), _NO_KEYS) for index, wanted in indexes]
        fewest = keys[0] if len(keys) == 1 else min(keys, key=len)
        return [self.rows[tenant, key] for key in fewest] if fewest else []

    def _index(self, field: str) -> _Index:
        """Return the index over a field, built when first asked for."""
        index = self._indexes.get(field)
        if index is None:
            index = Map()
            for record in self.rows.values():
                index = _indexed(index, field, record)
            self._indexes[field] = index
        return index

    def _reindexed(self, before: Record | None, after: Record | None) -> dict[str, _Index]:
        """Return the indexes as they are once `after` stands in the place of `before`."""
        indexes = {}
        for field, index in self._indexes.items():
            without = index if before is None else _unindexed(index, field, before)
            indexes[field] = without if after is None else _indexed(without, field, after)
        return indexes


def start(names: Iterable[str]) -> Version:
    """Return the empty state with these collections in it."""
    return Version(0, Map(), Map(), EMPTY).declare(names)


@lru_cache(maxsize=16)
def seeded(records: tuple[SeedRecord, ...], names: tuple[str, ...]) -> Version:
    """Return the state that a run begins with; runs that begin alike share it.

    Several rows of one key are its revisions, in order.
    """
    version = start(names)
    for seed in records:
        identity = (seed.collection, seed.tenant, seed.key)
        revision = version.next_revision(identity)
        record = Record(seed.tenant, seed.collection, seed.key, revision, seed.value)
        version = version.put(0, record)
    return version


def trie_key(identity: RecordId) -> str:
    """Return the identity as one string, no two identities the same one."""
    collection, tenant, key = identity
    return f"{len(collection)}:{collection}{len(tenant)}:{tenant}{key}"


def frozen(where: Mapping[str, JsonValue]) -> Where:
    """Return the conditions with the canonical bytes of their values, so that 1 is not true."""
    return tuple([(field, encode(wanted)) for field, wanted in where.items()])


def matches(value: Json, where: Where) -> bool:
    """Return whether every field is there and equal to what is wanted."""
    fields = value.value()
    return isinstance(fields, dict) and all(
        field in fields and encode(fields[field]) == wanted for field, wanted in where
    )


def _indexed(index: _Index, field: str, record: Record) -> _Index:
    at = _place(field, record)
    return index if at is None else index.set(at, index.get(at, _NO_KEYS).set(record.key, None))


def _unindexed(index: _Index, field: str, record: Record) -> _Index:
    at = _place(field, record)
    return index if at is None else index.set(at, index[at].delete(record.key))


def _place(field: str, record: Record) -> tuple[str, bytes] | None:
    """Return where an index over the field has the record, `None` if it lacks the field."""
    fields = record.value.value()
    if not isinstance(fields, dict) or field not in fields:
        return None
    return record.tenant, encode(fields[field])


def _by_key_and_tenant(record: Record) -> tuple[str, str]:
    return record.key, record.tenant


_NO_KEYS: Map[str, None] = Map()
_NO_RECORDS = Collection(Map(), Map(), {})
