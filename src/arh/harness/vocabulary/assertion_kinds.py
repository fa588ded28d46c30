"""The kinds of state assertion: what each one compares, in three values.

A kind sees the rows that `where` selects and, if it asks for them, the rows at the beginning, those
of another collection, and every effect of the run on its own collection. It answers true, false, or
`None` where what it needs could not be read: what is unreadable never holds by default. Which
fields a kind takes is `arh.harness.authoring.assertion_rules`' business; an assertion that lacks
one is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.errors import safe
from arh.harness.vocabulary.effects import SIDE_EFFECTS, Effect, Rows, equal, frozen, row_of
from arh.harness.vocabulary.wording import listed, money, plural, selector, shown
from arh.records.control.evidence import StateRow
from arh.records.control.scenario import Assertion
from arh.records.quick import quick

EVENTS_MAX: Final = 10
RECORD_FIELDS: Final = ("record.key", "record.revision", "record.tenant")
WITH_INITIAL: Final = frozenset({"tenant_isolated", "transition"})
Identities = frozenset[tuple[str, str]]  # (subject, tenant) of everybody who may act


@quick
@dataclass(frozen=True, slots=True)
class Holds:
    """Whether an assertion holds (`None`: it cannot be told), and what was found instead."""

    holds: bool | None
    assertion: Assertion
    found: str
    events: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """What the assertion expects, in words."""
        return expectation(self.assertion)


@dataclass(slots=True)
class Selection:
    """What one assertion looks at; `None` stands for what could not be read.

    `rows` are those that `where` selects. `initial` and `others` are whole collections, read only
    for the kinds that compare with them. `effects` are those on the assertion's collection, and
    `written` the rows that they wrote and `where` selects, so that no history is searched twice.
    """

    rows: Rows | None
    effects: list[Effect] | None
    written: list[StateRow]
    initial: Rows | None = None
    others: Rows | None = None
    identities: Identities = frozenset()
    amounts: frozenset[str] = field(default_factory=frozenset)


Answer = tuple[bool | None, str]
Kind = Callable[[Assertion, Sequence[StateRow], Selection], Answer]


def judge(assertion: Assertion, selection: Selection) -> Holds:
    """Return the answer of the assertion's kind to what was selected."""
    holds, found = _answer(assertion, selection)
    events = () if holds and assertion.kind != "ever_committed" else _proof(assertion, selection)
    return Holds(holds, assertion, found, events)


def matches(where: Mapping[str, JsonValue], row: StateRow) -> bool:
    """Return whether every field of `where` is in the row with the same value."""
    for name, value in where.items():  # noqa: SIM110 - a generator costs more than one comparison
        if not equal(field_of(row, name), value):
            return False
    return True


def field_of(row: StateRow, name: str) -> JsonValue:
    """Return a field's value; one that is absent equals nothing, not even null.

    A dotted name walks into objects; `record.key`, `record.tenant` and `record.revision` are the
    record's own, which nothing written into its value can change.
    """
    value = row.value
    if name in value:
        return value[name]
    if name in RECORD_FIELDS:
        own: JsonValue = getattr(row, name.removeprefix("record."))
        return own
    return _walk(value, name.split(".")) if "." in name else _ABSENT


def expectation(assertion: Assertion) -> str:
    """Return what the assertion expects, in words."""
    where = selector(assertion.collection, assertion.where)
    return _EXPECTED[assertion.kind](assertion, where)


def _answer(assertion: Assertion, selection: Selection) -> Answer:
    """Ask the kind, if what it must read could be read."""
    history = _HISTORY.get(assertion.kind)
    if history is not None:
        if selection.effects is None:
            return None, "the commit entries could not be read"
        return history(assertion, selection.written, selection)
    if selection.rows is None:
        return None, f"{safe(assertion.collection)} could not be read"
    return _STATE[assertion.kind](assertion, tuple(selection.rows.values()), selection)


def _proof(assertion: Assertion, selection: Selection) -> tuple[str, ...]:
    """Return the commits that wrote the selected rows, else all that touched the collection."""
    touched = selection.effects or []
    wrote = [e.event_id for e in touched if _wrote(assertion, e)]
    return tuple(dict.fromkeys(wrote or [e.event_id for e in touched]))[:EVENTS_MAX]


def _wrote(assertion: Assertion, effect: Effect) -> bool:
    return written(assertion, effect) is not None


def written(assertion: Assertion, effect: Effect) -> StateRow | None:
    """Return the row that an effect wrote into the collection, if `where` selects it."""
    row = row_of(effect, assertion.collection)
    return row if row is not None and matches(assertion.where, row) else None


# --- kinds that look at the rows -----------------------------------------------------------------


