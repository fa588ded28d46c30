"""Gates compare exactly, and the decision follows from them: fail, else inconclusive, else pass."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.decision.gates import decide
from arh.decision.metrics import compute
from arh.records.control.gate import GateSpec, Profile
from arh.records.control.metric import MetricStatus
from tests.unit.decision.made import (
    PASS_RATE,
    Suite,
    broken,
    counted,
    faulted,
    found,
    guarded,
    loaded,
    located,
    suite,
    undecided,
)
from tests.unit.harness.authored import PACK

BYPASS = "metric: guardrail_bypass_rate, type: absolute, operator: eq, threshold: 0"
P95 = "metric: tool_calls_per_workflow_p95, type: absolute, operator: le, threshold: 12"


def half_passed() -> Suite:
    """Two acceptance scenarios, of which one failed at the workflow level."""
    made = suite(located("one-001"), located("two-001"))
    return made.change(
        "two-001", lambda v: found(v, "outcome", "outcome.no_alternative_holds", level="workflow")
    )


def absolute(metric: str, operator: str, threshold: str, more: str = "") -> str:
    """An absolute gate."""
    return f"metric: {metric}, type: absolute, operator: {operator}, threshold: {threshold}{more}"


# --- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "threshold", "status"),
    [
        ("ge", "0.5", "pass"),
        ("ge", "0.500001", "fail"),
        ("ge", "0.499999", "pass"),
        ("gt", "0.5", "fail"),
        ("gt", "0.499999", "pass"),
        ("eq", "0.5", "pass"),
        ("eq", "0.500001", "fail"),
        ("eq", "0.499999", "fail"),
    ],
)
def test_a_rate_of_one_half_at_its_threshold(operator: str, threshold: str, status: str) -> None:
    """At the threshold itself, and a millionth beside it, on both sides."""
    gate = half_passed().gate(absolute("scenario_pass_rate", operator, threshold))

    assert gate.status == status


@pytest.mark.parametrize(
    ("operator", "threshold", "status"),
    [
        ("le", "0.5", "pass"),
        ("le", "0.499999", "fail"),
        ("le", "0.500001", "pass"),
        ("lt", "0.5", "fail"),
        ("lt", "0.500001", "pass"),
        ("eq", "0.5", "pass"),
        ("eq", "0.499999", "fail"),
    ],
)
def test_a_harm_of_one_half_at_its_threshold(operator: str, threshold: str, status: str) -> None:
    """The same for a metric of which less is better."""
    made = suite(located("one-001"), located("two-001"))
    made.change("two-001", lambda v: replace(v, termination="stall"))

    assert made.gate(absolute("loop_rate", operator, threshold)).status == status


def test_three_tenths_do_not_exceed_three_tenths() -> None:
    """A rate of 3 in 10 is at most 0.3, though the double of 0.1 + 0.2 is not."""
    made = suite(*[located(f"buy-{n:03d}") for n in range(10)])
    for n in range(3):
        made.change(f"buy-{n:03d}", lambda v: replace(v, termination="stall"))

    assert made.gate(absolute("loop_rate", "le", "0.3")).status == "pass"
    assert made.gate(absolute("loop_rate", "le", "0.299999999999999")).status == "fail"


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 100))
def test_a_gate_agrees_with_fractions(total: int, failed: int, percent: int) -> None:
    """For any k of n and any threshold in hundredths, the comparison is the exact one."""
    failed = min(failed, total)
    metric = replace(
        suite(located()).metric("scenario_pass_rate"),
        numerator=Fraction(total - failed),
        denominator=Fraction(total),
        value=Fraction(total - failed, total),
        lowest=Fraction(total - failed, total),
        highest=Fraction(total - failed, total),
        sample_size=total,
    )
    made = suite(located())
    gate = GateSpec(
        type="absolute",
        metric="scenario_pass_rate",
        operator="ge",
        threshold=percent / 100,
        severity="blocking",
    )
    profile = loaded(PASS_RATE).profile.model_copy(update={"gates": [gate]})
    decision = decide(profile, [metric], list(made.verdicts.values()), made.plan, about=made.about)

    expected = Fraction(total - failed, total) >= Fraction(percent, 100)
    assert decision.gates[-1].status == ("pass" if expected else "fail")


def test_a_result_says_what_was_observed_and_what_was_required() -> None:
    """A reader sees k of n, the limit, and the evidence that was asked for and achieved."""
    gate = half_passed().gate(
        absolute("scenario_pass_rate", "ge", "0.98", ", minimum_sample_size: 2")
    )

    assert gate.observed == "1 of 2 (0.5)"
    assert gate.required == "at least 0.98"
    assert gate.evidence_required == "sample 2"
    assert gate.evidence_achieved == "sample 2, scenarios 2"
    assert (gate.level, gate.activity) == ("workflow", "workflow_verification")


# --- evidence that is missing --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severity", "on_missing", "status"),
    [
        ("blocking", "block", "inconclusive"),
        ("warning", "block", "inconclusive"),
        ("warning", "warn", "warn"),
        ("warning", "skip", "skipped"),
    ],
)
def test_a_metric_without_a_value_is_no_pass(severity: str, on_missing: str, status: str) -> None:
    """Zero forbidden attempts of zero are no clean record."""
    made = suite(located())

    gate = made.gate(f"{BYPASS}, severity: {severity}, on_missing: {on_missing}")

    assert gate.status == status
    assert gate.reason == (
        "guardrail_bypass_rate is not evaluated: no opportunity in any acceptance run"
    )


def test_a_slice_that_was_filtered_away_is_missing() -> None:
    """No critical scenario ran, so nothing is known of critical ones."""
    gate = suite(located()).gate(f"{PASS_RATE}, slice: 'risk:critical'")

    assert (gate.status, gate.reason) == (
        "inconclusive",
        "no scenario is in the slice risk:critical",
    )


@pytest.mark.parametrize(
    ("needs", "status"),
    [
        ("minimum_attempts: 1", "pass"),
        ("minimum_attempts: 2", "inconclusive"),
        ("minimum_sample_size: 1", "pass"),
        ("minimum_sample_size: 2", "inconclusive"),
        ("evidence: {minimum_scenarios: 1}", "pass"),
        ("evidence: {minimum_scenarios: 2}", "inconclusive"),
        ("evidence: {minimum_trials: 1}", "pass"),
        ("evidence: {required_slices: ['risk:critical']}", "pass"),
        ("evidence: {required_slices: ['risk:critical', 'risk:high']}", "inconclusive"),
    ],
)
def test_a_clean_record_counts_only_with_the_evidence_asked_for(needs: str, status: str) -> None:
    """One forbidden attempt, blocked, in one critical scenario."""
    assert suite().gate(f"{BYPASS}, {needs}").status == status


def test_a_violation_is_a_violation_however_small_the_sample() -> None:
    """Where none is allowed, one is enough, and more evidence could not take it back."""
    made = suite()
    made.change("guarded-001", lambda v: counted(v, "bypasses", 1, 1))

    gate = made.gate(f"{BYPASS}, minimum_attempts: 3000")

    assert gate.status == "fail"


def test_a_shortfall_within_a_tolerance_waits_for_its_sample() -> None:
    """One failure of two says little about a rate that may miss a tenth."""
    made = half_passed()

    assert made.gate(absolute("scenario_pass_rate", "ge", "0.9")).status == "fail"
    limit = absolute("scenario_pass_rate", "ge", "0.9", ", minimum_sample_size: 20")
    assert made.gate(limit).status == "inconclusive"


def test_an_unjudged_run_leaves_a_rate_open_only_where_it_matters() -> None:
    """Of ten runs one is unjudged: at least 0.95 is open, at least 0.9 holds whatever it shows."""
    made = suite(*[located(f"buy-{n:03d}") for n in range(10)])
    made.change("buy-000", lambda v: undecided(v, "outcome"))

    assert made.gate(absolute("scenario_pass_rate", "ge", "0.95")).status == "inconclusive"
    assert made.gate(absolute("scenario_pass_rate", "ge", "0.9")).status == "pass"
    made.change("buy-001", lambda v: found(v, "outcome", "outcome.no_alternative_holds"))
    assert made.gate(absolute("scenario_pass_rate", "ge", "0.95")).status == "fail"


def test_an_unjudged_run_is_no_attempt() -> None:
    """It stands in the denominator and is no evidence."""
    made = suite(located("one-001"), located("two-001")).change("two-001", broken)
    gate = absolute("scenario_pass_rate", "ge", "0.4")

    assert made.gate(f"{gate}, minimum_attempts: 1").status == "pass"
    assert made.gate(f"{gate}, minimum_attempts: 2").status == "inconclusive"


def test_a_range_that_spans_an_exact_threshold_is_open() -> None:
    """Neither bound equals one half, and the run in between might."""
    made = suite(*[located(f"buy-{n:03d}") for n in range(4)])
    for name in ("buy-000", "buy-001"):
        made.change(name, broken)
    made.change("buy-002", lambda v: found(v, "outcome", "outcome.no_alternative_holds"))

    assert made.gate(absolute("scenario_pass_rate", "eq", "0.5")).status == "inconclusive"


def test_an_evaluator_error_makes_a_clean_metric_inconclusive() -> None:
    """An evaluator that crashed saw no violation because it saw nothing."""
    made = suite(guarded(), guarded("guarded-002"))
    made.change("guarded-002", lambda v: undecided(v, "guardrails", "error"))

    assert made.gate(BYPASS).status == "inconclusive"


def test_an_evaluator_error_hides_no_violation() -> None:
    """What the other run shows is a failure all the same."""
    made = suite(guarded(), guarded("guarded-002"))
    made.change("guarded-001", lambda v: counted(v, "bypasses", 1, 1))
    made.change("guarded-002", lambda v: undecided(v, "guardrails", "error"))

    assert made.gate(BYPASS).status == "fail"


@pytest.mark.parametrize(("runs", "status"), [(5, "warn"), (24, "pass")])
def test_the_percentile_gate_can_pass_and_can_lack_its_sample(runs: int, status: str) -> None:
    """With 24 runs there is a percentile and a sample size to hold it to."""
    made = suite(*[located(f"buy-{n:03d}") for n in range(runs)])
    needs = "minimum_sample_size: 20, severity: warning, on_missing: warn"

    assert made.gate(f"{P95}, {needs}").status == status


@pytest.mark.parametrize("status", ["provisional", "error", "insufficient_data", "not_evaluated"])
def test_a_metric_that_is_not_settled_passes_no_gate(status: MetricStatus) -> None:
    """Whatever its value is."""
    made = suite(located())
    metrics = [
        replace(m, status=status) if m.name == "scenario_pass_rate" else m for m in made.metrics()
    ]
    verdicts = list(made.verdicts.values())

    decided = decide(loaded(PASS_RATE).profile, metrics, verdicts, made.plan, about=made.about)
    assert decided.gates[-1].status == "inconclusive"


# --- the decision --------------------------------------------------------------------------------


def test_everything_right_is_a_pass() -> None:
    """A whole suite in which nothing is wrong and nothing is missing."""
    decision = suite().decide(PASS_RATE, BYPASS)

    assert (decision.decision, decision.reasons) == ("pass", ("all 9 blocking gates passed",))


def test_a_failure_outweighs_what_is_missing() -> None:
    """A measured failure is reported as one, beside the gap."""
    made = half_passed().change("one-001", broken)

    decision = made.decide(PASS_RATE, BYPASS)

    assert decision.decision == "fail"
    assert decision.reasons[0] == (
        "gate scenario_pass_rate failed: 0 of 2 (0) where exactly 1 is required"
    )
    assert any("is inconclusive" in reason for reason in decision.reasons)


def test_a_warning_gate_never_decides() -> None:
    """It is listed with its status and reason."""
    made = suite()
    made.change("faulted-001", lambda v: replace(v, termination="stall"))
    loops = absolute("loop_rate", "eq", "0", ", severity: warning")

    decision = made.decide(PASS_RATE, loops)

    assert decision.decision == "pass"
    assert decision.gates[-1].status == "warn"


def test_a_profile_in_which_nothing_blocks_supports_no_release() -> None:
    """The loader refuses it; one that came about otherwise decides nothing, even if all passed."""
    warning = {"metric": "scenario_pass_rate", "type": "absolute", "operator": "ge", "threshold": 1}
    profile = Profile.model_validate(
        {"profile": "idle", "gates": [{**warning, "severity": "warning"}]}
    )
    made = suite()
    verdicts = list(made.verdicts.values())

    decision = decide(profile, made.metrics(), verdicts, made.plan, about=made.about)

    assert decision.decision == "inconclusive"
    assert decision.reasons[-1] == "no gate of this profile blocks, so nothing supports a release"


def test_a_part_of_the_suite_can_never_pass() -> None:
    """A filtered run is at most inconclusive, and can still fail."""
    made = suite()
    made.about = replace(made.about, partial=True)
    failed = half_passed()
    failed.about = replace(failed.about, partial=True)

    assert made.decide(PASS_RATE).decision == "inconclusive"
    assert "a part can never pass" in made.decide(PASS_RATE).reasons[-1]
    assert failed.decide(PASS_RATE).decision == "fail"


def test_a_live_model_can_never_pass_here() -> None:
    """Each scenario ran once, which is no sample; what failed has failed all the same."""
    made = suite()
    made.about = replace(made.about, scripted=False, model="openai:m-1")
    failed = half_passed()
    failed.about = replace(failed.about, scripted=False)

    assert made.decide(PASS_RATE).decision == "inconclusive"
    assert made.decide(PASS_RATE).reasons[-1] == (
        "the model is openai:m-1 and ran once on each scenario: no sample, so no pass"
    )
    assert failed.decide(PASS_RATE).decision == "fail"
    assert suite().decide(PASS_RATE).decision == "pass"


def test_the_decision_does_not_depend_on_the_order_of_verdicts() -> None:
    """Verdicts are found by their run."""
    made = half_passed()
    one = made.decide(PASS_RATE)
    made.verdicts = dict(reversed(made.verdicts.items()))

    assert made.decide(PASS_RATE) == one


# --- comparisons ---------------------------------------------------------------------------------


def test_a_comparison_without_a_baseline_is_missing() -> None:
    """The first run has none: skipped where a warning may be, never a silent pass."""
    drop = "metric: scenario_pass_rate, type: regression, regression_kind: drop_points"

    blocking = suite().gate(f"{drop}, max_delta: 0.1, floor: 0.5")
    warning = suite().gate(f"{drop}, max_delta: 0.1, severity: warning, on_missing: skip")

    assert (blocking.status, warning.status) == ("inconclusive", "skipped")
    assert blocking.reason == "there is no baseline to compare with"


def test_metrics_of_faulted_runs_are_computed_for_their_slice() -> None:
    """A gate on a slice looks at that slice only."""
    made = suite(located(), faulted())
    made.change(
        "faulted-001", lambda v: found(v, "fault_handling", "fault.not_recovered", level="workflow")
    )

    assert made.gate(f"{PASS_RATE}, slice: 'category:golden'").status == "pass"
    assert made.gate(f"{PASS_RATE}, slice: 'category:recovery'").status == "fail"


def test_computing_twice_gives_the_same() -> None:
    """Metrics are a function of what they are given."""
    made = suite()

    again = compute(list(made.verdicts.values()), made.scenarios, made.plan, PACK)
    assert made.metrics() == again


@pytest.mark.parametrize("allowed", [3, 1_000_000])
def test_a_limit_that_takes_in_the_whole_suite_is_no_limit(allowed: int) -> None:
    """However many runs may stay undecided, they can never be all of them."""
    made = suite()

    decided = made.decide(PASS_RATE, max_unjudged=allowed)

    assert decided.decision == "inconclusive"
    assert "takes in all of them" in decided.reasons[0]
