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
from functools import partial
from typing import Final

from arh.decision.baseline import Baseline, differences
from arh.decision.comparing import (
    Found,
    Sample,
    absolute,
    blank_result,
    ended,
    evidence_achieved,
    evidence_needed,
    lack,
    missing,
    required,
    shown,
    undecided,
    unusable,
)
from arh.decision.conformance import CHECKS, IMPLICIT, Seen, look
from arh.decision.numbers import decimal, exact, plural
from arh.records.control.gate import (
    Decision,
    GateDecision,
    GateResult,
    GateSpec,
    Profile,
)
from arh.records.control.metric import MetricValue
from arh.records.control.plan import RunPlan
from arh.records.control.scorecard import About
from arh.records.control.verdict import ScenarioVerdict

HUNDRED: Final = 100


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
    idle = all(gate.severity == "warning" for gate in profile.gates)
    live = "" if about.scripted else about.model
    decision = worst(results, open_=about.partial or idle or bool(live))
    reasons = reasons_of(results, decision, partial=about.partial, idle=idle, live=live)
    return GateDecision(decision, tuple(reasons), results)


def _by_key(metrics: Sequence[MetricValue]) -> dict[tuple[str, str], MetricValue]:
    return {(metric.name, metric.slice): metric for metric in metrics}


def worst(results: Sequence[GateResult], *, open_: bool = False) -> Decision:
    """Return the worst that blocks; what is open anyway can fail and never pass."""
    blocking = {result.status for result in results if result.severity != "warning"}
    if "fail" in blocking:
        return "fail"
    return "inconclusive" if open_ or blocking - {"pass"} else "pass"


def reasons_of(
    results: Sequence[GateResult],
    decision: Decision,
    *,
    partial: bool = False,
    idle: bool = False,
    live: str = "",
) -> Iterator[str]:
    """Yield one sentence for each gate that kept the release from passing, failures first."""
    blocking = [result for result in results if result.severity != "warning"]
    for status, verb in (("fail", "failed"), ("inconclusive", "is inconclusive")):
        for result in blocking:
            if result.status == status:
                yield f"gate {result.gate} {verb}: {result.reason}"
    if partial:
        yield "only a part of the suite was run, and a part can never pass"
    if live:
        yield f"the model is {live} and ran once on each scenario: no sample, so no pass"
    if decision == "pass":
        kind = "blocking" if all(r.severity == "blocking" for r in blocking) else "deciding"
        yield f"all {plural(len(blocking), f'{kind} gate')} passed"
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
        blank = blank_result(gate)
        if gate.type == "conformance":
            return self._conformance(gate, blank)
        metric = self.metrics.get((gate.metric or "", gate.slice))
        if metric is None:
            return missing(gate, blank, f"no scenario is in the slice {gate.slice}")
        blank = replace(
            blank,
            observed=shown(metric),
            required=required(gate),
            evidence_required=evidence_needed(gate),
            evidence_achieved=evidence_achieved(metric, gate, self._sample(gate)),
        )
        if gate.type == "absolute":
            return absolute(gate, metric, blank, self._sample(gate))
        return self._regression(gate, metric, blank)

    def _conformance(self, gate: GateSpec, blank: GateResult) -> GateResult:
        if gate.check not in CHECKS:
            return missing(gate, blank, "there is no such check")
        found = look(gate, self.seen)
        blank = replace(blank, observed=found.observed, required=found.required)
        if found.status == "inconclusive":
            return missing(gate, blank, found.reason)
        if found.status == "pass" and (lacks := lack(gate, None, self._sample(gate))):
            return missing(gate, blank, lacks)
        return ended(gate, blank, found)

    def _regression(self, gate: GateSpec, metric: MetricValue, blank: GateResult) -> GateResult:
        if gate.floor is not None and metric.value is not None:
            higher = (gate.regression_kind or "").startswith("drop")
            bound = exact(gate.floor)
            kept = metric.value >= bound if higher else metric.value <= bound
            if not kept and metric.status == "ok":
                reason = f"{shown(metric)} passes the floor of {decimal(bound)}"
                return ended(gate, blank, Found("fail", reason))
        if lacks := lack(gate, metric, self._sample(gate)) or unusable(metric):
            return missing(gate, blank, lacks)
        if metric.unjudged:
            return missing(gate, blank, undecided(metric))
        return self._against_baseline(gate, metric, blank)

    def _against_baseline(
        self, gate: GateSpec, metric: MetricValue, blank: GateResult
    ) -> GateResult:
        baseline = self.baseline
        if baseline is None:
            return missing(gate, blank, "there is no baseline to compare with")
        if against := differences(baseline, self.about, days_max=self.days_max):
            return missing(gate, blank, f"incomparable: {'; '.join(against)}")
        old = baseline.metrics.get((metric.name, metric.slice))
        if old is None or old.value is None or old.status != "ok":
            return missing(gate, blank, "incomparable: the baseline does not hold this metric")
        if old.version != metric.version:
            versions = f"{old.version}, now {metric.version}"
            return missing(gate, blank, f"incomparable: metric version differs ({versions})")
        blank = replace(blank, baseline=decimal(old.value))
        return ended(gate, blank, _change(gate, old.value, metric.value or Fraction(0)))

    def _sample(self, gate: GateSpec) -> Sample:
        return Sample(len(self.seen.acceptance), self.seen.trials, partial(self._has_slice, gate))

    def _has_slice(self, gate: GateSpec, name: str) -> bool:
        if gate.metric is None:
            return self.seen.has_slice(name)
        metric = self.metrics.get((gate.metric, name))
        return metric is not None and metric.status == "ok" and metric.sample_size > 0


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