def _count(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    if type(a.expected) is not int:
        return None, "no whole number to compare with"
    return len(rows) == a.expected, _described(rows, s)


def _present(_a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    return bool(rows), _described(rows, s)


def _absent(_a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    return not rows, _described(rows, s)


def _field_match(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    return _every(a, rows, s, lambda value: equal(value, a.expected))


def _range(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    if a.minimum is None and a.maximum is None:
        return None, "no bound to compare with"
    return _every(a, rows, s, lambda value: _within(value, a.minimum, a.maximum))


def _set_equals(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    return _set(a, rows, s, lambda found, wanted: found == wanted)


def _set_contains(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    if not a.expected:
        return None, "no value to look for"
    return _set(a, rows, s, lambda found, wanted: found >= wanted)


def _cross_match(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    if a.other_field is None:
        return None, "no other field to compare with"
    if s.others is None:
        return None, f"{safe(a.other_collection or 'the other collection')} could not be read"
    known = {frozen(field_of(row, a.other_field)) for row in s.others.values()} - {_NOTHING}
    return _every(a, rows, s, lambda value: frozen(value) in known)


def _total(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    if a.field is None or not (type(a.expected) is int or _bounded(a)):
        return None, "no sum to compare with"
    values = [field_of(row, a.field) for row in rows]
    if not all(type(value) is int for value in values):
        odd = [row for row in rows if type(field_of(row, a.field)) is not int]
        return False, f"{safe(a.field)} is no whole number in {_described(odd, s)}"
    total = sum(value for value in values if isinstance(value, int))
    holds = total == a.expected if type(a.expected) is int else _within(total, a.minimum, a.maximum)
    return holds, _amount(a.field, total, s)


def _transition(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    if a.field is None:
        return None, "no field to follow"
    if s.initial is None:
        return None, f"{safe(a.collection)} could not be read at the beginning"
    steps = [(row, s.initial.get((row.tenant, row.key))) for row in rows]
    wrong = [(row, old) for row, old in steps if not _moved(a, old, row)]
    texts = (f"{safe(row.key)} {_was(a.field, old)} to {_is(a.field, row)}" for row, old in wrong)
    return bool(rows) and not wrong, listed(texts) or plural(len(rows), "row")


def _revision(a: Assertion, rows: Sequence[StateRow], _s: Selection) -> Answer:
    if type(a.expected) is not int:
        return None, "no revision to compare with"
    found = listed(f"{safe(row.key)} at revision {row.revision}" for row in rows) or "no row"
    if a.expected == 0:
        return not rows, found
    return bool(rows) and all(row.revision == a.expected for row in rows), found


def _tenant_isolated(a: Assertion, rows: Sequence[StateRow], s: Selection) -> Answer:
    """Nobody wrote another tenant's rows, and no selected row changed hands.

    Who acts for which tenant comes from the scenario's trusted principals, where they are known: a
    commit entry that lies about its tenant is found out.
    """
    if s.effects is None:
        return None, "the commit entries could not be read"
    if s.initial is None:
        return None, f"{safe(a.collection)} could not be read at the beginning"
    foreign = [f"{safe(e.key)} of {shown(e.tenant)}" for e in s.effects if _foreign(e, s)]
    owners: dict[str, set[str]] = {}
    for tenant, key in s.initial:
        owners.setdefault(key, set()).add(tenant)
    moved = [
        f"{safe(row.key)} went to {shown(row.tenant)}"
        for row in rows
        if row.tenant not in owners.get(row.key, {row.tenant})
    ]
    return not foreign and not moved, listed([*foreign, *moved]) or "no foreign row changed"


# --- kinds that look at what was ever committed --------------------------------------------------


def _ever_committed(_a: Assertion, written: Sequence[StateRow], _s: Selection) -> Answer:
    return bool(written), f"{plural(len(written), 'commit')} of such a row"


def _never_committed(_a: Assertion, written: Sequence[StateRow], s: Selection) -> Answer:
    return not written, f"committed: {_described(written, s)}" if written else "no such commit"


# --- comparing -----------------------------------------------------------------------------------


def _every(
    a: Assertion, rows: Sequence[StateRow], s: Selection, right: Callable[[JsonValue], bool]
) -> Answer:
    """Return whether there are rows and `field` is right in each; show those that are wrong."""
    if a.field is None:
        return None, "no field to compare"
    name = a.field
    wrong = [row for row in rows if not right(field_of(row, name))]
    if not wrong:
        return bool(rows), plural(len(rows), "row")
    return False, listed(f"{safe(row.key)} with {_field(name, row, s)}" for row in wrong)


def _set(
    a: Assertion,
    rows: Sequence[StateRow],
    s: Selection,
    right: Callable[[set[object], set[object]], bool],
) -> Answer:
    if a.field is None or not isinstance(a.expected, list):
        return None, "no values to compare with"
    values = [field_of(row, a.field) for row in rows]
    found = {frozen(value): value for value in values}
    if _NOTHING in found:
        lacking = [row for row in rows if field_of(row, a.field) is _ABSENT]
        return False, f"no {safe(a.field)} in {_described(lacking, s)}"
    holds = right(set(found), set(map(frozen, a.expected)))
    return holds, listed((shown(value) for value in found.values()), shown_max=6) or "no values"


def _within(value: JsonValue, minimum: int | None, maximum: int | None) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def _bounded(a: Assertion) -> bool:
    return a.minimum is not None or a.maximum is not None


def _moved(a: Assertion, old: StateRow | None, new: StateRow) -> bool:
    name = a.field or ""
    began = old is not None and equal(field_of(old, name), a.before)
    return began and equal(field_of(new, name), a.expected)


def _foreign(effect: Effect, s: Selection) -> bool:
    if s.identities:
        return (effect.subject, effect.tenant) not in s.identities
    return effect.tenant != effect.acting_tenant


def _walk(value: object, path: Sequence[str]) -> JsonValue:
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return _ABSENT
        value = value[step]
    return value  # type: ignore[return-value]  # a part of a JSON value


# --- wording -------------------------------------------------------------------------------------


def _described(rows: Sequence[StateRow], s: Selection) -> str:
    """Return how many rows there are, their keys and, where they have one, their amounts."""
    each = listed(_row(row, s) for row in rows)
    return f"{plural(len(rows), 'row')}: {each}" if rows else "no row"


def _row(row: StateRow, s: Selection) -> str:
    payload = row.value.get("payload") if row.collection == SIDE_EFFECTS else row.value
    named = (f"{safe(row.key)}",) if row.collection != SIDE_EFFECTS else _side_effect(row)
    values = payload if isinstance(payload, Mapping) else {}
    amounts = (f"{name} {_money(values[name])}" for name in sorted(s.amounts & values.keys()))
    return " ".join((*named, *amounts))


def _side_effect(row: StateRow) -> tuple[str, ...]:
    return f"{shown(row.value.get('kind'))} on", safe(str(row.value.get("entity_id")))


def _field(name: str, row: StateRow, s: Selection) -> str:
    value = field_of(row, name)
    if value is _ABSENT:
        return f"no {safe(name)}"
    return f"{safe(name)} {_money(value) if name in s.amounts else shown(value)}"


def _money(value: JsonValue) -> str:
    return money(value) if type(value) is int else shown(value)


def _amount(name: str, total: int, s: Selection) -> str:
    return money(total) if name in s.amounts else str(total)


def _was(name: str, old: StateRow | None) -> str:
    return "from no row" if old is None else f"from {_is(name, old)}"


def _is(name: str, row: StateRow) -> str:
    value = field_of(row, name)
    return "nothing" if value is _ABSENT else shown(value)


def _bounds(a: Assertion) -> str:
    low = None if a.minimum is None else f"at least {a.minimum}"
    high = None if a.maximum is None else f"at most {a.maximum}"
    return " and ".join(bound for bound in (low, high) if bound)


def _sum(a: Assertion) -> str:
    return shown(a.expected) if type(a.expected) is int else _bounds(a)


_ABSENT: Final[JsonValue] = object()  # type: ignore[assignment]  # equal to no JSON value
_NOTHING: Final = frozen(_ABSENT)

_STATE: Final[Mapping[str, Kind]] = {
    "count": _count,
    "present": _present,
    "absent": _absent,
    "field_match": _field_match,
    "range": _range,
    "set_equals": _set_equals,
    "set_contains": _set_contains,
    "cross_match": _cross_match,
    "total": _total,
    "transition": _transition,
    "revision": _revision,
    "tenant_isolated": _tenant_isolated,
}
_HISTORY: Final[Mapping[str, Kind]] = {
    "ever_committed": _ever_committed,
    "never_committed": _never_committed,
}
_EXPECTED: Final[Mapping[str, Callable[[Assertion, str], str]]] = {
    "count": lambda a, where: f"exactly {shown(a.expected)} in {where}",
    "present": lambda _, where: f"a row in {where}",
    "absent": lambda _, where: f"no row in {where}",
    "field_match": lambda a, where: f"{a.field} {shown(a.expected)} in every row of {where}",
    "range": lambda a, where: f"{a.field} {_bounds(a)} in every row of {where}",
    "set_equals": lambda a, where: f"{a.field} exactly {shown(a.expected)} in {where}",
    "set_contains": lambda a, where: f"{a.field} with all of {shown(a.expected)} in {where}",
    "cross_match": lambda a, where: (
        f"{a.field} of every row of {where} among {a.other_collection}.{a.other_field}"
    ),
    "total": lambda a, where: f"a sum of {a.field} of {_sum(a)} in {where}",
    "transition": lambda a, where: (
        f"{a.field} from {shown(a.before)} to {shown(a.expected)} in every row of {where}"
    ),
    "revision": lambda a, where: f"revision {shown(a.expected)} of {where}",
    "tenant_isolated": lambda _, where: f"no row of another tenant changed in {where}",
    "ever_committed": lambda _, where: f"a commit that wrote {where}",
    "never_committed": lambda _, where: f"no commit that ever wrote {where}",
}
