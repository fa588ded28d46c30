"""Argument texts are read strictly, and never repeated."""

from __future__ import annotations

import pytest

from arh.canonical import Json
from arh.tools.arguments import ARGUMENTS_SIZE_MAX, read_arguments

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
