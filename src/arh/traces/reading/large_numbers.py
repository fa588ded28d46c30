"""Strict JSON in which numbers may be large: tools return identifiers of 64 bits as numbers.

A recording that holds one is as good as others, though arh digests no such number. Nothing else is
let in beside it: not what is no finite number, not deeper and not more than strict JSON may be.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

import jiter

from arh.canonical import CONTAINERS_MAX, DEPTH_MAX, JsonValue, Reason, Refused, parse

_LARGE: Final[Reason] = "number beyond 2^53 - 1"


def parse_recorded(data: bytes, *, size_max: int) -> JsonValue:
    """Return the value of a strict JSON text, in which numbers may be large.

    Raises:
        Refused: The text is not JSON, or something else than a number is outside the domain.
    """
    try:
        return parse(data, size_max=size_max)
    except Refused as refused:
        if refused.reason != _LARGE or refused.line is not None:
            raise
    value: JsonValue = jiter.from_json(data, catch_duplicate_keys=True, allow_inf_nan=False)
    _check(value)
    return value


def _check(value: JsonValue) -> None:
    """Return only if nothing but the size of numbers keeps a value from being strict JSON."""
    level, left = [value], CONTAINERS_MAX
    for _ in range(DEPTH_MAX + 1):
        deeper: list[JsonValue] = []
        for item in level:
            if isinstance(item, float) and not isfinite(item):
                raise Refused("not finite")
            if isinstance(item, dict):
                left -= 1
                deeper.extend(item.values())
            elif isinstance(item, list):
                left -= 1
                deeper.extend(item)
        if left < 0:
            raise Refused("too many containers")
        if not deeper:
            return
        level = deeper
    raise Refused("too deep")
