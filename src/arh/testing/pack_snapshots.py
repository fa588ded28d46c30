"""Whether the states of a pack survive being written out as rows and seeded again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arh.canonical import Json, line, parse
from arh.errors import Problem
from arh.records.control.evidence import StateRow
from arh.records.packs import CollectionSpec
from arh.records.setup import SeedRecord
from arh.sim.clock import VirtualClock
from arh.state.snapshot import Projection
from arh.state.store import MemoryStore
from arh.testing.pack_bench import PackBench, Ran

SYSTEM: Final = "_"


def round_trips(bench: PackBench) -> Iterator[tuple[str, str]]:
    """Yield each run with what its last state loses on the way."""
    for one in bench.runs:
        yield one.id, _lost(bench, one)


def _lost(bench: PackBench, one: Ran) -> str:
    """Return what is lost: a row that is none, a record under another key, or the state itself."""
    specs = {spec.name: spec for spec in bench.pack.collections}
    seeds: list[SeedRecord] = []
    for row in _rows(one):
        seed = _seeded(bench, row, specs.get(row.collection))
        if isinstance(seed, str):
            return seed
        seeds.append(seed)
    store = MemoryStore(VirtualClock())
    store.seed(seeds, list(specs))
    again = Projection(store.reader(), bench.pack.collections).digest()
    return "" if again == one.system.projection() else "it is another state afterwards"


def _rows(one: Ran) -> Iterator[StateRow]:
    final = one.output.evidence.final
    for name, rows in ({} if final is None else final.collections).items():
        if not name.startswith(SYSTEM):
            yield from rows


def _seeded(bench: PackBench, row: StateRow, spec: CollectionSpec | None) -> SeedRecord | str:
    """Return the record that the row is once it was written out and read, or why it is another."""
    shown = f"{row.collection} {row.key}"
    value = parse(line(dict(row.value)))
    if spec is None or not isinstance(value, dict):
        return f"{shown} is in a collection that the pack does not declare"
    seed = bench.suite.catalogue.seed_record(row.collection, value)
    if isinstance(seed, Problem):
        return f"{shown} is no row of its collection: {seed}"
    if seed.key != row.key:
        return f"{shown} has the key {seed.key} by its `key_fields`"
    if spec.tenant_field and seed.tenant != row.tenant:
        return f"{shown} belongs to {row.tenant}, and by its row to {seed.tenant}"
    return SeedRecord(row.tenant, row.collection, seed.key, Json.of(value))
