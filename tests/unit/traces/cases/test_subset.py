"""Containment: what an author writes holds of every larger value, in any order, and is fast."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue
from arh.traces.cases.subset import COMPARISONS_MAX, TooLargeError, contains

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["a", "b"]))
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=8,
)


def brute_force(actual: JsonValue, expected: JsonValue) -> bool:
    """Try every order, as the definition says."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            name in actual and brute_force(actual[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and any(
            all(brute_force(a, e) for a, e in zip(chosen, expected, strict=True))
            for chosen in permutations(actual, len(expected))
        )
    if isinstance(actual, bool) or isinstance(expected, bool):
        return actual is expected
    return type(actual) is type(expected) and actual == expected


@given(VALUES, VALUES)
def test_it_is_what_trying_every_order_says(actual: JsonValue, expected: JsonValue) -> None:
    """The matching finds an assignment exactly where there is one."""
    assert contains(actual, expected) == brute_force(actual, expected)


@given(
    st.lists(VALUES, max_size=5).flatmap(
        lambda items: st.tuples(st.just(items), st.permutations(items))
    )
)
def test_order_does_not_matter(lists: tuple[list[JsonValue], list[JsonValue]]) -> None:
    """A list contains every order of itself."""
    actual, expected = lists

    assert contains(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "holds"),
    [
        (42.0, 42, True),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ([{"x": 1}], [{"x": 1}, {"x": 1}], False),
        ([{"x": 1, "y": 2}, {"x": 1}], [{"x": 1}, {"x": 1, "y": 2}], True),
        ({"a": {"b": [1, 2]}, "c": 3}, {"a": {"b": [2]}}, True),
        ({}, {"a": None}, False),
        ([], [], True),
        ({"a": []}, {"a": {}}, False),
    ],
)
def test_examples(actual: JsonValue, expected: JsonValue, holds: bool) -> None:  # noqa: FBT001 - a table
    """Items are not used twice, true is no number, and an empty list is no empty object."""
    assert contains(actual, expected) is holds


def test_an_augmenting_path_is_found() -> None:
    """The first item must give its place up twice before all have one."""
    actual: JsonValue = [{"a": 1, "b": 1}, {"a": 1, "c": 1}, {"c": 1}]

    assert contains(actual, [{"a": 1}, {"b": 1}, {"c": 1}])
    assert contains(actual, [{"c": 1}, {"a": 1}, {"b": 1}])
    assert not contains(actual, [{"b": 1}, {"a": 1, "b": 1}])


def test_a_list_that_backtracking_would_never_finish() -> None:
    """Two dozen alike items and one that has no place."""
    actual: JsonValue = [{"k": 1} for _ in range(60)]
    expected: JsonValue = [{"k": 1 if n else 2} for n in range(60)]

    assert not contains(actual, expected)


def test_too_many_pairs_are_not_compared() -> None:
    """A recording cannot make the gate work for hours."""
    size = int(COMPARISONS_MAX**0.5) + 10
    items: JsonValue = [{"k": n} for n in range(size)]

    with pytest.raises(TooLargeError):
        contains(items, items)
