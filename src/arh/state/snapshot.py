"""Snapshots of a state, and the projection of it by which two states are told to be the same.

A snapshot pins a version that the reader keeps, so that taking one costs the same for every state,
and its rows are listed only when somebody asks for them.

The projection is what business sees: without system collections, without revisions, and without the
fields that differ by nature from one time to the next (generated ids, times). It is the root of a
Merkle trie over the distinct projected records with how often each occurs, since two records may
project alike. A `Projection` follows the commit entries, so its digest costs only what was changed
since it was last asked; it is the same as one worked out anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, TypeAlias, final

from arh.canonical import Json, JsonValue, encode
from arh.ports.sue import StateReader
from arh.records.packs import CollectionSpec
from arh.records.state import Change, Record
from arh.state.merkle import EMPTY

_Identity: TypeAlias = "tuple[str, str, str]"  # collection, tenant, key

_SYSTEM: Final = "_"


@final
class Snapshot:
    """The state as it was after one commit; made by `capture`, unchanged by later commits."""

    __slots__ = ("_reader", "_rows", "digest", "sequence")

    def __init__(self, sequence: int, digest: str, pinned: StateReader) -> None:
        """Hold what identifies the state, and where its rows are."""
        self.sequence = sequence
        self.digest = digest
        self._reader = pinned
        self._rows: tuple[Record, ...] | None = None

    @property
    def rows(self) -> tuple[Record, ...]:
        """All records by collection, key and tenant, listed when first asked for."""
        if self._rows is None:
            self._rows = _listed(self._reader)
        return self._rows


def capture(reader: StateReader) -> Snapshot:
    """Return the state as the reader shows it now.

    A reader that cannot show a past state has its rows listed at once.
    """
    sequence = reader.sequence()
    pinned = reader.at(sequence)
    snapshot = Snapshot(sequence, reader.digest(), reader if pinned is None else pinned)
    if pinned is None:
        snapshot._rows = _listed(reader)  # noqa: SLF001 - of this module's own class
    return snapshot


@final
class Projection:
    """The business state behind a reader, kept up to date by what was committed since."""

    __slots__ = ("_counts", "_forms", "_reader", "_sequence", "_specs", "_trie")

    def __init__(self, reader: StateReader, collections: Iterable[CollectionSpec]) -> None:
        """Project the whole state once; collections without a spec have no volatile fields."""
        self._reader = reader
        self._specs = {spec.name: spec for spec in collections}
        self._forms: dict[_Identity, str] = {}
        self._counts: dict[str, int] = {}
        self._trie = EMPTY
        self._sequence = reader.sequence()
        for record in _listed(reader):
            self._set((record.collection, record.tenant, record.key), record.value)

    def digest(self) -> str:
        """Return the digest of the business state as it is now."""
        for entry in self._reader.changes_since(self._sequence):
            for change in entry.changes:
                self._follow(change)
            self._sequence = entry.sequence
        return self._trie.root

    def _follow(self, change: Change) -> None:
        self._set((change.collection, change.tenant, change.key), change.value)

    def _set(self, identity: _Identity, value: Json | None) -> None:
        """Replace a record's projection by that of `value`, or by nothing."""
        if identity[0].startswith(_SYSTEM):
            return
        before = self._forms.pop(identity, None)
        if before is not None:
            self._count(before, -1)
        if value is not None:
            form = _projected(identity, value, self._specs.get(identity[0]))
            self._forms[identity] = form
            self._count(form, 1)

    def _count(self, form: str, difference: int) -> None:
        """Change how often a projected record occurs."""
        count = self._counts.get(form, 0) + difference
        if count:
            self._counts[form] = count
            self._trie = self._trie.put(form, sha256(b"%d" % count).digest())
        else:
            del self._counts[form]
            self._trie = self._trie.remove(form)


def projection_digest(reader: StateReader, collections: tuple[CollectionSpec, ...]) -> str:
    """Return the digest of the business state, worked out anew at the cost of the whole state.

    Whoever asks again and again keeps a `Projection`.
    """
    return Projection(reader, collections).digest()


def _projected(identity: _Identity, value: Json, spec: CollectionSpec | None) -> str:
    """Return the record as canonical text, without volatile fields and a key made of them."""
    collection, tenant, key = identity
    fields: JsonValue = value.value()
    volatile = () if spec is None else spec.volatile
    if isinstance(fields, dict):
        fields = {name: field for name, field in fields.items() if name not in volatile}
    generated = spec is not None and not set(spec.key_fields).isdisjoint(volatile)
    return encode([collection, tenant, None if generated else key, fields]).decode()


def _listed(reader: StateReader) -> tuple[Record, ...]:
    return tuple(record for name in reader.collections() for record in reader.records(name))
