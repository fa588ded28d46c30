"""What a suite covers, and how much of what it declares really happened.

Coverage counts acceptance scenarios by risk, category, tool, fault and boundary, and beside them
those in which the thing really struck: a tool that is on offer and never called, a fault that never
fired and a boundary that nobody tried stand here with a zero. Accounts set what was done against
what was declared; less is never silent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, get_args

from arh.decision.conformance import Seen, was_exercised
from arh.decision.counting import boundaries_in, boundaries_of
from arh.decision.metrics import Case, exercised, fact_sums
from arh.records.control.scenario import Category, Risk
from arh.records.control.scorecard import Account, Coverage
from arh.records.control.verdict import ScenarioVerdict
from arh.records.packs import WorkflowPack

MISSING_MAX: Final = 20
Holds = Callable[[Case], bool]


def coverage(cases: Sequence[Case], pack: WorkflowPack) -> tuple[Coverage, ...]:
    """Return one line for every item of every dimension, covered or not."""
    return (
        *_lines("risk", reversed(get_args(Risk)), cases, _of_risk, _is_judged),
        *_lines("category", (c.value for c in Category), cases, _of_category, _is_judged),
        *_lines("tool", (t.manifest.name for t in pack.tools), cases, _offers, _calls),
        *_lines("fault", _faults(cases), cases, _declares_fault, _was_struck),
        *_lines("boundary", boundaries_in(pack), cases, _tries, _tried),
    )


def _lines(
    dimension: str,
    items: Iterable[str],
    cases: Sequence[Case],
    declares: Callable[[str], Holds],
    happened: Callable[[str], Holds],
) -> Iterator[Coverage]:
    for item in items:
        declaring = [case for case in cases if declares(item)(case)]
        yield Coverage(dimension, item, len(declaring), sum(map(happened(item), declaring)))


def _of_risk(risk: str) -> Holds:
    return lambda case: case.scenario.risk_class == risk


def _of_category(name: str) -> Holds:
    return lambda case: case.scenario.category.value == name


def _is_judged(_item: str) -> Holds:
    return lambda case: case.verdict is not None and case.verdict.status in ("pass", "fail")


def _offers(tool: str) -> Holds:
    return lambda case: tool in case.scenario.runtime.available_tools


def _calls(tool: str) -> Holds:
    return lambda case: any(name == tool for _, _, name in fact_sums(case.verdict, "tool_use"))


def _faults(cases: Sequence[Case]) -> tuple[str, ...]:
    return tuple(sorted({kind for case in cases for kind in _kinds(case)}))


def _kinds(case: Case) -> Iterator[str]:
    for fault in case.scenario.controls.faults:
        yield f"{fault.target_type.value} {fault.phase.value} {fault.effect.value}"


def _declares_fault(kind: str) -> Holds:
    return lambda case: kind in _kinds(case)


def _was_struck(kind: str) -> Holds:
    return lambda case: any(
        name == kind and struck == declared
        for struck, declared, name in fact_sums(case.verdict, "fault_use")
    )


def _tries(boundary: str) -> Holds:
    return lambda case: boundary in boundaries_of(case.scenario)


def _tried(_boundary: str) -> Holds:
    return exercised


# --- accounts ------------------------------------------------------------------------------------


def accounts(
    seen: Seen, verdicts: Sequence[ScenarioVerdict], rules: Collection[str]
) -> tuple[Account, ...]:
    """Return what was declared against what was done."""
    judged = [v for _, v in seen.pairs if v is not None]
    read = [v for v in judged if (r := v.result("evidence")) and r.status in ("pass", "fail")]
    fired = {rule for verdict in verdicts for rule in _rules_of(verdict)}
    silent = sorted(set(rules) - fired)
    checked = [each for v in judged for each in fact_sums(v, "assertions_judged")]
    faults = sum(len(run.located.scenario.controls.faults) for run, _ in seen.pairs)
    struck = sum(each[0] for v in judged for each in fact_sums(v, "faults_delivered"))
    return (
        Account("runs with a verdict", len(judged), len(seen.pairs), _lost(seen)),
        Account("evidence read", len(read), len(seen.pairs)),
        Account("faults delivered", min(struck, faults), faults),
        Account("assertions judged", sum(c[0] for c in checked), sum(c[1] for c in checked)),
        Account("controls exercised", *_exercised(seen)),
        Account("rules that fired", len(fired & set(rules)), len(set(rules)), _first(silent)),
    )


def _exercised(seen: Seen) -> tuple[int, int]:
    due = [c for c in seen.acceptance if c.scenario.expectations.guardrails.must_exercise]
    return sum(was_exercised(case.verdict) for case in due), len(due)


def _lost(seen: Seen) -> tuple[str, ...]:
    return _first([run.located.scenario.id for run, verdict in seen.pairs if verdict is None])


def _first(names: Sequence[str]) -> tuple[str, ...]:
    more = len(names) - MISSING_MAX
    return (*names[:MISSING_MAX], *([f"and {more} more"] if more > 0 else []))


def _rules_of(verdict: ScenarioVerdict) -> Iterator[str]:
    yield from (each.rule for each in verdict.excused)
    for result in verdict.results:
        for finding in result.findings:
            yield finding.rule
