"""Loads gate profiles: strict YAML in, a checked profile out, every mistake with file, line, field.

A profile decides what may ship, so a gate that nobody can fail, that nothing can pass, or that
looks at a metric that does not exist is an authoring error and never a silent pass. Numbers are
compared as they were written: 0.1 is one tenth.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from arh.decision.gate_rules import (
    Range,
    allowed_range,
    gate_id,
    gate_problems,
    gates_without_floor,
)
from arh.decision.yaml_reader import BYTES_MAX, Document, read_yaml
from arh.errors import AuthoringError, Problem, closest
from arh.records.control.gate import EvidenceNeeds, GateSpec, Profile

PROBLEMS_MAX: Final = 100
_FIRST: Final = "gates"


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile with the digest of its file; `notes` are warnings about what it leaves open.

    `source` is the kind of place that it was found in, if it was looked for.
    """

    profile: Profile
    digest: str
    notes: tuple[str, ...] = ()
    source: str = ""


def load_profile(path: str | Path, *, rules: Collection[str]) -> LoadedProfile:
    """Return the profile of a file; `rules` are the ids of all finding rules there are.

    Raises:
        AuthoringError: Anything in it is wrong, or it cannot be read; all problems are listed.
    """
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(BYTES_MAX + 1)
    except OSError as error:
        hint = "name a profile with --profile"
        raise AuthoringError.of(_unread(error), file=file, hint=hint) from None
    return read_profile(data, file=file, rules=rules)


def read_profile(data: bytes, *, file: str, rules: Collection[str]) -> LoadedProfile:
    """Return the profile that the bytes of a file hold.

    Raises:
        AuthoringError: Anything in it is wrong; all problems are listed.
    """
    document = read_yaml(data, file=file)
    profile = _validated(document, file)
    problems = [
        Problem(each.found, each.expected, file, document.line_of(at), _field(at), each.hint)
        for at, each in _problems(profile, rules)
    ]
    if problems:
        raise AuthoringError(*problems[:PROBLEMS_MAX])
    return LoadedProfile(profile, hashlib.sha256(data).hexdigest(), tuple(_notes(profile)))


def _unread(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return "this is a folder" if isinstance(error, IsADirectoryError) else "this cannot be read"


def _problems(
    profile: Profile, rules: Collection[str]
) -> Iterator[tuple[tuple[str | int, ...], Problem]]:
    """Yield every problem with the path of its field; gates are looked at alone, then together."""
    for at, gate in enumerate(profile.gates):
        for problem in gate_problems(gate, rules, profile.judges):
            yield (_FIRST, at, *([problem.field] if problem.field else [])), problem
    if all(gate.severity != "blocking" for gate in profile.gates):
        hint = "a profile of warnings alone decides nothing: let one gate block"
        yield (_FIRST,), Problem("no gate blocks", hint=hint)
    yield from _repeated(profile.gates)
    yield from _contradictions(profile.gates)


def _repeated(gates: Sequence[GateSpec]) -> Iterator[tuple[tuple[str | int, ...], Problem]]:
    seen: set[str] = set()
    for at, gate in enumerate(gates):
        name = gate_id(gate)
        if name in seen:
            hint = "give one of them an id, or remove it"
            yield (_FIRST, at), Problem(name, "each gate once", hint=hint)
        seen.add(name)


def _contradictions(gates: Sequence[GateSpec]) -> Iterator[tuple[tuple[str | int, ...], Problem]]:
    """Yield gates that decide on one metric that no value can pass together."""
    ranges: dict[tuple[str, str], Range] = {}
    for at, gate in enumerate(gates):
        if gate.type != "absolute" or gate.severity == "warning":
            continue
        own = allowed_range(gate)
        if own is None or gate.metric is None:
            continue
        both = own.within(ranges.get((gate.metric, gate.slice)))
        if both.is_empty():
            found = f"no value of `{gate.metric}` can pass this gate and an earlier one"
            yield (_FIRST, at, "threshold"), Problem(found, hint="keep one of them")
        ranges[gate.metric, gate.slice] = both


def _notes(profile: Profile) -> Iterator[str]:
    for gate in gates_without_floor(profile.gates):
        yield f"gate `{gate_id(gate)}` compares with a baseline and has no absolute floor"


# --- what the shape of the file gets wrong -------------------------------------------------------


def _validated(document: Document, file: str) -> Profile:
    try:
        return Profile.model_validate(document.value)
    except ValidationError as error:
        found = [_shape_problem(dict(item), document, file) for item in error.errors()]
        by_place = {(problem.line, problem.field): problem for problem in found}
        raise AuthoringError(*list(by_place.values())[:PROBLEMS_MAX]) from None


def _shape_problem(item: Mapping[str, Any], document: Document, file: str) -> Problem:
    path = tuple(step for step in item["loc"] if not _is_branch(step))
    line, where = document.line_of(path), _field(path)
    kind = item["type"]
    if kind == "missing":
        return Problem("", "this field", file, line, where)
    if kind == "extra_forbidden":
        hint = closest(str(path[-1]), _fields_at(path))
        return Problem("there is no such field", "", file, line, where, hint)
    if kind == "too_short":
        return Problem("", "at least one gate", file, line, where, "no gate is no decision")
    if kind == "string_pattern_mismatch":
        return Problem(_shown(item["input"]), "a name without spaces", file, line, where)
    expected = str(item.get("ctx", {}).get("expected") or item["msg"].removeprefix("Input should "))
    found = _shown(item["input"])
    hint = closest(found, expected.replace("'", "").replace(" or ", ", ").split(", "))
    return Problem(found, expected.replace("'", "").removeprefix("be "), file, line, where, hint)


def _is_branch(step: str | int) -> bool:
    """Return true for what names a branch of a union and no field."""
    return step in ("int", "float", "constrained-int", "constrained-float")


def _fields_at(path: tuple[str | int, ...]) -> tuple[str, ...]:
    model: type[BaseModel] = Profile
    if len(path) > 1:
        model = GateSpec if "evidence" not in path[:-1] else EvidenceNeeds
    return tuple(model.model_fields)


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    if value is True or value is False:
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _field(path: tuple[str | int, ...]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
