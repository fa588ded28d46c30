"""Quantiles are values of the data, and exact."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from arh.stats.quantiles import nearest_rank


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        (0, 15),
        (Fraction(5, 100), 15),
        (Fraction(30, 100), 20),
        (Fraction(40, 100), 20),
        (Fraction(50, 100), 35),
        (1, 50),
    ],
)
def test_nearest_rank_is_a_value_of_the_data(q: Fraction | int, expected: int) -> None:
    """The textbook example, given unsorted."""
    assert nearest_rank([50, 20, 15, 40, 35], q) == expected


def test_nearest_rank_does_not_slip_by_rounding() -> None:
    """55/100 of a hundred values is the 55th, though the double 0.55 lies above it."""
    assert nearest_rank(range(1, 101), Fraction(55, 100)) == 55
    assert math.ceil(Fraction(0.55) * 100) == 56


def test_nearest_rank_takes_exact_fractions() -> None:
    """The values may be fractions, and come back as they are."""
    assert nearest_rank([Fraction(1, 3), Fraction(1, 7)], 1) == Fraction(1, 3)


def test_nearest_rank_refuses_what_has_no_answer() -> None:
    """No values have no quantile, and a share lies between 0 and 1."""
    with pytest.raises(ValueError, match="at least one"):
        nearest_rank(list[int](), Fraction(1, 2))
    for share in (Fraction(-1, 10), Fraction(11, 10)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            nearest_rank([1], share)
