"""JUnit XML: a test case for each trace; an input that could not be judged is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from arh.render.text import xml
from arh.traces.findings import Finding
from arh.traces.rendering.run import (
    FINDINGS_MAX,
    Placed,
    TraceRun,
    Unjudged,
    in_order,
    left_out,
)

NAME: Final = "agent-reliability-harness"
BODY_CHARS_MAX: Final = 200_000


def junit_report(run: TraceRun) -> str:
    """Return the XML document; well formed whatever was recorded."""
    failures = sum(not report.passed for report in run.reports)
    counts = {
        "tests": str(len(run.placed) + len(run.unjudged)),
        "failures": str(failures),
        "errors": str(len(run.unjudged)),
        "skipped": "0",
    }
    root = Element("testsuites", {"name": NAME, **counts})
    suite = SubElement(root, "testsuite", {"name": NAME, **counts})
    for placed in run.placed:
        _case(suite, placed)
    for unjudged in run.unjudged:
        _error(suite, unjudged)
    indent(root)
    document: str = tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def _case(suite: Element, placed: Placed) -> None:
    report = placed.report
    about = {
        "classname": xml(f"{report.agent_name}.{report.workflow}"),
        "name": xml(report.trace_id),
        "time": f"{report.total_latency_ms / 1000:.3f}",
    }
    if placed.uri:
        about["file"] = xml(placed.uri)
    case = SubElement(suite, "testcase", about)
    if not report.passed:
        errors = sum(finding.severity == "error" for finding in report.findings)
        message = f"score={report.rounded_score:.2f}/100; {errors} error finding(s)"
        failure = SubElement(case, "failure", {"type": "PolicyViolation", "message": message})
        failure.text = xml("\n".join(_body(placed)), chars_max=BODY_CHARS_MAX)


def _body(placed: Placed) -> Iterator[str]:
    findings = in_order(placed.report.findings)[:FINDINGS_MAX]
    yield from (_line(finding) for finding in findings)
    yield from left_out(placed.report, len(findings))


def _line(finding: Finding) -> str:
    step = "" if finding.step_id is None else f" (step={finding.step_id})"
    message = " ".join(f"{finding.message}{step}".split())
    return f"[{finding.severity}] {finding.rule_id}: {message}"


def _error(suite: Element, unjudged: Unjudged) -> None:
    case = SubElement(suite, "testcase", {"classname": "input", "name": xml(unjudged.uri)})
    about = {"type": "NotJudged", "message": xml(unjudged.reason)}
    SubElement(case, "error", about).text = xml(unjudged.reason)
