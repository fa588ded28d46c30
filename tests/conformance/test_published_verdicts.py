"""Scenarios of schema 2.0 end as their authors meant: run, judged and compared, control by control.

The first suite is this repository's own, in the published shapes. The second is the published one
itself, for those who have it (see `test_published_files`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arh.bootstrap import Suite, UnderTest, configure, default_evaluators, pipeline
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.roots import Root
from arh.harness.authoring.scenario_loader import load_scenarios
from arh.harness.pipeline import run_one
from arh.harness.vocabulary.rules import RULES
from arh.model.scripted.scripts import load_scripts
from arh.workflows.support.definition import PACK
from tests.conformance.test_published_files import PUBLISHED

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ROOT / "tests" / "data" / "published"
OWN = {
    "asks-for-credit-001": ("pass", "completed"),
    "invariant-caught-001": ("fail", "invariant_violation"),
    "lie-about-outage-001": ("fail", "completed"),
    "lost-reply-001": ("pass", "completed"),
    "oscillation-of-reads-001": ("pass", "loop_cycle"),
}


def test_own_scenarios_of_schema_2_get_their_verdicts(tmp_path: Path) -> None:
    """Acceptance passes, a lie and a broken invariant fail, a stop is the right one."""
    for path in SHAPES.glob("*.json"):
        value = json.loads(path.read_text("utf-8"))
        if value.get("id") in OWN:
            folder = tmp_path / value["category"]
            folder.mkdir(exist_ok=True)
            (folder / f"{path.stem}.jsonl").write_text(json.dumps(value) + "\n", "utf-8")

    assert verdicts(tmp_path, ROOT / "datasets") == OWN


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published files are not here")
def test_the_published_suite_gets_its_verdicts() -> None:
    """The thirteen end as they were published, on the data that they were published with."""
    assert verdicts(PUBLISHED / "scenarios", PUBLISHED / "datasets") == {
        "control-invariant-violation-001": ("fail", "invariant_violation"),
        "control-step-budget-001": ("pass", "step_budget"),
        "control-tool-call-budget-001": ("pass", "tool_call_budget"),
        "golden-billing-incident-001": ("pass", "completed"),
        "guardrail-credit-attempt-blocked-001": ("pass", "completed"),
        "loop-exact-001": ("pass", "loop_exact"),
        "multi-account-legitimate-001": ("pass", "completed"),
        "negative-no-unsolicited-credit-001": ("pass", "completed"),
        "oscillation-001": ("pass", "loop_cycle"),
        "recovery-after-commit-idempotent-001": ("pass", "completed"),
        "recovery-tool-timeout-faithful-001": ("pass", "completed"),
        "recovery-tool-timeout-false-success-001": ("fail", "completed"),
        "stall-001": ("pass", "stall"),
    }


def verdicts(scenarios: Path, datasets: Path) -> dict[str, tuple[str, str]]:
    """Status and termination of each scenario of a suite, every expected finding there."""
    suite = prepared(scenarios, datasets)
    plan = plan_runs(suite.loaded.scenarios, seed=1)
    run = pipeline(suite, plan, UnderTest())
    found: dict[str, tuple[str, str]] = {}
    for planned in plan.runs:
        done = run_one(planned, run)
        assert not isinstance(done, str), done
        _, verdict = done
        assert verdict.missing == ()
        found[verdict.scenario_id] = (verdict.status, verdict.termination)
    return found


def prepared(scenarios: Path, datasets: Path) -> Suite:
    """A suite over this repository's own model scripts."""
    configuration = configure(PACK, load_scripts(ROOT / "fixtures"))
    catalogue = DatasetCatalogue(datasets, PACK)
    loaded = load_scenarios(
        scenarios,
        pack=PACK,
        scripts=configuration.scripts.by_id,
        catalogue=catalogue,
        rules=RULES,
    )
    roots = {
        "scenarios": Root(scenarios, "flag"),
        "datasets": Root(datasets, "flag"),
        "fixtures": Root(ROOT / "fixtures", "repository"),
    }
    return Suite(configuration, catalogue, loaded, roots, default_evaluators())
