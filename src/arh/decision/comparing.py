"""One gate against one metric: compared exactly, and said in words.

What the release gate and the gate over recorded outputs share. A gate that asks for a review never
fails: what breaches it is left to a person, so it is undecided until somebody answers for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from arh.decision.definitions import DEFINITIONS
from arh.decision.gate_rules import Range, allowed_range, gate_id
from arh.decision.numbers import decimal, exact, plural, ratio
from arh.records.control.gate import GateResult, GateSpec, GateStatus
from arh.records.control.metric import MetricValue

_MISSING: Final[Mapping[str, GateStatus]] = {
    "block": "inconclusive",
    "warn": "warn",
    "skip": "skipped",
}
UNAPPROVED: Final = "somebody has to answer for it"
_WORDS: Final = {
    "eq": "exactly",
    "le": "at most",
    "lt": "less than",
    "ge": "at least",
    "gt": "more than",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a gate came to, and why."""

    status: GateStatus
    reason: str
    observed: str = ""
    required: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured at all: how many scenarios (or cases), how often each, of which slices."""

    scenarios: int
    trials: int
    has_slice: Callable[[str], bool]


def blank_result(gate: GateSpec) -> GateResult:
    """Return the result of a gate that has not been looked at."""
    definition = DEFINITIONS.get(gate.metric or "")
    return GateResult(
        gate=gate_id(gate),
        type=gate.type,
        metric=gate.metric or gate.check or "",
        slice=gate.slice,
        severity=gate.severity,
        status="inconclusive",
        reason="",
        level=gate.level or (definition.level if definition else "system"),
        activity=gate.activity or (definition.activity if definition else ""),
    )


def absolute(gate: GateSpec, metric: MetricValue, blank: GateResult, sample: Sample) -> GateResult:
    """Return what comparing the metric with the gate's threshold comes to."""
    allowed = allowed_range(gate)
    if allowed is None:
        return missing(gate, blank, "the gate has no threshold")
    found = compared(metric, allowed, gate)
    if found.status == "fail" and _is_certain(metric, allowed):
        return ended(gate, blank, found)
    if lacks := lack(gate, metric, sample) or unusable(metric):
        return missing(gate, blank, lacks)
    if found.status == "inconclusive":
        return missing(gate, blank, found.reason)
    return ended(gate, blank, found)


def lack(gate: GateSpec, metric: MetricValue | None, sample: Sample) -> str:
    """Return which evidence the gate asks for and does not have, or nothing."""
    scenarios = sample.scenarios if metric is None else metric.scenarios
    slices = [name for name in gate.evidence.required_slices if not sample.has_slice(name)]
    achieved = {
        "attempts": (gate.minimum_attempts, attempts(metric)),
        "sample size": (gate.minimum_sample_size, metric.sample_size if metric else 0),
        "scenarios": (gate.evidence.minimum_scenarios, scenarios),
        "trials of each scenario": (gate.evidence.minimum_trials, sample.trials),
    }
    short = [
        f"{name} {found} where {needed} is needed"
        for name, (needed, found) in achieved.items()
        if needed is not None and found < needed
    ]
    short += [f"nothing of the slice {name} was exercised" for name in slices]
    return "; ".join(short)


def ended(gate: GateSpec, blank: GateResult, found: Found) -> GateResult:
    """Return the gate with what was found: a warning only warns, a review leaves it open."""
    if found.status != "fail" or gate.severity == "blocking":
        return replace(blank, status=found.status, reason=found.reason)
    if gate.severity == "warning":
        return replace(blank, status="warn", reason=found.reason)
    return replace(blank, status="inconclusive", reason=f"{found.reason}; {UNAPPROVED}")


def missing(gate: GateSpec, blank: GateResult, reason: str) -> GateResult:
    """Return the gate without a verdict: a blocking one is inconclusive, whatever it says."""
    status: GateStatus = "inconclusive"
    if gate.severity == "warning":
        status = _MISSING[gate.on_missing]
    return replace(blank, status=status, reason=reason)


# --- comparisons ---------------------------------------------------------------------------------


def compared(metric: MetricValue, allowed: Range, gate: GateSpec) -> Found:
    """Compare exactly; unjudged runs are taken at their best and at their worst."""
    if metric.value is None:
        return Found("inconclusive", undecided(metric))
    low = metric.value if metric.lowest is None else metric.lowest
    high = metric.value if metric.highest is None else metric.highest
    holds = {allowed.holds(low), allowed.holds(high)}
    text = f"{shown(metric)} where {required(gate)} is required"
    if holds == {True}:
        return Found("pass", text)
    if holds == {False} and not _is_between(allowed, low, high):
        return Found("fail", text)
    return Found("inconclusive", f"{text}; {undecided(metric)}")


def _is_between(allowed: Range, low: Fraction, high: Fraction) -> bool:
    """Return true if a value that passes lies between two that do not."""
    return low != high and not allowed.within(Range(low, high)).is_empty()


def _is_certain(metric: MetricValue, allowed: Range) -> bool:
    """Return true if no further evidence could turn a failure round.

    One violation is enough where none is allowed, and one shortfall where all must hold.
    """
    definition = DEFINITIONS.get(metric.name)
    if definition is None or definition.kind != "rate" or metric.numerator is None:
        return False
    if definition.direction == "lower":
        none_allowed = allowed.high == 0
        return none_allowed and metric.numerator > 0
    shortfall = (metric.denominator or Fraction(0)) - metric.numerator
    return allowed.low == 1 and shortfall > (metric.unjudged if metric.lowest is not None else 0)


def unusable(metric: MetricValue) -> str:
    """Return why the metric's status keeps the gate from a verdict, or nothing."""
    if metric.status == "ok":
        return ""
    if metric.status == "indeterminate" and metric.lowest is not None:
        return ""
    detail = f": {metric.detail}" if metric.detail else ""
    return f"{metric.name} is {metric.status.replace('_', ' ')}{detail}"


def undecided(metric: MetricValue) -> str:
    """Return how many runs keep the metric open."""
    return f"{plural(metric.unjudged, 'run')} could not be judged"


# --- words ---------------------------------------------------------------------------------------


def shown(metric: MetricValue) -> str:
    """Return a metric's value as a reader wants it: `39 of 40 (0.975)`, or why there is none."""
    if metric.value is None:
        return metric.status.replace("_", " ")
    text = decimal(metric.value)
    definition = DEFINITIONS.get(metric.name)
    kind = definition.kind if definition is not None else "rate"
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


def evidence_needed(gate: GateSpec) -> str:
    """Return how much evidence the gate asks for."""
    needs = {
        "attempts": gate.minimum_attempts,
        "sample": gate.minimum_sample_size,
        "scenarios": gate.evidence.minimum_scenarios,
        "trials": gate.evidence.minimum_trials,
    }
    parts = [f"{name} {needed}" for name, needed in needs.items() if needed is not None]
    parts += [f"slice {name}" for name in gate.evidence.required_slices]
    return ", ".join(parts)


def evidence_achieved(metric: MetricValue, gate: GateSpec, sample: Sample) -> str:
    """Return how much was seen, beside what the gate asks for."""
    parts = [f"sample {metric.sample_size}", f"scenarios {metric.scenarios}"]
    if gate.minimum_attempts is not None:
        parts.insert(0, f"attempts {attempts(metric)}")
    if gate.evidence.minimum_trials is not None:
        parts.append(f"trials {sample.trials}")
    if metric.unjudged:
        parts.append(f"unjudged {metric.unjudged}")
    return ", ".join(parts)
