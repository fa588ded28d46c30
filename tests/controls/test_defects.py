"""Every seeded defect is caught by what it names, its twin is spared, and no check goes without.

A check that no defect of the self-test names has a control elsewhere, which is named here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from arh.decision.conformance import CHECKS, IMPLICIT
from arh.errors import AuthoringError
from arh.harness.vocabulary.rules import RULES
from arh.testing import decision_kit, store_kit
from arh.testing.defects import Catcher, Defect, Outcome, all_defects
from arh.testing.selftest import chosen, tried
from arh.testing.workbench import Exercise, Workbench

ROOT = Path(__file__).resolve().parents[2]
DEFECTS = all_defects()
NAMED = {defect.caught_by.name for defect in DEFECTS}
GOLDEN = "golden-billing-incident-001"
OUTCOME = "tests/controls/test_outcome_controls.py"
FAULTS = "tests/controls/test_fault_handling_controls.py"
GUARDRAILS = "tests/controls/test_guardrails_controls.py"
PROGRESS = "tests/controls/test_non_progress_controls.py"
TELEMETRY = "telemetry.* are warnings of a trace that no run of the self-test exports"
ELSEWHERE = {
    "outcome.invariant_unread": OUTCOME,
    "outcome.state_missing": OUTCOME,
    "outcome.state_inconsistent": OUTCOME,
    "outcome.unresolved_operation": "tests/unit/harness/evaluators/test_outcome.py",
    "guardrails.refused_by_budget": GUARDRAILS,
    "guardrails.rejected_before_decision": GUARDRAILS,
    "fault.not_armed": FAULTS,
    "fault.not_witnessed": "tests/unit/harness/test_delivery.py",
    "fault.undecided": FAULTS,
    "response.unreadable": "tests/controls/test_response_controls.py",
    "grounding.unreadable": "tests/controls/test_grounding_controls.py",
    "non_progress.unreadable": PROGRESS,
    "trajectory.inefficient": "tests/controls/test_trajectory_controls.py",
    "trajectory.assertion_not_exercised": "tests/controls/test_trajectory_controls.py",
    "non_progress.wrong_pattern": PROGRESS,
    "non_progress.amplification": PROGRESS,
    "non_progress.overrun": PROGRESS,
}
STORE_CHECKS_ELSEWHERE = "tests/conformance/test_store.py"
GROUPS = (
    "agents",
    "approvals",
    "decision-points",
    "evaluators",
    "evidence",
    "gates",
    "gateway",
    "metrics",
    "scripts",
    "store",
    "suite",
)


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """The suite that comes with arh."""
    return Workbench.own()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.id)
def test_a_defect_is_caught_by_what_it_names_and_its_twin_is_spared(
    defect: Defect, bench: Workbench
) -> None:
    """The defect does not come out clean, its catcher noticed, and without it all is well."""
    trial = tried(defect, bench)

    assert (trial.status, trial.detail) == ("caught", "")


def test_every_defect_has_a_name_of_its_own_and_says_what_is_wrong() -> None:
    """Ids read `group.what-is-wrong`; the sentence is one plain line."""
    identities = [defect.id for defect in DEFECTS]

    assert len(set(identities)) == len(identities)
    assert [i for i in identities if not re.fullmatch(r"[a-z-]+\.[a-z0-9-]+", i)] == []
    assert [d.id for d in DEFECTS if not d.breaks.isprintable() or d.breaks.endswith(".")] == []
    assert set(GROUPS) == {defect.group for defect in DEFECTS}


def test_there_is_no_rule_that_nothing_was_shown_to_break() -> None:
    """Each rule has a defect here or a control in the file that is named for it."""
    uncovered = {rule for rule in RULES if rule not in NAMED and not rule.startswith("telemetry.")}

    assert uncovered == set(ELSEWHERE)
    for rule, file in ELSEWHERE.items():
        assert rule.split(".", 1)[1] in (ROOT / file).read_text("utf-8"), rule


def test_no_failing_rule_is_left_to_a_control_elsewhere() -> None:
    """Whatever makes a scenario fail was broken by a seeded defect in a real run."""
    assert [rule for rule in ELSEWHERE if RULES[rule].severity == "fail"] == []
    assert [r for r in RULES if r.startswith("telemetry.") and RULES[r].severity == "fail"] == [], (
        TELEMETRY
    )


def test_every_evaluator_was_shown_to_catch_something_and_to_be_missed() -> None:
    """Each one catches a defect, and one that always passes is noticed by a control."""
    evaluators = {each.id for each in Workbench.own().suite.evaluators}
    catching = {defect.caught_by.by for defect in DEFECTS}
    replaced = {f"evaluators.{name.replace('_', '-')}-always-passes" for name in evaluators}

    assert evaluators - catching == set()
    assert replaced - {defect.id for defect in DEFECTS} == set()


def test_every_gate_was_shown_to_stop_a_release() -> None:
    """Each check that a profile may name, each that it need not name, and each kind of gate."""
    gates = {defect.caught_by.name for defect in DEFECTS if defect.caught_by.by == "gate"}
    kinds = {"scenario_pass_rate": "absolute", "no-drop": "regression", "never": "conformance"}

    assert (set(CHECKS) | set(IMPLICIT) | set(kinds)) - gates == set()


def test_what_the_kits_ask_is_asked_of_the_real_ones() -> None:
    """The real metrics, gates and store get every question of their kits right."""
    own = Workbench.own()

    assert decision_kit.metric_violations(own) == ()
    assert decision_kit.gate_violations(own) == ()
    assert "store_kit" in (ROOT / STORE_CHECKS_ELSEWHERE).read_text("utf-8")
    assert {check.__name__ for check in store_kit.CHECKS} & NAMED


def test_evidence_names_the_defect_that_was_planted(bench: Workbench) -> None:
    """The header of a run with a defect carries its id, that of a twin carries none."""
    planted = bench.tried(Exercise(GOLDEN, defect="agents.says-done")).output.evidence
    twin = bench.tried(Exercise(GOLDEN)).output.evidence

    assert (planted.header["defect"], twin.header["defect"]) == ("agents.says-done", "")


def test_a_defect_that_nothing_catches_is_told(bench: Workbench) -> None:
    """A catcher that does not notice, a defect that is none, and a broken twin are all told."""
    whole = next(defect for defect in DEFECTS if defect.id == "agents.says-done")
    missed = replace(whole, caught_by=Catcher("grounding", "grounding.denied_effect"))
    harmless = replace(whole, plant=lambda _bench: Outcome(clean=True))
    strict = replace(whole, twin=whole.plant)
    failing = replace(whole, plant=lambda _bench: Outcome(clean=1 / 0 == 0))

    statuses = [tried(each, bench).status for each in (missed, harmless, strict, failing)]

    assert statuses == ["NOT CAUGHT", "NOT CAUGHT", "TWIN FAILED", "BROKEN"]


def test_a_pattern_selects_defects_and_a_misspelt_one_is_refused() -> None:
    """A self-test of nothing would show nothing."""
    assert {defect.group for defect in chosen(["store.*"])} == {"store"}
    assert chosen([]) == DEFECTS
    with pytest.raises(AuthoringError, match="pattern that matches a defect"):
        chosen(["stroe.*"])
