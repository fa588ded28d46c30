"""The line of a field is found again in the text, or that of the nearest one around it."""

from __future__ import annotations

import pytest

from arh.traces.places import lines_of

TEXT = """{
  "a": {"b": 1,
    "c d": [1,
      {"e": "}\\"{[,"}, [2]
    ]},
  "f": null
}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a", 2),
        ("a.b", 2),
        ("a.c d", 3),
        ("a.c d[0]", 3),
        ("a.c d[1]", 4),
        ("a.c d[1].e", 4),
        ("a.c d[1].missing", 4),
        ("a.c d[2][0]", 4),
        ("a.c d[9]", 3),
        ("f", 6),
        ("f.g.h", 6),
    ],
)
def test_a_path_has_its_line(path: str, line: int) -> None:
    """Also where text holds brackets and quotes."""
    assert lines_of(TEXT, [path]) == {path: line}


def test_what_is_nowhere_has_no_line() -> None:
    """Nor has the document as a whole."""
    assert lines_of(TEXT, ["z", ""]) == {}


def test_a_list_may_be_the_document() -> None:
    """Its elements have paths too."""
    assert lines_of("[1,\n{\n}]", ["[1]", "[1].a"]) == {"[1]": 2, "[1].a": 2}
