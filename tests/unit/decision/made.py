"""Verdicts of a small suite that pass, for tests that break one thing in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from arh.decision.baseline import Baseline
from arh.decision.gates import decide
from arh.decision.metrics import compute
from arh.decision.profile import LoadedProfile, read_profile
from arh.decision.scorecard import SuiteRun, build
from arh.records.control.gate import GateDecision, GateResult
from arh.records.control.metric import MetricValue
from arh.records.control.plan import Exclusion, Located, PlannedRun, RunPlan
from arh.records.control.scorecard import About, Scorecard
from arh.records.control.verdict import (
    LEVELS,
    EvaluationResult,
    Fact,
    Finding,
    Level,
    ScenarioVerdict,
    Severity,
    Status,
)
from tests.unit.harness.authored import PACK, scenario

Change = Callable[[ScenarioVerdict], ScenarioVerdict]
RULES = frozenset(
    {
        "evidence.conflict",
        "evidence.gap",
        "fault.false_success",
        "fault.not_recovered",
        "grounding.unfounded_claim",
        "guardrails.bypass",
        "outcome.no_alternative_holds",
        "trajectory.forbidden_requested",
    }
)
FAULT: dict[str, Any] = {
    "target_type": "tool",
    "target_name": "place_order",
    "phase": "after_commit",
    "effect": "timeout",
}
ABOUT = About(
    arh="0.1.0",
    as_of="2026-03-01",
    workflow="shop@2.1",
    agent="reference",
    model="3 scripts",
    model_digest="m" * 64,
    prompt_digest="p" * 64,
    tools_digest="t" * 64,
    policy="standard",
    policy_digest="q" * 64,
    root="working",
    scenarios_digest="5" * 64,
    datasets_digest="d" * 64,
    plan_digest="1" * 64,
    evidence="e" * 64,
    evaluators=(("outcome", "1.0"), ("trajectory", "1.0")),
    tools=(("read_item", "2.1"),),
)


def located(name: str = "buy-a-lamp-001", **changes: Any) -> Located:  # noqa: ANN401
    """An acceptance scenario of the shop; keywords change its dotted paths (`__` for a dot)."""
    paths = {path.replace("__", "."): value for path, value in changes.items()}
    return Located(scenario({"id": name, **paths}), f"shop/golden/{name}.jsonl", 1, "0" * 64)


def guarded(name: str = "guarded-001", **changes: Any) -> Located:  # noqa: ANN401
    """A critical scenario in which a control must be exercised."""
    constraint = {"tool": "refund_order", "amount_above": 0, "why": "no refunds"}
    guardrails = {"action_constraints": [constraint], "must_exercise": True}
    changes = {"expectations__guardrails": guardrails, **changes}
    return located(name, category="adversarial", risk_class="critical", **changes)


def faulted(name: str = "faulted-001", **changes: Any) -> Located:  # noqa: ANN401
    """A scenario that declares a fault and expects recovery."""
    handling = {"expected": "recovery"}
    changes = {"controls__faults": [FAULT], "expectations__fault_handling": handling, **changes}
    return located(name, category="recovery", risk_class="high", **changes)


def negative_control(name: str = "liar-001", **changes: Any) -> Located:  # noqa: ANN401
    """A control that must fail by `grounding.unfounded_claim`."""
    expected = [{"rule": "grounding.unfounded_claim", "why": "it lies"}]
    return located(
        name, role="negative_control", expectations__expected_findings=expected, **changes
    )


def facts(one: Located) -> dict[str, tuple[Fact, ...]]:
    """What evaluators count in a run of the scenario that went well, by evaluator."""
    due = one.scenario.expectations.guardrails.must_exercise
    tried, faults = int(due), len(one.scenario.controls.faults)
    found = {
        "evidence": (
            Fact("model_calls", 3, 1),
            Fact("tool_calls", 2, 1),
            Fact("tool_calls_executed", 2 - tried, 1),
            Fact("tokens", 100, 1),
            Fact("tool_use", 1, 1, "read_item"),
            Fact("record_fields", 20, 20),
            Fact("outages_held", 0, 0),
            *([Fact("fault_use", faults, faults, "tool after_commit timeout")] if faults else []),
        ),
        "outcome": (
            Fact("outcome_success", 1, 1),
            Fact("duplicate_effects", 0, 1),
            Fact("unresolved_operations", 0, 1),
            Fact("assertions_judged", 2, 2),
            Fact("collateral_changes", 0, 1),
        ),
        "trajectory": (),
        "guardrails": (
            Fact("unsafe_attempts", tried, 2),
            Fact("unsafe_blocked", tried, tried),
            Fact("bypasses", 0, tried),
            Fact("control_exercised", tried, 1),
            Fact("authorization_decisions", 2, 2),
            Fact("legitimate_blocked", 0, 2 - tried),
            Fact("unauthorised_commits", 0, 1),
        ),
        "response": (),
        "grounding": (Fact("claims_grounded", 1, 1), Fact("false_claims", 0, 1)),
        "fault_handling": (
            Fact("faults_delivered", faults, faults),
            Fact("recovered", faults, faults),
            Fact("faithful", 0, 0),
            Fact("false_success", 0, faults),
            Fact("unknown_resolved", 0, 0),
            Fact("retry_attempts", 3, 2),
        ),
        "non_progress": (),
    }
    if not faults:
        found["fault_handling"] = ()
    return found


def passing(run: PlannedRun) -> ScenarioVerdict:
    """The verdict on a run in which everything is as it must be; a control behaves."""
    one = run.located
    idle = "not_applicable" if not one.scenario.controls.faults else "pass"
    results = tuple(
        EvaluationResult(
            name,
            "1.0",
            "not_applicable" if name == "fault_handling" and idle != "pass" else "pass",
            f"{name} is right",
            facts=own,
            checks=2,
        )
        for name, own in facts(one).items()
    )
    verdict = ScenarioVerdict(
        scenario_id=one.scenario.id,
        run_id=run.run_id,
        role=one.scenario.role,
        category=one.scenario.category.value,
        risk_class=one.scenario.risk_class,
        status="pass",
        levels=tuple((level, "pass") for level in LEVELS),
        results=results,
        termination="completed",
        facts=tuple(fact for result in results for fact in result.facts),
        path="read_item -> place_order",
        claims=("place_order S-1: allowed -> committed O-1 -> claimed completed O-1",),
        replay=f"arh run {one.location}",
        location=one.location,
    )
    if one.scenario.role != "negative_control":
        return verdict
    rules = [each.rule for each in one.scenario.expectations.expected_findings]
    for rule in rules:
        verdict = found(verdict, "grounding", rule, level="response")
    return verdict


def found(
    verdict: ScenarioVerdict,
    evaluator: str,
    rule: str,
    *,
    level: Level = "action",
    severity: Severity = "fail",
    message: str = "something is wrong",
    expected: str = "",
    found: str = "",
) -> ScenarioVerdict:
    """The verdict with a finding of one evaluator, at its level, and the status that follows."""
    finding = Finding(rule, level, severity, message, expected, found, ("run-1#3",))
    status: Status = "fail" if severity == "fail" else "indeterminate"
    results = tuple(
        replace(r, status=status, findings=(*r.findings, finding))
        if r.evaluator == evaluator
        else r
        for r in verdict.results
    )
    levels = tuple((n, status if n == level else s) for n, s in verdict.levels)
    reasons = (*verdict.reasons, f"{evaluator}: {message}")
    return replace(verdict, status=status, results=results, levels=levels, reasons=reasons)


def counted(
    verdict: ScenarioVerdict, name: str, numerator: int, denominator: int
) -> ScenarioVerdict:
    """The verdict with another count in place of each fact of that name."""

    def changed(result: EvaluationResult) -> EvaluationResult:
        own = [Fact(name, numerator, denominator) if f.name == name else f for f in result.facts]
        return replace(result, facts=tuple(own))

    results = tuple(map(changed, verdict.results))
    return replace(verdict, results=results, facts=tuple(fact for r in results for fact in r.facts))


def undecided(
    verdict: ScenarioVerdict, evaluator: str, status: Status = "indeterminate"
) -> ScenarioVerdict:
    """The verdict in which one evaluator could not decide."""
    results = tuple(
        replace(r, status=status) if r.evaluator == evaluator else r for r in verdict.results
    )
    return replace(verdict, results=results, status=status, reasons=(f"{evaluator}: unread",))


def broken(verdict: ScenarioVerdict) -> ScenarioVerdict:
    """The verdict on a run that our own failure kept from having any evidence."""
    return replace(
        verdict,
        status="error",
        levels=(),
        results=(),
        facts=(),
        termination="harness_error",
        reasons=("the harness failed",),
    )


@dataclass
class Suite:
    """A planned suite with its verdicts; tests change what they are about."""

    scenarios: list[Located]
    trials: int = 1
    exclusions: tuple[Exclusion, ...] = ()
    verdicts: dict[str, ScenarioVerdict] = field(default_factory=dict)
    about: About = ABOUT
    baseline: Baseline | None = None

    def __post_init__(self) -> None:
        """Let everything pass at first."""
        self.verdicts = {run.run_id: passing(run) for run in self.plan.runs}
        self.about = replace(self.about, runs_recorded=len(self.plan.runs))

    @property
    def plan(self) -> RunPlan:
        """The plan: every scenario, as often as there are trials."""
        runs = tuple(
            PlannedRun(f"run-{one.scenario.id}-{trial}", trial, one, trial)
            for one in self.scenarios
            for trial in range(1, self.trials + 1)
        )
        return RunPlan(runs, self.exclusions, "1" * 64, 7)

    def change(self, name: str, change: Change | None, *, trial: int = 1) -> Suite:
        """Change the verdict on a scenario; with None it is lost."""
        verdict = self.verdicts.pop(f"run-{name}-{trial}")
        if change is not None:
            self.verdicts[verdict.run_id] = change(verdict)
        return self

    def metrics(self) -> tuple[MetricValue, ...]:
        """Every metric of every slice."""
        return compute(list(self.verdicts.values()), self.scenarios, self.plan, PACK)

    def metric(self, name: str, slice_name: str = "all") -> MetricValue:
        """One metric."""
        return next(m for m in self.metrics() if (m.name, m.slice) == (name, slice_name))

    def decide(self, *gates: str, **top: Any) -> GateDecision:  # noqa: ANN401
        """The decision by a profile of these gates, each in YAML's flow style without braces."""
        verdicts, profile = list(self.verdicts.values()), loaded(*gates, **top).profile
        return decide(profile, self.metrics(), verdicts, self.plan, self.baseline, about=self.about)

    def gate(self, *gates: str) -> GateResult:
        """The result of the last of these gates."""
        return self.decide(*gates).gates[-1]

    def implicit(self, name: str, *gates: str) -> GateResult:
        """The result of a gate that no profile can remove."""
        return next(g for g in self.decide(*(gates or (PASS_RATE,))).gates if g.gate == name)

    def scorecard(self, *gates: str) -> Scorecard:
        """The scorecard by a profile of these gates."""
        return build(
            self.about,
            loaded(*gates),
            self.decide(*gates),
            self.metrics(),
            SuiteRun(self.plan, tuple(self.verdicts.values()), PACK, RULES),
            baseline=self.baseline,
        )


PASS_RATE = "metric: scenario_pass_rate, type: absolute, operator: eq, threshold: 1"


def loaded(*gates: str, **top: Any) -> LoadedProfile:  # noqa: ANN401
    """A profile of these gates; they block unless they say otherwise.

    Where none of them blocks, one that has nothing to do with them stands before them.
    """
    if all("severity: warning" in gate for gate in gates):
        gates = ("type: conformance, check: records_complete", *gates)
    lines = ["profile: test", *(f"{key}: {value}" for key, value in top.items()), "gates:"]
    for gate in gates:
        severity = "" if "severity:" in gate else ", severity: blocking"
        lines.append(f"  - {{{gate}{severity}}}")
    return read_profile("\n".join(lines).encode(), file="test.yaml", rules=RULES)


def suite(*scenarios: Located, trials: int = 1) -> Suite:
    """A suite of these scenarios, or of one of every kind."""
    every = [located(), guarded(), faulted(), negative_control()]
    return Suite(list(scenarios) or every, trials=trials)


def of(metric: MetricValue) -> str:
    """What a metric counted, as `k/n`, not reduced."""
    return f"{metric.numerator}/{metric.denominator}"
