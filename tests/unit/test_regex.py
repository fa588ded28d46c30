"""Patterns: compiled with one set of options, refused with a reason, linear on hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest

from arh.regex import PatternRefused, compiled, occurrences, problem, screen, searchable

SOURCE = Path(__file__).resolve().parents[2] / "src" / "arh"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing )"),
        ("(?=a)b", "RE2 has no look-around"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{2000}", "invalid repetition size"),
        (r"(?:\pL{100}){10}", "pattern too large"),
        ("\ud800", "a lone surrogate"),
    ],
)
def test_what_is_no_pattern_is_refused_with_a_reason(pattern: str, why: str) -> None:
    """What is malformed, not linear or too large says so, and says nothing on the error stream."""
    assert why in problem(pattern)
    with pytest.raises(PatternRefused):
        compiled(pattern)


def test_what_loads_is_what_runs() -> None:
    """A pattern that has no problem is the very object that is searched with."""
    assert problem(r"[A-Z]+-(\d+)") == ""

    found = compiled(r"[A-Z]+-(\d+)").search("see INV-40")
    assert found is not None
    assert (found.group(), found.group(1), found.start(), found.end()) == ("INV-40", "40", 4, 10)
    assert compiled(r"[A-Z]+-(\d+)") is compiled(r"[A-Z]+-(\d+)")


def test_a_pattern_takes_linear_time() -> None:
    """A pattern that is exponential elsewhere answers at once."""
    assert compiled("^(a+)+$").search("a" * 100_000 + "!") is None


def test_a_lone_surrogate_can_be_searched_past() -> None:
    """It is replaced, and the rest of the text is what it was."""
    assert searchable("\ud800 ü") == "? ü"
    assert searchable("plain") == "plain"


def test_a_screen_tells_which_patterns_match() -> None:
    """All in one pass; nothing where none does."""
    search = screen(["a+", "b", r"\d"])

    assert sorted(search("aa 1") or ()) == [0, 2]
    assert search("xyz") is None


@pytest.mark.parametrize(("library", "home"), [("re2", "regex.py"), ("jsonschema_rs", "schema.py")])
def test_one_module_compiles(library: str, home: str) -> None:
    """No other module imports the library, so no other options can be in use."""
    importing = [
        path.name
        for path in SOURCE.rglob("*.py")
        if f"import {library}" in (text := path.read_text()) or f"from {library}" in text
    ]

    assert importing == [home]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A-1001 and A-1002, A-1001", ["A-1001", "A-1002", "A-1001"]),
        ("é A-1003 \U0001f600 A-1004", ["A-1003", "A-1004"]),
        ("\ud800 A-1005", ["A-1005"]),
        ("nothing", []),
    ],
)
def test_occurrences_are_the_texts_of_all_matches(text: str, found: list[str]) -> None:
    """In order and with repetition, whatever characters stand before them."""
    assert found == occurrences(r"\bA-[0-9]{3,}\b", text)
