"""Every value of a JSON text is found on the line where it begins."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from arh.errors import AuthoringError, Problem
from arh.traces.reading.positions import lines_of, placed

TEXT = b"""{"a": 1,
 "b": [true,
   {"c": "x\\"y,[{", "": null}],
 "d": {}, "e":
 []}
"""

values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner)
    ),
)


def test_paths_and_lines() -> None:
    """Strings hide their brackets, and a value counts where it begins."""
    assert dict(lines_of(TEXT)) == {
        "": 1,
        "a": 1,
        "b": 2,
        "b[0]": 2,
        "b[1]": 3,
        "b[1].c": 3,
        "b[1].": 3,
        "d": 4,
        "e": 5,
    }


@given(values)
def test_every_value_has_a_path(value: Any) -> None:  # noqa: ANN401 - JSON values
    """Whatever the text is, there are as many paths as values, and the last line is the last."""
    text = json.dumps(value, indent=1)
    found = list(lines_of(text.encode()))

    assert [path for path, _ in found] == list(paths(value, ""))
    assert all(1 <= line <= text.count("\n") + 1 for _, line in found)


def paths(value: Any, at: str) -> Any:  # noqa: ANN401 - JSON values
    """Yield the path of every value."""
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, f"{at}[{index}]")


def test_a_mistake_gets_the_line_of_its_field() -> None:
    """What is missing counts where the object is that lacks it."""
    error = AuthoringError(
        Problem("x", field="b[1].c"), Problem("y", field="b[1].lacking.more"), Problem("z")
    )

    found = placed(error, TEXT, "p.json").problems

    assert [(problem.file, problem.line) for problem in found] == [
        ("p.json", 3),
        ("p.json", 3),
        ("p.json", None),
    ]


def test_hostile_text_costs_linear_time() -> None:
    """A megabyte of quotes, escapes and brackets is passed over once."""
    for data in (b'"' * 1_000_001, b"\\" * 1_000_000, b"[" * 1_000_000, b'{"a":' * 200_000):
        assert sum(1 for _ in lines_of(data)) <= len(data)


def test_a_long_key_is_not_repeated_in_the_paths_below_it() -> None:
    """A file of a megabyte would take gigabytes: the key's own line is known, those within not."""
    key = "k" * 5_000
    text = json.dumps({key: [[1], 2], "b": [3]}).encode()

    paths = [path for path, _ in lines_of(text)]

    assert [path for path in paths if "\0" not in path] == ["", key, "b", "b[0]"]
    assert [len(path) < 500 for path in paths if "\0" in path] == [True] * 3
