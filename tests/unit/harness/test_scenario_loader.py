"""A suite loads whole or not at all, and says everything that is wrong with it at once."""

# ruff: noqa: E501 - a message stands here in one line, as a user reads it

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arh.errors import AuthoringError
from arh.harness.authoring.scenario_loader import LoadedSuite, load_scenarios
from tests.unit.harness.authored import (
    GONE,
    PACK,
    RULES,
    SCRIPTS,
    catalogue,
    scenario,
    scenario_value,
    write,
)


def load(root: Path, others: tuple[str, ...] = ()) -> LoadedSuite:
    """The suite below a folder named scenarios, or of one file or line."""
    folder = root if root.name != "suite" else root / "scenarios"
    data = next(parent for parent in (root, *root.parents) if parent.name == "suite")
    return load_scenarios(
        folder,
        pack=PACK,
        scripts=SCRIPTS,
        catalogue=catalogue(data / "datasets"),
        rules=RULES,
        others=others,
    )


def problems_of(root: Path) -> list[str]:
    """What is wrong with a suite, one line each, paths as from the suite's folder."""
    with pytest.raises(AuthoringError) as caught:
        load(root)
    base = next(parent for parent in (root, *root.parents) if parent.name == "suite")
    return [line.replace(f"{base}/", "") for line in str(caught.value).splitlines()]


@pytest.fixture(name="suite")
def _suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    return folder


def test_both_layouts_load_in_sorted_order(suite: Path) -> None:
    """Files below a workflow's folder and in the flat layout load, sorted by their path."""
    write(suite, "scenarios/shop/golden/b.jsonl", [scenario_value({"id": "second-1"}), ""])
    write(suite, "scenarios/golden/a.jsonl", ["", scenario_value({"id": "first-1"}), " "])

    loaded = load(suite)

    assert [(s.location, s.scenario.id) for s in loaded.scenarios] == [
        ("golden/a.jsonl:2", "first-1"),
        ("shop/golden/b.jsonl:1", "second-1"),
    ]
    assert loaded.scenarios[0].scenario == scenario({"id": "first-1"})


def test_one_file_and_one_line_load_by_name(suite: Path) -> None:
    """FILE takes every line, FILE:LINE takes one and does not look at the others."""
    file = write(suite, "scenarios/shop/golden/a.jsonl", ["{", scenario_value()])

    alone = load(Path(f"{file}:2"))

    assert [s.location for s in alone.scenarios] == ["a.jsonl:2"]
    assert len(problems_of(file)) == 1


def test_a_line_that_is_not_there_is_an_error(suite: Path) -> None:
    """A blank or missing line never makes an empty suite."""
    file = write(suite, "scenarios/shop/golden/a.jsonl", [scenario_value()])

    assert problems_of(Path(f"{file}:2")) == [
        "scenarios/shop/golden/a.jsonl:2: there is no scenario here; each line of a .jsonl file below a category's folder is one scenario"
    ]


def test_an_empty_or_missing_root_is_an_error(suite: Path) -> None:
    """No scenario is never a suite."""
    (suite / "scenarios").mkdir()

    assert "there is no scenario here" in problems_of(suite)[0]
    assert "there is no such file or folder" in problems_of(suite / "scenario")[0]


