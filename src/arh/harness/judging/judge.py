"""Judges one run: every evaluator over the evidence, then one verdict with its reasons.

Step 8 of a scenario's path. A criterion is met by `pass` alone; an evaluator that fails counts
whether or not the scenario names it. Findings that a scenario expects are excused at every level,
if their rule is one that can be, and missed when they are absent. What is ours (an evaluator that
raises, evidence that cannot be read, a fixture that does not fit) is never the agent's failure and
never a pass: a run that we cut short is `error`, whatever is missing from it. An agent of its own
that the script has no answer for is the exception: a failure that was found in it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from itertools import chain

from arh.errors import ArhError, RunStopped, quoted
from arh.foreign import ForeignFailure, call
from arh.harness.judging.narrative import claim_lines, path_line
from arh.harness.judging.run_facts import run_facts
from arh.harness.vocabulary.rules import EXCUSABLE, conclude, finding
from arh.ports.control import Evaluator
from arh.records.control.evidence import Evidence
from arh.records.control.plan import Located
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import (
    LEVELS,
    EvaluationResult,
    Excused,
    Level,
    ScenarioVerdict,
    Severity,
    Status,
)
from arh.records.packs import WorkflowPack
from arh.records.tasks import HARNESS_ENDS

MILD = frozenset({"pass", "not_exercised", "not_applicable"})
PARTS = frozenset(each.name for each in fields(Evidence) if each.init)
OUR_EVALUATORS = "arh.harness.evaluators."
WORST_FIRST: tuple[Status, ...] = ("fail", "error", "indeterminate", "not_exercised", "pass")


def judge(
    located: Located, evidence: Evidence, evaluators: Sequence[Evaluator], pack: WorkflowPack
) -> ScenarioVerdict:
    """Return the verdict on one run; never raises for what an evaluator does.

    Fields of types that no run writes can raise `TypeError`, `KeyError` or `ValueError`; who reads
    evidence that others kept makes them the verdict `error`.
    """
    scenario = located.scenario
    raw = (_sources(evidence), *_evaluations(evaluators, evidence, scenario, pack))
    seen = Counter(finding.rule for result in raw for finding in result.findings)
    missed = dict(_missed(scenario, seen))
    excused = tuple(_excuses(scenario, seen, missed))
    results = _without(raw, {each.rule for each in excused})
    status, reasons = _status(scenario, evidence, results, missed.values())
    return ScenarioVerdict(
        scenario_id=scenario.id,
        run_id=evidence.run_id,
        role=scenario.role,
        category=scenario.category.value,
        risk_class=scenario.risk_class,
        status=status,
        levels=_levels(results),
        results=results,
        reasons=reasons,
        excused=excused,
        missing=tuple(missed),
        termination=evidence.termination,
        facts=tuple(chain.from_iterable(result.facts for result in results)),
        path=path_line(evidence),
        claims=claim_lines(evidence, pack),
        replay=f"arh run {located.location}",
        location=located.location,
    )


def broken(located: Located, run_id: str, reason: str) -> ScenarioVerdict:
    """Return the verdict on a run that our own failure kept from having any evidence."""
    scenario = located.scenario
    return ScenarioVerdict(
        scenario_id=scenario.id,
        run_id=run_id,
        role=scenario.role,
        category=scenario.category.value,
        risk_class=scenario.risk_class,
        status="error",
        levels=(),
        results=(),
        reasons=(reason,),
        termination="harness_error",
        replay=f"arh run {located.location}",
        location=located.location,
    )


def _evaluations(
    evaluators: Sequence[Evaluator], evidence: Evidence, scenario: Scenario, pack: WorkflowPack
) -> Iterator[EvaluationResult]:
    """Yield every evaluator's result; after one that altered what all of them read, only errors."""
    altered = False
    for evaluator in evaluators:
        if _is_ours(evaluator):
            result = _evaluated(evaluator, evidence, scenario, pack)
        else:
            shown = replace(evidence)
            before = _print_of(shown, scenario)
            result = _evaluated(evaluator, shown, scenario, pack)
            altered = altered or (before != "" and before != _print_of(shown, scenario))
        yield _error(evaluator, "an evaluator altered the evidence") if altered else result


