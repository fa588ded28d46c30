"""Metrics that flatter: they drop what failed, make something of nothing, or turn round.

Each is held against the questions of `arh.testing.decision_kit`, which the real ones all answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from arh.decision.catalogue import CATALOGUE
from arh.decision.metrics import compute
from arh.records.control.metric import MetricValue
from arh.records.control.plan import Located, RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import ScenarioVerdict
from arh.records.packs import WorkflowPack
from arh.testing.decision_kit import (
    DIRECTIONS,
    Compute,
    direction_violations,
    metric_violations,
)
from arh.testing.defects.planting import Catcher, Defect, Outcome, catchers
from arh.testing.workbench import Workbench

KIT: Final = "decision kit"
Keep = Callable[[ScenarioVerdict | None], bool]


def counting_only(keep: Keep) -> Compute:
    """Return metrics over the runs that are kept, as if no others had been planned."""

    def measure(
        verdicts: Sequence[ScenarioVerdict],
        scenarios: Sequence[Located],
        plan: RunPlan,
        pack: WorkflowPack,
    ) -> tuple[MetricValue, ...]:
        by_run = {verdict.run_id: verdict for verdict in verdicts}
        runs = tuple(run for run in plan.runs if keep(by_run.get(run.run_id)))
        return compute(verdicts, scenarios, replace(plan, runs=runs), pack)

    return measure


def reporting(value: int, *, only_nothing: bool) -> Compute:
    """Return metrics that are always that value, or only where nothing could be counted."""

    def measure(
        verdicts: Sequence[ScenarioVerdict],
        scenarios: Sequence[Located],
        plan: RunPlan,
        pack: WorkflowPack,
    ) -> tuple[MetricValue, ...]:
        return tuple(
            m
            if only_nothing and m.value is not None
            else replace(m, status="ok", value=Fraction(value))
            for m in compute(verdicts, scenarios, plan, pack)
        )

    return measure


def with_controls(
    verdicts: Sequence[ScenarioVerdict],
    scenarios: Sequence[Located],
    plan: RunPlan,
    pack: WorkflowPack,
) -> tuple[MetricValue, ...]:
    """Return metrics that count control scenarios as if they were to be passed."""
    runs = tuple(
        replace(run, located=replace(run.located, scenario=_accepted(run.located.scenario)))
        for run in plan.runs
    )
    return compute(verdicts, scenarios, replace(plan, runs=runs), pack)


def _accepted(scenario: Scenario) -> Scenario:
    return scenario.model_copy(update={"role": "acceptance"})


def in_metrics(identity: str, breaks: str, question: str, measure: Compute) -> Defect:
    """Return a defect of metrics that a question of the kit finds."""

    def asked(given: Compute) -> Callable[[Workbench], Outcome]:
        return lambda bench: wrong_about(metric_violations(bench, given))

    return Defect(identity, breaks, Catcher(KIT, question), asked(measure), asked(compute))


def wrong_about(names: Sequence[str]) -> Outcome:
    """Return what the kit says: nothing, or what was got wrong."""
    return Outcome(not names, catchers(KIT, names))


def directed(*, flipped: str = "") -> Outcome:
    """Return what the kit says of the catalogue's directions, one of them flipped."""
    turned = {"higher": "lower", "lower": "higher"}
    directions = {
        name: turned[CATALOGUE[name].definition.direction]
        if name == flipped
        else CATALOGUE[name].definition.direction
        for name in DIRECTIONS
    }
    return wrong_about(direction_violations(directions))


DEFECTS: tuple[Defect, ...] = (
    in_metrics(
        "metrics.drops-failures",
        "a rate that leaves failed runs out of its denominator",
        "a_failure_counts",
        counting_only(lambda v: v is None or v.status != "fail"),
    ),
    in_metrics(
        "metrics.drops-the-undecided",
        "a rate that leaves undecided runs out of its denominator",
        "an_undecided_run_stays_in_the_denominator",
        counting_only(lambda v: v is None or v.status not in ("indeterminate", "error")),
    ),
    in_metrics(
        "metrics.drops-errors",
        "a rate that leaves runs out in which the harness failed",
        "an_error_is_no_pass",
        counting_only(lambda v: v is None or v.status != "error"),
    ),
    in_metrics(
        "metrics.drops-the-missing",
        "a rate over the runs that came back, and not over those that were planned",
        "a_missing_run_stays_in_the_denominator",
        counting_only(lambda v: v is not None),
    ),
    in_metrics(
        "metrics.is-one-for-nothing",
        "a rate that is 1 without any opportunity",
        "nothing_tried_is_no_rate",
        reporting(1, only_nothing=True),
    ),
    in_metrics(
        "metrics.is-zero-for-nothing",
        "a rate that is 0 without any opportunity",
        "nothing_tried_is_no_rate",
        reporting(0, only_nothing=True),
    ),
    in_metrics(
        "metrics.is-constant",
        "a rate that is 1 whatever happened",
        "a_failure_counts",
        reporting(1, only_nothing=False),
    ),
    in_metrics(
        "metrics.counts-controls",
        "a rate that counts control scenarios",
        "all_pass",
        with_controls,
    ),
    Defect(
        "metrics.turns-a-direction-round",
        "a metric of which more is called better, and less is",
        Catcher(KIT, "guardrail_bypass_rate"),
        lambda _bench: directed(flipped="guardrail_bypass_rate"),
        lambda _bench: directed(),
    ),
)
