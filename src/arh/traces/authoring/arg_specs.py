"""What a policy declares of one argument, with a quick test that a value is right.

The quick test answers yes only when every check would hold; whatever it is not sure of is judged
check by check, which also says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from arh.canonical import JsonValue
from arh.errors import closest
from arh.regex import PatternRefused
from arh.traces.authoring.patterns import matching

Test = Callable[[object], bool]

_SCALARS: Final = (str, type(None))


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether it is a JSON number: true is none."""
    return type(value) is int or type(value) is float


FITS: Final[dict[str, Test]] = {
    "any": lambda _: True,
    "str": lambda value: type(value) is str,
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) is float or type(value) is int,
    "bool": lambda value: type(value) is bool,
    "list": lambda value: type(value) is list,
    "dict": lambda value: type(value) is dict,
}


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """What one argument has to be. An unknown `type` is reported and not checked."""

    type: str = "any"
    enum: tuple[JsonValue, ...] | None = None
    pattern: str | None = None
    min: float | None = None
    max: float | None = None
    is_surely_right: Test = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Make the quick test."""
        object.__setattr__(self, "is_surely_right", _quick_test(self))


def nearest_type(name: str) -> str:
    """Return a hint at the argument type that was meant."""
    return closest(name, FITS)


def _quick_test(spec: ArgSpec) -> Test:
    """Return a test that says yes only to values that satisfy all of the spec."""
    fits = FITS.get(spec.type)
    if fits is None:
        return _never
    tests = [] if spec.type == "any" else [fits]
    if spec.enum is not None:
        tests.append(_member_test(spec.enum))
    if spec.pattern is not None:
        tests.append(_pattern_test(spec.pattern))
    if spec.min is not None or spec.max is not None:
        tests.append(_bounds_test(spec.min, spec.max))
    return _both(tests) if tests else fits


def _both(tests: list[Test]) -> Test:
    """Return the test that says yes where all of them do."""
    first, *rest = tests
    if not rest:
        return first
    second = _both(rest)
    return lambda value: first(value) and second(value)


def _never(_: object) -> bool:
    return False


def _member_test(enum: tuple[JsonValue, ...]) -> Test:
    """Return a test of texts and null; numbers and true need a closer look."""
    simple = frozenset(each for each in enum if isinstance(each, _SCALARS))
    return lambda value: (type(value) is str or value is None) and value in simple


def _pattern_test(pattern: str) -> Test:
    """Return a test for values that are a text which matches, or no text."""
    try:
        matches = matching(pattern)
    except PatternRefused:  # it needs another process, or is a mistake that is noted elsewhere
        return lambda value: type(value) is not str
    return lambda value: type(value) is not str or matches(value)


def _bounds_test(least: float | None, most: float | None) -> Test:
    """Return a test for values that are a number within bounds, or no number."""
    low = float("-inf") if least is None else least
    high = float("inf") if most is None else most
    return lambda value: not is_number(value) or low <= value <= high
