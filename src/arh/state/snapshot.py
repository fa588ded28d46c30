"""Snapshots of a state, and the projection of it by which two states are told to be the same.

A snapshot pins a version that the reader keeps, so that taking one costs the same for every state,
and its rows are listed only when somebody asks for them.

The projection is what business sees: without system collections, without revisions, and without the
fields that differ by nature from one time to the next (generated ids, times). It is the root of a
Merkle trie over the distinct projected records with how often each occurs, since two records may
project alike. A `Projection` follows the commit entries, so its digest costs only what was changed
since it was last asked; it is the same as one worked out anew. Runs that begin alike share their
first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final, TypeAlias, final

from immutables import Map

from arh.canonical import Json, JsonValue, encode
from arh.ports.sue import StateReader
from arh.records.packs import CollectionSpec
from arh.records.state import Change, Record
from arh.state.merkle import EMPTY, Trie
from arh.state.store import VersionReader

_Identity: TypeAlias = "tuple[str, str, str]"  # collection, tenant, key

_SYSTEM: Final = "_"
_STARTS_MAX: Final = 16


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

    __slots__ = ("_forms", "_reader", "_sequence", "_specs")

    def __init__(self, reader: StateReader, collections: Iterable[CollectionSpec]) -> None:
        """Project the whole state once; collections without a spec have no volatile fields."""
        specs = tuple(collections)
        self._reader = reader
        self._specs = {spec.name: spec for spec in specs}
        self._sequence = reader.sequence()
        self._forms = _begun(reader, specs)

    def digest(self) -> str:
        """Return the digest of the business state as it is now."""
        for entry in self._reader.changes_since(self._sequence):
            for change in entry.changes:
                self._follow(change)
            self._sequence = entry.sequence
        return self._forms.trie.root

    def _follow(self, change: Change) -> None:
        identity = (change.collection, change.tenant, change.key)
        self._forms = self._forms.with_value(identity, change.value, self._specs)


@final
class _Forms:
    """The projected records of one state: whose they are, how often each occurs, their digest."""

    __slots__ = ("_counts", "_of", "trie")

    def __init__(self, of: Map[_Identity, str], counts: Map[str, int], trie: Trie) -> None:
        self._of = of
        self._counts = counts
        self.trie = trie

    def with_value(
        self, identity: _Identity, value: Json | None, specs: Mapping[str, CollectionSpec]
    ) -> _Forms:
        """Return the forms with a record's projection made that of `value`, or taken out."""
        if identity[0].startswith(_SYSTEM):
            return self
        before = self._of.get(identity)
        without = self if before is None else self._counted(self._of.delete(identity), before, -1)
        if value is None:
            return without
        form = _projected(identity, value, specs.get(identity[0]))
        return without._counted(without._of.set(identity, form), form, 1)  # noqa: SLF001 - its own

    def _counted(self, of: Map[_Identity, str], form: str, difference: int) -> _Forms:
        """Return the forms in which one occurs that much more often."""
        count = self._counts.get(form, 0) + difference
        if not count:
            return _Forms(of, self._counts.delete(form), self.trie.remove(form))
        leaf = sha256(b"%d" % count).digest()
        return _Forms(of, self._counts.set(form, count), self.trie.put(form, leaf))


def _begun(reader: StateReader, specs: tuple[CollectionSpec, ...]) -> _Forms:
    """Return the forms of the state as it is, once for equal states of our own store.

    Only the digest of our own store is known to tell any two states apart.
    """
    if not isinstance(reader, VersionReader):
        return _formed(reader, specs)
    key = (reader.digest(), specs)
    forms = _STARTS.get(key)
    if forms is None:
        forms = _formed(reader, specs)
        if len(_STARTS) >= _STARTS_MAX:
            _STARTS.clear()
        _STARTS[key] = forms
    return forms


def _formed(reader: StateReader, specs: tuple[CollectionSpec, ...]) -> _Forms:
    """Return the forms of the state, from every record of it."""
    by_name = {spec.name: spec for spec in specs}
    forms = _Forms(Map(), Map(), EMPTY)
    for record in _listed(reader):
        identity = (record.collection, record.tenant, record.key)
        forms = forms.with_value(identity, record.value, by_name)
    return forms


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


_STARTS: dict[tuple[str, tuple[CollectionSpec, ...]], _Forms] = {}
