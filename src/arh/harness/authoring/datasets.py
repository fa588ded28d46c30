"""The dataset catalogue: the only way to reference data, verified and digested.

A scenario names a collection, never a path. The catalogue finds `<workflow>/<collection>.jsonl` or,
in the flat layout, `<collection>.jsonl` below its root, reads it once, and digests the very bytes
that it parses. A pin that differs refuses. Every row is held to the pack's declaration of the
collection, so that a bad row is an authoring error and never a strange run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from arh import canonical
from arh.canonical import Json, JsonValue
from arh.errors import AuthoringError, Problem, closest
from arh.harness.authoring.authoring import shown
from arh.harness.authoring.files import LINE_BYTES_MAX, lines, read_inside
from arh.records.control.scenario import DatasetRef
from arh.records.packs import CollectionSpec, WorkflowPack
from arh.records.setup import SeedRecord
from arh.records.state import SHARED_TENANT

KEY_SEPARATOR: Final = "|"
VERSION_FILE: Final = "VERSION"
VERSION_DEFAULT: Final = "1.0"
_VERSION_BYTES_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Dataset:
    """One collection's rows as records to seed, with the digest of the file they were read from.

    `path` is relative to the catalogue's root; `fields` are all fields that occur in a row.
    """

    collection: str
    path: str
    digest: str
    records: tuple[SeedRecord, ...] = field(repr=False)
    fields: frozenset[str] = field(repr=False, default=frozenset())


class DatasetCatalogue:
    """The data of one workflow below one root. Each file is read at most once."""

    def __init__(self, root: Path, pack: WorkflowPack) -> None:
        """Read nothing yet."""
        self._root = root
        self._pack = pack
        self._specs = {spec.name: spec for spec in pack.collections}
        self._loaded: dict[str, Dataset | tuple[Problem, ...]] = {}
        self._version: str | None = None

    def load_verified(self, ref: DatasetRef) -> Dataset:
        """Return the collection that a scenario refers to.

        Raises:
            AuthoringError: It is unknown, unreadable, wrong in any row, or not the one pinned.
        """
        found = self.load(ref.collection)
        problems = found if isinstance(found, tuple) else self.pin_problems(ref)
        if isinstance(found, tuple) or problems:
            raise AuthoringError(*problems)
        return found

    def load(self, collection: str) -> Dataset | tuple[Problem, ...]:
        """Return the collection, or everything that is wrong with it."""
        if collection not in self._loaded:
            self._loaded[collection] = self._read(collection)
        return self._loaded[collection]

    def pin_problems(self, ref: DatasetRef) -> tuple[Problem, ...]:
        """Return how the data differs from what a reference pins, its fields relative to it."""
        found = self.load(ref.collection)
        problems: list[Problem] = []
        if ref.version != self.version:
            problems.append(Problem(ref.version, f"version {self.version}", field="version"))
        if isinstance(found, Dataset) and not found.digest.startswith(ref.content_hash or ""):
            problems.append(
                Problem(
                    str(ref.content_hash),
                    f"the digest of {found.path}, {found.digest}",
                    field="content_hash",
                    hint="the data has drifted: restore it, or review it and pin its digest",
                )
            )
        return tuple(problems)

    @property
    def version(self) -> str:
        """The data's version: what the file VERSION beside it says, else 1.0."""
        if self._version is None:
            texts = (
                read_inside(self._root, path, bytes_max=_VERSION_BYTES_MAX)
                for path in self._places(VERSION_FILE)
            )
            found = next((text for text in texts if isinstance(text, bytes)), b"")
            self._version = found.decode("ascii", "replace").strip() or VERSION_DEFAULT
        return self._version

    @property
    def digests(self) -> tuple[tuple[str, str], ...]:
        """Path and digest of every collection read so far, in order."""
        read = (d for d in self._loaded.values() if isinstance(d, Dataset))
        return tuple(sorted((d.path, d.digest) for d in read))

    def seed_record(self, collection: str, row: dict[str, JsonValue]) -> SeedRecord | Problem:
        """Return the record that a row is, or why it is none."""
        spec = self._specs.get(collection)
        if spec is None:
            return self._unknown(collection)
        return _record(spec, row)

    def _read(self, collection: str) -> Dataset | tuple[Problem, ...]:
        spec = self._specs.get(collection)
        if spec is None or not spec.seeded:
            return (self._unknown(collection),)
        read = [
            (path, read_inside(self._root, path)) for path in self._places(f"{collection}.jsonl")
        ]
        path, data = next(((p, d) for p, d in read if isinstance(d, bytes)), read[0])
        if isinstance(data, Problem):
            hint = f"expected it there or at {self._root / read[-1][0]}"
            return (replace(data, hint=hint),)
        return _dataset(spec, path, data, file=str(self._root / path))

    def _places(self, name: str) -> tuple[PurePosixPath, ...]:
        return (PurePosixPath(self._pack.name, name), PurePosixPath(name))

    def _unknown(self, collection: str) -> Problem:
        known = [name for name, spec in self._specs.items() if spec.seeded]
        hint = closest(collection, known) or f"collections with data: {', '.join(known)}"
        return Problem(collection, "a collection that can be seeded", field="collection", hint=hint)


