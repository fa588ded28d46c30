"""The console: each trace with its findings, then the count; every recorded text only shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arh.render.text import console
from arh.traces.findings import Finding
from arh.traces.rendering.run import (
    FINDINGS_MAX,
    Placed,
    TraceRun,
    average,
    counted,
    in_order,
    left_out,
)

WIDTH: Final = 72


def console_report(run: TraceRun) -> str:
    """Return the report as lines for a terminal or a CI log."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: TraceRun) -> Iterator[str]:
    yield "=" * WIDTH
    yield "arh validate"
    yield "=" * WIDTH
    for placed in run.placed:
        yield from _trace(placed)
    for unjudged in run.unjudged:
        yield f"[NOT JUDGED] {console(unjudged.uri)}: {console(unjudged.reason)}"
    yield "-" * WIDTH
    yield f"SUMMARY: {counted(run)}, average score {average(run):.2f}/100"


def _trace(placed: Placed) -> Iterator[str]:
    report = placed.report
    word = "PASS" if report.passed else "FAIL"
    who = f"agent={console(report.agent_name)}, workflow={console(report.workflow)}"
    yield f"[{word}] {console(report.trace_id)}  ({who})"
    yield (
        f"  score={report.rounded_score:.2f}/100  policy={console(report.policy_id)}  "
        f"latency={report.total_latency_ms:.0f}ms  cost=${report.total_cost_usd:.4f}"
    )
    if report.citation_coverage is not None:
        yield f"  citation coverage={float(report.citation_coverage):.0%}"
    findings = in_order(report.findings)[:FINDINGS_MAX]
    yield from (_finding(finding) for finding in findings)
    yield from (f"  {line}" for line in left_out(report, len(findings)))
    if not findings:
        yield "  no findings"


def _finding(finding: Finding) -> str:
    step = "" if finding.step_id is None else f" (step={console(finding.step_id)})"
    head = f"[{finding.severity.upper():<7}] [{finding.category:<10}]"
    return f"  - {head} {finding.rule_id}: {console(finding.message)}{step}"