def test_every_problem_of_every_file_is_reported_at_once(suite: Path) -> None:
    """Text, schema, rules and the suite as a whole are all looked at before anything is said."""
    good = scenario_value()
    write(suite, "scenarios/shop/golden/a.jsonl", [good, '{"id": 1, "id": 2}', "[]"])
    write(
        suite,
        "scenarios/shop/negative/b.jsonl",
        [
            scenario_value({"category": "negative"}),
            scenario_value({"id": "second-1"}),
            scenario_value({"id": "third-1", "category": "negative", "ownr": "x", "split": "prod"}),
            scenario_value({"id": "fourth-1", "category": "negative", "workflow": "shop@9"}),
        ],
    )

    assert problems_of(suite) == [
        "scenarios/shop/golden/a.jsonl:2: `id`: not strict JSON: duplicate key at column 16",
        "scenarios/shop/golden/a.jsonl:3: expected an object, one scenario a line, found `a list of 0`",
        "scenarios/shop/negative/b.jsonl:2: `category`: expected negative, as the folder says, found `golden`",
        "scenarios/shop/negative/b.jsonl:3: `split`: expected one of `development`, `calibration`, `regression`, `holdout`, `adversarial`, found `prod`",
        "scenarios/shop/negative/b.jsonl:3: `ownr`: this key is not known; did you mean `owner`?",
        "scenarios/shop/negative/b.jsonl:4: `workflow`: expected the workflow shop@2, found `shop@9`",
        "scenarios/shop/negative/b.jsonl:1: `id`: expected an id that shop/golden/a.jsonl:1 does not have already, found `buy-a-lamp-001`",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"owner": GONE},
            "`owner`: expected this required key, found nothing; add it",
        ),
        (
            {"controls.runtime_budgets.max_steps": "6"},
            "`controls.runtime_budgets.max_steps`: expected a valid integer, found `6`",
        ),
        (
            {"controls.runtime_budgets.max_steps": 0},
            "`controls.runtime_budgets.max_steps`: expected greater than or equal to 1, found `0`",
        ),
        (
            {"expectations.acceptable_outcomes.0.all_of.0.kind": "cuont"},
            "`expectations.acceptable_outcomes[0].all_of[0].kind`: expected one of `count`",
        ),
        (
            {"expectations.acceptable_outcomes.0.all_of.0.wher": {}},
            "`expectations.acceptable_outcomes[0].all_of[0].wher`: this key is not known; did you mean `where`?",
        ),
        (
            {"expectations.pass_criteria.outcome": "fail"},
            "`expectations.pass_criteria.outcome`: expected one of `pass`, found `fail`",
        ),
        (
            {"expectations.response": {"deterministic": {"must_reference": 5}}},
            "`expectations.response.deterministic.must_reference`: expected a valid string or a valid array, found `5`",
        ),
        ({"id": "A B"}, "`id`: expected text that matches "),
        ({"last_review": "soon"}, "`last_review`: expected a valid date"),
        ({"runtime.available_tools": []}, "`runtime.available_tools`: expected list of at least 1"),
    ],
)
def test_a_field_of_the_wrong_shape_is_named(
    changes: dict[str, Any], expected: str, suite: Path
) -> None:
    """The message has the field's path in the file, what was expected and what was found."""
    write(suite, "scenarios/golden/a.jsonl", [scenario_value(changes)])

    (problem,) = problems_of(suite)

    assert problem.startswith(f"scenarios/golden/a.jsonl:1: {expected}"), problem


@pytest.mark.parametrize(
    ("version", "found"),
    [("99.9", "`99.9`"), ("3.1", "`3.1`"), ("1.0", "`1.0`"), (3.0, "`3.0`"), (GONE, "nothing")],
)
def test_a_version_that_nobody_can_read_is_refused(
    version: object, found: str, suite: Path
) -> None:
    """Only 3.0 and the published 2.0 are read, and the message says so."""
    write(suite, "scenarios/golden/a.jsonl", [scenario_value({"schema_version": version})])

    (problem,) = problems_of(suite)

    expected = f"`schema_version`: expected schema version 3.0 or 2.0, found {found}"
    assert problem.removeprefix("scenarios/golden/a.jsonl:1: ").partition(";")[0] == expected


def test_folder_category_and_workflow_agree(suite: Path) -> None:
    """A file lies below its category's folder, and that below its workflow's."""
    write(suite, "scenarios/misc/a.jsonl", [scenario_value()])
    write(suite, "scenarios/bank/golden/b.jsonl", [scenario_value({"id": "second-1"})])

    assert problems_of(suite) == [
        "scenarios/bank/golden/b.jsonl:1: `workflow`: expected bank, as the folder says, found `shop`",
        "scenarios/misc/a.jsonl:1: `category`: expected a category's folder, found `misc`; the file belongs into a folder named after the category",
    ]


def test_what_lies_in_the_folder_of_another_workflow_is_left_for_that_one(suite: Path) -> None:
    """A root may hold the scenarios of several workflows; what belongs to none is still a mistake."""
    write(suite, "scenarios/shop/golden/a.jsonl", [scenario_value()])
    write(suite, "scenarios/bank/golden/b.jsonl", ["no scenario of ours"])
    write(suite, "scenarios/bank/golden/.c.jsonl", ["nor this"])

    loaded = load(suite, others=("bank", "shop"))

    assert [located.location for located in loaded.scenarios] == ["shop/golden/a.jsonl:1"]
    assert loaded.passed_over == ()
    assert len(problems_of(suite)) == 1


def test_a_workflow_named_like_a_category_hides_no_category(suite: Path) -> None:
    """In the flat layout a category's folder is ours, whatever else is installed."""
    write(suite, "scenarios/golden/a.jsonl", [scenario_value()])

    assert len(load(suite, others=("golden",)).scenarios) == 1


def test_a_category_folder_can_be_the_root(suite: Path) -> None:
    """Loading one category's folder alone finds the same scenarios."""
    write(suite, "scenarios/shop/golden/a.jsonl", [scenario_value()])

    assert len(load(suite / "scenarios" / "shop").scenarios) == 1
    assert len(load(suite / "scenarios" / "shop" / "golden").scenarios) == 1