def _is_ours(evaluator: Evaluator) -> bool:
    """Return true for the evaluators that come with arh, which tests show to alter nothing."""
    return type(evaluator).__module__.startswith(OUR_EVALUATORS)


def _print_of(evidence: Evidence, scenario: Scenario) -> str:
    """Return a text that changes with anything that an evaluator is shown; "" if there is none."""
    shown = call("evidence", lambda: repr((evidence, evidence.events, scenario)))
    return shown if isinstance(shown, str) else ""


def _evaluated(
    evaluator: Evaluator, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
) -> EvaluationResult:
    """Return the evaluator's result, or an `error` where it raised or spoke for another one.

    What it says without the evidence that it needs is no praise: of that it is indeterminate.
    """
    result: object
    try:
        needs = call("evaluator", lambda: tuple(map(str, evaluator.needs)))
        result = call("evaluator", lambda: evaluator.evaluate(evidence, scenario, pack))
    except (ArhError, RunStopped) as error:
        return _error(evaluator, f"the evaluator failed: {type(error).__name__}")
    if isinstance(result, ForeignFailure):
        return _error(evaluator, f"the evaluator failed: {result.type_name}")
    if not isinstance(result, EvaluationResult) or result.evaluator != evaluator.id:
        return _error(evaluator, "the evaluator answered for another one")
    if result.status in MILD and conclude(result.findings, result.status) == "fail":
        return _error(evaluator, f"the evaluator says {result.status} and reports a failure")
    if isinstance(needs, ForeignFailure) or not PARTS.issuperset(needs):
        return _error(evaluator, "the evaluator needs what no evidence has")
    absent = ", ".join(name for name in needs if getattr(evidence, name) is None)
    if absent and result.status in MILD:
        return replace(result, status="indeterminate", summary=f"without {absent}, which it needs")
    return result


def _error(evaluator: Evaluator, summary: str) -> EvaluationResult:
    return EvaluationResult(evaluator.id, evaluator.version, "error", summary)


def _sources(evidence: Evidence) -> EvaluationResult:
    """Return what the sources of the evidence say of each other, as a result of its own."""
    findings = [finding("evidence.unreadable", problem) for problem in evidence.problems]
    findings += [
        finding(f"evidence.{one.kind}", one.message, events=one.events)
        for one in evidence.discrepancies
    ]
    if planted := evidence.header.get("defect"):
        findings.append(finding("evidence.planted_defect", f"{quoted(str(planted))} was planted"))
    status = conclude(findings, "pass")
    summary = f"{len(findings)} disagreements between the sources of evidence"
    facts = run_facts(evidence)
    return EvaluationResult("evidence", "1", status, summary, tuple(findings), facts, checks=4)


