"""One self-contained HTML page: no script, nothing fetched, and a policy that forbids both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from arh.render.text import xml
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

CELL_CHARS_MAX: Final = 2_000
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --pass: #1a7f37; --fail: #cf222e; --warn: #9a6700 }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere }
th { font-weight: 600; white-space: nowrap } td.number { text-align: right; white-space: nowrap }
.pass { color: var(--pass); font-weight: 600 }
.fail, .error { color: var(--fail); font-weight: 600 }
.warning { color: var(--warn); font-weight: 600 } .info { opacity: .75 }
code { font: 13px ui-monospace, monospace } p.note { opacity: .8 }
"""


def html_report(run: TraceRun) -> str:
    """Return the page."""
    return "\n".join(_page(run)) + "\n"


def text(value: str) -> str:
    """Return untrusted text as HTML shows it, markup and controls inert."""
    return escape(" ".join(xml(value, chars_max=CELL_CHARS_MAX).split()), quote=True)


def _page(run: TraceRun) -> Iterator[str]:
    word = "PASS" if run.passed else "FAIL"
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>Recorded traces: {word}</title>"
    yield f"<style>{STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield f'<h1>Recorded traces: <span class="{word.lower()}">{word}</span></h1>'
    yield f"<p>{text(counted(run))}, average score {average(run):.2f}/100</p>"
    yield from _traces(run.placed)
    yield from _unjudged(run)
    for placed in run.placed:
        yield from _section(placed)
    yield "</body>"
    yield "</html>"


def _traces(placed: Iterable[Placed]) -> Iterator[str]:
    yield from _head("Trace", "Result", "Score", "Agent", "Workflow", "Policy", "Latency", "Cost")
    for each in placed:
        report = each.report
        word = "PASS" if report.passed else "FAIL"
        yield (
            f"<tr><td>{text(report.trace_id)}</td>"
            f'<td class="{word.lower()}">{word}</td>'
            f'<td class="number">{report.rounded_score:.2f}</td>'
            f"<td>{text(report.agent_name)}</td><td>{text(report.workflow)}</td>"
            f"<td>{text(report.policy_id)}</td>"
            f'<td class="number">{report.total_latency_ms:.0f} ms</td>'
            f'<td class="number">${report.total_cost_usd:.4f}</td></tr>'
        )
    yield "</tbody></table>"


def _unjudged(run: TraceRun) -> Iterator[str]:
    if run.unjudged:
        yield "<h2>Not judged</h2>"
        yield from _head("Input", "Why")
        for each in run.unjudged:
            yield f"<tr><td><code>{text(each.uri)}</code></td><td>{text(each.reason)}</td></tr>"
        yield "</tbody></table>"


def _section(placed: Placed) -> Iterator[str]:
    report = placed.report
    findings = in_order(report.findings)[:FINDINGS_MAX]
    yield f"<h2>{text(report.trace_id)}</h2>"
    if placed.uri:
        yield f'<p class="note"><code>{text(placed.uri)}</code></p>'
    if findings:
        yield from _head("Severity", "Rule", "Category", "Step", "Message")
        yield from (_finding(finding) for finding in findings)
        yield "</tbody></table>"
    else:
        yield '<p class="note">no findings</p>'
    yield from (f'<p class="note">{text(each)}</p>' for each in left_out(report, len(findings)))


def _finding(finding: Finding) -> str:
    severity = text(finding.severity)
    return (
        f'<tr><td class="{severity}">{severity}</td><td><code>{text(finding.rule_id)}</code></td>'
        f"<td>{text(finding.category)}</td><td><code>{text(finding.step_id or '')}</code></td>"
        f"<td>{text(finding.message)}</td></tr>"
    )


def _head(*columns: str) -> Iterator[str]:
    cells = "".join(f"<th>{column}</th>" for column in columns)
    yield f"<table><thead><tr>{cells}</tr></thead><tbody>"
