"""What the commits of a run did to its records, one effect a record and commit, in order.

Effects are read off the store's own commit entries and nothing else, so they keep what the end
state forgets: a record that was written and later removed has two of them. Bookkeeping of the
store (collections that begin with `_`) is no business effect. A commit that cannot be read makes
all of them unreadable: half a history proves nothing about what never happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arh.canonical import JsonValue
from arh.records.control.evidence import CommitEvidence, StateRow, StateView
from arh.records.packs import WorkflowPack
from arh.records.quick import quick
from arh.records.tools import ToolManifest

SIDE_EFFECTS: Final = "side_effects"

Place = tuple[str, str]  # tenant and key: what identifies a row in its collection
Rows = dict[Place, StateRow]


@quick
@dataclass(frozen=True, slots=True)
class Effect:
    """One record as one commit left it; `row` is `None` where the commit removed it."""

    collection: str
    tenant: str
    key: str
    created: bool
    row: StateRow | None
    operation_id: str
    tool: str
    subject: str
    acting_tenant: str
    sequence: int
    event_id: str

    @property
    def business(self) -> bool:
        """True unless this is bookkeeping of the store."""
        return not self.collection.startswith("_")

    @property
    def place(self) -> Place:
        """What identifies the record in its collection."""
        return self.tenant, self.key


@quick
@dataclass(frozen=True, slots=True)
class RowChange:
    """One step of one record; without events, nothing that was committed accounts for it."""

    collection: str
    key: str
    before: StateRow | None
    after: StateRow | None
    events: tuple[str, ...] = ()

    def fields(self) -> tuple[str, ...]:
        """Return the top-level fields that differ, in order; none for a new or removed record."""
        if self.before is None or self.after is None:
            return ()
        old, new = self.before.value, self.after.value
        return tuple(name for name in sorted({*old, *new}) if not same(old, new, name))


def effects(commits: Iterable[CommitEvidence]) -> tuple[Effect, ...] | None:
    """Return every effect of the commits in order, or `None` if one of them cannot be read."""
    found: list[Effect] = []
    for commit in commits:
        for change in commit.changes:
            effect = _effect(commit, change)
            if effect is None:
                return None
            found.append(effect)
    return tuple(found)


def side_effect(effect: Effect) -> StateRow:
    """Return the effect as a row of the derived collection `side_effects`."""
    value: dict[str, JsonValue] = {
        "seq": effect.sequence,
        "kind": effect.tool,
        "entity_id": effect.key,
        "collection": effect.collection,
        "operation_id": effect.operation_id,
        "payload": dict(effect.row.value) if effect.row is not None else {},
    }
    key = f"{effect.sequence:>06}/{effect.collection}/{effect.key}"
    return StateRow(effect.tenant, SIDE_EFFECTS, key, 1, "", value)


def row_of(effect: Effect, collection: str) -> StateRow | None:
    """Return what the effect wrote into the collection, `None` if that is nothing."""
    if collection == SIDE_EFFECTS:
        return side_effect(effect) if effect.business else None
    return effect.row if effect.collection == collection else None


def row_changes(
    initial: StateView, found: Iterable[Effect], final: StateView
) -> Iterator[RowChange]:
    """Yield every step of every business record, then what the commits leave unexplained.

    The steps follow the commits, so that a record which was changed and changed back shows twice.
    """
    states: dict[str, Rows] = {}
    for effect in found:
        if not effect.business:
            continue
        if effect.collection not in states:
            states[effect.collection] = _rows(initial, effect.collection)
        rows = states[effect.collection]
        before = rows.pop(effect.place, None)
        if effect.row is not None:
            rows[effect.place] = effect.row
        yield RowChange(effect.collection, effect.key, before, effect.row, (effect.event_id,))
    first, last = initial.collections, final.collections
    for name in sorted({*first, *last, *states}):
        # What no commit touched is the very same tuple at the end, and is not compared.
        untouched = name not in states and last.get(name) is first.get(name)
        if not untouched and not name.startswith("_"):
            yield from _unexplained(name, states.get(name), initial, final)


def logical_effects(found: Iterable[Effect], pack: WorkflowPack) -> tuple[tuple[Effect, ...], ...]:
    """Return the effects of each logical operation: more than one is a duplicate.

    A new record counts for its business key, if its collection has one and its tool may not be
    repeated; whatever else a commit changes counts once, for its operation.
    """
    business = pack.business_keys
    by_key: dict[object, list[Effect]] = {}
    others: dict[tuple[str, int], Effect] = {}
    keyed: set[tuple[str, int]] = set()
    for effect in found:
        commit = (effect.operation_id, effect.sequence)
        fields = () if _is_repeatable(effect.tool, pack) else business.get(effect.collection)
        if fields and effect.created and effect.row is not None:
            values = tuple(frozen(effect.row.value.get(name)) for name in fields)
            by_key.setdefault((effect.collection, effect.tenant, values), []).append(effect)
            keyed.add(commit)
        elif effect.business:
            others.setdefault(commit, effect)
    for commit, effect in others.items():
        if commit not in keyed:
            by_key.setdefault(commit[0], []).append(effect)
    return tuple(map(tuple, by_key.values()))


def _is_repeatable(tool: str, pack: WorkflowPack) -> bool:
    manifest = pack.manifests.get(tool)
    return manifest is not None and manifest.repeatable


def manifests(pack: WorkflowPack) -> Mapping[str, ToolManifest]:
    """Return the pack's tool manifests by name."""
    return pack.manifests


