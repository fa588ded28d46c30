"""What no run and no evaluator can talk the judge out of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from arh.harness.vocabulary.rules import finding
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import EvaluationResult
from arh.records.packs import WorkflowPack
from arh.testing.workbench import Exercise, Workbench

GOLDEN = "golden-billing-incident-001"
Anything: TypeAlias = Any  # what an evaluator is shown, which it may misuse
Deed = Callable[[Any, Any], None]


class Plugin:
    """An evaluator from elsewhere, which does something to what it is shown."""

    id, version, needs = "plugin", "1", ()

    def __init__(self, deed: Deed) -> None:
        self.deed = deed

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Pass, after the deed."""
        self.deed(evidence, scenario)
        return EvaluationResult(self.id, self.version, "pass", "fine")


class TwoFaced(Plugin):
    """An evaluator that finds a failure and says pass."""

    def __init__(self) -> None:
        super().__init__(look)

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Report a failure with a pass."""
        found = (finding("outcome.no_alternative_holds", "nothing holds"),)
        return replace(super().evaluate(evidence, scenario, pack), findings=found)


def look(evidence: Anything, scenario: Anything) -> None:
    """Read only."""
    assert evidence.calls
    assert scenario.id


def clear_arguments(evidence: Anything, _scenario: Anything) -> None:
    """Empty what a call was asked with."""
    evidence.calls[0].arguments.clear()


def drop_calls(evidence: Anything, _scenario: Anything) -> None:
    """Replace a field of a frozen record."""
    object.__setattr__(evidence, "calls", ())


def expect_less(_evidence: Anything, scenario: Anything) -> None:
    """Take the expectations away."""
    scenario.expectations.acceptable_outcomes.clear()


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """The suite that comes with arh."""
    return Workbench.of()


@pytest.mark.parametrize("deed", [clear_arguments, drop_calls, expect_less])
def test_an_evaluator_that_alters_what_it_is_shown_ends_every_verdict(
    bench: Workbench, deed: Deed
) -> None:
    """It and all evaluators after it are errors: nobody knows what they would have seen."""
    located = bench.located(GOLDEN)
    copied = Exercise(GOLDEN, patch=lambda _value: None, evaluators=(Plugin(deed), *ours(bench)))

    verdict = bench.tried(copied).verdict

    assert verdict.status in {"error", "fail"}
    assert {r.status for r in verdict.results[1:]} == {"error"}
    assert located.scenario.expectations.acceptable_outcomes


def test_an_evaluator_that_only_reads_is_taken_at_its_word(bench: Workbench) -> None:
    """Watching costs it nothing but time."""
    verdict = bench.run(GOLDEN, evaluators=(Plugin(look), *ours(bench))).verdict

    assert verdict.status == "pass"


def test_an_evaluator_that_reports_a_failure_cannot_say_pass(bench: Workbench) -> None:
    """A result that contradicts itself is an error, and no pass."""
    verdict = bench.run(GOLDEN, evaluators=(TwoFaced(), *ours(bench))).verdict

    assert verdict.status == "error"


def test_our_own_evaluators_alter_nothing(bench: Workbench) -> None:
    """They are not watched in a run, so here they are."""
    tried = bench.run(GOLDEN)
    evidence, scenario = tried.output.evidence, tried.located.scenario
    before = repr((evidence, evidence.events, scenario))

    for evaluator in bench.suite.evaluators:
        evaluator.evaluate(evidence, scenario, bench.suite.pack)

    assert before == repr((evidence, evidence.events, scenario))


def test_a_planted_defect_keeps_a_flawless_run_from_passing(bench: Workbench) -> None:
    """Evidence that carries the name of a defect supports no release, whatever it shows."""
    verdict = bench.run(GOLDEN, defect="none-at-all").verdict

    assert verdict.status == "indeterminate"
    assert {f.rule for r in verdict.results for f in r.findings} == {"evidence.planted_defect"}


def ours(bench: Workbench) -> tuple[Any, ...]:
    """The evaluators of every run."""
    return bench.suite.evaluators
