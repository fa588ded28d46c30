"""Outcome: whether authoritative state is what the scenario accepts, whatever the agent says.

Reads states and commit entries and nothing that the agent or the gateway claims. An acceptable
outcome must hold at the end; an invariant must hold at every commit, so that an effect which was
compensated later still counts; a change that nothing expected is collateral. Where the state cannot
be read, or a write may or may not have happened, the answer is indeterminate and never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from arh.errors import safe
from arh.harness.judging.repetition import repeated
from arh.harness.vocabulary.acceptance import Reached, any_holds, reached, states_of
from arh.harness.vocabulary.assertion_kinds import matches
from arh.harness.vocabulary.assertions import (
    InvariantResult,
    Invariants,
    States,
    evaluate,
    invariant_name,
)
from arh.harness.vocabulary.effects import (
    Effect,
    Place,
    RowChange,
    broken_chain,
    logical_effects,
    manifests,
)
from arh.harness.vocabulary.rules import conclude, finding
from arh.harness.vocabulary.wording import listed, plural, selector, shown
from arh.records.control.evidence import (
    CallEvidence,
    Evidence,
    InvariantEvidence,
    StateRow,
    StateView,
)
from arh.records.control.scenario import Expectations, ExpectedChange, Scenario
from arh.records.control.verdict import EvaluationResult, Fact, Finding, Status
from arh.records.packs import WorkflowPack
from arh.records.tools import Effect as EffectClass

COLLATERAL_MAX: Final = 50
SEEDING: Final = "seeding"
_EARLY: Final = "outcome.invariant_false_at_start"
_DOUBTFUL: Final = frozenset({"outcome.unresolved_operation", "outcome.state_inconsistent"})


class OutcomeEvaluator:
    """Judges the end state, the invariants over the whole history, and collateral change."""

    id = "outcome"
    version = "1.0"
    needs: tuple[str, ...] = ("initial", "final", "commits")

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Return pass only if an acceptable outcome holds and nothing speaks against it."""
        expected = scenario.expectations
        states = states_of(evidence, scenario, pack)
        tally = _Tally()
        tally.findings += _doubts(evidence, states, pack)
        _judge_invariants(tally, expected, evidence, states)
        _judge_alternatives(tally, expected, evidence, states)
        _judge_collateral(tally, expected, states)
        logical = logical_effects(states.effects or (), pack)
        tally.findings += repeated("outcome.duplicate_effect", logical)
        status = _status(tally, expected)
        return EvaluationResult(
            evaluator=self.id,
            version=self.version,
            status=status,
            summary=tally.summary(status),
            findings=tuple(tally.findings),
            facts=tuple(_facts(status, tally, evidence, states, logical, pack)),
            checks=tally.checks,
            unread=tally.unread,
        )


@dataclass(slots=True)
class _Tally:
    """What was judged so far, and what was found."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    checks: int = 0
    unread: int = 0

    def count(self, answers: Iterable[bool | None]) -> None:
        for answer in answers:
            self.checks += answer is not None
            self.unread += answer is None

    def summary(self, status: Status) -> str:
        if status == "not_applicable":
            return "no outcome, invariant or unchanged state is declared"
        worst = next((f.message for f in self.findings if f.severity == status), "")
        return "; ".join(note for note in (worst, *self.notes) if note)


def _status(tally: _Tally, expected: Expectations) -> Status:
    """Return the worst finding's status; without anything declared there is nothing to pass."""
    declared = expected.acceptable_outcomes or expected.invariants
    if not declared and expected.unchanged_except is None:
        return "not_applicable"
    return conclude(tally.findings, "pass")


# --- can the sources be trusted ------------------------------------------------------------------


