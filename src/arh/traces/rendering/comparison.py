"""A comparison with a baseline, for the console and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from arh.render.parts import section, table
from arh.render.text import console, markdown
from arh.traces.comparing.compare import Comparison, FindingRef, TraceChange
from arh.traces.comparing.gate import GateResult
from arh.traces.rendering.console import WIDTH
from arh.traces.rendering.markdown import cells
from arh.traces.rendering.run import FINDINGS_MAX

_COLUMNS: Final = ("Trace", "Change", "Baseline", "Candidate", "Score", "New", "Resolved")


def console_comparison(comparison: Comparison, gate: GateResult) -> str:
    """Return the comparison as lines for a terminal or a CI log."""
    return "\n".join(_console(comparison, gate)) + "\n"


def markdown_comparison(comparison: Comparison, gate: GateResult) -> str:
    """Return the comparison as a page."""
    return "\n".join(_markdown(comparison, gate)).rstrip("\n") + "\n"


def _console(comparison: Comparison, gate: GateResult) -> Iterator[str]:
    yield "=" * WIDTH
    yield "arh compare"
    yield "=" * WIDTH
    for change in comparison.traces:
        yield f"[{change.status_change}] {console(change.trace_id)}  {_scores(change)}"
    for title, findings in _findings(comparison):
        yield from (f"  {title} {_told(finding)}" for finding in findings[:FINDINGS_MAX])
        if (more := len(findings) - FINDINGS_MAX) > 0:
            yield f"  and {more} more {title} findings"
    yield from (f"[NOT JUDGED] {console(each)}" for each in _unjudged(comparison))
    yield "-" * WIDTH
    yield f"GATE: {'PASS' if gate.passed else 'FAIL'}"
    yield from (f"  {console(reason)}" for reason in gate.reasons)


def _markdown(comparison: Comparison, gate: GateResult) -> Iterator[str]:
    yield "# Recorded traces against a baseline"
    yield ""
    yield f"**Gate: {'PASS' if gate.passed else 'FAIL'}**"
    yield ""
    yield from section("Why", (markdown(reason) for reason in gate.reasons))
    yield from section("Not judged", (markdown(each) for each in _unjudged(comparison)))
    yield from table("Traces", _COLUMNS, [_row(change) for change in comparison.traces])
    for title, findings in _findings(comparison):
        rows = [_cells(finding) for finding in findings[:FINDINGS_MAX]]
        columns = ("Trace", "Severity", "Rule", "Step", "Message")
        yield from table(f"{title.capitalize()} findings", columns, rows)
        if (more := len(findings) - FINDINGS_MAX) > 0:
            yield from (f"and {more} more", "")


def _findings(comparison: Comparison) -> Iterator[tuple[str, Sequence[FindingRef]]]:
    yield "new", comparison.new_findings
    yield "raised", comparison.raised_findings
    yield "resolved", comparison.resolved_findings


def _unjudged(comparison: Comparison) -> Iterator[str]:
    """Yield the inputs that could not be judged, and how many are not shown."""
    yield from comparison.unjudged[:FINDINGS_MAX]
    if (more := len(comparison.unjudged) - FINDINGS_MAX) > 0:
        yield f"and {more} more"


def _scores(change: TraceChange) -> str:
    delta = change.score_delta
    moved = "" if delta is None else f" ({float(delta):+.2f})"
    return f"{_score(change.baseline_score)} -> {_score(change.candidate_score)}{moved}"


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:.2f}"


def _told(finding: FindingRef) -> str:
    step = "" if finding.step_id is None else f" (step={console(finding.step_id)})"
    head = f"[{console(finding.severity)}] {console(finding.trace_id)} {console(finding.rule_id)}"
    return f"{head}: {console(finding.message)}{step}"


def _row(change: TraceChange) -> list[str]:
    return cells(
        (
            change.trace_id,
            change.status_change,
            _score(change.baseline_score),
            _score(change.candidate_score),
            "" if change.score_delta is None else f"{float(change.score_delta):+.2f}",
            str(len(change.new_findings)),
            str(len(change.resolved_findings)),
        )
    )


def _cells(finding: FindingRef) -> list[str]:
    return cells(
        (
            finding.trace_id,
            finding.severity,
            finding.rule_id,
            finding.step_id or "",
            finding.message,
        )
    )
