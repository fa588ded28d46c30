"""The gates and the decision: metrics and verdicts in, pass, fail or inconclusive out.

Pure and total: it never raises for what was measured, and it decides about every gate. A blocking
gate that failed makes the decision fail. Otherwise whatever is missing, undecided or incomparable
under a blocking gate makes it inconclusive. Besides the profile's gates stand those that no profile
can remove: the evidence is complete, controls behave, nothing failed where nobody looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from arh.decision.baseline import Baseline, differences
from arh.decision.catalogue import CATALOGUE
from arh.decision.conformance import CHECKS, IMPLICIT, Found, Seen, look
from arh.decision.gate_rules import Range, allowed_range, gate_id
from arh.decision.numbers import decimal, exact, plural, ratio
from arh.records.control.gate import (
    Decision,
    GateDecision,
    GateResult,
    GateSpec,
    GateStatus,
    Profile,
)
from arh.records.control.metric import MetricValue
from arh.records.control.plan import RunPlan
from arh.records.control.scorecard import About
from arh.records.control.verdict import ScenarioVerdict

HUNDRED: Final = 100
_MISSING: Final[Mapping[str, GateStatus]] = {
    "block": "inconclusive",
    "warn": "warn",
    "skip": "skipped",
}
_WORDS: Final = {
    "eq": "exactly",
    "le": "at most",
    "lt": "less than",
    "ge": "at least",
    "gt": "more than",
}


def decide(
    profile: Profile,
    metrics: Sequence[MetricValue],
    verdicts: Sequence[ScenarioVerdict],
    plan: RunPlan,
    baseline: Baseline | None = None,
    *,
    about: About,
) -> GateDecision:
    """Return the decision with its reasons and every gate, the implicit ones first.

    Args:
        profile: The gates; checked when it was loaded.
        metrics: What `arh.decision.metrics.compute` returned.
        verdicts: The verdict on every run; one that is missing counts as unjudged.
        plan: All runs that had to be.
        baseline: What regression gates compare with, if there is one.
        about: What ran: for the comparison, and for how much of the evidence is on record.
    """
    seen = Seen.of(profile, verdicts, plan, about)
    judge = _Judge(_by_key(metrics), seen, baseline, about, profile.baseline_days_max)
    results = (*_implicit(seen), *(judge.result(gate) for gate in profile.gates))
    idle = all(gate.severity != "blocking" for gate in profile.gates)
    decision = _decision(results, open_=about.partial or idle)
    reasons = _reasons(results, decision, partial=about.partial, idle=idle)
    return GateDecision(decision, tuple(reasons), results)


def _by_key(metrics: Sequence[MetricValue]) -> dict[tuple[str, str], MetricValue]:
    return {(metric.name, metric.slice): metric for metric in metrics}


def _decision(results: Sequence[GateResult], *, open_: bool) -> Decision:
    """Return the worst that blocks; what is open anyway can fail and never pass."""
    blocking = {result.status for result in results if result.severity == "blocking"}
    if "fail" in blocking:
        return "fail"
    return "inconclusive" if open_ or blocking - {"pass"} else "pass"


def _reasons(
    results: Sequence[GateResult], decision: Decision, *, partial: bool, idle: bool
) -> Iterator[str]:
    """Yield one sentence for each gate that kept the release from passing, failures first."""
    blocking = [result for result in results if result.severity == "blocking"]
    for status, verb in (("fail", "failed"), ("inconclusive", "is inconclusive")):
        for result in blocking:
            if result.status == status:
                yield f"gate {result.gate} {verb}: {result.reason}"
    if partial:
        yield "only a part of the suite was run, and a part can never pass"
    if decision == "pass":
        yield f"all {plural(len(blocking), 'blocking gate')} passed"
    if idle:
        yield "no gate of this profile blocks, so nothing supports a release"


def _implicit(seen: Seen) -> Iterator[GateResult]:
    for name, check in IMPLICIT.items():
        found = check(seen)
        yield GateResult(
            gate=name,
            type="conformance",
            metric=name,
            slice="all",
            severity="blocking",
            status=found.status,
            reason=found.reason,
            level="system",
            activity="system_reliability_testing",
            observed=found.observed,
            required=found.required,
        )


@dataclass(frozen=True, slots=True)
class _Judge:
    """Everything that a profile's gates look at."""

    metrics: Mapping[tuple[str, str], MetricValue]
    seen: Seen
    baseline: Baseline | None
    about: About
    days_max: int

    def result(self, gate: GateSpec) -> GateResult:
        measure = CATALOGUE.get(gate.metric or "")
        blank = GateResult(
            gate=gate_id(gate),
            type=gate.type,
            metric=gate.metric or gate.check or "",
            slice=gate.slice,
            severity=gate.severity,
            status="inconclusive",
            reason="",
            level=gate.level or (measure.definition.level if measure else "system"),
            activity=gate.activity or (measure.definition.activity if measure else ""),
        )
        if gate.type == "conformance":
            return self._conformance(gate, blank)
        metric = self.metrics.get((gate.metric or "", gate.slice))
        if metric is None:
            return _missing(gate, blank, f"no scenario is in the slice {gate.slice}")
        blank = replace(
            blank,
            observed=shown(metric),
            required=required(gate),
            evidence_required=_needs(gate),
            evidence_achieved=_achieved(metric, gate, self.seen),
        )
        if gate.type == "absolute":
            return self._absolute(gate, metric, blank)
        return self._regression(gate, metric, blank)

    def _conformance(self, gate: GateSpec, blank: GateResult) -> GateResult:
        if gate.check not in CHECKS:
            return _missing(gate, blank, "there is no such check")
        found = look(gate, self.seen)
        blank = replace(blank, observed=found.observed, required=found.required)
        if found.status == "inconclusive":
            return _missing(gate, blank, found.reason)
        if found.status == "pass" and (lack := self._lack(gate, None)):
            return _missing(gate, blank, lack)
        return _ended(gate, blank, found)

    def _absolute(self, gate: GateSpec, metric: MetricValue, blank: GateResult) -> GateResult:
        allowed = allowed_range(gate)
        if allowed is None:
            return _missing(gate, blank, "the gate has no threshold")
        found = _compared(metric, allowed, gate)
        if found.status == "fail" and _is_certain(metric, allowed):
            return _ended(gate, blank, found)
        if lack := self._lack(gate, metric) or _unusable(metric):
            return _missing(gate, blank, lack)
        if found.status == "inconclusive":
            return _missing(gate, blank, found.reason)
        return _ended(gate, blank, found)

    def _regression(self, gate: GateSpec, metric: MetricValue, blank: GateResult) -> GateResult:
        if gate.floor is not None and metric.value is not None:
            higher = (gate.regression_kind or "").startswith("drop")
            bound = exact(gate.floor)
            kept = metric.value >= bound if higher else metric.value <= bound
            if not kept and metric.status == "ok":
                reason = f"{shown(metric)} passes the floor of {decimal(bound)}"
                return _ended(gate, blank, Found("fail", reason))
        if lack := self._lack(gate, metric) or _unusable(metric):
            return _missing(gate, blank, lack)
        if metric.unjudged:
            return _missing(gate, blank, _undecided(metric))
        return self._against_baseline(gate, metric, blank)

    def _against_baseline(
        self, gate: GateSpec, metric: MetricValue, blank: GateResult
    ) -> GateResult:
        baseline = self.baseline
        if baseline is None:
            return _missing(gate, blank, "there is no baseline to compare with")
        if against := differences(baseline, self.about, days_max=self.days_max):
            return _missing(gate, blank, f"incomparable: {'; '.join(against)}")
        old = baseline.metrics.get((metric.name, metric.slice))
        if old is None or old.value is None or old.status != "ok":
            return _missing(gate, blank, "incomparable: the baseline does not hold this metric")
        if old.version != metric.version:
            versions = f"{old.version}, now {metric.version}"
            return _missing(gate, blank, f"incomparable: metric version differs ({versions})")
        blank = replace(blank, baseline=decimal(old.value))
        return _ended(gate, blank, _change(gate, old.value, metric.value or Fraction(0)))

    def _lack(self, gate: GateSpec, metric: MetricValue | None) -> str:
        """Return which evidence the gate asks for and does not have, or nothing."""
        scenarios = len(self.seen.acceptance) if metric is None else metric.scenarios
        slices = [name for name in gate.evidence.required_slices if not self._has_slice(gate, name)]
        achieved = {
            "attempts": (gate.minimum_attempts, attempts(metric)),
            "sample size": (gate.minimum_sample_size, metric.sample_size if metric else 0),
            "scenarios": (gate.evidence.minimum_scenarios, scenarios),
            "trials of each scenario": (gate.evidence.minimum_trials, self.seen.trials),
        }
        short = [
            f"{name} {found} where {needed} is needed"
            for name, (needed, found) in achieved.items()
            if needed is not None and found < needed
        ]
        short += [f"nothing of the slice {name} was exercised" for name in slices]
        return "; ".join(short)

    def _has_slice(self, gate: GateSpec, name: str) -> bool:
        if gate.metric is None:
            return self.seen.has_slice(name)
        metric = self.metrics.get((gate.metric, name))
        return metric is not None and metric.status == "ok" and metric.sample_size > 0


