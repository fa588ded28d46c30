"""Reads the `when` of a rule: guards as authors write them, checked one by one."""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.errors import closest
from arh.model.scripted.checks import Checks
from arh.model.scripted.guards import (
    COUNTS,
    KEYS,
    STATUSES,
    TEXTS,
    WORDS,
    AtLeast,
    Condition,
    Contains,
    Equals,
    Exists,
    Guard,
    In,
    Matches,
)
from arh.regex import compiled, problem

_OPERATORS: Final = ("in", "gte", "exists", "contains")


def read_guards(checks: Checks, field: str, when: JsonValue) -> tuple[Guard, ...]:
    """Return the guards of a rule, those left out that are wrong."""
    guards: list[Guard] = []
    for key, value in (checks.object(field, when) or {}).items():
        guards += _guards(checks, f"{field}.{key}", key, value)
    return tuple(guards)


def _guards(checks: Checks, field: str, key: str, value: JsonValue) -> list[Guard]:
    """Return what one key stands for: no guard if it is wrong, several for a list of texts."""
    source, _, below = key.partition(".")
    path = tuple(below.split("."))
    if key in TEXTS:
        conditions = _texts(checks, field, key, value)
        return [Guard(key, (), condition) for condition in conditions]
    if key in COUNTS or (source == "called" and below):
        condition = _count(checks, field, value)
        path = (below,) if below else ()
    elif key in WORDS:
        condition, path = _word(checks, field, key, value), ()
    elif source == "result" and all(path):
        condition = _condition(checks, field, value)
    else:
        checks.fault(field, key, f"one of {', '.join(KEYS)}", closest(key, KEYS))
        return []
    return [] if condition is None else [Guard(source, path, condition)]


def _texts(checks: Checks, field: str, key: str, value: JsonValue) -> list[Condition]:
    """Return the conditions of a content guard: one text, or a list of which all must be there."""
    items = checks.items(field, value) if isinstance(value, list) else [value]
    texts = [text for text in (checks.text(field, item) for item in items) if text]
    if key == "user_matches":
        patterns = [_pattern(checks, field, text) for text in texts]
        return [pattern for pattern in patterns if pattern is not None]
    return [Contains(text.casefold()) for text in texts]


def _pattern(checks: Checks, field: str, pattern: str) -> Condition | None:
    """Return the compiled condition, or report that the pattern is none."""
    why = problem(pattern)
    if why:
        checks.fault(field, pattern, "a pattern that RE2 accepts", why)
        return None
    return Matches(pattern, compiled(pattern))


def _count(checks: Checks, field: str, value: JsonValue) -> Condition | None:
    """Return the condition on a count: a number, `in` or `gte`."""
    if not isinstance(value, dict):
        count = checks.count(field, value)
        return None if count is None else Equals(count)
    if set(value) == {"gte"}:
        minimum = checks.count(f"{field}.gte", value["gte"])
        return None if minimum is None else AtLeast(minimum)
    if set(value) == {"in"}:
        items = checks.items(f"{field}.in", value["in"])
        counts = [checks.count(f"{field}.in", item) for item in items]
        return In(tuple(count for count in counts if count is not None)) if counts else None
    checks.fault(field, value, 'a count, {"in": [...]} or {"gte": n}')
    return None


def _word(checks: Checks, field: str, key: str, value: JsonValue) -> Condition | None:
    """Return the condition on a tool, status or reason: a word, or `in`."""
    listed = isinstance(value, dict) and set(value) == {"in"}
    items = checks.items(field, value["in"]) if isinstance(value, dict) and listed else [value]
    words = [word for word in (checks.text(field, item) for item in items) if word]
    for word in words:
        if key == "last_status" and word not in STATUSES:
            checks.fault(field, word, f"one of {', '.join(STATUSES)}", closest(word, STATUSES))
    if not words:
        return None
    return In(tuple(words)) if listed else Equals(words[0])


def _condition(checks: Checks, field: str, value: JsonValue) -> Condition | None:
    """Return the condition on a field of a result: a value, or an object with one operator."""
    if not isinstance(value, dict):
        return Equals(value)
    if len(value) != 1 or not set(value) <= set(_OPERATORS):
        checks.fault(field, value, f"a value, or an object with one of {', '.join(_OPERATORS)}")
        return None
    ((operator, operand),) = value.items()
    return _operator(checks, f"{field}.{operator}", operator, operand)


def _operator(checks: Checks, field: str, operator: str, operand: JsonValue) -> Condition | None:
    """Return the condition of one operator."""
    match operator, operand:
        case "in", _:
            items = checks.items(field, operand)
            return In(tuple(items)) if items else None
        case "exists", bool():
            return Exists(operand)
        case "contains", str() if operand:
            return Contains(operand.casefold())
        case "gte", int() | float() if not isinstance(operand, bool):
            return AtLeast(operand)
        case _:
            checks.fault(field, operand, _OPERANDS[operator])
            return None


_OPERANDS: Final = {
    "exists": "true or false",
    "contains": "a string that is not empty",
    "gte": "a number",
}
