"""The path to a fault in a JSON text, from the line and the column that a parser tells."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import DEPTH_MAX, JsonValue, Refused, parse

VALUES: Final[st.SearchStrategy[JsonValue]] = st.recursive(
    st.none() | st.integers(0, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def path_of_fault(text: str | bytes) -> str:
    """Return the path that the refusal of a text names."""
    with pytest.raises(Refused) as caught:
        parse(text)
    return caught.value.path


def written(step: str | int) -> str:
    """Return a step as a path writes it: a key that is no plain word is JSON in brackets."""
    if isinstance(step, str) and re.fullmatch(r"[A-Za-z0-9_-]+", step):
        return f".{step}"
    return f"[{json.dumps(step)}]"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("NaN", ""),
        ('{"a": NaN}', "a"),
        ('{"a": 1, "a": 2}', "a"),
        ('{"steps": [{}, {"x": 1,\n "x": 2}]}', "steps[1].x"),
        ("[[1, 2], [3,\n\n NaN]]", "[1][1]"),
        ('{"a": {"b": [{}, []]}, "c": NaN}', "c"),
        ('{"a b": {"é": [Infinity]}}', '["a b"]["\\u00e9"][0]'),
        ('{"\\"},[": [0, NaN]}', '["\\"},["][1]'),
        ('{"a": ["}", "]", "{", NaN]}', "a[3]"),
        ('{"a": [1, 2', "a[1]"),
        ("]]]{", ""),
    ],
)
def test_the_path_leads_to_the_fault(text: str, path: str) -> None:
    """Keys and indices of every object and list that is open there."""
    assert path_of_fault(text) == path


@given(VALUES, st.lists(st.text(max_size=4) | st.integers(0, 3), max_size=6), st.booleans())
def test_the_path_is_right_wherever_the_fault_is(
    beside: JsonValue,
    way: list[str | int],
    spread: bool,  # noqa: FBT001 - drawn
) -> None:
    """A `NaN` at the end of a way through any structure is found by that way."""
    value: object = float("nan")
    for step in reversed(way):
        value = [beside] * step + [value, beside] if isinstance(step, int) else {step: value}

    found = path_of_fault(json.dumps(value, indent=1 if spread else None))

    assert found == "".join(map(written, way)).removeprefix(".")


def test_a_long_and_deep_text_costs_no_more_than_its_length() -> None:
    """Hostile texts: open brackets without end, and quotes and escapes that never close."""
    assert path_of_fault("[" * 100_000).count("[0]") >= DEPTH_MAX
    assert path_of_fault('{"a": "' + "\\\\" * 1_000_000) == "a"
    assert path_of_fault("[" + '"",' * 300_000 + "NaN]") == "[300000]"
