"""Turns what pydantic refuses into authoring problems: path, what was expected, what was found.

Every strict file format of the control plane (scenarios, profiles) is read through `read_model`.
pydantic's own message never reaches a reader: it names types of Python, not fields of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from arh import canonical
from arh.errors import Problem, closest, quoted

M = TypeVar("M", bound=BaseModel)

PROBLEMS_MAX: Final = 200
_QUOTED: Final = re.compile(r"'([^']*)'")
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_INPUT: Final = "Input should be "
_KEYS_SHOWN: Final = 12


def read_model(
    model: type[M], data: bytes, *, file: str = "", line: int | None = None
) -> M | tuple[Problem, ...]:
    """Return the record that strict JSON text holds, or every problem in it."""
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        value = canonical.parse(data)
        return model_problems(model, error, value, file=file, line=line)


def model_problems(
    model: type[BaseModel],
    error: ValidationError,
    value: object,
    *,
    file: str = "",
    line: int | None = None,
) -> tuple[Problem, ...]:
    """Return one problem for each field that pydantic refused, in the file's words."""
    merged: dict[str, Problem] = {}
    for item in error.errors(include_url=False):
        problem = _problem(model, dict(item), value, file, line)
        seen = merged.get(problem.field)
        merged[problem.field] = _either(seen, problem) if seen else problem
    return tuple(merged.values())


def capped(problems: Sequence[Problem], problems_max: int = PROBLEMS_MAX) -> tuple[Problem, ...]:
    """Return the first problems, and how many more there are."""
    more = len(problems) - problems_max
    if more <= 0:
        return tuple(problems)
    return (*problems[:problems_max], Problem(f"and {more} more problems"))


def shown(value: object) -> str:
    """Return a value as a file would show it, short."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "an object with " + (", ".join(map(str, list(value)[:4])) or "no keys")
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _problem(
    model: type[BaseModel], item: dict[str, Any], value: object, file: str, line: int | None
) -> Problem:
    """Return one problem of a file for one error of pydantic."""
    loc = _present(item["loc"], value, missing=item["type"] == "missing")
    field = path_of(loc)
    if item["type"] == "extra_forbidden":
        known = _known_keys(model, loc[:-1])
        hint = (
            closest(str(loc[-1]), known) or f"known keys: {', '.join(sorted(known)[:_KEYS_SHOWN])}"
        )
        return Problem("this key is not known", "", file, line, field, hint)
    if item["type"] == "missing":
        return Problem("", "this required key", file, line, field, "add it")
    expected, hint = _expectation(item)
    return Problem(shown(item["input"]), expected, file, line, field, hint)


def _expectation(item: dict[str, Any]) -> tuple[str, str]:
    """Return what was expected, and a hint where a word is close to a known one."""
    context = item.get("ctx") or {}
    if item["type"] in {"enum", "literal_error"}:
        known = _QUOTED.findall(str(context.get("expected", "")))
        listed = ", ".join(quoted(word) for word in known[:_KEYS_SHOWN])
        return f"one of {listed}", closest(str(item["input"]), known)
    if item["type"] == "string_pattern_mismatch":
        return f"text that matches {context['pattern']}", ""
    message = str(item["msg"])
    if message.startswith(_INPUT):
        return message.removeprefix(_INPUT), ""
    return message[:1].lower() + message[1:].replace(" should have ", " of "), ""


def _either(first: Problem, second: Problem) -> Problem:
    """Return the problem of a value that fits none of several types."""
    expected = " or ".join(dict.fromkeys(p.expected for p in (first, second) if p.expected))
    return Problem(first.found, expected, first.file, first.line, first.field, first.hint)


def _present(loc: Iterable[int | str], value: object, *, missing: bool) -> tuple[int | str, ...]:
    """Return the part of a location that the file has: pydantic names its own types too."""
    path: list[int | str] = []
    steps = list(loc)
    for at, step in enumerate(steps):
        if _has(value, step):
            value = value[step]  # type: ignore[index]  # `_has` has looked
        elif not (missing and at == len(steps) - 1):
            continue
        path.append(step)
    return tuple(path)


def _has(value: object, step: int | str) -> bool:
    if isinstance(step, int):
        return isinstance(value, list) and step < len(value)
    return isinstance(value, dict) and step in value


def path_of(steps: Iterable[int | str]) -> str:
    """Return the steps as a path, as in `expectations.invariants[0].kind`."""
    return "".join(map(_step, steps)).removeprefix(".")


def _step(step: int | str) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{step!a}]"


def _known_keys(model: type[BaseModel], loc: Iterable[int | str]) -> frozenset[str]:
    """Return the keys that the object at a location may have."""
    schema = _schema(model)
    nodes = [schema]
    for step in loc:
        nodes = [below for node in _resolved(schema, nodes) for below in _below(node, step)]
    return frozenset(key for node in _resolved(schema, nodes) for key in node.get("properties", {}))


def _resolved(schema: dict[str, Any], nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes with references and alternatives followed."""
    found: list[dict[str, Any]] = []
    for node in nodes:
        if "$ref" in node:
            found += _resolved(schema, [schema["$defs"][node["$ref"].rpartition("/")[2]]])
        elif "anyOf" in node:
            found += _resolved(schema, node["anyOf"])
        else:
            found.append(node)
    return found


def _below(node: dict[str, Any], step: int | str) -> list[dict[str, Any]]:
    """Return the schemas of one item or one key."""
    if isinstance(step, int):
        below = node.get("items")
    else:
        below = node.get("properties", {}).get(step, node.get("additionalProperties"))
    return [below] if isinstance(below, dict) else []


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
