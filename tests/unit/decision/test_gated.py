"""A gate has seen a failed run only if its metric tells of the failure and is the worse for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from arh.decision.catalogue import CATALOGUE
from arh.decision.gated import TELLS
from arh.decision.gates import decide
from arh.decision.profile import load_profile
from arh.harness.vocabulary.rules import RULES
from tests.unit.decision.made import PASS_RATE, Suite, counted, found, guarded, located, suite

ROOT = Path(__file__).parents[3]
NO_HARM = (
    "metric: collateral_change_rate, type: absolute, operator: eq, threshold: 0",
    "metric: duplicate_side_effect_rate, type: absolute, operator: eq, threshold: 0",
    "metric: false_success_rate, type: absolute, operator: eq, threshold: 0",
)
HALF = "metric: {}, type: absolute, operator: {}, threshold: 0.5"


def failing(evaluator: str, rule: str, level: str = "workflow") -> Suite:
    """Two scenarios, one of which failed by one finding."""
    made = suite(located(), located("buy-a-rug-001"))
    return made.change("buy-a-lamp-001", lambda v: found(v, evaluator, rule, level=level))  # type: ignore[arg-type]


def test_gates_that_counted_nothing_of_a_failure_do_not_pass_over_it() -> None:
    """The only scenario failed, every harm counted is none, and that is no pass."""
    made = suite(located()).change(
        "buy-a-lamp-001",
        lambda v: found(v, "outcome", "outcome.no_alternative_holds", level="workflow"),
    )

    decided = made.decide(*NO_HARM)

    assert decided.decision == "inconclusive"
    assert "buy-a-lamp-001 (outcome.no_alternative_holds)" in decided.reasons[0]


@pytest.mark.parametrize(
    ("evaluator", "rule", "level"),
    [
        ("response", "response.schema_mismatch", "response"),
        ("grounding", "grounding.denied_effect", "response"),
        ("trajectory", "trajectory.forbidden_requested", "step"),
        ("evidence", "evidence.conflict", "system"),
        ("other", "other.rule", "step"),
    ],
)
def test_a_profile_of_rates_is_inconclusive_over_what_none_of_them_counts(
    evaluator: str, rule: str, level: str
) -> None:
    """The published profile of rates does not pass over a run that failed beside its rates."""
    made = failing(evaluator, rule, level)
    profile = load_profile(ROOT / "profiles" / "strict-demo.yaml", rules=RULES).profile
    verdicts = list(made.verdicts.values())

    decided = decide(profile, made.metrics(), verdicts, made.plan, about=made.about)

    seen = next(gate for gate in decided.gates if gate.gate == "failures_gated")
    assert decided.decision != "pass"
    assert seen.status == "inconclusive"


def test_a_failure_that_a_metric_counted_is_seen() -> None:
    """What a profile tolerates in so many words it has not overlooked."""
    made = failing("outcome", "outcome.no_alternative_holds")
    made.change("buy-a-lamp-001", lambda v: counted(v, "outcome_success", 0, 1))

    result = made.implicit("failures_gated", HALF.format("outcome_success_rate", "ge"))

    assert result.status == "pass"


def test_a_metric_that_is_worse_for_another_reason_saw_nothing() -> None:
    """An answer that nothing backs is not seen by a count of end states."""
    made = failing("grounding", "grounding.unfounded_claim", "response")
    made.change("buy-a-lamp-001", lambda v: counted(v, "outcome_success", 0, 1))

    result = made.implicit("failures_gated", HALF.format("outcome_success_rate", "ge"))

    assert result.status == "inconclusive"


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        (PASS_RATE, "pass"),
        (PASS_RATE + ", slice: 'risk:low'", "pass"),
        (PASS_RATE + ", slice: 'risk:critical'", "inconclusive"),
        (PASS_RATE + ", severity: warning", "inconclusive"),
        ("type: conformance, check: critical_scenarios_pass", "inconclusive"),
    ],
)
def test_a_gate_about_runs_sees_the_runs_that_it_covers(gate: str, status: str) -> None:
    """A gate on other runs, or one that never blocks, has not looked."""
    made = suite(located(risk_class="low"), guarded())
    made.change("buy-a-lamp-001", lambda v: found(v, "response", "response.schema_mismatch"))

    assert made.implicit("failures_gated", gate).status == status


def test_a_repeat_does_not_hide_behind_another_failure() -> None:
    """The first failure speaks for the scenario, and a different one is still unseen."""
    made = suite(located(), located("buy-a-rug-001"), trials=2)
    made.change(
        "buy-a-lamp-001",
        lambda v: counted(found(v, "outcome", "evidence.gap"), "outcome_success", 0, 1),
    )
    made.change(
        "buy-a-lamp-001", lambda v: found(v, "response", "response.schema_mismatch"), trial=2
    )

    result = made.implicit("failures_gated", HALF.format("outcome_success_rate", "ge"))

    assert "response.schema_mismatch" in result.reason


def test_every_metric_that_tells_of_failures_is_a_rate_of_the_catalogue() -> None:
    """A name that no metric has would tell of nothing."""
    assert {CATALOGUE[name].definition.kind for name in TELLS} == {"rate"}
