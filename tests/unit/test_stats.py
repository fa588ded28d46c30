"""Intervals agree with published and independently computed values; quantiles are exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from arh.stats.intervals import Interval, clopper_pearson, rule_of_three, wilson
from arh.stats.quantiles import nearest_rank

Function = Callable[..., Interval]


def tail_at_least(k: int, n: int, p: float) -> Fraction:
    """The exact probability of k or more successes of n when each has probability p."""
    share = Fraction(p)
    terms = (math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k, n + 1))
    return sum(terms, Fraction(0))


@pytest.mark.parametrize(
    ("k", "n", "expected"),
    [
        (8, 10, Interval(0.4901625, 0.9433178)),
        (0, 10, Interval(0.0, 0.2775328)),
        (10, 10, Interval(0.7224672, 1.0)),
        (81, 263, Interval(0.2552734, 0.3662081)),
        (15, 148, Interval(0.0624077, 0.1605457)),
        (1, 29, Interval(0.0061138, 0.1717632)),
    ],
)
def test_wilson_gives_the_published_bounds(k: int, n: int, expected: Interval) -> None:
    """The score rows of R. G. Newcombe, Statistics in Medicine 17 (1998), and common ones."""
    found = wilson(k, n)

    assert pytest.approx((expected.low, expected.high), abs=6e-5) == (found.low, found.high)


@pytest.mark.parametrize(
    ("k", "n", "expected"),
    [
        (8, 10, Interval(0.4439045, 0.9747893)),
        (0, 10, Interval(0.0, 0.3084971)),
        (10, 10, Interval(0.6915029, 1.0)),
        (81, 263, Interval(0.2527, 0.3676)),
        (15, 148, Interval(0.0578, 0.1617)),
        (1, 29, Interval(0.0009, 0.1776)),
    ],
)
def test_clopper_pearson_gives_the_published_bounds(k: int, n: int, expected: Interval) -> None:
    """The exact rows of Newcombe (1998), and common ones."""
    found = clopper_pearson(k, n)

    assert pytest.approx((expected.low, expected.high), abs=6e-5) == (found.low, found.high)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("k", "n"), [(1, 1), (1, 7), (3, 7), (6, 7), (19, 40), (1, 200), (199, 200)]
)
def test_clopper_pearson_leaves_the_same_exact_tail_on_both_sides(
    k: int, n: int, confidence: float
) -> None:
    """By exact binomial sums, the data are as unlikely at each bound as the tail says."""
    found = clopper_pearson(k, n, confidence)
    tail = (1 - confidence) / 2
    below = float(tail_at_least(k, n, found.low))
    above = float(1 - tail_at_least(k + 1, n, found.high)) if k < n else tail

    assert pytest.approx((tail, tail), rel=1e-10) == (below, above)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
def test_bounds_at_the_ends_are_exact(interval: Function) -> None:
    """No success leaves 0 possible, and no failure leaves 1, to the last bit."""
    for n in range(1, 200):
        assert (interval(0, n).low, interval(n, n).high) == (0.0, 1.0)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
def test_no_trials_say_nothing(interval: Function) -> None:
    """With n = 0 every proportion is possible."""
    assert interval(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
def test_an_interval_holds_its_proportion_and_mirrors(interval: Function) -> None:
    """For all k of n up to 30: 0 <= low <= k/n <= high <= 1, and failures give the mirror image."""
    for k, n in itertools.combinations(range(31), 2):
        found, mirrored = interval(k, n), interval(n - k, n)

        assert 0 <= found.low <= k / n <= found.high <= 1
        assert pytest.approx((1 - mirrored.high, 1 - mirrored.low)) == (found.low, found.high)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize(
    ("k", "n", "confidence"),
    [(-1, 3, 0.95), (4, 3, 0.95), (0, -1, 0.95), (1, 2, 0.0), (1, 2, 1.0), (1, 2, math.nan)],
)
def test_counts_that_are_none_are_refused(
    interval: Function, k: int, n: int, confidence: float
) -> None:
    """More successes than trials, negative counts and certainty are defects of the caller."""
    with pytest.raises(ValueError, match="expected"):
        interval(k, n, confidence)


def test_large_counts_stay_exact() -> None:
    """A million trials give bounds around the proportion, at both ends and in the middle."""
    for k in (1, 500_000, 999_999):
        found = clopper_pearson(k, 1_000_000)

        assert found.low < k / 1_000_000 < found.high
        assert found.high - found.low < 0.002


@pytest.mark.parametrize(
    ("n", "expected"), [(0, 1.0), (1, 0.95), (299, 0.0099692), (300, 0.0099360), (3000, 0.00099807)]
)
def test_no_event_in_n_trials_bounds_the_rate(n: int, expected: float) -> None:
    """299 clean trials are needed to claim less than 1 % at 95 %, and 3/n is an upper estimate."""
    found = rule_of_three(n)

    assert pytest.approx(expected, rel=1e-4) == found
    assert n == 0 or found <= 3 / n


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
