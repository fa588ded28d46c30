"""State assertions: typed predicates over authoritative state, and invariants kept through a run.

`evaluate` judges one assertion at the end of a run, from the evidence. `Invariants` follows several
through a run at the cost of each change and not of the whole state; the runner uses it live,
through `InvariantChecker`, and the outcome evaluator again on the written evidence. All of them end
in `arh.harness.vocabulary.assertion_kinds`, so that what stops a run and what judges it cannot
differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from arh.harness.vocabulary.assertion_kinds import (
    WITH_INITIAL,
    Holds,
    Identities,
    Selection,
    judge,
    matches,
    written,
)
from arh.harness.vocabulary.effects import (
    SIDE_EFFECTS,
    Effect,
    RowChange,
    Rows,
    effects,
    row_changes,
)
from arh.ports.sue import StateReader
from arh.records.control.evidence import CommitEvidence, StateRow, StateView
from arh.records.control.scenario import Assertion
from arh.records.quick import quick
from arh.records.state import Change, CommitEntry, Record

Source = Callable[[str], Iterable[StateRow] | None]

_BADNESS: Final = {True: 0, None: 1, False: 2}


class States:
    """The states of one run, first and last, and what was committed between them.

    `identities` are the (subject, tenant) pairs that may act; without any, a commit entry is
    believed about its own tenant. `amounts` names the fields that hold money.
    """

    def __init__(
        self,
        initial: StateView | None,
        final: StateView | None,
        commits: Sequence[CommitEvidence],
        *,
        identities: Identities = frozenset(),
        amounts: frozenset[str] = frozenset(),
    ) -> None:
        """Hold what was read; what follows from it is worked out when it is first asked for."""
        self.initial, self.final, self.commits = initial, final, tuple(commits)
        self.identities, self.amounts = identities, amounts

    @cached_property
    def effects(self) -> tuple[Effect, ...] | None:
        """Every effect in order, or `None` if the commit entries cannot be read."""
        return effects(self.commits)

    def on(self, collection: str) -> list[Effect] | None:
        """Return the effects on a collection, in order, or `None` if they cannot be read."""
        if self.effects is None:
            return None
        if collection == SIDE_EFFECTS:
            return [effect for effect in self.effects if effect.business]
        return [effect for effect in self.effects if effect.collection == collection]

    @cached_property
    def changes(self) -> tuple[RowChange, ...] | None:
        """Every step of every business record, or `None` if a state or a commit is unreadable."""
        if self.initial is None or self.final is None or self.effects is None:
            return None
        return tuple(row_changes(self.initial, self.effects, self.final))


def evaluate(assertion: Assertion, states: States) -> Holds:
    """Return whether the assertion holds at the end of the run; `None` if that cannot be read."""
    return judge(assertion, _at_end(assertion, states))


def _at_end(a: Assertion, states: States) -> Selection:
    """Return what the assertion looks at, read off both states and the whole history."""
    history = states.on(a.collection)
    found = [row for e in history or () if (row := written(a, e)) is not None]
    selection = Selection(
        None, history, found, identities=states.identities, amounts=states.amounts
    )
    if a.kind in WITH_INITIAL:
        selection.initial = _rows(_source(states.initial)(a.collection))
    _select(a, selection, _source(states.final))
    return selection


@quick
@dataclass(frozen=True, slots=True)
class InvariantResult:
    """One check of one invariant."""

    name: str
    answer: Holds

    @property
    def holds(self) -> bool | None:
        """Whether it held; `None` if that could not be read."""
        return self.answer.holds

    @property
    def found(self) -> str:
        """What was found, in words."""
        return self.answer.found


class Invariants:
    """Assertions that must hold at every moment, followed change by change."""

    def __init__(
        self, assertions: Iterable[Assertion], *, identities: Identities, amounts: frozenset[str]
    ) -> None:
        """Name every assertion: by its own id, else by its place."""
        self._watches = tuple(
            _Watch(invariant_name(number, assertion), assertion, identities, amounts)
            for number, assertion in enumerate(assertions, 1)
        )

    def begin(self, source: Source) -> tuple[InvariantResult, ...]:
        """Read everything anew, forget the history, and return every result."""
        for watch in self._watches:
            watch.begin(source)
            watch.select(source)
        return tuple(watch.result() for watch in self._watches)

    def reread(self, source: Source) -> tuple[InvariantResult, ...]:
        """Read the rows anew, keep the history, and return every result."""
        for watch in self._watches:
            watch.select(source)
        return tuple(watch.result() for watch in self._watches)

    def fold(self, found: Sequence[Effect]) -> tuple[InvariantResult, ...]:
        """Take in what was committed, and return the results that this may have changed."""
        touched = [watch for watch in self._watches if any(map(watch.reads, found))]
        for watch in touched:
            for effect in found:
                watch.fold(effect)
        return tuple(watch.result() for watch in touched)

    def collections(self) -> frozenset[str]:
        """Return the collections that are looked at."""
        return frozenset(name for watch in self._watches for name in watch.collections)


class InvariantChecker:
    """Invariants of a live run: `check` after every attempt, commit and reconciliation."""

    def __init__(
        self, assertions: Iterable[Assertion], *, identities: Identities, amounts: frozenset[str]
    ) -> None:
        """Start before the run, with nothing read."""
        self._invariants = Invariants(assertions, identities=identities, amounts=amounts)
        self._collections = self._invariants.collections()
        self._sequence: int | None = None
        self._digest = ""

    def check(self, reader: StateReader) -> tuple[InvariantResult, ...]:
        """Return the results that may have changed since the last check; the first one gives all.

        Each commit is taken in by itself, so that what a later one repairs is seen. A state that
        moved without a commit entry is read anew in full.
        """
        if not self._collections:
            return ()
        since, digest = self._sequence or 0, reader.digest()
        entries = reader.changes_since(since)
        first, last = self._sequence is None, self._digest
        if not (first or entries) and digest == last:
            return ()
        self._sequence = entries[-1].sequence if entries else since
        self._digest = digest
        if first:
            return self._invariants.begin(_live(reader))
        results = [self._invariants.fold(_effects(e, self._collections)) for e in entries]
        if digest != (entries[-1].state_after if entries else last):
            results.append(self._invariants.reread(_live(reader)))
        return _worst(results)


def _worst(checks: Iterable[Sequence[InvariantResult]]) -> tuple[InvariantResult, ...]:
    """Return the worst result of each invariant, the first of those that are as bad."""
    found: dict[str, InvariantResult] = {}
    for result in (each for results in checks for each in results):
        known = found.get(result.name)
        if known is None or _BADNESS[result.holds] > _BADNESS[known.holds]:
            found[result.name] = result
    return tuple(found.values())


def invariant_name(number: int, assertion: Assertion) -> str:
    """Return the assertion's id, or a name for the `number`th invariant, counted from 1."""
    return assertion.id or f"invariant-{number}"


