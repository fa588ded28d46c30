"""Reads files of policies and of assertions, JSON or YAML; says mistakes with their lines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from arh.canonical import JsonValue, Refused, parse
from arh.traces.authoring.forms import PolicyRefused
from arh.traces.authoring.policy import Policy
from arh.traces.reading.positions import placed

if TYPE_CHECKING:
    from arh.traces.authoring.asserting import Assertion

BYTES_MAX: Final = 4 * 2**20
YAML_SUFFIXES: Final = (".yaml", ".yml")

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_STEP: Final = re.compile(r"\[([0-9]+)\]|\.?([^.\[]+)")

T = TypeVar("T")


def read_policy(data: bytes, file: str, *, trusted: bool = False) -> Policy:
    """Return the policy that the bytes of a file state; all of its patterns can be run.

    With `trusted`, patterns that have no linear engine are let in as if the policy said so.

    Raises:
        AuthoringError: They state none; says all mistakes, each with its line and field.
    """

    def build(value: JsonValue) -> Policy:
        if trusted and isinstance(value, dict):
            value = {**value, "trusted_patterns": True}
        policy = Policy.from_dict(value)
        policy.check_patterns()
        return policy

    return _read(data, file, build)


def read_assertions_file(data: bytes, file: str) -> tuple[Assertion, ...]:
    """Return the assertions that the bytes of a file state; there is at least one.

    Raises:
        AuthoringError: They state none; says all mistakes, each with its line and field.
    """
    from arh.traces.authoring.assertions import assertions_from_dict

    return _read(data, file, assertions_from_dict)


def with_assertions(policy: Policy, data: bytes, file: str) -> Policy:
    """Return the policy with the assertions of a file besides its own; it is another policy then.

    Raises:
        AuthoringError: See `read_assertions_file`.
    """
    more = read_assertions_file(data, file)
    digest = hashlib.sha256(policy.digest.encode() + data).hexdigest()
    return replace(policy, assertions=(*policy.assertions, *more), digest=digest)


def _read(data: bytes, file: str, build: Callable[[JsonValue], T]) -> T:
    if file.endswith(YAML_SUFFIXES):
        return _read_yaml(data, file, build)
    try:
        value = parse(data.removeprefix(_BYTE_ORDER_MARK), size_max=BYTES_MAX)
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
        raise PolicyRefused(*placed(_within(error, value), data, file).problems) from None


def _read_yaml(data: bytes, file: str, build: Callable[[JsonValue], T]) -> T:
    from arh.decision.yaml_reader import read_yaml

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
