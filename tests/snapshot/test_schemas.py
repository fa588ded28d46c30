"""The committed JSON Schemas are those of the code, and say what the readers say."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from tests.unit.harness.authored import GONE, scenario_value
from tools.export_schemas import FOLDER, FORMATS, schema_text


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_committed_schema_has_not_drifted(name: str) -> None:
    """After a change to a format: `python tools/export_schemas.py`."""
    committed = (FOLDER / f"{name}.schema.json").read_text("utf-8")

    assert committed == schema_text(name)


def test_no_schema_is_left_over() -> None:
    """The folder holds the schemas of today's formats and nothing else."""
    assert {path.name for path in FOLDER.iterdir()} == {f"{n}.schema.json" for n in FORMATS}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_schema_says_which_it_is(name: str) -> None:
    """Dialect and identity are in the file, and the dialect accepts it."""
    schema = json.loads(schema_text(name))

    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:arh:schema:{name}:{FORMATS[name][1]}"


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({}, True),
        ({"owner": GONE}, False),
        ({"ownr": "x"}, False),
        ({"category": "golde"}, False),
        ({"controls.runtime_budgets.max_steps": "6"}, False),
        ({"schema_version": "2.0"}, False),
        ({"expectations.pass_criteria.outcome": "fail"}, False),
    ],
)
def test_the_scenario_schema_refuses_what_the_loader_refuses(
    changes: dict[str, Any],
    accepted: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """An editor that knows the schema warns before the loader does."""
    validator = jsonschema_rs.validator_for(json.loads(schema_text("scenario")), offline=True)

    assert validator.is_valid(scenario_value(changes)) is accepted
