"""Argument texts are read strictly, and what does not fit is told without repeating it."""

from __future__ import annotations

import pytest

from arh.canonical import Json
from arh.tools.arguments import ARGUMENTS_SIZE_MAX, compiled, read_arguments

HOSTILE = {
    "cut short": '{"a": 1',
    "nothing": "",
    "not JSON": "account_id=A-1",
    "Python": "{'a': 1}",
    "a number": "5",
    "a list": "[1]",
    "null": "null",
    "a text": '"{}"',
    "NaN": '{"a": NaN}',
    "infinity": '{"a": 1e999}',
    "integral float": '{"a": 1.0}',
    "exponent": '{"a": 1e2}',
    "negative zero": '{"a": -0.0}',
    "huge integer": '{"a": 9007199254740993}',
    "duplicate key": '{"a": 1, "a": 2}',
    "duplicate key, escaped": '{"a": 1, "\\u0061": 2}',
    "lone surrogate": '{"a": "\\ud800"}',
    "raw lone surrogate": '{"a": "\ud800"}',
    "lone surrogate in a key": '{"\\udfff": 1}',
    "control character": '{"a": "\x00"}',
    "byte order mark": '\ufeff{"a": 1}',
    "trailing text": '{"a": 1} {"a": 2}',
    "comment": '{"a": 1} // fine',
    "deep": '{"a":' * 100 + "1" + "}" * 100,
    "very deep": "[" * 100_000,
    "too large": '{"a": "' + "x" * ARGUMENTS_SIZE_MAX + '"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_states_no_arguments(name: str) -> None:
    """The answer is a short reason out of a closed list, never a part of the text."""
    reason = read_arguments(HOSTILE[name])

    assert isinstance(reason, str)
    assert len(reason) < 40


@pytest.mark.parametrize("text", [None, 5, b"{}", {"a": 1}, ["{}"]])
def test_what_is_no_text_states_no_arguments(text: object) -> None:
    """A caller that hands over an object instead of its text gets nothing read."""
    assert read_arguments(text) == "not a text"


def test_a_good_text_is_read_as_value_and_canonical_bytes() -> None:
    """Spelling does not matter, meaning does."""
    read = read_arguments(' {"b": [1, 0.5, true, null], "a": "\\u00fc"} ')

    assert read == (
        {"b": [1, 0.5, True, None], "a": "ü"},
        Json.of({"a": "ü", "b": [1, 0.5, True, None]}),
    )


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