def _dataset(
    spec: CollectionSpec, path: PurePosixPath, data: bytes, *, file: str
) -> Dataset | tuple[Problem, ...]:
    """Return the data set that the bytes hold, or every wrong row."""
    records: dict[tuple[str, str], tuple[int, SeedRecord]] = {}
    fields: set[str] = set()
    problems: list[Problem] = []
    for number, line in lines(data):
        row = _row(line)
        record = row if isinstance(row, Problem) else _record(spec, row)
        if not isinstance(record, Problem):
            first = records.setdefault((record.tenant, record.key), (number, record))
            record = record if first[0] == number else _duplicate(record.key, first[0])
        if isinstance(record, Problem):
            problems.append(replace(record, file=file, line=number))
        elif isinstance(row, dict):
            fields.update(row)
    if problems:
        return tuple(problems)
    rows = tuple(record for _, record in records.values())
    digest = hashlib.sha256(data).hexdigest()
    return Dataset(spec.name, str(path), digest, rows, frozenset(fields))


def _row(line: bytes) -> dict[str, JsonValue] | Problem:
    try:
        row = canonical.parse(line, size_max=LINE_BYTES_MAX)
    except canonical.Refused as refused:
        at = f" at column {refused.column}" if refused.column else ""
        return Problem(f"not strict JSON: {refused.reason}{at}", field=refused.path)
    return row if isinstance(row, dict) else Problem(shown(row), "an object, one row a line")


def _record(spec: CollectionSpec, row: dict[str, JsonValue]) -> SeedRecord | Problem:
    """Return a row as the record it seeds; a row without a tenant is shared by all."""
    problem = next(_row_problems(spec, row), None)
    if problem is not None:
        return problem
    key = KEY_SEPARATOR.join(str(row[name]) for name in spec.key_fields)
    tenant = row.get(spec.tenant_field, SHARED_TENANT) if spec.tenant_field else SHARED_TENANT
    return SeedRecord(str(tenant), spec.name, key, Json.of(row))


def _row_problems(spec: CollectionSpec, row: dict[str, JsonValue]) -> Iterator[Problem]:
    for name in spec.key_fields:
        value = row.get(name)
        if not _is_key(value):
            yield Problem(
                "" if value is None else shown(value), "a text or a whole number as key", field=name
            )
        elif len(spec.key_fields) > 1 and KEY_SEPARATOR in str(value):
            yield Problem(shown(value), f"a key without {KEY_SEPARATOR}", field=name)
    tenant = row.get(spec.tenant_field or "", SHARED_TENANT)
    if not isinstance(tenant, str) or not tenant:
        yield Problem(shown(tenant), "the name of a tenant", field=spec.tenant_field or "")
    for name in row if spec.fields else ():
        if name not in spec.fields:
            hint = closest(name, spec.fields) or f"fields: {', '.join(spec.fields)}"
            yield Problem(f"{spec.name} has no such field", field=name, hint=hint)


def _is_key(value: JsonValue) -> bool:
    return type(value) is int or (isinstance(value, str) and bool(value))


def _duplicate(key: str, first: int) -> Problem:
    return Problem(
        key,
        f"a key that line {first} does not have already",
        hint="a later revision of a row belongs into the scenario's runtime.changes",
    )
