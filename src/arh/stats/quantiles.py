"""Quantiles that are values of the data, by exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", int, Fraction)


def nearest_rank(values: Sequence[Number], q: Fraction | int) -> Number:
    """Return the smallest value that at least the share q of all values do not exceed.

    Definition 1 of Hyndman and Fan: the value of rank ceil(q * n), no interpolation; q = 0 is the
    least value. The share is a fraction because the double nearest to 0.55 is above 55/100, and
    would take the 56th of a hundred values.

    Source: R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American
    Statistician 50 (1996).

    Raises:
        ValueError: There are no values, or q is not between 0 and 1.
    """
    if not values:
        raise ValueError("expected at least one value, found none")
    if not 0 <= q <= 1:
        raise ValueError(f"expected a share between 0 and 1, found {q}")
    rank = max(1, math.ceil(q * len(values)))
    return sorted(values)[rank - 1]
