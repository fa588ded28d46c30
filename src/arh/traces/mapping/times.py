"""Moments as recorders write them, in milliseconds; only differences of them mean anything.

ISO 8601 text with an offset or without one (taken as UTC), seconds as a number, nanoseconds as text
of digits. What is none of them is not recorded.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from arh.canonical import JsonValue

_CHARS_MAX: Final = 40
_NS_DIGITS_MAX: Final = 20


def iso_ms(value: JsonValue) -> float | None:
    """Return the moment that an ISO 8601 text names."""
    if not isinstance(value, str) or not 0 < len(value) <= _CHARS_MAX:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError:
        return None
    return elapsed.days * 86_400_000 + elapsed.seconds * 1000 + elapsed.microseconds / 1000


def seconds_ms(value: JsonValue) -> float | None:
    """Return the moment that a number of seconds names."""
    if type(value) is int or type(value) is float:
        return value * 1000
    return None


def nanoseconds(value: JsonValue) -> int | None:
    """Return the moment in nanoseconds: text of digits, a whole number, or `[seconds, ns]`."""
    if type(value) is str and value.isascii() and value.isdigit() and len(value) <= _NS_DIGITS_MAX:
        return int(value)
    if type(value) is int:
        return value
    if isinstance(value, list) and len(value) == 2:  # noqa: PLR2004 - a pair
        seconds, rest = value
        if type(seconds) is int and type(rest) is int:
            return seconds * 1_000_000_000 + rest
    return None


def between_ms(start: float | None, end: float | None) -> float | None:
    """Return the time from start to end, if both are known and in order."""
    if start is None or end is None or end < start:
        return None
    return end - start