def _doubts(evidence: Evidence, states: States, pack: WorkflowPack) -> Iterator[Finding]:
    """Yield what keeps the evidence from settling the outcome, and what contradicts itself."""
    yield from _missing_states(states)
    for problem in evidence.problems[:3]:
        yield finding("outcome.evidence_gap", f"evidence cannot be read: {safe(problem)}")
    attempts = {call.event_id for call in evidence.calls}
    for each in evidence.discrepancies:
        if each.kind == "gap":
            yield finding("outcome.evidence_gap", safe(each.message), events=each.events)
        elif attempts.isdisjoint(each.events):
            yield finding("outcome.evidence_conflict", safe(each.message), events=each.events)
    for call in _unresolved(evidence, states, pack):
        message = f"nobody can say whether {safe(call.tool)} {safe(call.call_id)} took effect"
        yield finding("outcome.unresolved_operation", message, events=(call.event_id,))


def _missing_states(states: States) -> Iterator[Finding]:
    for name, view in (("first", states.initial), ("last", states.final)):
        if view is None:
            yield finding("outcome.state_missing", f"the {name} state of the run was not read")
    if states.effects is None:
        yield finding("outcome.evidence_gap", "a commit entry of the store cannot be read")
    elif states.initial is not None and states.final is not None:
        yield from _inconsistent(states.initial, states.final, states)


def _inconsistent(initial: StateView, final: StateView, states: States) -> Iterator[Finding]:
    broken = broken_chain(initial, states.commits, final)
    stray = [c for c in states.changes or () if not c.events]
    if stray:
        where = listed(f"{safe(c.collection)} {safe(c.key)}" for c in stray)
        broken = f"no commit accounts for what the last state says of {where}"
    if broken:
        yield finding("outcome.state_inconsistent", broken)


def _unresolved(evidence: Evidence, states: States, pack: WorkflowPack) -> tuple[CallEvidence, ...]:
    """Return the last attempt of each write that may or may not have taken effect.

    The store's entries settle what happened inside it, and so they do for a remote whose own state
    was read. Any other remote effect is settled only by the last word of its own operation, and
    nothing is settled where the state cannot be read.
    """
    if all(call.commit_belief != "unknown" for call in evidence.calls):
        return ()
    settled_by_store = states.final is not None and states.effects is not None
    remote = _remote_tools(pack) - evidence.sourced
    last = {call.operation_id or call.call_id: call for call in evidence.calls}
    return tuple(
        call
        for call in last.values()
        if call.commit_belief == "unknown" and not (settled_by_store and call.tool not in remote)
    )


def _remote_tools(pack: WorkflowPack) -> frozenset[str]:
    remote = (EffectClass.REMOTE, EffectClass.KEYED_REMOTE)
    return frozenset(name for name, m in manifests(pack).items() if m.effect in remote)


# --- invariants ----------------------------------------------------------------------------------


def _judge_invariants(
    tally: _Tally, expected: Expectations, evidence: Evidence, states: States
) -> None:
    """Check every invariant at the start, after each commit and at the end, and ask the runner."""
    if not expected.invariants:
        return
    found = _followed(expected, states)
    for number, assertion in enumerate(expected.invariants, 1):
        name, answer = invariant_name(number, assertion), evaluate(assertion, states)
        tally.count((answer.holds,))
        result = InvariantResult(name, answer)
        if answer.holds is False:
            found.setdefault(name, _violated(result, "at the end"))
        elif answer.holds is None or states.initial is None or states.effects is None:
            found.setdefault(name, _unread(result))
    for check in evidence.invariants:
        _take_runner(found, check)
    tally.findings += found.values()


def _followed(expected: Expectations, states: States) -> dict[str, Finding]:
    """Return the first violation of each invariant, at the start or right after a commit."""
    if states.initial is None or states.effects is None:
        return {}
    invariants = Invariants(
        expected.invariants, identities=states.identities, amounts=states.amounts
    )
    start = invariants.begin(states.initial.rows)
    found = {result.name: _early(result) for result in start if result.holds is False}
    for _, effects in groupby(states.effects, key=lambda effect: effect.sequence):
        changes = tuple(effects)
        for result in invariants.fold(changes):
            if result.holds is False and result.name not in found:
                found[result.name] = _violated(
                    result, f"when {safe(changes[0].tool)} committed", changes[0].event_id
                )
    return found


