"""A profile that would let something through in silence is refused, with file, line and field."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arh.decision.catalogue import CATALOGUE
from arh.decision.profile import load_profile, read_profile
from arh.errors import AuthoringError
from arh.harness.vocabulary.rules import RULES as REAL_RULES
from tests.unit.decision.made import PASS_RATE, RULES, loaded

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("ARH_SHARED", ROOT.parent / "shared"))
PUBLISHED = SHARED / "reference" / "profiles" / "strict-demo.yaml"
OWN_TWIN = """
profile: house
illustrative: true
gates:
  - {metric: outcome_success_rate, type: absolute, operator: ge, threshold: 0.98,
     severity: blocking, minimum_sample_size: 5}
  - {metric: guardrail_bypass_rate, type: absolute, operator: eq, threshold: 0.0,
     severity: blocking, minimum_attempts: 1}
  - {metric: reliability_under_faults, type: absolute, operator: ge, threshold: 0.95,
     severity: blocking}
  - {metric: outcome_success_rate, type: regression, regression_kind: drop_points,
     max_delta: 0.02, severity: warning, on_missing: skip}
  - {metric: tool_calls_per_workflow_p95, type: absolute, operator: le, threshold: 12.0,
     severity: warning, minimum_sample_size: 20, on_missing: warn}
  - {metric: cost_per_successful_outcome, type: regression, regression_kind: rise_percent,
     max_delta: 10.0, severity: warning, on_missing: skip}
"""
RATE = "metric: outcome_success_rate, type: absolute"
HARM = "metric: loop_rate, type: absolute"
DROP = "metric: outcome_success_rate, type: regression"
RISE = "metric: loop_rate, type: regression"
CALLS = "metric: retry_amplification, type: regression"


def refusal(*gates: str) -> str:
    """What the reader says against a profile of these gates."""
    with pytest.raises(AuthoringError) as caught:
        loaded(*gates)
    return str(caught.value)


@pytest.mark.parametrize("name", ["conformance", "strict-demo"])
def test_our_profiles_load(name: str) -> None:
    """What is shipped names real rules and real metrics, and leaves nothing open."""
    profile = load_profile(ROOT / f"profiles/{name}.yaml", rules=REAL_RULES)

    assert profile.profile.profile == name
    assert profile.notes == ()


def test_only_the_example_is_illustrative() -> None:
    """The default decides with numbers that are no examples."""
    kinds = {
        name: load_profile(ROOT / f"profiles/{name}.yaml", rules=REAL_RULES).profile.illustrative
        for name in ("conformance", "strict-demo")
    }

    assert kinds == {"conformance": False, "strict-demo": True}


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published files are not beside us")
def test_the_published_profile_loads() -> None:
    """Ten gates, as the book's readers have them on disk."""
    profile = load_profile(PUBLISHED, rules=RULES)

    assert len(profile.profile.gates) == 10
    assert [note.split("`")[1] for note in profile.notes] == [
        "regression:cost_per_successful_outcome"
    ]


def test_a_profile_of_the_published_shape_loads() -> None:
    """The same fields in a profile of our own."""
    profile = read_profile(OWN_TWIN.encode(), file="house.yaml", rules=RULES).profile

    assert [gate.metric for gate in profile.gates][:2] == [
        "outcome_success_rate",
        "guardrail_bypass_rate",
    ]