def by_operation(commits: Iterable[CommitEvidence]) -> dict[str, list[CommitEvidence]]:
    """Return the effective commit entries by operation; one without an id has none."""
    found: dict[str, list[CommitEvidence]] = {}
    for commit in commits:
        if commit.operation_id and commit.effective:
            found.setdefault(commit.operation_id, []).append(commit)
    return found


def broken_chain(initial: StateView, commits: Sequence[CommitEvidence], final: StateView) -> str:
    """Return where the commit entries stop leading from the first to the last state, or nothing."""
    digest = initial.digest
    for commit in commits:
        if commit.state_before != digest:
            return f"commit {commit.sequence} begins at another state than the one before it left"
        digest = commit.state_after
    if final.digest != digest:
        return "the last state is not the one that the last commit left"
    return ""


def equal(one: JsonValue, other: JsonValue) -> bool:
    """Return whether two JSON values are the same: true is not 1, and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        for key, value in one.items():  # noqa: SIM110 - see `matches`
            if not equal(value, other[key]):
                return False
        return True
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def same(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue], field: str) -> bool:
    """Return whether a field is absent from both, or in both with the same value."""
    if field in one and field in other:
        return equal(one[field], other[field])
    return field not in one and field not in other


def frozen(value: JsonValue) -> object:
    """Return a hashable stand-in; two of them are equal exactly if the values are `equal`."""
    if isinstance(value, dict):
        return "object", frozenset((key, frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return "list", tuple(map(frozen, value))
    return type(value).__name__, value


def _effect(commit: CommitEvidence, change: Mapping[str, Any]) -> Effect | None:
    """Read one change, or return `None` if it is not one."""
    try:
        collection, tenant, key = change["collection"], change["tenant"], change["key"]
        before, after = change["revision_before"], change["revision_after"]
        value, digest = change["value"], change["digest_after"]
    except (KeyError, TypeError):
        return None
    row = None
    if isinstance(value, Mapping) and digest:
        row = StateRow(tenant, collection, key, after, digest, value)
    elif value is not None or digest:
        return None
    if not (isinstance(collection, str) and isinstance(tenant, str) and isinstance(key, str)):
        return None
    return Effect(
        collection=collection,
        tenant=tenant,
        key=key,
        created=before == 0,
        row=row,
        operation_id=commit.operation_id,
        tool=commit.tool,
        subject=commit.subject,
        acting_tenant=commit.tenant,
        sequence=commit.sequence,
        event_id=commit.event_id,
    )


def _rows(view: StateView, collection: str) -> Rows:
    return {(row.tenant, row.key): row for row in view.rows(collection) or ()}


def _unexplained(
    name: str, replayed: Rows | None, initial: StateView, final: StateView
) -> Iterator[RowChange]:
    """Yield the rows of one collection that are not at the end what the commits made of them."""
    last = final.rows(name)
    if last is None:
        return
    expected = _rows(initial, name) if replayed is None else replayed
    found = {(row.tenant, row.key): row for row in last}
    moved = [p for p in {*expected, *found} if expected.get(p) is not found.get(p)]
    for place in sorted(moved):
        before, after = expected.get(place), found.get(place)
        if not _same_row(before, after):
            yield RowChange(name, place[1], before, after)


def _same_row(one: StateRow | None, other: StateRow | None) -> bool:
    """Compare revision and value: views name digests by rules of their own."""
    if one is None or other is None:
        return one is other
    return one.revision == other.revision and equal(dict(one.value), dict(other.value))
