"""How findings show values: short, on one line, and unable to forge a line of output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from arh.canonical import JsonValue
from arh.errors import quoted, safe

ROWS_SHOWN: Final = 3
_VALUE_CHARS_MAX: Final = 80


def shown(value: JsonValue) -> str:
    """Return the value as text: strings in backticks, everything else as JSON."""
    if isinstance(value, str):
        return quoted(value, chars_max=_VALUE_CHARS_MAX)
    return safe(json.dumps(value, default=str), chars_max=_VALUE_CHARS_MAX)


def money(minor_units: int) -> str:
    """Return an amount in minor units and, in brackets, in units: `9800 (98.00)`."""
    sign = "-" if minor_units < 0 else ""
    units, rest = divmod(abs(minor_units), 100)
    return f"{minor_units} ({sign}{units}.{rest:02d})"


def selector(collection: str, where: Mapping[str, JsonValue]) -> str:
    """Return which rows are meant: "orders where customer is `C-1007`"."""
    conditions = " and ".join(f"{safe(name)} is {shown(value)}" for name, value in where.items())
    return f"{safe(collection)} where {conditions}" if conditions else safe(collection)


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: `1 row`, `2 rows`, `no rows` for none."""
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def listed(items: Iterable[str], *, shown_max: int = ROWS_SHOWN) -> str:
    """Return the first items with commas, and how many more there are."""
    every = list(items)
    more = len(every) - shown_max
    return ", ".join(every[:shown_max]) + (f" and {more} more" if more > 0 else "")
