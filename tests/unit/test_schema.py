"""Whether a value fits a schema: offline, in linear time, told without repeating the value."""

from __future__ import annotations

import pytest

from arh.canonical import Json
from arh.schema import SchemaRefused, compiled, problem


def test_problems_name_paths_and_keywords_but_no_values() -> None:
    """A message may be persisted although the arguments may not."""
    schema = compiled(
        Json.of(
            {
                "type": "object",
                "properties": {
                    "pin": {"type": "string", "pattern": "^[0-9]+$"},
                    "card": {"type": "object", "properties": {"n": {"const": 4}}},
                },
                "additionalProperties": False,
            }
        )
    )
    problems = schema.problems({"pin": "s3cret", "card": {"n": "s3cret"}, "s3cret": 1})

    assert sorted(problems) == ["/ additionalProperties", "/card/n const", "/pin pattern"]


def test_only_the_first_problems_are_told() -> None:
    """However much is wrong, a message stays short."""
    schema = compiled(Json.of({"type": "array", "items": {"type": "string"}}))

    assert len(schema.problems([1] * 1000)) == 5


def test_a_pattern_takes_linear_time() -> None:
    """A pattern that is exponential elsewhere answers at once, and rightly."""
    schema = compiled(Json.of({"type": "string", "pattern": "^(a+)+$"}))

    assert not schema.fits("a" * 50_000 + "!")
    assert schema.fits("a" * 50_000)


@pytest.mark.parametrize("value", [1, "1", True, None, [1], {"x": 1}])
def test_types_are_not_confused(value: object) -> None:
    """Only an integer is an integer, only a text a text, only a boolean a boolean."""
    found = {
        kind
        for kind in ("integer", "string", "boolean", "null", "array", "object")
        if compiled(Json.of({"type": kind})).fits(Json.of(value).value())
    }

    assert len(found) == 1


def test_equal_documents_share_one_schema() -> None:
    """However their keys are ordered."""
    one = Json.of({"type": "string", "minLength": 1})
    other = Json.of({"minLength": 1, "type": "string"})

    assert compiled(one) is compiled(other)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([1], "a schema is an object"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "`$schema` is not"),
        ({"$ref": "https://example.test/other"}, "is not present in a registry"),
        ({"$ref": "#/$defs/nothing"}, "does not exist"),
        ({"type": 5}, "is not valid under any of the schemas"),
        ({"pattern": "(?=a)b"}, "is not a"),
        ({"pattern": r"\pL{1000}"}, "is not a"),
    ],
)
def test_what_cannot_be_checked_is_no_schema(document: object, why: str) -> None:
    """What is foreign, fetched, malformed, not linear or too large is refused with a reason."""
    assert why in problem(Json.of(document))
    with pytest.raises(SchemaRefused):
        compiled(Json.of(document))


def test_a_good_schema_has_no_problem() -> None:
    """A reference within the document is followed."""
    document = Json.of({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}})

    assert problem(document) == ""
    assert compiled(document).problems("1") == ("/ type",)
