"""A plan follows from content, seed and trial alone, and leaves nothing out unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arh.canonical import digest
from arh.errors import AuthoringError
from arh.harness.authoring.plan import plan_runs
from arh.records.control.plan import Exclusion, Located
from tests.unit.harness.authored import scenario


def located(scenario_id: str, line: int = 1, **changes: object) -> Located:
    """A scenario at a place."""
    made = scenario({"id": scenario_id, **changes})
    return Located(made, "golden/a.jsonl", line, digest(made.model_dump(mode="json")))


ONE, TWO = located("one-lamp-1"), located("two-lamps-1", 2, category="alternate", tags=["two"])


def test_ids_and_seeds_do_not_depend_on_order_or_place() -> None:
    """The same line is the same run wherever it stands; another seed makes another run."""
    there = plan_runs([ONE, TWO], seed=7)
    moved = plan_runs([TWO, replace(ONE, path="b.jsonl", line=9)], seed=7)
    other = plan_runs([ONE, TWO], seed=8)

    assert {(r.run_id, r.seed) for r in there.runs} == {(r.run_id, r.seed) for r in moved.runs}
    assert not {r.run_id for r in there.runs} & {r.run_id for r in other.runs}
    assert not {r.seed for r in there.runs} & {r.seed for r in other.runs}


def test_ids_have_their_form_and_seeds_are_exact_numbers() -> None:
    """An id is `run-` and 16 hexadecimal digits, a seed fits a double."""
    (run,) = plan_runs([ONE], seed=0).runs

    assert (run.run_id[:4], len(run.run_id)) == ("run-", 20)
    assert int(run.run_id[4:], 16) >= 0
    assert 0 <= run.seed < 2**53


def test_a_scenario_keeps_its_own_seed() -> None:
    """A seed in the scenario is its run's, and the trials after the first differ."""
    seeded = located("one-lamp-1", **{"controls.seed": 42})

    assert plan_runs([seeded], seed=7).runs[0].seed == 42
    assert len({run.seed for run in plan_runs([seeded], seed=7, trials=3).runs}) == 3


def test_order_is_the_suites_and_trials_stand_together() -> None:
    """Runs come scenario by scenario, trial by trial."""
    plan = plan_runs([ONE, TWO], seed=1, trials=2)

    assert [(run.located.scenario.id, run.trial) for run in plan.runs] == [
        ("one-lamp-1", 1),
        ("one-lamp-1", 2),
        ("two-lamps-1", 1),
        ("two-lamps-1", 2),
    ]
    assert len({run.run_id for run in plan.runs}) == 4


@pytest.mark.parametrize(
    "pattern", ["two-lamps-1", "two-*", "category:alternate", "tag:two", "tag:tw?"]
)
def test_a_pattern_selects_and_the_rest_is_listed(pattern: str) -> None:
    """What --only leaves out is an exclusion with its place and reason."""
    plan = plan_runs([ONE, TWO], seed=1, only=[pattern])

    assert [run.located for run in plan.runs] == [TWO]
    assert plan.exclusions == (
        Exclusion("one-lamp-1", "golden/a.jsonl:1", "not run: left out by --only"),
    )


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("two-lamp-1", "did you mean `two-lamps-1`?"),
        ("category:alternat", "did you mean `alternate`?"),
        ("categry:golden", "did you mean `category`?"),
    ],
)
def test_a_pattern_that_matches_nothing_is_an_error(pattern: str, hint: str) -> None:
    """A typing error never makes a smaller run, even beside a pattern that matches."""
    with pytest.raises(AuthoringError) as caught:
        plan_runs([ONE, TWO], seed=1, only=["one-*", pattern])

    assert str(caught.value) == (
        f"`--only`: expected a pattern that matches a scenario, found `{pattern}`; {hint}"
    )


def test_a_retired_scenario_does_not_run_and_an_unscored_one_does_not_count() -> None:
    """Both are listed with their reasons."""
    retired = located("old-1", 3, retirement="Retired: replaced by one-lamp-1")
    unscored = located("look-1", 4, role="unscored")

    plan = plan_runs([ONE, retired, unscored], seed=1)

    assert [run.located.scenario.id for run in plan.runs] == ["one-lamp-1", "look-1"]
    assert plan.exclusions == (
        Exclusion("old-1", "golden/a.jsonl:3", "not run: Retired: replaced by one-lamp-1"),
        Exclusion("look-1", "golden/a.jsonl:4", "run and not counted: role unscored"),
    )


def test_nothing_to_run_is_an_error() -> None:
    """An empty plan would be an empty pass."""
    retired = located("old-1", 3, retirement="retired in March")

    for scenarios in ([], [retired]):
        with pytest.raises(AuthoringError, match="nothing would run"):
            plan_runs(scenarios, seed=1)


def test_the_digest_covers_runs_exclusions_and_seed() -> None:
    """Two plans with one digest are the same plan."""
    plans = [
        plan_runs([ONE, TWO], seed=1),
        plan_runs([TWO, ONE], seed=1),
        plan_runs([ONE, TWO], seed=2),
        plan_runs([ONE, TWO], seed=1, only=["one-*"]),
        plan_runs([ONE], seed=1),
        plan_runs([ONE, TWO], seed=1, trials=2),
    ]

    assert len({plan.digest for plan in plans}) == len(plans)
    assert plan_runs([ONE, TWO], seed=1) == plans[0]