def _early(result: InvariantResult) -> Finding:
    return _about(_EARLY, result, "was false before the run")


def _violated(result: InvariantResult, when: str, event: str = "") -> Finding:
    return _about("outcome.invariant_violated", result, f"was violated {when}", event)


def _unread(result: InvariantResult) -> Finding:
    return _about("outcome.invariant_unread", result, "could not be followed through the run")


def _about(rule: str, result: InvariantResult, what: str, event: str = "") -> Finding:
    answer = result.answer
    return finding(
        rule,
        f"{safe(result.name)} {what}: expected {answer.expected}, found {answer.found}",
        expected=answer.expected,
        found=answer.found,
        events=(event, *answer.events),
    )


def _take_runner(found: dict[str, Finding], check: InvariantEvidence) -> None:
    """Add what the runner saw of an invariant, unless as much is known already."""
    known = found.get(check.invariant)
    if check.holds or check.after == SEEDING or (known is not None and known.severity == "fail"):
        return
    if known is not None and (check.holds is None or known.rule == _EARLY):
        return
    unread = check.holds is None
    what = "could not be read" if unread else "was violated"
    found[check.invariant] = finding(
        "outcome.invariant_unread" if unread else "outcome.invariant_violated",
        f"{safe(check.invariant)} {what} after {safe(check.after)}: found {safe(check.found)}",
        expected="what the scenario demands",
        found=safe(check.found),
        events=(check.event_id,),
    )


# --- acceptable outcomes -------------------------------------------------------------------------


def _judge_alternatives(
    tally: _Tally, expected: Expectations, evidence: Evidence, states: States
) -> None:
    """Require that one alternative holds; a miss is no failure while a write is in doubt."""
    if not expected.acceptable_outcomes:
        return
    results = reached(expected.acceptable_outcomes, states, evidence.termination)
    tally.count(answer.holds for result in results for answer in result.answers)
    holds = any_holds(results)
    if holds is True:
        number = next(result.number for result in results if result.holds)
        tally.notes.append(f"acceptable outcome {number} of {len(results)} holds")
        return
    nearest = min(results, key=_distance)
    doubt = holds is None or any(f.rule in _DOUBTFUL for f in tally.findings)
    rule = "outcome.undecided" if doubt else "outcome.no_alternative_holds"
    tally.findings.append(_missed(rule, nearest, len(results)))


def _distance(result: Reached) -> tuple[int, int]:
    """Order alternatives by how much is missing from them, then by their place."""
    missing = sum(answer.holds is not True for answer in result.answers)
    return missing + bool(result.misfit), result.number


def _missed(rule: str, nearest: Reached, total: int) -> Finding:
    first = next(iter(nearest.wrong()), None)
    lead = "" if total == 1 else f"nearest of {total} acceptable outcomes is {nearest.number}: "
    return finding(
        rule,
        lead + listed(nearest.against()),
        expected=first.expected if first else "",
        found=first.found if first else "",
        events=nearest.events(),
    )


# --- collateral change ---------------------------------------------------------------------------


def _judge_collateral(tally: _Tally, expected: Expectations, states: States) -> None:
    """Report every change beyond the expected ones, and how many records did not change at all."""
    allowed = expected.unchanged_except
    if allowed is None:
        return
    changes = states.changes
    if states.initial is None or changes is None:
        tally.count((None,))
        return
    entries = [_Allowance(entry) for entry in allowed]
    beyond = [found for change in changes for found in _beyond(change, entries)]
    tally.count((True,))
    tally.findings += beyond[:COLLATERAL_MAX]
    touched = {(c.collection, c.before.tenant, c.key) for c in changes if c.before is not None}
    rows = sum(len(r) for n, r in states.initial.collections.items() if not n.startswith("_"))
    tally.notes.append(f"{rows - len(touched)} of {plural(rows, 'record')} unchanged")
    tally.facts.append(Fact("collateral_changes", len(beyond), len(changes)))
    tally.facts.append(Fact("unchanged_records", rows - len(touched), rows))


