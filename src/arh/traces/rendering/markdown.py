"""Markdown, as a job summary or a comment shows it: a table of traces, then their findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from arh.render.parts import section, table
from arh.render.text import markdown
from arh.traces.rendering.run import (
    FINDINGS_MAX,
    Placed,
    TraceRun,
    average,
    counted,
    in_order,
    left_out,
)

COLUMNS = ("Trace", "Result", "Score", "Agent", "Workflow", "Policy", "Latency", "Cost")


def markdown_report(run: TraceRun) -> str:
    """Return the report as a page."""
    return "\n".join(_lines(run)).rstrip("\n") + "\n"


def cells(values: Iterable[str]) -> list[str]:
    """Return untrusted values as cells of a table."""
    return [markdown(value) for value in values]


def _lines(run: TraceRun) -> Iterator[str]:
    yield "# Recorded traces"
    yield ""
    yield f"**{counted(run)}**, average score {average(run):.2f}/100"
    yield ""
    yield from table("Traces", COLUMNS, [_row(placed) for placed in run.placed])
    unjudged = (f"{markdown(each.uri)}: {markdown(each.reason)}" for each in run.unjudged)
    yield from section("Not judged", unjudged)
    for placed in run.placed:
        yield from _findings(placed)


def _row(placed: Placed) -> list[str]:
    report = placed.report
    return cells(
        (
            report.trace_id,
            "PASS" if report.passed else "FAIL",
            f"{report.rounded_score:.2f}",
            report.agent_name,
            report.workflow,
            report.policy_id,
            f"{report.total_latency_ms:.0f} ms",
            f"{report.total_cost_usd:.4f} USD",
        )
    )


def _findings(placed: Placed) -> Iterator[str]:
    report = placed.report
    shown = in_order(report.findings)[:FINDINGS_MAX]
    rows = [cells((f.severity, f.rule_id, f.category, f.step_id or "", f.message)) for f in shown]
    title = f"Findings: {markdown(report.trace_id)}"
    yield from table(title, ("Severity", "Rule", "Category", "Step", "Message"), rows)
    more = list(left_out(report, len(shown)))
    if more:
        yield from (*more, "")
