"""Numbers are compared as they were written, and shown so that they can be read."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.decision.numbers import decimal, exact, ratio, read_ratio


@pytest.mark.parametrize(
    ("number", "fraction"),
    [
        (0.1, Fraction(1, 10)),
        (0.98, Fraction(49, 50)),
        (1, Fraction(1)),
        (1e-07, Fraction(1, 10**7)),
    ],
)
def test_a_written_decimal_means_itself(number: float, fraction: Fraction) -> None:
    """0.1 is one tenth, and not the double that is nearest to it."""
    assert exact(number) == fraction


def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    """The sum that doubles get wrong."""
    assert exact(0.1) + exact(0.2) == exact(0.3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(39, 40), "0.975"),
        (Fraction(1), "1"),
        (Fraction(0), "0"),
        (Fraction(2, 3), "0.666667"),
        (Fraction(-1, 4), "-0.25"),
        (Fraction(-1, 10**9), "0"),
        (Fraction(1234567, 10), "123456.7"),
    ],
)
def test_a_fraction_reads_as_a_decimal(value: Fraction, text: str) -> None:
    """Rounded for reading, without zeros that say nothing."""
    assert decimal(value) == text


@given(st.fractions())
def test_exact_text_reads_back(value: Fraction) -> None:
    """What a scorecard writes, a baseline reads, to the last unit."""
    if len(ratio(value)) < 40:
        assert read_ratio(ratio(value)) == value


@pytest.mark.parametrize("text", ["", "0.5", "2/4", "1/0", "nan", "inf", "1e9", " 1", "1" * 50])
def test_other_text_is_refused(text: str) -> None:
    """One way to write a number, so that equal numbers are equal text."""
    with pytest.raises((ValueError, ZeroDivisionError)):
        read_ratio(text)
