"""Baselines: what an earlier release measured, and whether this one may be compared with it.

A baseline is saved from a passing scorecard and holds its metrics exactly, with the identity of
what was measured and how. Candidate and baseline may differ in what is being compared: agent,
model, prompt, tools, policy. They may not differ in the exam: workflow, mode, scenarios, data,
evaluators, metrics. A baseline expires, because an old one lets a system decline step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError

from arh.canonical import Refused, digest, encode, parse
from arh.decision.numbers import read_ratio
from arh.errors import AuthoringError, Problem
from arh.records.control.gate import Decision
from arh.records.control.metric import MetricStatus
from arh.records.control.scenario import Count, Strict
from arh.records.control.scorecard import CONFIGURATION, About, MetricLine, Scorecard

SCHEMA_VERSION: Final = "1.0"
BYTES_MAX: Final = 8 * 2**20
EXAM: Final = ("workflow", "mode", "scenarios_digest", "datasets_digest", "evaluators")
# How a reader knows the parts of a configuration.
PARTS: Final = {
    "model_digest": "model settings",
    "prompt_digest": "prompt bundle",
    "tools_digest": "tools",
    "policy_digest": "policy rules",
}
_WORDS: Final = {
    "scenarios_digest": "scenario set",
    "datasets_digest": "data",
    "evaluators": "evaluator set",
}

Text = Annotated[str, Field(max_length=4_000)]
Key = tuple[str, str]


class BaselineIdentity(Strict):
    """What was measured, by whom, on which exam."""

    arh: Text
    workflow: Text
    mode: Text
    scenarios_digest: Text
    datasets_digest: Text
    evaluators: Text
    agent: Text
    model: Text
    model_digest: Text
    prompt_digest: Text
    tools_digest: Text
    policy: Text
    policy_digest: Text


class BaselineMetric(Strict):
    """One metric of one slice; fractions are exact text."""

    name: Text
    slice: Text
    version: Text
    status: MetricStatus
    value: Text
    numerator: Text
    denominator: Text
    sample_size: Count


class BaselineFile(Strict):
    """A baseline as it is written; `digest` covers everything else in it."""

    schema_version: Annotated[str, Field(pattern=r"^1\.\d+$")]
    as_of: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    decision: Decision
    profile: Text
    identity: BaselineIdentity
    metrics: list[BaselineMetric]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of a baseline, ready to be compared."""

    version: str
    status: MetricStatus
    value: Fraction | None


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline that was read and checked."""

    identity: BaselineIdentity
    as_of: date
    digest: str
    metrics: Mapping[Key, Measured]


def save_baseline(path: str | Path, scorecard: Scorecard) -> Problem | None:
    """Write the scorecard's metrics as a baseline; return why nothing was written, if so.

    Only a whole run that passed may become what later ones are measured by.
    """
    decided = scorecard.decision.decision
    if scorecard.about.partial or decided != "pass":
        found = "a partial run" if scorecard.about.partial else decided
        hint = "the file was left as it was"
        return Problem(found, "a passing run of the whole suite", str(path), hint=hint)
    body = {
        "schema_version": SCHEMA_VERSION,
        "as_of": scorecard.about.as_of,
        "decision": decided,
        "profile": f"{scorecard.profile.name} {scorecard.profile.version}",
        "identity": _identity(scorecard.about).model_dump(),
        "metrics": [_written(line) for line in scorecard.metrics],
    }
    fresh = Path(path).with_name(f".{Path(path).name}.new")
    try:
        fresh.write_bytes(encode({**body, "digest": digest(body)}) + b"\n")
        fresh.replace(path)
    except OSError:
        return Problem("this file cannot be written", file=str(path), field="--save-baseline")
    return None


def _identity(about: About) -> BaselineIdentity:
    evaluators = " ".join(f"{name} {version}" for name, version in sorted(about.evaluators))
    names = [name for name in BaselineIdentity.model_fields if name != "evaluators"]
    values = {name: getattr(about, name) for name in names}
    return BaselineIdentity(evaluators=evaluators, **values)


def _written(line: MetricLine) -> dict[str, str | int]:
    return {
        "name": line.name,
        "slice": line.slice,
        "version": line.version,
        "status": line.status,
        "value": line.exact,
        "numerator": line.numerator,
        "denominator": line.denominator,
        "sample_size": line.sample_size,
    }


def load_baseline(path: str | Path) -> Baseline:
    """Return the baseline of a file.

    Raises:
        AuthoringError: It cannot be read, is of another schema, or was altered.
    """
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            value = parse(stream.read(BYTES_MAX + 1), size_max=BYTES_MAX)
        read = BaselineFile.model_validate(value)
    except OSError:
        raise AuthoringError.of("this file cannot be read", file=file, field="--baseline") from None
    except Refused as refusal:
        raise AuthoringError.of(f"this is not strict JSON: {refusal}", file=file) from None
    except ValidationError as error:
        raise AuthoringError(*(_problem(dict(item), file) for item in error.errors())) from None
    _check_digest(value, read, file)
    return _ready(read, file)


def _problem(item: Mapping[str, object], file: str) -> Problem:
    loc = item["loc"]
    field = ".".join(map(str, loc)) if isinstance(loc, tuple) else ""
    return Problem(str(item["msg"]), file=file, field=field, hint="save the baseline anew")


def _check_digest(value: object, read: BaselineFile, file: str) -> None:
    body = {k: v for k, v in value.items() if k != "digest"} if isinstance(value, dict) else {}
    found = digest(body)
    if found != read.digest:
        raise AuthoringError.of(
            read.digest, expected=found, file=file, field="digest", hint="the file was altered"
        )


def _ready(read: BaselineFile, file: str) -> Baseline:
    metrics: dict[Key, Measured] = {}
    for at, line in enumerate(read.metrics):
        if (line.name, line.slice) in metrics:
            raise AuthoringError.of(line.name, expected="each metric once", file=file)
        try:
            value = read_ratio(line.value) if line.value else None
        except (ValueError, ZeroDivisionError):
            where = f"metrics.{at}.value"
            raise AuthoringError.of(
                line.value, expected="a fraction", file=file, field=where
            ) from None
        metrics[line.name, line.slice] = Measured(line.version, line.status, value)
    try:
        as_of = date.fromisoformat(read.as_of)
    except ValueError:
        raise AuthoringError.of(read.as_of, expected="a date", file=file, field="as_of") from None
    return Baseline(read.identity, as_of, read.digest, metrics)


def differences(baseline: Baseline, about: About, *, days_max: int) -> tuple[str, ...]:
    """Return why the candidate cannot be compared with the baseline; () if it can."""
    return (*_exam(baseline.identity, _identity(about)), *_age(baseline.as_of, about, days_max))


def _exam(baseline: BaselineIdentity, candidate: BaselineIdentity) -> Iterator[str]:
    if _major(baseline.arh) != _major(candidate.arh):
        yield f"arh differs ({baseline.arh}, now {candidate.arh})"
    for name in EXAM:
        old, new = getattr(baseline, name), getattr(candidate, name)
        if old != new:
            yield f"{_WORDS.get(name, name)} differs ({_short(old)}, now {_short(new)})"


def changed(baseline: Baseline, about: About) -> tuple[str, ...]:
    """Return which parts of the candidate differ from the baseline's: what is being compared."""
    now = _identity(about)
    return tuple(n for n in CONFIGURATION if getattr(baseline.identity, n) != getattr(now, n))


def _age(taken: date, about: About, days_max: int) -> Iterator[str]:
    try:
        today = date.fromisoformat(about.as_of)
    except ValueError:
        yield "the decision date is unknown"
        return
    days = (today - taken).days
    if days < 0:
        yield f"the baseline is dated after the decision ({taken.isoformat()}, {about.as_of})"
    elif days > days_max:
        yield f"the baseline expired: it is {days} days old, {days_max} are accepted"


def _major(version: str) -> str:
    return version.split(".", 1)[0]


def _short(text: str) -> str:
    is_digest = len(text) == 64 and set(text) <= set("0123456789abcdef")  # noqa: PLR2004 - SHA-256 in hex
    return text[:12] if is_digest else text or "none"
