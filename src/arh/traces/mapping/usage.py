"""Token counts of one model reply, in one meaning for all providers.

`input_tokens` includes what came from a cache or was written to one: some providers count those
inside, some beside, and a budget must not depend on which. Absent stays absent and is never zero;
what is no count is said in a note and taken as absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arh.canonical import SAFE_INTEGER, JsonValue
from arh.traces.trace import JsonObject

NAMES: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_tokens",
)


@dataclass(slots=True)
class Usage:
    """What one reply is said to have used."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None

    def present(self) -> JsonObject:
        """Return the counts that are recorded, by name."""
        return {name: count for name in NAMES if (count := getattr(self, name)) is not None}


def count_of(value: JsonValue) -> int | None:
    """Return a count of tokens, or `None` when the value is no whole number of at least 0."""
    if type(value) is int and 0 <= value <= SAFE_INTEGER:
        return value
    if type(value) is float and value.is_integer() and 0 <= value <= SAFE_INTEGER:
        return int(value)
    return None


def add(*counts: int | None) -> int | None:
    """Return the sum of the recorded counts, `None` when none is recorded."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def with_cached(base: int | None, *cached: int | None) -> int | None:
    """Return the input including what is counted beside it; unknown stays unknown."""
    return None if base is None else add(base, *cached)
