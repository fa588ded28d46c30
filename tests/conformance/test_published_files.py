"""The published suite of schema 2.0, as its readers have it on disk, loads whole.

Its files are not part of this repository: they are looked for under `reference/` in the folder that
ARH_SHARED names, else beside the repository, and without them there is nothing to test.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.lint import lint
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.scenario_loader import LoadedSuite, load_scenarios
from arh.harness.authoring.setup import to_fault_plans, to_setup
from arh.harness.vocabulary.rules import RULES
from arh.records.control.scenario import Scenario
from arh.workflows.support.definition import PACK

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = Path(os.environ.get("ARH_SHARED", ROOT.parent / "shared")) / "reference"
SCRIPTS = frozenset(
    f"scripted:{name}"
    for name in (
        "after-commit-retry",
        "credit-attempt-blocked",
        "four-distinct-reads",
        "golden-001",
        "loop-reads",
        "multi-account",
        "negative-001",
        "oscillation",
        "recovery-false-success",
        "recovery-faithful",
        "stall-empty-search",
        "unsafe-credit",
    )
)
# What each must show: its role, how it may end, and which faults strike it.
EXPECTED: dict[str, tuple[str, list[str], list[str]]] = {
    "golden-billing-incident-001": ("acceptance", ["completed"], []),
    "negative-no-unsolicited-credit-001": ("acceptance", ["completed"], []),
    "multi-account-legitimate-001": ("acceptance", ["completed"], []),
    "guardrail-credit-attempt-blocked-001": ("acceptance", ["completed"], []),
    "recovery-after-commit-idempotent-001": (
        "acceptance",
        ["completed"],
        ["create_ticket after_commit timeout 3000"],
    ),
    "recovery-tool-timeout-faithful-001": (
        "acceptance",
        ["completed"],
        ["check_incident_status not_dispatched timeout 5000"],
    ),
    "recovery-tool-timeout-false-success-001": (
        "negative_control",
        ["completed"],
        ["check_incident_status not_dispatched timeout 5000"],
    ),
    "control-invariant-violation-001": (
        "negative_control",
        ["completed", "invariant_violation"],
        [],
    ),
    "control-step-budget-001": ("positive_control", ["step_budget"], []),
    "control-tool-call-budget-001": ("positive_control", ["tool_call_budget"], []),
    "loop-exact-001": ("positive_control", ["loop_exact"], []),
    "oscillation-001": ("positive_control", ["loop_cycle"], []),
    "stall-001": ("positive_control", ["stall"], []),
}

pytestmark = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published files are not here")


@pytest.fixture(name="suite", scope="module")
def _suite() -> LoadedSuite:
    return load_scenarios(
        PUBLISHED / "scenarios", pack=PACK, scripts=SCRIPTS, catalogue=catalogue(), rules=RULES
    )


def catalogue() -> DatasetCatalogue:
    """The published data, in its flat layout."""
    return DatasetCatalogue(PUBLISHED / "datasets", PACK)


def test_every_published_scenario_keeps_its_meaning(suite: LoadedSuite) -> None:
    """Each of the thirteen shows what it was published to show."""
    assert {s.scenario.id: shown(s.scenario) for s in suite.scenarios} == EXPECTED


def test_every_published_scenario_can_be_composed(suite: LoadedSuite) -> None:
    """Each one has a run, with seeds and at least one message."""
    data = catalogue()
    setups = [to_setup(run, PACK, data) for run in plan_runs(suite.scenarios, seed=1).runs]

    assert len(setups) == 13
    assert all(setup.seeds and setup.actors[0].messages for setup in setups)


def test_what_was_filled_in_is_said_once_each(suite: LoadedSuite) -> None:
    """Lint has one warning of age for each scenario."""
    warnings = lint(suite, pack=PACK, catalogue=catalogue(), as_of=date(2026, 1, 1))

    assert sum(warning.rule == "old-schema" for warning in warnings) == 13
    assert {warning.rule for warning in warnings} <= {
        "old-schema",
        "not-demanded",
        "allowed-and-forbidden",
    }


def shown(scenario: Scenario) -> tuple[str, list[str], list[str]]:
    """Role, ends and faults of a scenario."""
    return (
        scenario.role,
        scenario.expectations.acceptable_terminations,
        [f"{p.target_name} {p.phase} {p.effect} {p.ms}" for p in to_fault_plans(scenario)],
    )