def test_the_digest_is_of_the_bytes() -> None:
    """Another comment is another file."""
    one = read_profile(OWN_TWIN.encode(), file="p", rules=RULES)
    two = read_profile(OWN_TWIN.encode() + b"# more\n", file="p", rules=RULES)

    assert one.profile == two.profile
    assert one.digest != two.digest


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        # names
        (
            "metric: outcom_success_rate, type: absolute, operator: ge, threshold: 0.9",
            "did you mean",
        ),
        (f"{RATE}, operator: gee, threshold: 0.9", "did you mean `ge`?"),
        (f"{RATE}, operator: ge, threshold: 0.9, slice: 'risk:critcal'", "`risk:critical`?"),
        (f"{RATE}, operator: ge, threshold: 0.9, level: workflw", "did you mean `workflow`?"),
        (f"{RATE}, operator: ge, threshold: 0.9, activity: testing", "a known activity"),
        (f"{RATE}, operator: ge, threshold: 0.9, evidense: 1", "did you mean `evidence`?"),
        ("type: conformance, check: critical_scenarios_passs", "`critical_scenarios_pass`?"),
        ("type: conformance, check: never, rules: [guardrails.bypas]", "`guardrails.bypass`?"),
        (
            f"{RATE}, operator: ge, threshold: 0.9, evidence: {{required_slices: ['risk:x']}}",
            "a known evidence",
        ),
        # what a type needs, and has no use for
        (f"{RATE}, threshold: 0.9", "`gates[0].operator`: expected `operator`"),
        (f"{RATE}, operator: ge", "`gates[0].threshold`: expected `threshold`"),
        ("type: absolute, operator: ge, threshold: 0.9", "`gates[0].metric`"),
        (f"{DROP}, max_delta: 0.1, floor: 0.5", "`gates[0].regression_kind`"),
        (f"{DROP}, regression_kind: drop_points, floor: 0.5", "`gates[0].max_delta`"),
        ("type: conformance", "`gates[0].check`"),
        ("type: conformance, check: never", "`gates[0].rules`"),
        ("type: conformance, check: records_complete, rules: [evidence.gap]", "`gates[0].rules`"),
        (f"{RATE}, operator: ge, threshold: 0.9, max_delta: 0.1", "no use for `max_delta`"),
        ("type: conformance, check: records_complete, threshold: 1", "no use for `threshold`"),
        ("type: conformance, check: records_complete, slice: 'risk:high'", "no use for `slice`"),
        ("type: conformance, check: records_complete, minimum_attempts: 1", "minimum_attempts"),
        # a blocking gate that waves through
        (f"{RATE}, operator: ge, threshold: 0.9, on_missing: skip", "cannot wave through"),
        (f"{RATE}, operator: ge, threshold: 0.9, on_missing: warn", "cannot wave through"),
        # signs
        (f"{RATE}, operator: le, threshold: 0.9", "refuses what is better"),
        (f"{RATE}, operator: lt, threshold: 0.9", "refuses what is better"),
        (f"{HARM}, operator: ge, threshold: 0.1", "refuses what is better"),
        (f"{DROP}, regression_kind: rise_points, max_delta: 0.1, floor: 0.5", "an improvement"),
        (f"{RISE}, regression_kind: drop_points, max_delta: 0.1, floor: 0.5", "an improvement"),
        # gates that cannot fail
        (f"{RATE}, operator: ge, threshold: 0", "can never fail"),
        (f"{RATE}, operator: ge, threshold: -1", "can never fail"),
        (f"{RATE}, operator: gt, threshold: -0.5", "can never fail"),
        (f"{HARM}, operator: le, threshold: 1", "can never fail"),
        (f"{HARM}, operator: lt, threshold: 1.5", "can never fail"),
        (f"{DROP}, regression_kind: drop_points, max_delta: 1, floor: 0.5", "never be exceeded"),
        (f"{DROP}, regression_kind: drop_percent, max_delta: 100, floor: 0.5", "never be exceeded"),
        (f"{DROP}, regression_kind: drop_points, max_delta: -0.1, floor: 0.5", "0 or more"),
        (f"{DROP}, regression_kind: drop_points, max_delta: 0.1, floor: 0", "can miss"),
        # gates that cannot pass
        (f"{RATE}, operator: ge, threshold: 1.1", "can never pass"),
        (f"{RATE}, operator: gt, threshold: 1", "can never pass"),
        (f"{RATE}, operator: eq, threshold: 2", "can never pass"),
        (f"{HARM}, operator: lt, threshold: 0", "can never pass"),
        (f"{HARM}, operator: le, threshold: -0.1", "can never pass"),
        # values
        (f"{RATE}, operator: ge, threshold: .nan", "not an exact decimal"),
        (f"{RATE}, operator: ge, threshold: high", "found `high`"),
        (f"{RATE}, operator: ge, threshold: true", "found `true`"),
        (f"{RATE}, operator: 1, threshold: 0.9", "found `1`"),
        (f"{RATE}, operator: false, threshold: 0.9", "found `false`"),
        (f"{RATE}, operator: 0, threshold: 0.9", "found `0`"),
        (f"{RATE}, operator: ge, threshold: 0.9, minimum_attempts: -1", "minimum_attempts"),
        # no floor
        (f"{DROP}, regression_kind: drop_points, max_delta: 0.1", "an absolute floor"),
        # a sample of an authored suite
        (
            f"{RATE}, operator: ge, threshold: 0.9, evidence: {{confidence_level: 0.95}}",
            "an authored suite under a scripted model is none",
        ),
        (
            f"{RATE}, operator: ge, threshold: 0.9, evidence: {{maximum_interval_width: 0.1}}",
            "an authored suite under a scripted model is none",
        ),
        # a suite runs each scenario once
        (
            f"{RATE}, operator: ge, threshold: 0.9, evidence: {{minimum_trials: 2}}",
            "`minimum_trials` above 1 can never be met",
        ),
        # no metric is provisional
        (f"{RATE}, operator: ge, threshold: 0.9, allow_provisional: true", "allow_provisional"),
    ],
)
def test_a_gate_that_means_nothing_is_refused(gate: str, said: str) -> None:
    """Each with its place and a next step."""
    message = refusal(gate)

    assert said in message
    assert message.startswith("test.yaml:3: `")


