"""Metrics: adds up what every acceptance run contributes, exactly and with nothing left out.

Step 9 of a scenario's path. The population is what was planned, not what came back: a planned run
without a verdict is unjudged, controls and unscored runs stand apart. Repeats of a scenario never
raise a denominator: its worst run speaks for it. A metric without any opportunity is
`not_evaluated`, neither 0 nor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from arh.decision.catalogue import CATALOGUE, Measure
from arh.decision.counting import Added, boundaries_in, boundaries_of
from arh.records.control.metric import MetricStatus, MetricValue
from arh.records.control.plan import Located, RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import ScenarioVerdict
from arh.records.packs import WorkflowPack
from arh.stats.quantiles import nearest_rank

QUANTILE: Final = Fraction(95, 100)
QUANTILE_SAMPLE_MIN: Final = 20
ALL: Final = "all"
_WORST_FIRST: Final = ("fail", "error", "indeterminate", "pass")


@dataclass(frozen=True, slots=True)
class Case:
    """One acceptance scenario that was planned, with the verdict on its worst run, if any."""

    scenario: Scenario
    verdict: ScenarioVerdict | None


def compute(
    verdicts: Sequence[ScenarioVerdict],
    scenarios: Sequence[Located],
    plan: RunPlan,
    pack: WorkflowPack,
) -> tuple[MetricValue, ...]:
    """Return every metric of the catalogue, for all acceptance runs and for each slice of them.

    `scenarios` is what was loaded: slices exist for every class in it, so that a slice that was
    filtered away is not evaluated, and not absent.
    """
    cases = acceptance_cases(verdicts, plan)
    counted = {
        name: [measure.counted(case.scenario, case.verdict) for case in cases]
        for name, measure in CATALOGUE.items()
    }
    values: list[MetricValue] = []
    for name, holds in slices_of([located.scenario for located in scenarios]).items():
        places = [at for at, case in enumerate(cases) if holds(case.scenario)]
        own = [cases[at] for at in places]
        for measure in CATALOGUE.values():
            added = [counted[measure.definition.name][at] for at in places]
            values.append(replace(_measured(measure, added, own, pack), slice=name))
    return tuple(values)


def acceptance_cases(verdicts: Sequence[ScenarioVerdict], plan: RunPlan) -> tuple[Case, ...]:
    """Return one case for each planned acceptance scenario, in plan order."""
    by_run = {verdict.run_id: verdict for verdict in verdicts}
    runs: dict[str, list[ScenarioVerdict | None]] = {}
    scenarios: dict[str, Scenario] = {}
    for run in plan.runs:
        scenario = run.located.scenario
        if scenario.role == "acceptance":
            scenarios[scenario.id] = scenario
            runs.setdefault(scenario.id, []).append(by_run.get(run.run_id))
    return tuple(Case(scenarios[name], worst(found)) for name, found in runs.items())


def worst(verdicts: Sequence[ScenarioVerdict | None]) -> ScenarioVerdict | None:
    """Return the verdict that speaks for all runs of a scenario: a failure, else a missing one."""
    failed = next((v for v in verdicts if v is not None and v.status == "fail"), None)
    if failed is not None or None in verdicts:
        return failed
    present = [verdict for verdict in verdicts if verdict is not None]
    return min(present, key=lambda v: _rank(v.status)) if present else None


def _rank(status: str) -> int:
    return _WORST_FIRST.index(status) if status in _WORST_FIRST else len(_WORST_FIRST) - 2


def slices_of(scenarios: Iterable[Scenario]) -> Mapping[str, Callable[[Scenario], bool]]:
    """Return the slices of a suite by name: all, each risk class, each category."""
    found = [s for s in scenarios if s.role == "acceptance"]
    risks = sorted({s.risk_class for s in found})
    categories = sorted({s.category.value for s in found})
    return {
        ALL: lambda _scenario: True,
        **{f"risk:{risk}": _has_risk(risk) for risk in risks},
        **{f"category:{name}": _has_category(name) for name in categories},
    }


def _has_risk(risk: str) -> Callable[[Scenario], bool]:
    return lambda scenario: scenario.risk_class == risk


def _has_category(name: str) -> Callable[[Scenario], bool]:
    return lambda scenario: scenario.category.value == name


def _measured(
    measure: Measure, added: Sequence[Added], cases: Sequence[Case], pack: WorkflowPack
) -> MetricValue:
    if measure.reason:
        return _blank(measure, "not_evaluated", measure.reason)
    if measure.definition.name == "guardrail_test_coverage":
        return _coverage(measure, cases, pack)
    return _Sum.of(measure, added).value()


def _blank(measure: Measure, status: MetricStatus, detail: str) -> MetricValue:
    d = measure.definition
    return MetricValue(d.name, d.version, d.unit, status, None, None, None, detail=detail)


@dataclass(frozen=True, slots=True)
class _Sum:
    """What all cases of a slice add to one metric."""

    measure: Measure
    added: tuple[tuple[int, int], ...]
    unjudged: int
    cases: int

    @classmethod
    def of(cls, measure: Measure, counted: Sequence[Added]) -> _Sum:
        added = tuple(each for each in counted if isinstance(each, tuple))
        return cls(measure, added, counted.count("unjudged"), len(counted))

    def value(self) -> MetricValue:
        numerator = sum(each[0] for each in self.added)
        denominator = sum(each[1] for each in self.added)
        if self.measure.known:
            denominator += self.unjudged
        if denominator == 0:
            return self._nothing()
        if self.measure.definition.kind == "quantile":
            return self._quantile()
        value = self._counted(Fraction(numerator), Fraction(denominator))
        return self._bounded(value, numerator, denominator) if self.measure.known else value

    def _nothing(self) -> MetricValue:
        if self.unjudged:
            blank = _blank(self.measure, "indeterminate", self._lacking())
        elif not self.cases:
            blank = _blank(self.measure, "not_evaluated", "no acceptance run")
        else:
            blank = _blank(self.measure, "not_evaluated", "no opportunity in any acceptance run")
        return replace(blank, unjudged=self.unjudged)

    def _counted(self, numerator: Fraction, denominator: Fraction) -> MetricValue:
        d = self.measure.definition
        judged = sum(each[1] for each in self.added)
        return MetricValue(
            name=d.name,
            version=d.version,
            unit=d.unit,
            status="indeterminate" if self.unjudged else "ok",
            numerator=numerator,
            denominator=denominator,
            value=numerator / denominator,
            sample_size=judged if d.kind == "rate" else self._speaking(),
            detail=self._lacking(),
            unjudged=self.unjudged,
            scenarios=self._speaking(),
        )

    def _bounded(self, value: MetricValue, numerator: int, denominator: int) -> MetricValue:
        """Say between which values the metric lies, whatever the unjudged runs would show."""
        return replace(
            value,
            lowest=Fraction(numerator, denominator),
            highest=Fraction(numerator + self.unjudged, denominator),
        )

    def _quantile(self) -> MetricValue:
        values = [each[0] for each in self.added]
        exact = Fraction(nearest_rank(values, QUANTILE))
        counted = self._counted(exact, Fraction(1))
        value = replace(counted, numerator=None, denominator=None, value=exact)
        if self.unjudged or len(values) >= QUANTILE_SAMPLE_MIN:
            return value
        detail = f"{len(values)} runs, and a percentile takes {QUANTILE_SAMPLE_MIN}"
        return replace(value, status="insufficient_data", detail=detail)

    def _speaking(self) -> int:
        """Return how many runs had any opportunity."""
        return sum(each[1] > 0 for each in self.added)

    def _lacking(self) -> str:
        left_out = self.cases - self._speaking() - self.unjudged
        parts = [f"{self.unjudged} of {self.cases} runs unjudged"] if self.unjudged else []
        parts += [f"{left_out} of {self.cases} runs have no part in it"] if left_out else []
        return "; ".join(parts)


def _coverage(measure: Measure, cases: Sequence[Case], pack: WorkflowPack) -> MetricValue:
    """Return the share of the workflow's boundary classes on which a control really decided."""
    classes = boundaries_in(pack)
    covered = {kind for case in cases if exercised(case) for kind in boundaries_of(case.scenario)}
    if not classes or not cases:
        return _blank(measure, "not_evaluated", "no acceptance run")
    missing = [kind for kind in classes if kind not in covered]
    share = Fraction(len(classes) - len(missing)), Fraction(len(classes))
    d = measure.definition
    return MetricValue(
        name=d.name,
        version=d.version,
        unit=d.unit,
        status="ok",
        numerator=share[0],
        denominator=share[1],
        value=share[0] / share[1],
        sample_size=len(classes),
        detail=f"not covered: {', '.join(missing)}" if missing else "",
        scenarios=len(cases),
    )


def exercised(case: Case) -> bool:
    """Return true if a control decided on a forbidden attempt in this run and let none through."""
    result = None if case.verdict is None else case.verdict.result("guardrails")
    return (
        result is not None
        and result.status == "pass"
        and any(f.name == "control_exercised" and f.numerator for f in result.facts)
    )


def fact_sums(verdict: ScenarioVerdict | None, name: str) -> Iterator[tuple[int, int, str]]:
    """Yield numerator, denominator and slice of every fact of that name in a run."""
    for fact in verdict.facts if verdict is not None else ():
        if fact.name == name:
            yield fact.numerator, fact.denominator, fact.slice
