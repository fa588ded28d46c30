"""What makes a gate a gate: the rules that one `GateSpec` must keep, told as problems.

A gate must be complete for its type, look at something that exists, be able to fail and be able to
pass, and if it blocks, it may not wave through what was never measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, get_args

from arh.decision.case_metrics import CASE_SLICES
from arh.decision.definitions import BY_SUBJECT, DEFINITIONS
from arh.decision.numbers import exact
from arh.errors import Problem, closest
from arh.records.control.gate import GateSpec, Subject
from arh.records.control.metric import MetricDefinition
from arh.records.control.scenario import Category, Risk
from arh.records.control.verdict import LEVELS

ACTIVITIES: Final = tuple(sorted({each.activity for each in DEFINITIONS.values()}))
SLICES: Final = (
    "all",
    *(f"risk:{risk}" for risk in get_args(Risk)),
    *(f"category:{category.value}" for category in Category),
)
_SLICES: Final = {"scenarios": SLICES, "cases": CASE_SLICES}
_OF_TYPE: Final = {
    "absolute": ("metric", "operator", "threshold"),
    "regression": ("metric", "regression_kind", "max_delta", "floor"),
    "conformance": ("check", "rules"),
}
_REQUIRED: Final = {
    "absolute": ("metric", "operator", "threshold"),
    "regression": ("metric", "regression_kind", "max_delta"),
    "conformance": ("check",),
}
_ALL_FIELDS: Final = tuple(dict.fromkeys(name for names in _OF_TYPE.values() for name in names))
_ABOUT_SAMPLES: Final = ("minimum_attempts", "minimum_sample_size", "allow_provisional")

Bound = tuple[Fraction | None, bool]


@dataclass(frozen=True, slots=True)
class Range:
    """Values between two bounds; an open bound is left out, `None` is no bound."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False

    def within(self, other: Range | None) -> Range:
        """Return what both ranges hold."""
        if other is None:
            return self
        lows = (self.low, self.low_open), (other.low, other.low_open)
        highs = (self.high, self.high_open), (other.high, other.high_open)
        low, low_open = _tighter(*lows, sign=1)
        high, high_open = _tighter(*highs, sign=-1)
        return Range(low, high, low_open, high_open)

    def is_empty(self) -> bool:
        """Return true if no value lies between the bounds."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def holds(self, value: Fraction) -> bool:
        """Return true if the value lies between the bounds."""
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        below = (
            self.high is None or value < self.high or (value == self.high and not self.high_open)
        )
        return above and below

    def covers(self, other: Range) -> bool:
        """Return true if every value of the other range lies in this one."""
        both = self.within(other)
        return both == other


def _tighter(one: Bound, two: Bound, *, sign: int) -> Bound:
    """Return the bound that lets less through; `sign` is 1 for low bounds and -1 for high ones."""
    if one[0] is None or two[0] is None:
        return two if one[0] is None else one
    if one[0] == two[0]:
        return one[0], one[1] or two[1]
    return one if (one[0] - two[0]) * sign > 0 else two


def allowed_range(gate: GateSpec) -> Range | None:
    """Return the values that pass an absolute gate."""
    if gate.threshold is None or gate.operator is None:
        return None
    bound = exact(gate.threshold)
    return {
        "eq": Range(bound, bound),
        "le": Range(high=bound),
        "lt": Range(high=bound, high_open=True),
        "ge": Range(low=bound),
        "gt": Range(low=bound, low_open=True),
    }[gate.operator]


def possible_range(definition: MetricDefinition) -> Range:
    """Return the values that a metric can take at all."""
    return Range(Fraction(0), Fraction(1) if definition.kind == "rate" else None)


def gate_id(gate: GateSpec) -> str:
    """Return the gate's own name, or what it looks at."""
    if gate.id is not None:
        return gate.id
    about = gate.metric or gate.check or ""
    prefix = "" if gate.type != "regression" else "regression:"
    return f"{prefix}{about}" + (f"@{gate.slice}" if gate.slice != "all" else "")


def gate_problems(
    gate: GateSpec, rules: Collection[str], judges: Subject = "scenarios"
) -> Iterator[Problem]:
    """Yield what is wrong with one gate; `field` is the field's name within it."""
    if judges == "cases" and gate.type != "absolute":
        hint = "recorded outputs have metrics, and neither runs nor baselines"
        yield Problem(gate.type, "`absolute`, in a profile of cases", field="type", hint=hint)
        return
    yield from _fields(gate)
    yield from _names(gate, rules, judges)
    yield from _missing(gate)
    yield from _samples(gate)
    definition = BY_SUBJECT[judges].get(gate.metric or "")
    if definition is not None and gate.type == "absolute":
        yield from _absolute(gate, definition)
    if definition is not None and gate.type == "regression":
        yield from _regression(gate, definition)


def _fields(gate: GateSpec) -> Iterator[Problem]:
    """Yield fields that the gate's type needs and lacks, and those that it has no use for."""
    own = _OF_TYPE[gate.type]
    for name in _REQUIRED[gate.type]:
        if getattr(gate, name) is None:
            yield Problem("", f"`{name}` in a gate of the type {gate.type}", field=name)
    written = gate.model_fields_set
    for name in _ALL_FIELDS:
        if name in written and name not in own:
            found = f"a gate of the type {gate.type} has no use for `{name}`"
            yield Problem(found, field=name, hint="remove it")
    if gate.type == "conformance":
        for name in (*_ABOUT_SAMPLES, "slice"):
            if name in written:
                found = f"a conformance gate has no use for `{name}`"
                yield Problem(found, field=name, hint="remove it")