@dataclass(slots=True)
class _Allowance:
    """An expected change, and the records that changed under it so far."""

    expected: ExpectedChange
    records: set[Place] = field(default_factory=set)

    def fits(self, collection: str, row: StateRow) -> bool:
        """Return whether the entry is about the record at all."""
        return self.expected.collection == collection and matches(self.expected.where, row)

    def takes(self, row: StateRow) -> bool:
        """Count the record under the entry; return false if the entry has no room for it."""
        place = (row.tenant, row.key)
        if place not in self.records and len(self.records) >= self.expected.at_most:
            return False
        self.records.add(place)
        return True


def _beyond(change: RowChange, allowed: Sequence[_Allowance]) -> Iterator[Finding]:
    """Yield what of one change nothing expected: the record, or each field of it.

    A record uses up the first entry that allows all of it and has room; those that allow fields
    only are read together, and each of them that has room counts it.
    """
    row = change.after or change.before
    fitting = [e for e in allowed if row is not None and e.fits(change.collection, row)]
    if row is None or any(e.takes(row) for e in fitting if e.expected.fields is None):
        return
    open_ = [e for e in fitting if e.expected.fields is not None and e.takes(row)]
    if fitting and not open_:
        yield _too_many(change, fitting[-1].expected)
        return
    fields = {name for entry in open_ for name in entry.expected.fields or ()}
    if change.before is None or change.after is None:
        known = set(change.after.value) if change.after is not None else None
        if known is None or not known <= fields:
            yield _collateral(change, "the record", change.before, change.after)
        return
    for name in change.fields():
        if name not in fields:
            yield _collateral(change, name, change.before, change.after)


def _too_many(change: RowChange, expected: ExpectedChange) -> Finding:
    """Say that a record changed for which an expected change has no room left."""
    place = f"{safe(change.collection)} {safe(change.key)}"
    most, some = expected.at_most, selector(expected.collection, expected.where)
    return finding(
        "outcome.collateral_change",
        f"{place} is one too many: {most + 1} {some} changed, at most {most} allowed",
        expected=f"at most {most}",
        found=str(most + 1),
        events=change.events,
    )


def _collateral(
    change: RowChange, what: str, before: StateRow | None, after: StateRow | None
) -> Finding:
    if before is None or after is None:
        old, new = _presence(before), _presence(after)
    else:
        old, new = _value(before, what), _value(after, what)
    place = f"{safe(change.collection)} {safe(change.key)}"
    return finding(
        "outcome.collateral_change",
        f"{place}: {safe(what)} was {old} and became {new}, which nothing expected",
        expected=old,
        found=new,
        events=change.events,
    )


def _presence(row: StateRow | None) -> str:
    return "absent" if row is None else "there"


def _value(row: StateRow, name: str) -> str:
    return shown(row.value[name]) if name in row.value else "absent"


# --- facts ---------------------------------------------------------------------------------------


def _facts(
    status: Status,
    tally: _Tally,
    evidence: Evidence,
    states: States,
    logical: Sequence[Sequence[Effect]],
    pack: WorkflowPack,
) -> Iterator[Fact]:
    """Yield the counts that metrics add up; an undecided outcome is no success."""
    if status != "not_applicable":
        yield Fact("outcome_success", int(status == "pass"), 1)
    operations = {
        call.operation_id
        for call in evidence.calls
        if call.tool in pack.writing and call.operation_id
    }
    effects = [effect for effect in states.effects or () if effect.business]
    yield Fact("side_effects_committed", len({e.sequence for e in effects}), len(operations))
    yield Fact("duplicate_effects", sum(len(group) > 1 for group in logical), len(logical))
    unresolved = _unresolved(evidence, states, pack)
    yield Fact("unresolved_operations", len(unresolved), len(operations))
    yield Fact("assertions_judged", tally.checks, tally.checks + tally.unread)
    yield from tally.facts
