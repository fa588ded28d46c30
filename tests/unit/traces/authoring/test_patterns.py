"""Authors' patterns mean what they mean in `re`, take linear time, or are refused by name."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arh.regex import PatternRefused
from arh.traces.authoring import patterns

PIECES = [
    *("a", "b", "1", " ", ".", r"\d", r"\w", r"\s", r"\S", r"\.", "é", r"\u0061", r"\n", "-"),
    *("[ab]", "[^a]", r"[\w-]", r"[\d.]", "[]a]", "[[]", "(?:ab)", "(a|b)", "^", "$", r"\Z"),
]
REPEATS = ["", "", "", "*", "+", "?", "*?", "{2}", "{,2}", "{1,}", "{,}"]
PATTERN = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(REPEATS)), min_size=1, max_size=5
).map(
    lambda pairs: "".join(
        piece + (repeat if piece not in "^$" and piece != r"\Z" else "") for piece, repeat in pairs
    )
)
TEXT = st.text(st.sampled_from("ab1 -.é\n[]\u00a0"), max_size=8)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(PATTERN, TEXT)
@example("a$", "a\n")
@example("ab{,}1", "a1")
@example(r"\d", "\u0661")
@example(r"[\s]", "\u00a0")
def test_a_search_finds_what_re_finds(pattern: str, text: str) -> None:
    """In any case of letters."""
    expected = re.search(pattern, text, re.IGNORECASE)
    found = patterns.searcher(pattern).search(text)

    assert (expected is None) == (found is None)
    if expected and found:
        assert expected.start() == found.start()


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(PATTERN, TEXT)
@example("a$", "a\n")
@example("ORD-[0-9]+", "ORD-12\n")
def test_a_whole_match_is_what_re_calls_one(pattern: str, text: str) -> None:
    """From end to end, also for the simple patterns that `re` itself runs."""
    assert (re.fullmatch(pattern, text) is not None) == patterns.matches(pattern, text)


@given(st.lists(PATTERN, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=4))
def test_a_screen_finds_at_least_what_each_pattern_finds(
    several: list[str], texts: list[str]
) -> None:
    """Over texts that are joined by line feeds."""
    screen = patterns.screen(tuple(several))
    assert screen is not None

    if any(patterns.searcher(each).search(text) for each in several for text in texts if text):
        assert patterns.is_found(screen, "\n".join(texts))


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        ("a(?=b)", "a look-ahead `(?=` at character 2"),
        ("(?!b)", "a negative look-ahead"),
        ("(?<=b)", "a look-behind"),
        ("(?<!b)", "a negative look-behind"),
        (r"(a)\1", r"a back-reference \1"),
        ("(?P<x>a)(?P=x)", "a back-reference"),
        ("(?>a)", "an atomic group"),
        ("(a)?(?(1)b)", "a conditional group"),
        ("a++", "a possessive quantifier"),
        ("(?x) a", "the flag `x`"),
        ("(", "missing )"),
        ("a{99999999999}", "a repetition of more than 1000"),
        ("a" * 10_001, "longer than 10000 characters"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(pattern: str, construct: str) -> None:
    """The construct and its place."""
    with pytest.raises(PatternRefused) as caught:
        patterns.searcher(pattern)
    assert construct in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 50_000 + "!"),
        (r"\s+$", " " * 200_000 + "x"),
        (r"\bwire\s+transfer\b.*\burgent\b", "wire transfer " * 20_000),
        ("[a-z]+x", "a" * 200_000),
    ],
)
def test_hostile_text_takes_linear_time(pattern: str, text: str) -> None:
    """What takes half a minute with backtracking is done at once."""
    started = time.process_time()
    patterns.searcher(pattern).search(text)
    patterns.matches(pattern, text)

    assert time.process_time() - started < 2


def test_a_pattern_that_unsets_a_flag_has_no_screen() -> None:
    """Its line ends would mean something else."""
    assert patterns.screen(("(?-m:^a)",)) is None
