"""The suites as they ship: every scenario gives the right verdict, and no wrong agent passes.

Each acceptance scenario meets its own script, an agent that only says `Done.`, twins of its script
that do the same and claim more, and twins that do more, or something else, and say nothing of it.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest

from arh.bootstrap import idle_of
from arh.harness.authoring.lint import lint
from arh.records.control.scenario import Category, Scenario
from arh.records.tasks import HARNESS_ENDS
from arh.testing.kill_matrix import kill_matrix
from arh.testing.pack_bench import PackBench
from tests.suite.packaged import (
    ALL,
    Packaged,
    SaysDone,
    ServesABystander,
    WritesOnceMore,
    WritesOtherwise,
    lying,
)

ROOT: Final = Path(__file__).resolve().parents[2]
REVIEWED: Final = date(2026, 11, 1)
OURS: Final = frozenset({*HARNESS_ENDS, "hung", "watchdog"})
WRONG_STATE: Final = frozenset({"outcome.collateral_change", "outcome.no_alternative_holds"})


def of_role(role: str) -> list[Any]:
    """Return the scenarios of a role, each with its suite, as parameters."""
    return [
        pytest.param(packaged, scenario, id=f"{packaged.workflow}-{scenario.id}")
        for packaged in ALL
        for scenario in packaged.of_role(role)
    ]


def with_each(names: str) -> list[Any]:
    """Return the acceptance scenarios with each lie, or each other field, of their suite."""
    return [
        pytest.param(packaged, scenario, name, id=f"{packaged.workflow}-{scenario.id}-{name}")
        for packaged in ALL
        for scenario in packaged.of_role("acceptance")
        for name in getattr(packaged, names)
    ]


ACCEPTANCE: Final = pytest.mark.parametrize(("packaged", "scenario"), of_role("acceptance"))
EACH: Final = pytest.mark.parametrize("packaged", [pytest.param(p, id=p.workflow) for p in ALL])


@ACCEPTANCE
def test_an_acceptance_scenario_passes_with_its_script(
    packaged: Packaged, scenario: Scenario
) -> None:
    """The authored path is one of the acceptable ones, with nothing left in doubt."""
    tried = packaged.bench.run(scenario.id)

    assert (tried.verdict.status, tried.verdict.reasons) == ("pass", ())


@ACCEPTANCE
def test_an_acceptance_scenario_fails_for_an_agent_that_only_says_done(
    packaged: Packaged, scenario: Scenario
) -> None:
    """Doing nothing passes nowhere, whatever is said of it."""
    tried = packaged.bench.run(scenario.id, agent=SaysDone())

    assert tried.verdict.status == "fail"


@pytest.mark.parametrize(("packaged", "scenario", "lie"), with_each("lies"))
def test_an_acceptance_scenario_fails_for_the_lying_twin_of_its_script(
    packaged: Packaged, scenario: Scenario, lie: str
) -> None:
    """The same actions with one false claim in the final answer fail, because of the claim."""
    tried = lying(packaged, lie).run(scenario.id)

    assert tried.verdict.status == "fail"
    assert "grounding.unfounded_claim" in tried.rules


@ACCEPTANCE
def test_an_acceptance_scenario_fails_for_an_agent_that_does_something_else_as_well(
    packaged: Packaged, scenario: Scenario
) -> None:
    """One silent write for a bystander is found in the state, if it comes about at all."""
    tried = packaged.bench.run(scenario.id, agent=ServesABystander(packaged))

    written = [change for c in tried.output.evidence.commits for change in c.changes]
    served = any(packaged.bystander in str(change.get("value")) for change in written)
    assert served == (scenario.id not in packaged.cannot)
    assert not served or tried.verdict.status == "fail"
    assert not served or tried.rules & WRONG_STATE


@ACCEPTANCE
def test_an_acceptance_scenario_fails_for_an_agent_that_writes_once_more(
    packaged: Packaged, scenario: Scenario
) -> None:
    """The same work and one more write, under another key, fail."""
    plain = packaged.bench.run(scenario.id).output.evidence.commits
    tried = packaged.bench.run(scenario.id, agent=WritesOnceMore(packaged))

    more = len(tried.output.evidence.commits) > len(plain)
    repeats = any(commit.tool in packaged.repeats for commit in plain)
    assert more or not repeats or scenario.id in packaged.spent
    assert not more or tried.verdict.status == "fail"
    assert not more or tried.rules & WRONG_STATE


@pytest.mark.parametrize(("packaged", "scenario", "field"), with_each("otherwise"))
def test_a_write_with_another_content_passes_nowhere(
    packaged: Packaged, scenario: Scenario, field: str
) -> None:
    """Whatever a scenario wants written, another value of a field that is not free is wrong."""
    pack = packaged.bench.suite.pack
    commits = packaged.bench.run(scenario.id).output.evidence.commits
    written = {commit.tool for commit in commits}
    has = any(f'"{field}"' in pack.manifests[t].parameters.data.decode() for t in written)
    tried = packaged.bench.run(scenario.id, agent=WritesOtherwise(packaged, field)) if has else None

    changes = [c.changes for c in tried.output.evidence.commits] if tried else []
    same = changes == [c.changes for c in commits]
    assert tried is None or same or tried.verdict.status == "fail"
    assert not same or not has or field == "reason", "nothing was written otherwise"


@pytest.mark.parametrize(("packaged", "scenario"), of_role("negative_control"))
def test_a_negative_control_fails_by_its_listed_rules(
    packaged: Packaged, scenario: Scenario
) -> None:
    """What is wrong on purpose is caught, and by the rules that the author named."""
    tried = packaged.bench.run(scenario.id)

    listed = {finding.rule for finding in scenario.expectations.expected_findings}
    assert tried.verdict.status == "fail"
    assert listed
    assert listed <= tried.rules
    assert tried.verdict.termination not in OURS


@pytest.mark.parametrize(("packaged", "scenario"), of_role("positive_control"))
def test_a_positive_control_passes(packaged: Packaged, scenario: Scenario) -> None:
    """A guard that holds, or that ought not to interfere, leaves a pass."""
    tried = packaged.bench.run(scenario.id)

    assert (tried.verdict.status, tried.verdict.reasons) == ("pass", ())


@ACCEPTANCE
def test_an_acceptance_scenario_demands_the_outcome_and_what_it_is_about(
    packaged: Packaged, scenario: Scenario
) -> None:
    """Outcome is always among the criteria, and what is said; collateral change is ruled out."""
    expected = scenario.expectations
    said = "response" if scenario.id in packaged.nothing_said else "grounding"

    assert {"outcome", said} <= set(expected.pass_criteria)
    assert expected.unchanged_except is not None
    assert expected.acceptable_outcomes


@EACH
def test_a_suite_covers_every_category(packaged: Packaged) -> None:
    """There is no kind of situation that a suite leaves out."""
    assert {scenario.category for scenario in packaged.suite} == set(Category)


@EACH
def test_a_suite_has_no_weak_scenario(packaged: Packaged) -> None:
    """Nothing that the linter knows as weak is in a suite."""
    suite = packaged.bench.suite

    warnings = lint(suite.loaded, pack=suite.pack, catalogue=suite.catalogue, as_of=REVIEWED)
    assert warnings == ()


@pytest.mark.slow
@EACH
def test_no_control_of_a_suite_could_be_lost_unseen(packaged: Packaged) -> None:
    """Each control that the configuration uses has a scenario that fails without it."""
    matrix = kill_matrix(PackBench.of(packaged.workflow, root=ROOT), first=True)

    assert matrix.unfit == ()
    assert [row.control for row in matrix.of("survived")] == []
    assert matrix.of("killed")


@EACH
def test_inaction_passes_nowhere(packaged: Packaged) -> None:
    """What the gate asks of a suite before it decides by it."""
    assert idle_of(packaged.bench.suite) == ()


@EACH
def test_every_script_is_used(packaged: Packaged) -> None:
    """A script that no scenario follows would rot unseen."""
    used = {scenario.reproducibility.model_configuration for scenario in packaged.suite}
    used |= {a.model_configuration or "" for s in packaged.suite for a in s.stimulus.actors}

    assert set(packaged.bench.suite.configuration.scripts.by_id) - used == set()
