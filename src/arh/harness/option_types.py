"""What an option of a command may be: whole numbers within bounds, refused before anything runs."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Final

from arh.canonical import SAFE_INTEGER
from arh.errors import quoted

SECONDS_MAX: Final = 24 * 60 * 60


def seed(text: str) -> int:
    """Return the seed of a plan; a larger number could not be written down exactly.

    Raises:
        ArgumentTypeError: It is no whole number from 0 to 2^53 - 1.
    """
    return _whole(text, low=0, high=SAFE_INTEGER)


def seconds(text: str) -> int:
    """Return a wall time of a day at most.

    Raises:
        ArgumentTypeError: It is no whole number from 1 to 86,400.
    """
    return _whole(text, low=1, high=SECONDS_MAX)


def _whole(text: str, *, low: int, high: int) -> int:
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(high))
    if not plain or not low <= int(text) <= high:
        raise ArgumentTypeError(
            f"expected a whole number from {low} to {high}, found {quoted(text)}"
        )
    return int(text)