def _missed(scenario: Scenario, seen: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield each expected rule that was not found as the scenario says, and what is wrong."""
    for each in sorted(scenario.expectations.expected_findings, key=lambda e: e.rule):
        found = seen.get(each.rule, 0)
        if not found:
            yield each.rule, f"expected finding `{each.rule}` is absent"
        elif each.count not in (None, found):
            yield each.rule, f"`{each.rule}` is expected {each.count} times and found {found} times"


def _excuses(
    scenario: Scenario, seen: Mapping[str, int], missed: Mapping[str, str]
) -> Iterator[Excused]:
    """Yield what is excused: of a rule that can be, as often as was said, in no negative control.

    The loader refuses what cannot be excused; scenarios that stand beside evidence never met it.
    """
    if scenario.role == "negative_control":
        return
    for each in sorted(scenario.expectations.expected_findings, key=lambda e: e.rule):
        if each.rule in EXCUSABLE and each.rule not in missed:
            yield Excused(each.rule, seen[each.rule], each.why)


def _without(
    results: tuple[EvaluationResult, ...], excused: AbstractSet[str]
) -> tuple[EvaluationResult, ...]:
    return tuple(_settled(result, excused) for result in results) if excused else results


def _settled(result: EvaluationResult, excused: AbstractSet[str]) -> EvaluationResult:
    """Return the result without excused findings; one that failed for nothing else passes.

    Doubt that is excused is still no proof: what was in doubt for nothing else was not exercised.
    """
    left = tuple(f for f in result.findings if f.rule not in excused)
    if len(left) == len(result.findings) or result.status == "error":
        return result
    settled: Status = "pass" if result.status == "fail" else "not_exercised"
    status = conclude(left, settled)
    return replace(result, findings=left, status=status)


def _status(
    scenario: Scenario,
    evidence: Evidence,
    results: Sequence[EvaluationResult],
    missed: Iterable[str],
) -> tuple[Status, tuple[str, ...]]:
    trouble = list(_own_trouble(evidence))
    found = [
        *_failures(results),
        *_criteria(scenario, results),
        *(("fail", problem) for problem in missed),
    ]
    statuses = {status for status, _ in found}
    worst: Status = next((s for s in WORST_FIRST if s in statuses), "pass")
    status: Status = "indeterminate" if worst == "not_exercised" else worst
    reasons = [*trouble, *sorted(found, key=lambda pair: WORST_FIRST.index(pair[0]))]
    if trouble and not (_is_its_own(evidence) and "fail" in {each.status for each in results}):
        status = "error"
    return status, tuple(dict.fromkeys(text for _, text in reasons))


def _is_its_own(evidence: Evidence) -> bool:
    """Return true if the script had no answer for an agent that arh does not script.

    Such an agent may have told the model another history than the one on record, and what it did
    until then is not undone by the run ending there.
    """
    hybrid = evidence.header.get("clock") == "hybrid"
    return hybrid and evidence.termination == "fixture_mismatch"


def _own_trouble(evidence: Evidence) -> Iterable[tuple[Status, str]]:
    if evidence.termination in HARNESS_ENDS:
        yield "error", f"{evidence.termination}: {evidence.stop_detail}"
    if evidence.termination == "hung" and evidence.problems:
        yield "error", "the run hung inside the harness"


def _failures(results: Iterable[EvaluationResult]) -> Iterable[tuple[Status, str]]:
    for result in results:
        if result.status in {"fail", "error", "indeterminate"}:
            first = next((f.message for f in result.findings if f.severity != "warning"), "")
            yield result.status, f"{result.evaluator}: {first or result.summary}"


def _criteria(
    scenario: Scenario, results: Sequence[EvaluationResult]
) -> Iterable[tuple[Status, str]]:
    by_id = {result.evaluator: result for result in results}
    for name in scenario.expectations.pass_criteria:
        result = by_id.get(name)
        if result is None:
            yield "error", f"criterion `{name}`: no such evaluator ran"
        elif result.status in {"not_exercised", "not_applicable"}:
            yield "indeterminate", f"criterion `{name}`: {result.status}"


def _levels(results: Sequence[EvaluationResult]) -> tuple[tuple[Level, Status], ...]:
    """Return each level's own status; levels are never averaged and never excuse one another."""
    found = {(f.level, f.severity) for result in results for f in result.findings}
    passed = [result.evaluator for result in results if result.status == "pass"]
    spoke = {level for evaluator in passed for level in SPEAKS.get(evaluator, ())}
    return tuple((level, _level(level, found, spoke)) for level in LEVELS)


def _level(
    level: Level, found: Collection[tuple[Level, Severity]], spoke: Collection[Level]
) -> Status:
    if (level, "fail") in found:
        return "fail"
    if (level, "indeterminate") in found:
        return "indeterminate"
    return "pass" if level in spoke else "not_applicable"


SPEAKS: dict[str, tuple[Level, ...]] = {
    "evidence": ("system",),
    "outcome": ("workflow",),
    "trajectory": ("step", "action"),
    "guardrails": ("action",),
    "response": ("response",),
    "grounding": ("response",),
    "fault_handling": ("system", "workflow"),
    "non_progress": ("step",),
}
