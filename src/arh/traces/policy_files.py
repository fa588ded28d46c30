"""Reads files of policies and of assertions, JSON or YAML; says mistakes with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from arh.canonical import JsonValue, Refused, parse
from arh.traces.asserting import Assertion
from arh.traces.assertions import assertions_from_dict
from arh.traces.forms import PolicyRefused
from arh.traces.places import located
from arh.traces.policy import Policy

BYTES_MAX: Final = 4 * 2**20
YAML_SUFFIXES: Final = (".yaml", ".yml")

_STEP: Final = re.compile(r"\[([0-9]+)\]|\.?([^.\[]+)")

T = TypeVar("T")


def read_policy(data: bytes, file: str) -> Policy:
    """Return the policy that the bytes of a file state; all of its patterns can be run.

    Raises:
        AuthoringError: They state none; says all mistakes, each with its line and field.
    """

    def build(value: JsonValue) -> Policy:
        policy = Policy.from_dict(value)
        policy.check_patterns()
        return policy

    return _read(data, file, build)


def read_assertions_file(data: bytes, file: str) -> tuple[Assertion, ...]:
    """Return the assertions that the bytes of a file state; there is at least one.

    Raises:
        AuthoringError: They state none; says all mistakes, each with its line and field.
    """
    return _read(data, file, assertions_from_dict)


def _read(data: bytes, file: str, build: Callable[[JsonValue], T]) -> T:
    if file.endswith(YAML_SUFFIXES):
        return _read_yaml(data, file, build)
    try:
        value = parse(data, size_max=BYTES_MAX)
    except Refused as refused:
        column = "" if refused.column is None else f" at column {refused.column}"
        raise PolicyRefused.of(
            f"this is no strict JSON: {refused.reason}{column}",
            file=file,
            line=refused.line,
            field=refused.path,
            hint="write each key once, and numbers that are finite",
        ) from None
    try:
        return build(value)
    except PolicyRefused as error:
        raise located(_within(error, value), data.decode(), file) from None


def _read_yaml(data: bytes, file: str, build: Callable[[JsonValue], T]) -> T:
    from arh.decision.yaml_reader import read_yaml  # noqa: PLC0415 - 20 ms that JSON does not need

    document = read_yaml(data, file=file)
    try:
        return build(document.value)
    except PolicyRefused as error:
        raise PolicyRefused(
            *(
                replace(each, file=file, line=document.line_of(_keys(each.field)))
                for each in _within(error, document.value).problems
            )
        ) from None


def _within(error: PolicyRefused, value: JsonValue) -> PolicyRefused:
    """Return the error with paths of the document that was read: a list has no name around it."""
    if not isinstance(value, list):
        return error
    return PolicyRefused(
        *(replace(each, field=each.field.removeprefix("assertions")) for each in error.problems)
    )


def _keys(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices of a path as it is written in messages."""
    return tuple(int(index) if index else key for index, key in _STEP.findall(path))
