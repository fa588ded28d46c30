"""Whether one JSON value is contained in another, in polynomial time.

Objects are contained key by key. Lists are contained in any order, each expected item in an item
of its own: that is a matching of a bipartite graph, found by augmenting paths, so that no order of
the items makes it slow. Numbers are equal by value, 42 and 42.0 too; true and false are no numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arh.canonical import JsonValue

COMPARISONS_MAX: Final = 500_000


class TooLargeError(Exception):
    """The two values have more pairs of items than are compared."""


def contains(actual: JsonValue, expected: JsonValue) -> bool:
    """Return true if `expected` is contained in `actual`.

    Raises:
        TooLargeError: Their lists have more than `COMPARISONS_MAX` pairs of items.
    """
    return _Comparison().holds(expected, actual)


class _Comparison:
    """One comparison, which counts its steps."""

    def __init__(self) -> None:
        self._left = COMPARISONS_MAX

    def holds(self, expected: JsonValue, actual: JsonValue) -> bool:
        self._left -= 1
        if self._left < 0:
            raise TooLargeError
        if isinstance(expected, dict):
            return isinstance(actual, dict) and all(
                name in actual and self.holds(value, actual[name])
                for name, value in expected.items()
            )
        if isinstance(expected, list):
            return isinstance(actual, list) and self._matched(expected, actual)
        return _same(expected, actual)

    def _matched(self, expected: Sequence[JsonValue], actual: Sequence[JsonValue]) -> bool:
        if len(expected) > len(actual):
            return False
        fits = [
            [at for at, item in enumerate(actual) if self.holds(wanted, item)]
            for wanted in expected
        ]
        taken: dict[int, int] = {}
        return all(self._augmented(wanted, fits, taken) for wanted in range(len(expected)))

    def _augmented(self, wanted: int, fits: list[list[int]], taken: dict[int, int]) -> bool:
        """Give an expected item a place, moving others along a path if need be, breadth first."""
        reached: dict[int, int] = {}  # place -> the expected item from which it was reached
        waiting = [wanted]
        for item in waiting:
            for place in fits[item]:
                if place in reached:
                    continue
                self._left -= 1
                reached[place] = item
                if place not in taken:
                    _move(place, reached, taken, wanted)
                    return True
                waiting.append(taken[place])
        if self._left < 0:
            raise TooLargeError
        return False


def _move(place: int, reached: dict[int, int], taken: dict[int, int], first: int) -> None:
    """Turn the path that led to a free place round."""
    places = {item: at for at, item in taken.items()}
    while True:
        item = reached[place]
        taken[place] = item
        if item == first:
            return
        place = places[item]


def _same(expected: JsonValue, actual: JsonValue) -> bool:
    """Compare two values that are neither lists nor objects."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    numbers = isinstance(expected, int | float) and isinstance(actual, int | float)
    return (numbers or type(expected) is type(actual)) and expected == actual
