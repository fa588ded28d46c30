"""Schema 2.0 becomes 3.0 by fixed rules: golden files, and each rule with what it refuses.

The files under tests/data/published are in the shapes of schema 2.0, nulls included; beside each
one lies what it becomes. To write those anew after a change that is meant: `python -m
tests.unit.records.test_upgrade`, and read the difference.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.harness.vocabulary.rules import RULES
from arh.records.control.scenario import Scenario
from arh.records.published import FAULTS, KEYS
from arh.records.tasks import BUDGETS, NON_PROGRESS
from arh.records.upgrade import Upgraded, Vocabulary, upgrade_scenario
from arh.sim.fault_table import TABLE

FOLDER = Path(__file__).resolve().parents[2] / "data" / "published"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json") if ".upgraded" not in path.name)
VOCABULARY = Vocabulary(
    "support@1", ("get_account", "create_ticket", "issue_credit"), ("credit_requires_approval",)
)


def old(name: str = "plain") -> dict[str, Any]:
    """One scenario of schema 2.0."""
    value: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return value


def upgraded(value: dict[str, Any]) -> Upgraded:
    """What it becomes."""
    return upgrade_scenario(value, VOCABULARY)


def written(done: Upgraded) -> str:
    """The golden file's text."""
    return json.dumps({"value": done.value, "notes": done.notes}, indent=1) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_published_shape_becomes_its_golden_file(name: str) -> None:
    """Value and notes are exactly those on file, and the value is a scenario of schema 3.0."""
    done = upgraded(old(name))

    assert done.problems == ()
    assert written(done) == (FOLDER / f"{name}.upgraded.json").read_text("utf-8")
    Scenario.model_validate_json(json.dumps(done.value))


def test_the_value_given_is_not_changed() -> None:
    """An upgrade is a pure function: the same value becomes the same, and stays as it was."""
    value = old("caught")
    before = copy.deepcopy(value)

    assert upgraded(value) == upgraded(before)
    assert value == before


@pytest.mark.parametrize(
    ("name", "role", "terminations"),
    [
        ("plain", "acceptance", None),
        ("lost-reply", "acceptance", None),
        ("all-tools-no-criteria", "acceptance", None),
        ("lie", "negative_control", ["completed"]),
        ("caught", "negative_control", ["completed", "invariant_violation"]),
        ("stop", "positive_control", ["loop_cycle"]),
        ("unnamed-stop", "unscored", ["completed", *BUDGETS, *NON_PROGRESS]),
    ],
)
def test_tags_and_criteria_say_what_a_scenario_shows(
    name: str, role: str, terminations: list[str] | None
) -> None:
    """A lie and a broken fixture must fail, a named stop must come, the rest must pass."""
    value = upgraded(old(name)).value
    expectations = value["expectations"]

    assert value["role"] == role
    assert isinstance(expectations, dict)
    assert expectations.get("acceptable_terminations") == terminations


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("plain", []),
        ("lie", []),
        ("asks", ["trajectory.forbidden_requested"]),
        ("caught", ["outcome.invariant_violated"]),
        ("stop", ["non_progress.behaviour"]),
        ("unnamed-stop", []),
    ],
)
def test_a_failure_by_design_is_named(name: str, rules: list[str]) -> None:
    """What a scenario breaks on purpose must be reported, by a rule that exists."""
    expectations: Any = upgraded(old(name)).value["expectations"]
    named = [finding["rule"] for finding in expectations.get("expected_findings", [])]

    assert named == rules
    assert set(named) <= set(RULES)


def test_criteria_left_out_never_leave_a_scenario_unscored() -> None:
    """Taking the criteria away makes a scenario stricter, not invisible."""
    value = old("plain")
    value["expectations"]["pass_criteria"] = {}
    done = upgraded(value).value

    assert done["role"] == "acceptance"
    assert done["expectations"]["pass_criteria"] == {  # type: ignore[index,call-overload]
        "outcome": "pass",
        "trajectory": "pass",
        "response": "pass",
    }


@pytest.mark.parametrize(
    ("path", "key", "message"),
    [
        ("", "role", "`role`: schema 2.0 has no such key; "),
        ("", "catgory", "`catgory`: schema 2.0 has no such key; did you mean `category`?"),
        ("controls.runtime_budgets", "max_retries", "`controls.runtime_budgets.max_retries`"),
        (
            "expectations.invariants.0",
            "fild",
            "`expectations.invariants[0].fild`: schema 2.0 has no such key; did you mean `field`?",
        ),
        ("expectations.response.deterministic", "must_refer", "did you mean `must_reference`?"),
    ],
)
def test_a_key_that_schema_2_does_not_have_is_named(path: str, key: str, message: str) -> None:
    """Nothing is dropped: a typing error in an old file is an error as well."""
    value = old("plain")
    at: Any = value
    for step in path.split(".") if path else ():
        at = at[int(step)] if isinstance(at, list) else at[step]
    at[key] = 1

    (problem,) = upgraded(value).problems

    assert message in str(problem)


@pytest.mark.parametrize(
    ("target", "phase", "effect"),
    [
        ("tool", "during_execution", "timeout"),
        ("tool", "before_execution", "context_pressure"),
        ("approval_service", "before_execution", "error"),
        ("authorization_service", "during_execution", "slowdown"),
        ("tool", "after_lunch", "error"),
    ],
)
def test_a_fault_with_several_meanings_is_refused(target: str, phase: str, effect: str) -> None:
    """What 2.0 leaves open is for the author to say."""
    value = old("lost-reply")
    value["controls"]["faults"][0] |= {"target_type": target, "phase": phase, "effect": effect}

    (problem,) = upgraded(value).problems

    assert str(problem) == (
        f"`controls.faults[0]`: expected a fault with one meaning, found `{target}, {phase}, "
        f"{effect}`; schema 2.0 does not say what is then true: write the scenario in schema 3.0"
    )


def test_every_mapped_fault_exists() -> None:
    """No published fault becomes one that the fault table lacks."""
    mapped = {(target, *fault) for (target, _), row in FAULTS.items() for fault in row.values()}

    assert mapped <= set(TABLE)


def test_money_that_is_no_whole_hundredth_is_refused() -> None:
    """An amount is never rounded in silence."""
    value = old("caught")
    value["trusted_environment"]["approvals"][0]["scope"]["amount"] = 25.505

    assert [problem.found for problem in upgraded(value).problems] == ["25.505"]


@pytest.mark.parametrize("wrong", [None, 5, "text", [], [1], {}, [{"all_of": 1}], [[]]])
def test_wrong_types_are_left_for_the_schema(wrong: JsonValue) -> None:
    """Whatever stands where, the upgrade returns, and 3.0 refuses what it refuses."""
    for path in [path for path in KEYS if path]:
        value = old("caught")
        *parents, last = path.split(".")
        at: Any = value
        for step in parents:
            at = at.get(step, {}) if isinstance(at, dict) else at[0] if at else {}
            at = at[0] if isinstance(at, list) and at else at
        if isinstance(at, dict):
            at[last] = wrong

        assert isinstance(upgraded(value), Upgraded)


if __name__ == "__main__":
    for each in NAMES:
        (FOLDER / f"{each}.upgraded.json").write_text(written(upgraded(old(each))), "utf-8")
