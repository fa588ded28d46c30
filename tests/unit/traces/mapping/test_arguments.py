"""Arguments are an object, or they are not, and then their text says what they are."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.traces.mapping.arguments import arguments_of


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ({"a": 1}, {"a": 1}),
        (None, {}),
        ("", {}),
        (" \n", {}),
        ('{"a": "[1]", "b": "2"}', {"a": "[1]", "b": "2"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
    ],
)
def test_an_object_is_read(recorded: JsonValue, value: JsonValue) -> None:
    """As it is, as nothing, as JSON text, and as JSON text of it; its own texts stay texts."""
    read = arguments_of(recorded)

    assert (value, None, "") == (read.value, read.raw, read.fault)


@pytest.mark.parametrize(
    ("recorded", "raw", "fault"),
    [
        ('{"a": 1', '{"a": 1', "argument_parse_error"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', "argument_parse_error"),
        ('{"a": NaN}', '{"a": NaN}', "argument_parse_error"),
        ("[" * 100_000, "[" * 100_000, "argument_parse_error"),
        ("[5]", "[5]", "arguments_not_object"),
        ("5", "5", "arguments_not_object"),
        ('"{\\"a\\""', '"{\\"a\\""', "arguments_not_object"),
        ('"\\"{}\\""', '"\\"{}\\""', "arguments_not_object"),
        ([5], "[5]", "arguments_not_object"),
        (7, "7", "arguments_not_object"),
        (False, "false", "arguments_not_object"),
    ],
)
def test_anything_else_is_kept_as_text_and_never_repaired(
    recorded: JsonValue, raw: str, fault: str
) -> None:
    """There is no value then, so no rule can take it for a call without arguments."""
    read = arguments_of(recorded)

    assert (None, raw, fault) == (read.value, read.raw, read.fault)
