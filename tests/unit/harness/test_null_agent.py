"""The agent that does nothing: what it passes, and what it leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arh import bootstrap
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.evidence_store import EvidenceFolder, EvidenceWriter
from arh.harness.null_agent import passes_idle
from arh.harness.pipeline import run_suite
from arh.testing.workbench import Workbench, patched

BENCH = Workbench.own()
GOLDEN = "golden-billing-incident-001"
REFUSED = "negative-closed-account-002"


def passes(scenario_id: str, **expectations: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether inaction passes the scenario with these expectations."""
    located = patched(
        BENCH.located(scenario_id), lambda value: value["expectations"].update(expectations)
    )
    plan = plan_runs((located,), seed=1)
    bench_of = bootstrap.idle_bench(BENCH.suite, plan)
    return passes_idle(plan.runs[0], bench_of, BENCH.suite.catalogue, BENCH.suite.evaluators)


NOTHING_ELSE: dict[str, Any] = {"trajectory": {}, "guardrails": {}, "response": {}}
NO_CREDIT = [{"all_of": [{"kind": "absent", "collection": "credits", "where": {}}]}]


@pytest.mark.parametrize("scenario_id", [GOLDEN, REFUSED])
def test_inaction_passes_what_demands_only_an_absence(scenario_id: str) -> None:
    """Whether the run may end as completed, or must as something else."""
    weak = {"acceptable_outcomes": NO_CREDIT, "pass_criteria": {"outcome": "pass"}}

    assert passes(scenario_id, **NOTHING_ELSE, **weak)
    assert not passes(scenario_id)


def test_only_acceptance_scenarios_are_tried_and_nothing_is_written_of_it(tmp_path: Path) -> None:
    """A control has no answer, and the folder holds the planned runs alone."""
    control = next(
        each for each in BENCH.suite.loaded.scenarios if each.scenario.role == "positive_control"
    )
    plan = plan_runs((BENCH.located(GOLDEN), control), seed=1)
    pipeline = bootstrap.pipeline(BENCH.suite, plan, bootstrap.UnderTest())
    writer = EvidenceWriter(tmp_path / "evidence", plan, redact=pipeline.bench.redact)
    verdicts = run_suite(plan, pipeline, writer)
    other = EvidenceWriter(tmp_path / "other", plan, redact=pipeline.bench.redact)
    untried = run_suite(plan, replace(pipeline, idle=None), other)
    other.close({})
    writer.close({})

    tried = {verdict.scenario_id: verdict.idle_passes for verdict in verdicts}
    assert tried == {GOLDEN: False, control.scenario.id: None}
    assert {verdict.idle_passes for verdict in untried} == {None}
    assert len(tuple(EvidenceFolder(tmp_path / "evidence").runs())) == len(plan.runs)