class _Watch:
    """One assertion with what it looks at, kept up to date."""

    __slots__ = ("assertion", "collections", "name", "selection")

    def __init__(
        self, name: str, assertion: Assertion, identities: Identities, amounts: frozenset[str]
    ) -> None:
        other = assertion.other_collection
        self.name, self.assertion = name, assertion
        self.collections = (assertion.collection, other) if other else (assertion.collection,)
        self.selection = Selection(None, [], [], identities=identities, amounts=amounts)

    def begin(self, source: Source) -> None:
        """Remember the rows at the beginning, if the kind compares with them."""
        self.selection.effects, self.selection.written = [], []
        if self.assertion.kind in WITH_INITIAL:
            self.selection.initial = _rows(source(self.assertion.collection))

    def select(self, source: Source) -> None:
        """Read the selected rows, and those of the other collection."""
        _select(self.assertion, self.selection, source)

    def reads(self, effect: Effect) -> bool:
        """Return whether the effect can change the answer."""
        names = self.collections
        return effect.collection in names or (SIDE_EFFECTS in names and effect.business)

    def fold(self, effect: Effect) -> None:
        """Take in one effect."""
        a, s = self.assertion, self.selection
        if _on(effect, a.collection):
            _put(s.rows, effect, self._remember(effect))
        if effect.collection == a.other_collection:
            _put(s.others, effect, effect.row)

    def result(self) -> InvariantResult:
        """Return the answer to what is selected now."""
        return InvariantResult(self.name, judge(self.assertion, self.selection))

    def _remember(self, effect: Effect) -> StateRow | None:
        """Add an effect on the collection to its history, and return the row that it selects."""
        if self.selection.effects is not None:
            self.selection.effects.append(effect)
        row = written(self.assertion, effect)
        if row is not None:
            self.selection.written.append(row)
        return row


def _select(a: Assertion, s: Selection, source: Source) -> None:
    """Read the selected rows, and those of the other collection."""
    if a.collection == SIDE_EFFECTS:
        s.rows = None if s.effects is None else _rows(s.written)
    else:
        rows = source(a.collection)
        s.rows = None if rows is None else _rows([r for r in rows if matches(a.where, r)])
    if a.other_collection:
        s.others = _rows(source(a.other_collection))


def _on(effect: Effect, collection: str) -> bool:
    return effect.collection == collection or (collection == SIDE_EFFECTS and effect.business)


def _put(rows: Rows | None, effect: Effect, row: StateRow | None) -> None:
    """Put what an effect left in its place; a side effect has a place of its own."""
    if rows is None:
        return
    if row is None:
        rows.pop(effect.place, None)
    else:
        rows[row.tenant, row.key] = row


def _rows(found: Iterable[StateRow] | None) -> Rows | None:
    return None if found is None else {(row.tenant, row.key): row for row in found}


def _source(view: StateView | None) -> Source:
    return (lambda _: None) if view is None else view.rows


def _live(reader: StateReader) -> Source:
    """Return the rows of a live state; a collection that it does not have cannot be read."""
    known = frozenset(reader.collections())

    def rows(collection: str) -> Iterable[StateRow] | None:
        return map(_row, reader.records(collection)) if collection in known else None

    return rows


def _row(record: Record) -> StateRow:
    value = record.value.value()
    shown = value if isinstance(value, dict) else {}
    return StateRow(
        record.tenant, record.collection, record.key, record.revision, record.value.digest, shown
    )


def _effects(entry: CommitEntry, wanted: frozenset[str]) -> list[Effect]:
    """Return the effects that somebody looks at; no other value is decoded."""
    all_business = SIDE_EFFECTS in wanted
    return [
        _effect(entry, change)
        for change in entry.changes
        if change.collection in wanted or (all_business and not change.collection.startswith("_"))
    ]


def _effect(entry: CommitEntry, change: Change) -> Effect:
    operation, value = entry.operation, change.value
    record = (
        None
        if value is None
        else Record(change.tenant, change.collection, change.key, change.revision_after, value)
    )
    return Effect(
        collection=change.collection,
        tenant=change.tenant,
        key=change.key,
        created=change.revision_before == 0,
        row=None if record is None else _row(record),
        operation_id=operation.operation_id,
        tool=operation.tool,
        subject=operation.subject,
        acting_tenant=operation.tenant,
        sequence=entry.sequence,
        event_id="",
    )
