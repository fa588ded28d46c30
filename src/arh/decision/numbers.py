"""Exact numbers: what was written in a profile, and how a fraction is shown."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_SHOWN: Final = 6
_RATIO: Final = re.compile(r"-?[0-9]{1,40}(/[0-9]{1,40})?")


def exact(number: float) -> Fraction:
    """Return the fraction that a written decimal means: 0.1 is one tenth, not its double."""
    return Fraction(repr(number))


def decimal(value: Fraction, digits: int = _SHOWN) -> str:
    """Return a fraction as decimal text, rounded half to even, without trailing zeros.

    For reading only; `ratio` is the exact text.
    """
    scaled = round(abs(value) * 10**digits)
    whole, rest = divmod(scaled, 10**digits)
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{whole}" + f".{rest:0{digits}d}".rstrip("0").rstrip(".")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 run`, `2 runs`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def ratio(value: Fraction) -> str:
    """Return the exact text of a fraction: `7`, or `1/3`."""
    return str(value)


def read_ratio(text: str) -> Fraction:
    """Return the fraction of an exact text.

    Raises:
        ValueError: It is none.
    """
    value = Fraction(text) if _RATIO.fullmatch(text) else None
    if value is None or str(value) != text:
        raise ValueError(f"{text} is not a fraction in lowest terms")
    return value