def test_links_are_not_followed(suite: Path, tmp_path: Path) -> None:
    """Neither a linked file nor a linked folder brings scenarios in."""
    outside = write(tmp_path, "outside/golden/a.jsonl", [scenario_value()])
    write(suite, "scenarios/golden/b.jsonl", [scenario_value()])
    (suite / "scenarios/golden/a.jsonl").symlink_to(outside)
    (suite / "scenarios/shop").symlink_to(outside.parent.parent)

    assert problems_of(suite) == [
        f"scenarios/{name}: this is a symbolic link, and links are not followed; put the file "
        "itself in its place"
        for name in ("golden/a.jsonl", "shop")
    ]


def test_a_line_that_is_too_long_is_refused(suite: Path) -> None:
    """A line of more than one MiB is not read."""
    line = json.dumps(scenario_value({"description": "x" * 2**20}))
    write(suite, "scenarios/golden/a.jsonl", [line])

    assert problems_of(suite) == ["scenarios/golden/a.jsonl:1: not strict JSON: too large"]


def test_hostile_text_stays_on_its_line(suite: Path) -> None:
    """A value or a file name cannot forge a line of output."""
    value = scenario_value({"workflow": "shop@9"})
    value["\n::error::forged\u202e"] = 1
    write(suite, "scenarios/golden/a\nb.jsonl", [value])

    (problem,) = problems_of(suite)

    assert "\\n::error::forged\\u202e" in problem
    assert problem.startswith("scenarios/golden/a\\nb.jsonl:1: ")


def test_very_many_problems_are_counted(suite: Path) -> None:
    """Two hundred problems are shown, the rest as a number."""
    write(suite, "scenarios/golden/a.jsonl", ["x"] * 250)

    problems = problems_of(suite)

    assert len(problems) == 201
    assert problems[-1] == "and 50 more problems"


def test_wrong_data_is_reported_once_and_with_its_own_line(suite: Path) -> None:
    """A bad row is the data's problem, however many scenarios use it."""
    write(suite, "scenarios/golden/a.jsonl", [scenario_value({"id": f"same-{n}"}) for n in (1, 2)])
    data = catalogue(suite / "datasets")
    write(suite, "datasets/shop/items.jsonl", ['{"sku":"S-1"}', '{"sku":"S-1"}'])

    with pytest.raises(AuthoringError) as caught:
        load_scenarios(suite / "scenarios", pack=PACK, scripts=SCRIPTS, catalogue=data, rules=RULES)

    assert [(Path(p.file).name, p.line, p.field) for p in caught.value.problems] == [
        ("items.jsonl", 2, "")
    ]


def test_digests_follow_content_alone(suite: Path, tmp_path: Path) -> None:
    """The scenario's digest is its value's, the suite's that of names and bytes."""
    value = scenario_value()
    turned = dict(reversed(value.items()))
    other = tmp_path / "other" / "suite"
    write(suite, "scenarios/golden/a.jsonl", [value])
    write(other, "scenarios/golden/a.jsonl", [turned])

    one, two = load(suite), load(other)

    assert one.scenarios[0].digest == two.scenarios[0].digest
    assert one.digest != two.digest
    assert one.digest == load(suite).digest


def test_a_published_line_is_upgraded_and_says_what_was_filled_in(suite: Path) -> None:
    """A line of schema 2.0 becomes a scenario, with notes at its place."""
    old = {
        key: value
        for key, value in scenario_value({"schema_version": "2.0"}).items()
        if key
        not in {
            "workflow",
            "role",
            "risk_class",
            "split",
            "owner",
            "reason",
            "source_class",
            "last_review",
            "retirement",
        }
    }
    del old["expectations"]["trajectory"]["evidence_requirements"][0]["same_arguments"]
    write(suite, "scenarios/golden/a.jsonl", [old])

    loaded = load(suite)

    assert loaded.scenarios[0].scenario.workflow == "shop@2"
    assert loaded.scenarios[0].scenario.source_class == "published"
    assert {note.location for note in loaded.notes} == {"golden/a.jsonl:1"}


def test_a_file_that_is_passed_over_is_noted(suite: Path) -> None:
    """A scenario under a name that nobody reads is not lost without a word."""
    write(suite, "scenarios/golden/a.jsonl", [scenario_value({"id": "first-1"})])
    write(suite, "scenarios/golden/b.JSONL", [scenario_value({"id": "second-1"})])

    loaded = load(suite)

    assert [at.scenario.id for at in loaded.scenarios] == ["first-1"]
    assert [(note.location, note.text) for note in loaded.passed_over] == [
        ("golden/b.JSONL", "does not end in .jsonl and was not read")
    ]
