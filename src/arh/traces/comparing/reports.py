"""Reads reports back, for comparing: strictly, since each decides about a release.

Reports of the public tool are read too, back to those without rule ids. What they may leave out is
absent here, never a value: a trace without a verdict did not pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

from arh.errors import AuthoringError, closest
from arh.traces.trace import shown_type

SEVERITIES: Final = ("error", "warning", "info")


class ReportRefused(AuthoringError, ValueError):  # noqa: N818 - the answer of a strict reader
    """A document is no report that can be compared; says which, where and why."""


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding as a report states it; old ones have no `rule_id` or no `subject`."""

    severity: str
    category: str
    message: str
    step_id: str | None
    rule_id: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One trace of a report."""

    trace_id: str
    policy_id: str
    policy_digest: str
    fail_under: float | None
    passed: bool
    score: float | None
    total_latency_ms: float | None
    total_cost_usd: float | None
    findings: tuple[ReportedFinding, ...]
    was_cut: bool


def read_report(document: object, label: str) -> dict[str, Entry]:
    """Return the traces of a report by their ids; `label` says in messages which report it is.

    Raises:
        ReportRefused: It is no report, or has a trace twice.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("reports"), list):
        raise ReportRefused.of(f"the {label} is no report: it has no list `reports`")
    entries: dict[str, Entry] = {}
    for at, value in enumerate(document["reports"]):
        path = f"{label}.reports[{at}]"
        if not isinstance(value, Mapping):
            raise _wrong(path, "an object", value)
        entry = _entry(value, path)
        if entry.trace_id in entries:
            raise ReportRefused.of(
                f"{label} report contains duplicate trace_id {entry.trace_id!r}",
                field=path,
                hint="give each trace an id of its own",
            )
        entries[entry.trace_id] = entry
    return entries


def read_unjudged(document: object, label: str) -> tuple[str, ...]:
    """Return what a report could not judge, each input with the reason: it may hide anything.

    Raises:
        ReportRefused: It is listed in a way that nobody writes.
    """
    listed = document.get("unjudged") if isinstance(document, Mapping) else None
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise _wrong(f"{label}.unjudged", "a list", listed)
    return tuple(_unjudged(each, f"{label}.unjudged[{at}]") for at, each in enumerate(listed))


def _unjudged(value: object, path: str) -> str:
    if not isinstance(value, Mapping):
        raise _wrong(path, "an object", value)
    return f"{_text(value, 'source_path', path)}: {_text(value, 'reason', path)}"


def _entry(value: Mapping[str, object], path: str) -> Entry:
    if "trace_id" not in value:
        raise _wrong(f"{path}.trace_id", "an id", None)
    findings = value.get("findings")
    if not isinstance(findings, list) and findings is not None:
        raise _wrong(f"{path}.findings", "a list", findings)
    return Entry(
        trace_id=str(value["trace_id"]),
        policy_id=_text(value, "policy_id", path),
        policy_digest=_text(value, "policy_digest", path),
        fail_under=_number(value, "fail_under", path),
        passed=_passed(value, path),
        score=_number(value, "score", path),
        total_latency_ms=_number(value, "total_latency_ms", path),
        total_cost_usd=_number(value, "total_cost_usd", path),
        findings=tuple(
            _finding(each, f"{path}.findings[{n}]") for n, each in enumerate(findings or ())
        ),
        was_cut=bool(value.get("findings_cut")),
    )


def _passed(value: Mapping[str, object], path: str) -> bool:
    passed = value.get("passed")
    if passed is None or isinstance(passed, bool):
        return bool(passed)
    raise _wrong(f"{path}.passed", "true or false", passed)


def _finding(value: object, path: str) -> ReportedFinding:
    if not isinstance(value, Mapping):
        raise _wrong(path, "an object", value)
    step = value.get("step_id")
    if step is not None and not isinstance(step, str | int):
        raise _wrong(f"{path}.step_id", "text or null", step)
    subject = value.get("subject")
    if subject is not None and not isinstance(subject, str):
        raise _wrong(f"{path}.subject", "text", subject)
    return ReportedFinding(
        severity=_severity(value, path),
        category=_text(value, "category", path),
        message=_text(value, "message", path),
        step_id=None if step is None else str(step),
        rule_id=_text(value, "rule_id", path),
        subject=subject,
    )


def _severity(value: Mapping[str, object], path: str) -> str:
    """Return one of the severities: a gate counts errors, and any other word would hide one."""
    severity = value.get("severity")
    if isinstance(severity, str) and severity in SEVERITIES:
        return severity
    found = severity if isinstance(severity, str) else shown_type(severity)
    raise ReportRefused.of(
        found,
        expected=" or ".join(SEVERITIES),
        field=f"{path}.severity",
        hint=closest(found.lower(), SEVERITIES),
    )


def _text(value: Mapping[str, object], name: str, path: str) -> str:
    text = value.get(name)
    if text is None or isinstance(text, str):
        return text or ""
    raise _wrong(f"{path}.{name}", "text", text)


def _number(value: Mapping[str, object], name: str, path: str) -> float | None:
    number = value.get(name)
    if number is None:
        return None
    if type(number) is int or (type(number) is float and isfinite(number)):
        return number
    raise _wrong(f"{path}.{name}", "a finite number", number)


def _wrong(path: str, expected: str, value: object) -> ReportRefused:
    return ReportRefused.of(shown_type(value), expected=expected, field=path)
