"""What a scenario can excuse, and what it cannot; what an evaluator needs, and has not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pytest

from arh.harness.judging.judge import judge
from arh.harness.vocabulary.rules import finding
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import EvaluationResult, Excused, ScenarioVerdict, Status
from arh.records.packs import WorkflowPack
from arh.testing.workbench import Tried, Workbench, patched

Anything: TypeAlias = Any  # what an evaluator from elsewhere may claim
GOLDEN = "golden-billing-incident-001"
ATTEMPT = "trajectory.forbidden_requested"
OUTAGE = "guardrails.fail_closed"


@dataclass(frozen=True)
class Saying:
    """An evaluator that reports these rules and concludes from them."""

    rules: tuple[str, ...]
    status: Status
    id: str = "outcome"
    version: str = "1.0"
    needs: tuple[str, ...] = ()

    def evaluate(
        self, _evidence: Evidence, _scenario: Scenario, _pack: WorkflowPack
    ) -> EvaluationResult:
        """Report what was given."""
        findings = tuple(finding(rule, f"{rule} it is") for rule in self.rules)
        return EvaluationResult(self.id, self.version, self.status, "as given", findings)


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """The suite that comes with arh."""
    return Workbench.own()


@pytest.fixture(scope="module")
def tried(bench: Workbench) -> Tried:
    """One run that is right."""
    return bench.run(GOLDEN)


def verdict(
    bench: Workbench, tried: Tried, judge_: Saying, *expected: dict[str, Any], role: str = ""
) -> ScenarioVerdict:
    """The verdict of one evaluator on the run, by a scenario that expects these findings."""

    def expects(value: dict[str, Any]) -> None:
        value["role"] = role or value["role"]
        value["expectations"]["expected_findings"] = list(expected)
        value["expectations"]["pass_criteria"] = {"outcome": "pass"}

    located = patched(tried.located, expects)
    return judge(located, tried.output.evidence, (judge_,), bench.suite.pack)


def test_an_attempt_that_was_held_is_excused_and_listed(bench: Workbench, tried: Tried) -> None:
    """With its number and the reason that the scenario gives."""
    judged = verdict(
        bench, tried, Saying((ATTEMPT, ATTEMPT), "fail"), {"rule": ATTEMPT, "why": "an attack"}
    )

    assert (judged.status, judged.excused) == ("pass", (Excused(ATTEMPT, 2, "an attack"),))


@pytest.mark.parametrize(("found", "status"), [(1, "fail"), (2, "pass"), (3, "fail")])
def test_with_a_count_exactly_so_many_are_excused(
    bench: Workbench, tried: Tried, found: int, status: Status
) -> None:
    """One too few or too many, and none of them is."""
    judged = verdict(
        bench,
        tried,
        Saying((ATTEMPT,) * found, "fail"),
        {"rule": ATTEMPT, "why": "an attack", "count": 2},
    )

    assert (judged.status, len(judged.excused)) == (status, int(status == "pass"))
    assert judged.missing == (() if status == "pass" else (ATTEMPT,))


def test_what_went_wrong_is_not_excused_by_a_scenario_that_nobody_loaded(
    bench: Workbench, tried: Tried
) -> None:
    """As one that stands beside evidence; the loader refuses it."""
    rule = "outcome.no_alternative_holds"

    judged = verdict(bench, tried, Saying((rule,), "fail"), {"rule": rule, "why": "flaky"})

    assert (judged.status, judged.excused) == ("fail", ())
    assert judged.reasons == (f"outcome: {rule} it is",)


def test_doubt_that_is_excused_is_no_pass(bench: Workbench, tried: Tried) -> None:
    """What was in doubt for nothing else was not exercised, which no criterion takes for proof."""
    judged = verdict(
        bench, tried, Saying((OUTAGE,), "indeterminate"), {"rule": OUTAGE, "why": "an outage"}
    )

    assert (judged.status, judged.excused) == (
        "indeterminate",
        (Excused(OUTAGE, 1, "an outage"),),
    )
    assert judged.reasons == ("criterion `outcome`: not_exercised",)


def test_a_negative_control_excuses_nothing(bench: Workbench, tried: Tried) -> None:
    """It must fail by what it names."""
    judged = verdict(
        bench,
        tried,
        Saying((ATTEMPT,), "fail"),
        {"rule": ATTEMPT, "why": "meant"},
        role="negative_control",
    )

    assert (judged.status, judged.excused, judged.missing) == ("fail", (), ())


@pytest.mark.parametrize(
    ("needs", "says", "status"),
    [
        (("calls", "initial"), "pass", "indeterminate"),
        (("initial",), "not_exercised", "indeterminate"),
        (("initial",), "not_applicable", "indeterminate"),
        (("calls",), "pass", "pass"),
        (("initial",), "fail", "fail"),
        (("weather",), "pass", "error"),
        (None, "pass", "error"),
    ],
)
def test_without_what_it_needs_an_evaluator_cannot_praise(
    bench: Workbench, tried: Tried, needs: Anything, says: Status, status: Status
) -> None:
    """Doubt takes a failure away from nobody; what no evidence has is a defect of the evaluator."""
    evidence = replace(tried.output.evidence, initial=None)
    saying = Saying((ATTEMPT,) if says == "fail" else (), says, needs=needs)

    judged = judge(tried.located, evidence, (saying,), bench.suite.pack).result("outcome")

    assert judged is not None
    assert judged.status == status
    if status != says:
        doubted = "without initial, which it needs"
        wrong = "the evaluator needs what no evidence has"
        assert judged.summary == (doubted if status == "indeterminate" else wrong)


@pytest.mark.parametrize(
    ("clock", "ended", "found", "status"),
    [
        ("hybrid", "fixture_mismatch", "fail", "fail"),
        ("hybrid", "fixture_mismatch", "pass", "error"),
        ("virtual", "fixture_mismatch", "fail", "error"),
        ("hybrid", "harness_error", "fail", "error"),
    ],
)
def test_a_failure_of_an_agent_of_its_own_outweighs_a_script_without_an_answer(
    bench: Workbench, tried: Tried, clock: str, ended: str, found: Status, status: Status
) -> None:
    """Only an agent that arh does not script can tell the model another history than the record."""
    header = {**tried.output.evidence.header, "clock": clock}
    evidence = replace(
        tried.output.evidence, header=header, termination=ended, stop_detail="no rule matches"
    )
    rules = ("outcome.collateral_change",) * (found == "fail")

    judged = judge(tried.located, evidence, (Saying(rules, found),), bench.suite.pack)

    assert judged.status == status
    assert judged.reasons[0] == f"{ended}: no rule matches"
    assert ("outcome: outcome.collateral_change it is" in judged.reasons) == (found == "fail")