def _ended(gate: GateSpec, blank: GateResult, found: Found) -> GateResult:
    """Return the gate with what was found; a warning gate never fails, it warns."""
    status = found.status
    if status == "fail" and gate.severity == "warning":
        status = "warn"
    return replace(blank, status=status, reason=found.reason)


def _missing(gate: GateSpec, blank: GateResult, reason: str) -> GateResult:
    """Return the gate without a verdict: a blocking one is inconclusive, whatever it says."""
    status: GateStatus = "inconclusive"
    if gate.severity == "warning":
        status = _MISSING[gate.on_missing]
    return replace(blank, status=status, reason=reason)


# --- comparisons ---------------------------------------------------------------------------------


def _compared(metric: MetricValue, allowed: Range, gate: GateSpec) -> Found:
    """Compare exactly; unjudged runs are taken at their best and at their worst."""
    if metric.value is None:
        return Found("inconclusive", _undecided(metric))
    low = metric.value if metric.lowest is None else metric.lowest
    high = metric.value if metric.highest is None else metric.highest
    holds = {allowed.holds(low), allowed.holds(high)}
    text = f"{shown(metric)} where {required(gate)} is required"
    if holds == {True}:
        return Found("pass", text)
    if holds == {False} and not _is_between(allowed, low, high):
        return Found("fail", text)
    return Found("inconclusive", f"{text}; {_undecided(metric)}")


