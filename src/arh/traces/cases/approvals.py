"""Reads an approval: a JSON file in which somebody answers for one result."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Final

from arh.canonical import JsonValue, Refused, parse
from arh.decision.measured import Approval
from arh.errors import AuthoringError, Problem, closest

BYTES_MAX: Final = 64 * 1024
FIELDS: Final = ("approver", "reason", "expires", "result")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def read_approval(path: Path) -> Approval:
    """Return the approval of a file.

    Raises:
        AuthoringError: Anything in it is wrong; everything is listed.
    """
    value = _object(path)
    problems = [
        *(Problem("", "this field", field=name) for name in FIELDS if name not in value),
        *(_unknown(name) for name in value if name not in FIELDS),
        *(
            Problem("this is no text", field=name)
            for name in FIELDS
            if name in value and not _is_text(value[name])
        ),
    ]
    if not problems:
        problems = list(_wrong(value))
    if problems:
        raise AuthoringError(*(_placed(problem, path) for problem in problems))
    return Approval(
        str(value["approver"]),
        str(value["reason"]),
        date.fromisoformat(str(value["expires"])),
        str(value["result"]),
    )


def _object(path: Path) -> dict[str, JsonValue]:
    try:
        with path.open("rb") as stream:
            value = parse(stream.read(BYTES_MAX + 1), size_max=BYTES_MAX)
    except OSError:
        raise AuthoringError.of("this file cannot be read", file=str(path)) from None
    except Refused as refusal:
        raise AuthoringError.of(str(refusal), file=str(path), line=refusal.line) from None
    if not isinstance(value, dict):
        raise AuthoringError.of("this is no object", file=str(path))
    return value


def _wrong(value: dict[str, JsonValue]) -> list[Problem]:
    problems = []
    if not _is_date(str(value["expires"])):
        problems.append(Problem(str(value["expires"]), "a date, YYYY-MM-DD", field="expires"))
    if _DIGEST.fullmatch(str(value["result"])) is None:
        expected = "the `result_digest` of the result that it is about"
        problems.append(Problem(str(value["result"]), expected, field="result"))
    return problems


def _is_date(text: str) -> bool:
    """Tell whether it is a date as people write it: 2027-W01-1 is one that few would read right."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _unknown(name: str) -> Problem:
    return Problem("there is no such field", field=name, hint=closest(name, FIELDS))


def _placed(problem: Problem, path: Path) -> Problem:
    return Problem(problem.found, problem.expected, str(path), None, problem.field, problem.hint)