def _names(gate: GateSpec, rules: Collection[str], judges: Subject) -> Iterator[Problem]:
    """Yield names that mean nothing."""
    slices = _SLICES[judges]
    named = [
        ("metric", gate.metric, tuple(BY_SUBJECT[judges])),
        ("slice", gate.slice, slices),
        ("level", gate.level, LEVELS),
        ("activity", gate.activity, ACTIVITIES),
        *(("rules", rule, tuple(rules)) for rule in gate.rules),
        *(("evidence", name, slices) for name in gate.evidence.required_slices),
    ]
    for name, value, known in named:
        if value is not None and value not in known:
            hint = closest(value, known) or "see the list in the documentation of profiles"
            yield Problem(value, f"a known {name.removesuffix('s')}", field=name, hint=hint)
    if gate.type == "conformance" and (gate.check == "never") != bool(gate.rules):
        found = "" if gate.check == "never" else ", ".join(gate.rules)
        expected = "the rule ids that may never be found, in a gate `never` and in no other"
        yield Problem(found, expected, field="rules")


def _missing(gate: GateSpec) -> Iterator[Problem]:
    if gate.severity != "warning" and gate.on_missing != "block":
        hint = "make it a warning, or leave on_missing out"
        expected = f"`block`: a {gate.severity} gate cannot wave through what was not measured"
        yield Problem(gate.on_missing, expected, field="on_missing", hint=hint)


def _samples(gate: GateSpec) -> Iterator[Problem]:
    """Yield demands that only a sample could meet: an authored suite is none."""
    for name in ("confidence_level", "maximum_interval_width"):
        if getattr(gate.evidence, name) is not None:
            found = f"`{name}` needs a sample, and an authored suite under a scripted model is none"
            hint = "an authored suite reports k of n and has no interval"
            yield Problem(found, field="evidence", hint=hint)
    if (gate.evidence.minimum_trials or 0) > 1:
        found = "`minimum_trials` above 1 can never be met: a suite runs each scenario once"
        hint = "further runs under a scripted model show nothing new; leave it out"
        yield Problem(found, field="evidence", hint=hint)


def _absolute(gate: GateSpec, definition: MetricDefinition) -> Iterator[Problem]:
    allowed = allowed_range(gate)
    if allowed is None or gate.operator is None:
        return
    towards = {"higher": ("le", "lt"), "lower": ("ge", "gt")}.get(definition.direction, ())
    if gate.operator in towards:
        better = "more" if definition.direction == "higher" else "less"
        hint = "turn the operator round"
        found = f"`{gate.operator}` refuses what is better: of `{definition.name}`, {better} is"
        yield Problem(f"{found} better", field="operator", hint=hint)
        return
    possible = possible_range(definition)
    shown = f"{gate.operator} {gate.threshold}"
    if allowed.covers(possible):
        found = f"`{shown}` can never fail: `{definition.name}` has no other values"
        yield Problem(found, field="threshold", hint="choose a threshold that it can miss")
    elif allowed.within(possible).is_empty():
        found = f"`{shown}` can never pass: `{definition.name}` has no such value"
        yield Problem(found, field="threshold", hint="choose a threshold that it can reach")


def _regression(gate: GateSpec, definition: MetricDefinition) -> Iterator[Problem]:
    if gate.regression_kind is None or gate.max_delta is None:
        return
    drops = gate.regression_kind.startswith("drop")
    if definition.direction == ("lower" if drops else "higher"):
        found = f"`{gate.regression_kind}` of `{definition.name}` is an improvement"
        yield Problem(found, field="regression_kind", hint="turn the kind round")
    delta = exact(gate.max_delta)
    if delta < 0:
        yield Problem(str(gate.max_delta), "0 or more", field="max_delta")
    most = _largest_change(gate, definition)
    if most is not None and delta >= most:
        found = f"a change of {gate.max_delta} can never be exceeded"
        yield Problem(found, field="max_delta", hint=f"choose less than {most}")
    if gate.severity != "warning" and gate.floor is None:
        hint = "small losses add up; state the value that it may never pass"
        yield Problem(
            "", f"an absolute floor beside a {gate.severity} comparison", field="floor", hint=hint
        )
    if gate.floor is not None:
        yield from _floor(gate, definition)


def _floor(gate: GateSpec, definition: MetricDefinition) -> Iterator[Problem]:
    """Yield a floor that can never be missed or never be kept."""
    bound = exact(gate.floor or 0)
    higher = (gate.regression_kind or "").startswith("drop")
    allowed = Range(low=bound) if higher else Range(high=bound)
    possible = possible_range(definition)
    if allowed.covers(possible) or allowed.within(possible).is_empty():
        expected = f"a floor that `{definition.name}` can miss and can keep"
        yield Problem(str(gate.floor), expected, field="floor")


def _largest_change(gate: GateSpec, definition: MetricDefinition) -> int | None:
    """Return a change that nothing can exceed: a share moves by 1 point, and falls by 100 %."""
    if gate.regression_kind == "drop_percent":
        return 100
    points = gate.regression_kind in ("drop_points", "rise_points")
    return 1 if points and definition.kind == "rate" else None


def gates_without_floor(gates: Sequence[GateSpec]) -> Iterator[GateSpec]:
    """Yield comparisons without a floor of their own or an absolute gate on the same metric."""
    absolute = {(g.metric, g.slice) for g in gates if g.type == "absolute"}
    for gate in gates:
        bare = gate.type == "regression" and gate.floor is None
        if bare and (gate.metric, gate.slice) not in absolute:
            yield gate