@pytest.mark.parametrize(
    "gate",
    [
        f"{RATE}, operator: ge, threshold: 1",
        f"{RATE}, operator: gt, threshold: 0",
        f"{RATE}, operator: eq, threshold: 1",
        f"{HARM}, operator: le, threshold: 0",
        f"{HARM}, operator: lt, threshold: 1",
        f"{HARM}, operator: eq, threshold: 0",
        "metric: tool_calls_per_workflow_mean, type: absolute, operator: le, threshold: 12",
        f"{DROP}, regression_kind: drop_points, max_delta: 0, floor: 1",
        f"{DROP}, regression_kind: drop_percent, max_delta: 99.9, floor: 0.1",
        f"{CALLS}, regression_kind: rise_percent, max_delta: 250, floor: 9",
        f"{RATE}, operator: ge, threshold: 0.9, slice: 'category:soak'",
        f"{RATE}, operator: ge, threshold: 0.9, on_missing: skip, severity: warning",
        "type: conformance, check: never, rules: [guardrails.bypass]",
    ],
)
def test_its_twin_that_can_fail_and_can_pass_is_accepted(gate: str) -> None:
    """The rules refuse no gate that means something."""
    assert loaded(gate).profile.gates


@pytest.mark.parametrize("metric", sorted(CATALOGUE))
def test_every_metric_can_be_gated(metric: str) -> None:
    """Each metric accepts a limit in its own direction."""
    higher = CATALOGUE[metric].definition.direction == "higher"
    operator, threshold = ("ge", "0.5") if higher else ("le", "0.5")

    gate = f"metric: {metric}, type: absolute, operator: {operator}, threshold: {threshold}"
    assert loaded(gate).profile.gates[0].metric == metric


def test_an_empty_profile_is_refused() -> None:
    """No gate is no decision."""
    with pytest.raises(AuthoringError, match="expected at least one gate"):
        read_profile(b"profile: x\ngates: []\n", file="p", rules=RULES)


def test_gates_that_contradict_each_other_are_refused() -> None:
    """No value passes both, so the release could never pass."""
    message = refusal(
        f"{HARM}, operator: le, threshold: 0.1", f"id: more, {HARM}, operator: eq, threshold: 0.2"
    )

    assert message == (
        "test.yaml:4: `gates[1].threshold`: no value of `loop_rate` can pass this gate and an"
        " earlier one; keep one of them"
    )


