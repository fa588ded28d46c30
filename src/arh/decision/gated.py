"""Which failed runs no blocking gate saw: a failure must move what a gate looks at.

A profile decides how much failure is tolerable, never that a failure went unnoticed. A gate saw a
failed run if it is about runs as such (`scenario_pass_rate`, `critical_scenarios_pass`), or if what
failed in the run is what its metric counts and the run made that metric worse. A gate that exists
and counted nothing has seen nothing. Each repeat of a scenario answers for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from arh.decision.catalogue import CATALOGUE, Measure
from arh.decision.metrics import Case, slices_of
from arh.records.control.gate import GateSpec, Profile
from arh.records.control.plan import PlannedRun
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import ScenarioVerdict

ACTIONS: Final = "actions"
ANYTHING: Final = "anything"
# What a failure is about, and the rates that tell of it: only those that no passing run makes
# worse. An evaluator's name stands for all of its findings that fail.
TELLS: Final[Mapping[str, frozenset[str]]] = {
    "scenario_pass_rate": frozenset({ANYTHING}),
    "fault_safe_behavior_rate": frozenset({ANYTHING}),
    "reliability_under_faults": frozenset({ANYTHING}),
    "critical_action_correctness": frozenset({ACTIONS}),
    "outcome_success_rate": frozenset({"outcome"}),
    "legitimate_workflow_success_rate": frozenset({"outcome"}),
    "collateral_change_rate": frozenset({"outcome"}),
    "duplicate_side_effect_rate": frozenset({"outcome"}),
    "duplicate_effect_rate": frozenset({"outcome"}),
    "guardrail_bypass_rate": frozenset({"guardrails"}),
    "unauthorized_action_rate": frozenset({"guardrails"}),
    "legitimate_block_rate": frozenset({"guardrails"}),
    "eligible_recovery_rate": frozenset({"fault_handling"}),
    "faithful_failure_rate": frozenset({"fault_handling"}),
    "false_success_under_fault_rate": frozenset({"fault_handling"}),
    "indeterminate_commit_resolution_rate": frozenset({"fault_handling"}),
    "false_success_rate": frozenset({"grounding", "fault_handling"}),
    "grounded_claim_rate": frozenset({"grounding"}),
    "loop_rate": frozenset({"non_progress"}),
}


def unseen(
    profile: Profile,
    runs: Sequence[tuple[PlannedRun, ScenarioVerdict | None]],
    acceptance: Sequence[Case],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each failed acceptance run, by its scenario, with what of it no blocking gate saw."""
    gates = _Gates.of(profile, acceptance)
    for run, verdict in runs:
        if verdict is not None and verdict.status == "fail":
            left = gates.unseen(run.located.scenario, verdict)
            if left:
                yield run.located.scenario.id, left


@dataclass(frozen=True, slots=True)
class _Gates:
    """The blocking gates of a profile, and the runs that speak for their scenarios."""

    gates: tuple[GateSpec, ...]
    spoken: Mapping[str, ScenarioVerdict | None]

    @classmethod
    def of(cls, profile: Profile, acceptance: Sequence[Case]) -> _Gates:
        blocking = tuple(gate for gate in profile.gates if gate.severity == "blocking")
        return cls(blocking, {case.scenario.id: case.verdict for case in acceptance})

    def unseen(self, scenario: Scenario, verdict: ScenarioVerdict) -> tuple[str, ...]:
        """Return which failures of a run no gate saw: none if a gate is about any failure."""
        told: set[str] = set()
        for gate in self.gates:
            if gate.check == "critical_scenarios_pass" and scenario.risk_class == "critical":
                return ()
            told |= self._told(gate, scenario, verdict)
        if ANYTHING in told:
            return ()
        return tuple(name for name, about in _failures(verdict) if not about & told)

    def _told(self, gate: GateSpec, scenario: Scenario, verdict: ScenarioVerdict) -> frozenset[str]:
        """Return what a gate learned of the run: nothing if its metric is none the worse for it."""
        tells = TELLS.get(gate.metric or "", frozenset())
        holds = slices_of((scenario,)).get(gate.slice)
        if gate.type != "absolute" or not tells or holds is None:
            return frozenset()
        measure, spoken = CATALOGUE[gate.metric or ""], self.spoken.get(scenario.id)
        counted = [_is_worse(measure, scenario, each) for each in (verdict, spoken)]
        return tells if all(counted) else frozenset()


def _is_worse(measure: Measure, scenario: Scenario, verdict: ScenarioVerdict | None) -> bool:
    """Return true if the run made the metric worse than any run that passes."""
    added = measure.counted(scenario, verdict)
    if not isinstance(added, tuple):
        return False
    numerator, denominator = added
    return numerator > 0 if measure.definition.direction == "lower" else numerator < denominator


def _failures(verdict: ScenarioVerdict) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield what failed in a run, with whatever a metric may tell of it."""
    named = False
    for result in verdict.results:
        if result.status == "fail":
            named = True
            failing = [each for each in result.findings if each.severity == "fail"]
            for each in failing:
                about = {result.evaluator, *([ACTIONS] if each.level == "action" else [])}
                yield each.rule, frozenset(about)
            if not failing:
                yield result.evaluator, frozenset({result.evaluator})
    if not named:
        yield "an expected finding", frozenset()