def _is_between(allowed: Range, low: Fraction, high: Fraction) -> bool:
    """Return true if a value that passes lies between two that do not."""
    return low != high and not allowed.within(Range(low, high)).is_empty()


def _is_certain(metric: MetricValue, allowed: Range) -> bool:
    """Return true if no further evidence could turn a failure round.

    One violation is enough where none is allowed, and one shortfall where all must hold.
    """
    definition = CATALOGUE[metric.name].definition if metric.name in CATALOGUE else None
    if definition is None or definition.kind != "rate" or metric.numerator is None:
        return False
    if definition.direction == "lower":
        none_allowed = allowed.high == 0
        return none_allowed and metric.numerator > 0
    shortfall = (metric.denominator or Fraction(0)) - metric.numerator
    return allowed.low == 1 and shortfall > (metric.unjudged if metric.lowest is not None else 0)


def _unusable(metric: MetricValue) -> str:
    """Return why the metric's status keeps the gate from a verdict, or nothing."""
    if metric.status == "ok":
        return ""
    if metric.status == "indeterminate" and metric.lowest is not None:
        return ""
    detail = f": {metric.detail}" if metric.detail else ""
    return f"{metric.name} is {metric.status.replace('_', ' ')}{detail}"


def _undecided(metric: MetricValue) -> str:
    return f"{plural(metric.unjudged, 'run')} could not be judged"


def _change(gate: GateSpec, old: Fraction, new: Fraction) -> Found:
    kind, limit = gate.regression_kind or "", exact(gate.max_delta or 0)
    loss = old - new if kind.startswith("drop") else new - old
    text = f"{decimal(old)} before, {decimal(new)} now, at most {decimal(limit)} allowed"
    if not kind.endswith("percent"):
        return Found("pass" if loss <= limit else "fail", f"{text} (points)")
    if old == 0:
        reason = f"{decimal(new)} now and 0 before: a rise from nothing has no percentage"
        return Found("pass" if loss <= 0 else "fail", reason)
    return Found("pass" if loss / old * HUNDRED <= limit else "fail", f"{text} (percent)")


# --- words ---------------------------------------------------------------------------------------


def shown(metric: MetricValue) -> str:
    """Return a metric's value as a reader wants it: `39 of 40 (0.975)`, or why there is none."""
    if metric.value is None:
        return metric.status.replace("_", " ")
    text = decimal(metric.value)
    kind = CATALOGUE[metric.name].definition.kind if metric.name in CATALOGUE else "rate"
    if kind != "rate" or metric.numerator is None or metric.denominator is None:
        return f"{text} {metric.unit}"
    return f"{ratio(metric.numerator)} of {ratio(metric.denominator)} ({text})"


def attempts(metric: MetricValue | None) -> int:
    """Return how many opportunities were judged; an unjudged run in a denominator is none."""
    if metric is None or metric.denominator is None:
        return 0
    return int(metric.denominator) - (metric.unjudged if metric.lowest is not None else 0)


def required(gate: GateSpec) -> str:
    """Return what a gate demands: `at least 0.98`, or `a drop of at most 0.02 points`."""
    if gate.type == "absolute" and gate.operator is not None and gate.threshold is not None:
        return f"{_WORDS[gate.operator]} {decimal(exact(gate.threshold), 15)}"
    if gate.regression_kind is None or gate.max_delta is None:
        return ""
    change, unit = gate.regression_kind.split("_", 1)
    floor = "" if gate.floor is None else f", floor {decimal(exact(gate.floor), 15)}"
    return f"a {change} of at most {decimal(exact(gate.max_delta), 15)} {unit}{floor}"


def _needs(gate: GateSpec) -> str:
    needs = {
        "attempts": gate.minimum_attempts,
        "sample": gate.minimum_sample_size,
        "scenarios": gate.evidence.minimum_scenarios,
        "trials": gate.evidence.minimum_trials,
    }
    parts = [f"{name} {needed}" for name, needed in needs.items() if needed is not None]
    parts += [f"slice {name}" for name in gate.evidence.required_slices]
    return ", ".join(parts)


def _achieved(metric: MetricValue, gate: GateSpec, seen: Seen) -> str:
    parts = [f"sample {metric.sample_size}", f"scenarios {metric.scenarios}"]
    if gate.minimum_attempts is not None:
        parts.insert(0, f"attempts {attempts(metric)}")
    if gate.evidence.minimum_trials is not None:
        parts.append(f"trials {seen.trials}")
    if metric.unjudged:
        parts.append(f"unjudged {metric.unjudged}")
    return ", ".join(parts)