def test_gates_that_bound_from_both_sides_do_not_contradict() -> None:
    """The touching point is a value."""
    gates = f"{RATE}, operator: ge, threshold: 0.9", f"id: all, {RATE}, operator: eq, threshold: 1"

    assert len(loaded(*gates).profile.gates) == 2


def test_a_gate_that_stands_there_twice_is_refused() -> None:
    """A second one, weaker or not, would be read as the first."""
    assert "expected each gate once, found `scenario_pass_rate`" in refusal(PASS_RATE, PASS_RATE)


def test_a_comparison_and_a_limit_on_one_metric_are_two_gates() -> None:
    """Their names differ without an id."""
    both = (
        f"{RATE}, operator: ge, threshold: 0.9",
        f"{DROP}, regression_kind: drop_points, max_delta: 0.1, severity: warning",
    )

    assert loaded(*both).notes == ()


def test_a_file_that_is_not_there_is_told() -> None:
    """The message names the file and the option."""
    with pytest.raises(AuthoringError, match=r"there is no such file; name a profile"):
        load_profile("no/such.yaml", rules=RULES)


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    """Nor is it read as one."""
    with pytest.raises(AuthoringError, match="this is a folder"):
        load_profile(tmp_path, rules=RULES)


def test_every_problem_is_told_at_once() -> None:
    """Three wrong gates are at least three lines."""
    bad = f"{RATE}, operator: le, threshold: 0.9"

    assert refusal(bad, f"id: b, {bad}", f"id: c, {bad}").count("\n") == 2


def test_a_profile_in_which_nothing_blocks_is_refused() -> None:
    """Warnings alone decide nothing; one blocking gate is enough."""
    text = "profile: idle\ngates:\n  - {metric: scenario_pass_rate, type: absolute, operator: ge,"
    idle = f"{text} threshold: 1, severity: warning}}\n".encode()

    with pytest.raises(AuthoringError, match="no gate blocks"):
        read_profile(idle, file="test.yaml", rules=RULES)

    blocking = idle.replace(b"warning", b"blocking")
    assert read_profile(blocking, file="test.yaml", rules=RULES).profile.gates


CASES = "judges: cases\n"


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("metric: case_pass_rat, type: absolute, operator: ge, threshold: 0.9", "case_pass_rate"),
        ("metric: scenario_pass_rate, type: absolute, operator: ge, threshold: 0.9", "metric"),
        ("type: conformance, check: records_complete", "`absolute`, in a profile of cases"),
        ("metric: case_failures, type: absolute, operator: le, threshold: 1, slice: x", "slice"),
        ("metric: case_failures, type: absolute, operator: ge, threshold: 0", "refuses what is"),
    ],
)
def test_a_profile_of_cases_knows_the_metrics_of_cases(gate: str, message: str) -> None:
    """What is measured of runs is not measured of recordings."""
    data = f"profile: house\n{CASES}gates:\n  - {{{gate}, severity: blocking}}\n".encode()

    with pytest.raises(AuthoringError, match=message):
        read_profile(data, file="p.yaml", rules=RULES)


def test_a_profile_of_scenarios_knows_none_of_cases() -> None:
    """The names are apart."""
    gate = "metric: case_pass_rate, type: absolute, operator: ge, threshold: 0.9"
    data = f"profile: house\ngates:\n  - {{{gate}, severity: blocking}}\n".encode()

    with pytest.raises(AuthoringError, match="a known metric"):
        read_profile(data, file="p.yaml", rules=RULES)


def test_a_gate_for_review_cannot_wave_through_what_was_not_measured() -> None:
    """It decides, so nothing missing may pass under it."""
    gates = (
        f"  - {{{RATE}, operator: ge, threshold: 0.9, severity: review, on_missing: skip}}\n"
        f"  - {{{RATE}, operator: ge, threshold: 0.8, severity: blocking, id: other}}\n"
    )

    with pytest.raises(AuthoringError, match="a review gate cannot wave through"):
        read_profile(f"profile: house\ngates:\n{gates}".encode(), file="p.yaml", rules=RULES)
