"""The mirror of a team's own system in a run's store: readings become records, changes and entries.

The team says how rows are read; here each reading is turned into records and held against the one
before it. What differs is entered into the store as a commit of its own, under the operation that
brought it about, so that everything which judges states judges these as well. The mirror is read
only: a tool that changes such a collection does so at the system itself.

A reading is foreign code and may fail, hang or lie. It runs in a thread of its own, bounded in
time, rows and bytes; the one after a failure connects anew. What was not read at the beginning
stays unread, because nobody could say what changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, final

from arh.canonical import Json, JsonValue, Refused, digest
from arh.ports.sue import StateReader
from arh.records.external import ExternalState, Observation, Point, Reading, Row
from arh.records.packs import CollectionSpec, WorkflowPack
from arh.records.setup import SeedRecord
from arh.records.state import SHARED_TENANT, CommitEntry, Operation
from arh.state.link import Failure, Link
from arh.state.store import MemoryStore
from arh.state.versions import RecordId

ROWS_MAX: Final = 100_000
BYTES_MAX: Final = 64_000_000
KEY_SEPARATOR: Final = "|"
OPERATIONS: Final = "_operations"

Records: TypeAlias = dict[RecordId, Json]
Attempt: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Wall:
    """This machine's time, as far as reading outside systems needs it."""

    now_ms: Callable[[], float]
    wait: Callable[[int], object]


@dataclass(slots=True)
class _Known:
    """What the mirror knows of the run: the last records, the operations, how far it must read.

    Operations are found by tenant and key, and by the key alone; those in `sent` are in the order
    in which the store last heard of them.
    """

    records: Records = field(default_factory=dict)
    revision: int = 0
    wanted: int = 0
    operations: dict[tuple[str, str], Operation] = field(default_factory=dict)
    sequence: int = 0
    sent: dict[str, Operation] = field(default_factory=dict)


