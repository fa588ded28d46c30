"""The decision is total, and passes only what is whole: laws over suites broken in any way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, get_args

from hypothesis import given
from hypothesis import strategies as st

from arh.decision.catalogue import CATALOGUE
from arh.decision.conformance import CHECKS
from arh.decision.gate_rules import SLICES
from arh.decision.gates import decide
from arh.decision.scorecard import document
from arh.records.control.gate import GateSpec, GateStatus, Operator, Profile
from arh.records.control.verdict import ScenarioVerdict
from tests.unit.decision.made import (
    PASS_RATE,
    Suite,
    broken,
    counted,
    found,
    suite,
    undecided,
)

NAMES: Final = ("buy-a-lamp-001", "guarded-001", "faulted-001", "liar-001")
HARMS: Final[dict[str, Callable[[ScenarioVerdict], ScenarioVerdict] | None]] = {
    "lost": None,
    "broken": broken,
    "failed": lambda v: found(v, "outcome", "outcome.no_alternative_holds"),
    "undecided": lambda v: undecided(v, "guardrails"),
    "crashed": lambda v: undecided(v, "response", "error"),
    "unread": lambda v: undecided(v, "evidence"),
    "empty": lambda v: replace(v, results=(), facts=(), levels=()),
    "silent": lambda v: replace(v, results=v.results[:1]),
}
COUNTS: Final = ("bypasses", "faults_delivered", "outcome_success", "tool_calls", "record_fields")
harmed = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(HARMS)), max_size=4)


def made_of(harms: dict[str, str]) -> Suite:
    """A suite of every kind with these harms done to it."""
    made = suite()
    for name, harm in harms.items():
        made.change(name, HARMS[harm])
    return made


numbers = st.none() | st.integers(-2, 3) | st.floats(-2, 3, allow_nan=False)
gates = st.builds(
    GateSpec.model_construct,
    type=st.sampled_from(["absolute", "regression", "conformance"]),
    metric=st.none() | st.sampled_from([*CATALOGUE, "no_such_metric"]),
    slice=st.sampled_from([*SLICES, "risk:unknown"]),
    operator=st.none() | st.sampled_from(get_args(Operator)),
    threshold=numbers,
    regression_kind=st.none() | st.sampled_from(["drop_points", "rise_percent"]),
    max_delta=numbers,
    floor=numbers,
    check=st.none() | st.sampled_from(sorted(CHECKS)),
    rules=st.lists(st.sampled_from(["guardrails.bypass", "no.such"]), max_size=2),
    severity=st.sampled_from(["blocking", "review", "warning"]),
    minimum_attempts=st.none() | st.integers(0, 5),
    on_missing=st.sampled_from(["block", "warn", "skip"]),
)


@given(harmed)
def test_a_pass_means_that_nothing_was_harmed(harms: dict[str, str]) -> None:
    """Every acceptance scenario passed, the control behaved, and all of it was read."""
    decision = made_of(harms).decide(PASS_RATE)

    # A negative control that fails by more than it must is as it should be.
    assert (decision.decision == "pass") is (set(harms.items()) <= {("liar-001", "failed")})
    assert decision.reasons


@given(harmed)
def test_a_failure_means_that_an_acceptance_scenario_failed(harms: dict[str, str]) -> None:
    """What is lost, broken or undecided is never called a failure of the agent."""
    decision = made_of(harms).decide(PASS_RATE)

    failed = [name for name, harm in harms.items() if harm == "failed" and name != "liar-001"]
    assert (decision.decision == "fail") is bool(failed)


@given(harmed, st.lists(gates, min_size=1, max_size=4))
def test_any_gate_over_any_suite_is_decided(harms: dict[str, str], specs: list[GateSpec]) -> None:
    """Also gates that no loader would accept: one result each, and no exception."""
    made = made_of(harms)
    profile = Profile.model_construct(profile="any", gates=specs)

    decision = decide(
        profile, made.metrics(), list(made.verdicts.values()), made.plan, about=made.about
    )

    results = decision.gates[-len(specs) :]
    assert [result.severity for result in results] == [spec.severity for spec in specs]
    assert {result.status for result in decision.gates} <= set(get_args(GateStatus))
    blocking = {r.status for r in decision.gates if r.severity != "warning"}
    if decision.decision == "pass":
        assert blocking == {"pass"}
    if "fail" in blocking:
        assert decision.decision == "fail"


@given(harmed)
def test_more_harm_never_helps(harms: dict[str, str]) -> None:
    """A suite with one harm more is never decided better."""
    order = ("fail", "inconclusive", "pass")
    before = order.index(made_of(harms).decide(PASS_RATE).decision)
    left = [name for name in NAMES if name not in harms]

    for name in left:
        after = order.index(made_of({**harms, name: "failed"}).decide(PASS_RATE).decision)
        assert after <= before


@given(
    harmed, st.sampled_from(NAMES), st.sampled_from(COUNTS), st.integers(0, 9), st.integers(0, 9)
)
def test_any_counts_make_a_scorecard(
    harms: dict[str, str], name: str, fact: str, numerator: int, denominator: int
) -> None:
    """Evaluators may count what they like; it can be written, and is not rounded to a pass."""
    made = made_of({k: v for k, v in harms.items() if k != name})
    made.change(name, lambda v: counted(v, fact, numerator, denominator))

    value = document(made.scorecard(PASS_RATE))

    assert value["decision"] in ("pass", "fail", "inconclusive")
