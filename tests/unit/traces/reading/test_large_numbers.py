"""Recordings may hold numbers that doubles do not hold exactly, and nothing else beside them."""

from __future__ import annotations

import json

import pytest

from arh.canonical import Refused
from arh.traces.reading.documents import recording
from arh.traces.reading.large_numbers import parse_recorded


@pytest.mark.parametrize("literal", [b"1234567890123456789", b"-9007199254740993", b"1e300", b"5"])
def test_large_numbers_are_read(literal: bytes) -> None:
    """In one document, and in documents on lines."""
    value = json.loads(literal)

    assert recording(b'{"a": [%s]}' % literal, "t.json").value == {"a": [value]}
    assert recording(b'{"a": 1}\n{"a": %s}' % literal, "t.jsonl").value == [{"a": 1}, {"a": value}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[1234567890123456789, 1e400]", "not finite"),
        (b"[1234567890123456789, NaN]", "malformed"),
        (b'[1234567890123456789, {"a": 1, "a": 2}]', "duplicate key"),
        (b"[1234567890123456789, " + b"[" * 80 + b"]" * 80 + b"]", "too deep"),
        (b"[1234567890123456789" + b",[]" * (2**20 + 1) + b"]", "too many containers"),
        (b"9" * 5000, "number beyond 2^53 - 1"),
        (b"[1234567890123456789", "cut short"),
    ],
)
def test_large_numbers_let_nothing_else_in(text: bytes, reason: str) -> None:
    """What is refused beside small numbers is refused beside large ones."""
    with pytest.raises(Refused) as caught:
        parse_recorded(text, size_max=2**23)

    assert reason == caught.value.reason
