"""What is told of judged snapshots: a result for each, a summary, and a page that compares them.

Every text of a recording is made safe for its sink. Nothing depends on the time or the folder: the
same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from arh.canonical import JsonValue
from arh.decision.case_metrics import SEVERITIES
from arh.decision.comparing import required
from arh.decision.gate_rules import gate_id
from arh.decision.numbers import decimal
from arh.records.control.gate import GateResult, Profile
from arh.render.text import console, markdown
from arh.traces.cases.records import CaseResult, JsonObject, Judged

SCHEMA_VERSION: Final = 1
WORDS: Final[Mapping[str, str]] = {"pass": "PASS", "fail": "BLOCK", "inconclusive": "REVIEW"}
REASONS_MAX: Final = 20
_DIGITS: Final = 6


def result_of(judged: Judged, profile: Profile) -> JsonObject:
    """Return the whole result of a snapshot as JSON: decision, gates, metrics, every case."""
    return {
        **summary_of(judged),
        "profile": {"name": profile.profile, "version": profile.version},
        "cases_sha256": judged.cases,
        "outputs_sha256": judged.snapshot.digest,
        "gates": [_gate(result) for result in judged.decision.gates],
        "cases": [_case(result) for result in judged.results],
    }


def summary_of(judged: Judged) -> JsonObject:
    """Return a snapshot's decision and figures; rates and means are rounded to six decimals."""
    failures: JsonObject = {
        severity: sum(
            not result.passed and result.case.severity == severity for result in judged.results
        )
        for severity in SEVERITIES
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "label": judged.snapshot.label,
        "decision": WORDS[judged.decision.decision],
        "decision_reasons": list(judged.decision.reasons),
        "metrics": {
            "total": len(judged.results),
            "passed": sum(result.passed for result in judged.results),
            "pass_rate": _rounded(value(judged, "case_pass_rate")),
            "failures_by_severity": failures,
            "critical_failure_count": int(value(judged, "critical_case_failures")),
            "undeclared_tool_calls": int(value(judged, "undeclared_tool_calls")),
            "p95_latency_ms": _rounded(value(judged, "case_latency_ms_p95")),
            "mean_cost_usd": _rounded(value(judged, "case_cost_usd_mean")),
        },
    }


def summary(snapshots: Sequence[Judged], profile: Profile) -> JsonObject:
    """Return the summary of all snapshots with the thresholds that they were held against."""
    return {
        "schema_version": SCHEMA_VERSION,
        "profile": {"name": profile.profile, "version": profile.version},
        "thresholds": {
            gate_id(gate): f"{gate.severity}: {required(gate)}" for gate in profile.gates
        },
        "evaluations": [summary_of(judged) for judged in snapshots],
    }


def value(judged: Judged, metric: str) -> Fraction:
    """Return a metric of all cases, exactly."""
    found = next(each for each in judged.metrics if (each.name, each.slice) == (metric, "all"))
    return found.value or Fraction(0)


def report_page(snapshots: Sequence[Judged], profile: Profile) -> str:
    """Return the comparison report as Markdown."""
    return "\n".join(_page(snapshots, profile)) + "\n"


def console_lines(judged: Judged) -> Iterator[str]:
    """Yield what a terminal is told of a snapshot: its decision, its reasons, each failed case."""
    yield f"{WORDS[judged.decision.decision]} {console(judged.snapshot.label)} {_figures(judged)}"
    for reason in judged.decision.reasons:
        yield f"  {console(reason)}"
    for result in _failed(judged)[:REASONS_MAX]:
        place = f"{result.case.severity} {result.case.case_id}"
        yield f"  {console(place)}: {console('; '.join(result.reasons))}"
    if (more := len(_failed(judged)) - REASONS_MAX) > 0:
        yield f"  and {more} more failed cases"