@final
class Mirror:
    """One external source in one run."""

    def __init__(
        self,
        spec: ExternalState,
        collections: Iterable[CollectionSpec],
        *,
        address: str,
        wall: Wall,
    ) -> None:
        """Connect nowhere yet."""
        self.spec = spec
        self._specs = {each.name: each for each in collections if each.name in spec.collections}
        self._address = address
        self._wall = wall
        self._link = Link(lambda: spec.connect(address))
        self._known = _Known()
        self._problem = ""
        self.started: Observation | None = None

    def start(self, seeds: Sequence[SeedRecord]) -> tuple[SeedRecord, ...]:
        """Bring the system to its first rows, read it, and return them as records.

        `started` says how that went; without success the collections are unread in this run.
        """
        failure = self._prepare(seeds)
        found: _Found | None
        found, observation = (
            (None, self._unmet("start", failure, 0)) if failure else self._settled("start")
        )
        self.started = observation
        if found is None or not observation.met:
            self._problem = "unread"
            return ()
        self._known.records = found.records
        self._known.revision = found.revision
        return tuple(
            SeedRecord(tenant, collection, key, value)
            for (collection, tenant, key), value in sorted(found.records.items())
        )

    def observe(
        self, store: MemoryStore, point: Point, attempts: Sequence[Attempt]
    ) -> Observation | None:
        """Read the system and enter what changed into the store; `None` if it is not read now."""
        for entry in store.reader().changes_since(self._known.sequence):
            self._follow(entry)
        for attempt in attempts:
            self._note(attempt)
        if point == "attempt" and not self.spec.every_attempt:
            return None
        if self._problem == "unread":
            return Observation(self.spec.name, point, met=False, attempts=0, problem="unread")
        found, observation = self._settled(point)
        if found is None:
            self._problem = self._problem or observation.problem
            return observation
        entries = self._enter(store, found)
        met = observation.met and (point != "end" or not self._problem)
        problem = observation.problem or (self._problem if point == "end" else "")
        return replace(observation, met=met, problem=problem, entries=entries)

    def close(self) -> None:
        """Let the source go."""
        self._link.close()

    def _prepare(self, seeds: Sequence[SeedRecord]) -> str:
        """Bring the system to the rows that the run begins with, or return what went wrong."""
        prepare = self.spec.prepare
        if prepare is None:
            return ""
        rows: dict[str, list[Row]] = {name: [] for name in self.spec.collections}
        for seed in seeds:
            value = seed.value.value()
            if isinstance(value, dict):
                rows[seed.collection].append(value)
        limit = self.spec.consistency.deadline_ms
        done = self._link.run(lambda: prepare(self._address, rows), limit)
        return done.problem if isinstance(done, Failure) else ""

    def _settled(self, point: Point) -> tuple[_Found | None, Observation]:
        """Read until the source has come far enough, or for as long as it may take.

        After an attempt one reading is enough; at both ends it must stand still at its watermark.
        """
        limits, known = self.spec.consistency, self._known
        end = self._wall.now_ms() + limits.deadline_ms
        found: _Found | None = None
        problem, attempts, alike = "timeout", 0, 0
        while attempts < limits.attempts_max and (left := end - self._wall.now_ms()) > 0:
            attempts += 1
            before = found
            read = self._read(int(left) + 1)
            if isinstance(read, str):
                problem, found, alike = read, None, 0
            else:
                found = read
                alike = alike + 1 if before is not None and before.digest == found.digest else 1
                reached = found.revision >= max(known.wanted, found.watermark)
                problem = "late" if not reached else "restless"
                if point == "attempt" or (reached and alike >= limits.quiet_reads):
                    return found, self._met(point, attempts, found)
            self._wall.wait(limits.interval_ms)
        return found, self._unmet(point, problem, attempts, found)

    def _read(self, limit_ms: int) -> _Found | str:
        """Return one reading as records, or a word for what is wrong with it."""
        read = self._link.use(lambda source: self._taken(source.read()), limit_ms)
        if isinstance(read, Failure):
            return read.problem
        if isinstance(read, str):
            return read
        if read.revision < self._known.revision:
            return "ran_back"
        return read

    def _taken(self, reading: object) -> _Found | str:
        """Return what was read as records, still on the source's own thread."""
        if not isinstance(reading, Reading):
            return "unreadable"
        if type(reading.revision) is not int or type(reading.watermark) is not int:
            return "unreadable"
        try:
            records = self._records(reading)
        except (_NoRecordError, Refused, TypeError, ValueError, AttributeError):
            return "unreadable"
        seen = digest([reading.revision, [[*at, v.digest] for at, v in sorted(records.items())]])
        return _Found(reading.revision, reading.watermark, records, seen)

    def _records(self, reading: Reading) -> Records:
        found: Records = {}
        size = 0
        if set(reading.rows) != set(self._specs):
            raise _NoRecordError
        for name, spec in self._specs.items():
            for row in reading.rows[name]:
                at, value = _record(spec, dict(row))
                size += len(value.data)
                if at in found or len(found) >= ROWS_MAX or size > BYTES_MAX:
                    raise _NoRecordError
                found[at] = value
        return found

    def _enter(self, store: MemoryStore, found: _Found) -> tuple[int, ...]:
        """Enter what is different now, grouped by the operation that it belongs to."""
        before = self._known.records
        changed: dict[Operation, list[tuple[RecordId, Json | None]]] = {}
        for at in sorted({*before, *found.records}):
            old, new = before.get(at), found.records.get(at)
            if old != new:
                changed.setdefault(self._whose(at, new), []).append((at, new))
        self._known.records = found.records
        self._known.revision = found.revision
        return tuple(store.observed(whose, changes) for whose, changes in changed.items())

    def _whose(self, at: RecordId, value: Json | None) -> Operation:
        """Return the operation that a change belongs to; without one it came from outside."""
        named, known = self.spec.operation_field, self._known
        operation = next(reversed(known.sent.values()), None)
        if named is not None and value is not None:
            fields = value.value()
            key = fields.get(named) if isinstance(fields, dict) else None
            found = known.operations
            operation = found.get((at[1], str(key))) or found.get(("", str(key)))
        return _outside(self.spec.name, at[1]) if operation is None else operation

    def _follow(self, entry: CommitEntry) -> None:
        """Remember an operation of the source's tools: its intent is entered before it goes out.

        So the operation of a call that is still under way, perhaps another actor's, is known too.
        """
        operation, known = entry.operation, self._known
        known.sequence = entry.sequence
        if operation.tool not in self.spec.tools or not operation.operation_id:
            return
        known.sent.pop(operation.operation_id, None)
        places = ((operation.tenant, operation.key), ("", operation.key))
        if any(c.collection == OPERATIONS and c.value is None for c in entry.changes):
            for place in places:  # it was taken back: nothing was done under it
                known.operations.pop(place, None)
            return
        known.sent[operation.operation_id] = operation
        known.operations.update(dict.fromkeys(places, operation))

    def _note(self, attempt: Attempt) -> None:
        """Remember how far the result of one of the source's tools says that a reader must come."""
        named, result = self.spec.watermark_field, attempt["result"]
        if named is None or attempt["tool"] not in self.spec.tools:
            return
        revision = result.get(named) if isinstance(result, Mapping) else None
        if type(revision) is int:
            self._known.wanted = max(self._known.wanted, revision)

    def _met(self, point: Point, attempts: int, found: _Found) -> Observation:
        return Observation(
            self.spec.name,
            point,
            met=True,
            attempts=attempts,
            revision=found.revision,
            watermark=max(self._known.wanted, found.watermark),
            deadline_ms=self.spec.consistency.deadline_ms,
        )

    def _unmet(
        self, point: Point, problem: str, attempts: int, found: _Found | None = None
    ) -> Observation:
        return Observation(
            self.spec.name,
            point,
            met=False,
            attempts=attempts,
            revision=0 if found is None else found.revision,
            watermark=max(self._known.wanted, 0 if found is None else found.watermark),
            problem=problem,
            deadline_ms=self.spec.consistency.deadline_ms,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """One reading as records; equal digests mean equal readings."""

    revision: int
    watermark: int
    records: Records
    digest: str


class _NoRecordError(ValueError):
    """A row is no record, there are too many, or a collection is missing."""


@final
class Mirrors:
    """Every external source of one run."""

    def __init__(self, mirrors: Sequence[Mirror] = ()) -> None:
        """Hold them in the pack's order; without any, nothing is read."""
        self._mirrors = tuple(mirrors)
        self._store: MemoryStore | None = None

    @classmethod
    def of(
        cls,
        pack: WorkflowPack,
        addresses: Mapping[str, str],
        wall: Wall,
    ) -> Mirrors:
        """Return the mirrors of all sources that the pack declares."""
        return cls(
            [
                Mirror(
                    spec,
                    pack.collections,
                    address=addresses.get(spec.name, spec.address),
                    wall=wall,
                )
                for spec in pack.external
            ]
        )

    def start(self, seeds: tuple[SeedRecord, ...]) -> tuple[SeedRecord, ...]:
        """Read all for the first time, and return everything that the store begins with."""
        if not self._mirrors:
            return seeds
        specs = [mirror.spec for mirror in self._mirrors]
        ours, theirs = seeds_of(seeds, specs)
        found = list(ours)
        for mirror in self._mirrors:
            found += mirror.start(theirs[mirror.spec.name])
        return tuple(found)

    def enter_into(self, store: MemoryStore) -> None:
        """Let the store show what is read, from now on."""
        store.mirror(name for mirror in self._mirrors for name in mirror.spec.collections)
        self._store = store

    def observe(self, point: Point, attempts: Sequence[Attempt]) -> tuple[Observation, ...]:
        """Return how each reading went; at the start, how it went when the store was seeded."""
        if point == "start":
            return tuple(m.started for m in self._mirrors if m.started is not None)
        if self._store is None:
            return ()
        return tuple(observe_all(self._mirrors, self._store, point, attempts))

    def close(self) -> None:
        """Let all sources go."""
        for mirror in self._mirrors:
            mirror.close()


def _record(spec: CollectionSpec, row: dict[str, JsonValue]) -> tuple[RecordId, Json]:
    """Return a row as the record that it is; one without a tenant is shared by all."""
    keys = [row.get(name) for name in spec.key_fields]
    if not all(type(key) is int or (isinstance(key, str) and key) for key in keys):
        raise _NoRecordError
    tenant = row.get(spec.tenant_field, SHARED_TENANT) if spec.tenant_field else SHARED_TENANT
    if not isinstance(tenant, str) or not tenant:
        raise _NoRecordError
    return (spec.name, tenant, KEY_SEPARATOR.join(map(str, keys))), Json.of(row)


def _outside(name: str, tenant: str) -> Operation:
    """Return what stands for a change that no attempt of the run accounts for."""
    return Operation("", "", name, "", "", "", "", tenant)


def seeds_of(
    seeds: Iterable[SeedRecord], specs: Sequence[ExternalState]
) -> tuple[tuple[SeedRecord, ...], dict[str, tuple[SeedRecord, ...]]]:
    """Return the seeds of our own collections, and those of each source by its name."""
    owner = {collection: spec.name for spec in specs for collection in spec.collections}
    ours: list[SeedRecord] = []
    theirs: dict[str, list[SeedRecord]] = {spec.name: [] for spec in specs}
    for seed in seeds:
        (theirs[owner[seed.collection]] if seed.collection in owner else ours).append(seed)
    return tuple(ours), {name: tuple(rows) for name, rows in theirs.items()}


def observe_all(
    mirrors: Iterable[Mirror], store: MemoryStore, point: Point, attempts: Sequence[Attempt]
) -> Iterator[Observation]:
    """Yield how the reading of each source went, having entered what changed."""
    for mirror in mirrors:
        seen = mirror.observe(store, point, attempts)
        if seen is not None:
            yield seen


@final
class OutsideState:
    """A team's own system on its own, as an `arh.ports.sue.StateReader` that is read on demand."""

    def __init__(
        self, spec: ExternalState, collections: Iterable[CollectionSpec], wall: Wall
    ) -> None:
        """Read nothing yet."""
        self._mirror = Mirror(spec, collections, address=spec.address, wall=wall)
        self._store = MemoryStore(_Still())
        self._names = spec.collections
        self._begun = False

    def read(self) -> Observation | None:
        """Read the system up to its consistency point; what changed since is entered."""
        if self._begun:
            return self._mirror.observe(self._store, "end", ())
        self._store.seed(self._mirror.start(()), self._names)
        self._begun = True
        return self._mirror.started

    def reader(self) -> StateReader:
        """Return a reader of what was read so far, always current."""
        return self._store.reader()

    def close(self) -> None:
        """Let the system go."""
        self._mirror.close()


class _Still:
    """A clock for what belongs to no run."""

    def now_ms(self) -> int:
        return 0