def _page(snapshots: Sequence[Judged], profile: Profile) -> Iterator[str]:
    yield "# Recorded outputs against cases"
    yield ""
    yield f"Profile {markdown(profile.profile)} {markdown(profile.version)}. Nothing was run:"
    yield "latency and cost are what the recordings say, and the cases are no sample."
    yield ""
    yield "| gate | a breach | required |"
    yield "| --- | --- | --- |"
    for gate in profile.gates:
        cells = (gate_id(gate), gate.severity, required(gate))
        yield f"| {' | '.join(markdown(cell) for cell in cells)} |"
    yield ""
    yield "| snapshot | passed | rate | critical failures | p95 latency | mean cost | decision |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    yield from (_row(judged) for judged in snapshots)
    before: Judged | None = None
    for judged in snapshots:
        yield from _section(judged, before)
        before = judged


def _row(judged: Judged) -> str:
    rate = decimal(value(judged, "case_pass_rate") * 100, 1)
    latency = decimal(value(judged, "case_latency_ms_p95"))
    cost = decimal(value(judged, "case_cost_usd_mean"))
    cells = (
        markdown(judged.snapshot.label),
        _passed(judged),
        f"{rate} %",
        decimal(value(judged, "critical_case_failures")),
        f"{latency} ms",
        f"{cost} USD",
        f"**{WORDS[judged.decision.decision]}**",
    )
    return f"| {' | '.join(cells)} |"


def _section(judged: Judged, before: Judged | None) -> Iterator[str]:
    yield ""
    yield f"## {markdown(judged.snapshot.label)}: {WORDS[judged.decision.decision]}"
    yield ""
    yield from (f"- {markdown(reason)}" for reason in judged.decision.reasons)
    failed = _failed(judged)
    if failed:
        yield ""
        yield "| failed case | severity | why |"
        yield "| --- | --- | --- |"
        for result in failed:
            case = result.case
            cells = (f"{case.case_id}: {case.title}", case.severity, "; ".join(result.reasons))
            yield f"| {' | '.join(markdown(cell) for cell in cells)} |"
    if before is not None:
        yield ""
        yield from _changes(judged, before)


def _changes(judged: Judged, before: Judged) -> Iterator[str]:
    """Yield which cases changed sides since the snapshot before."""
    old = {result.case.case_id for result in _failed(before)}
    new = {result.case.case_id for result in _failed(judged)}
    for what, ids in (
        ("newly failed", new - old),
        ("mended", old - new),
        ("still fail", old & new),
    ):
        named = ", ".join(markdown(each) for each in sorted(ids)) or "none"
        yield f"- {what} since {markdown(before.snapshot.label)}: {named}"


def _failed(judged: Judged) -> list[CaseResult]:
    return [result for result in judged.results if not result.passed]


def _passed(judged: Judged) -> str:
    return f"{len(judged.results) - len(_failed(judged))}/{len(judged.results)}"


def _figures(judged: Judged) -> str:
    latency = decimal(value(judged, "case_latency_ms_p95"))
    cost = decimal(value(judged, "case_cost_usd_mean"))
    return f"{_passed(judged)} cases, p95 {latency} ms, mean {cost} USD"


def _gate(result: GateResult) -> JsonObject:
    return {
        "gate": result.gate,
        "metric": result.metric,
        "slice": result.slice,
        "severity": result.severity,
        "status": result.status,
        "observed": result.observed,
        "required": result.required,
        "reason": result.reason,
    }


def _case(result: CaseResult) -> JsonObject:
    calls: list[JsonValue] = [
        {"name": call.name, "arguments": call.arguments} for call in result.output.calls
    ]
    return {
        "case_id": result.case.case_id,
        "title": result.case.title,
        "severity": result.case.severity,
        "passed": result.passed,
        "checks": dict(result.checks),
        "reasons": list(result.reasons),
        "actual": {
            "decision": result.output.decision,
            "tool_calls": calls,
            "citations": list(result.output.citations),
        },
        "latency_ms": _rounded(result.output.latency_ms),
        "cost_usd": _rounded(result.output.cost_usd),
    }


def _rounded(number: Fraction) -> float:
    return float(round(number, _DIGITS))
