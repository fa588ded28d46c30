"""Recorded traces: read from any format, judged by a policy, compared with a baseline.

What is named here is the stable interface. Each name is imported when it is first used, so that a
format or a command pays for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arh.traces.authoring.policy import Policy as Policy
    from arh.traces.comparing.compare import compare_reports as compare_reports
    from arh.traces.comparing.gate import evaluate_gate as evaluate_gate
    from arh.traces.judging.report import TraceReport as TraceReport
    from arh.traces.judging.report import report_document as report_document
    from arh.traces.judging.validator import validate_trace as validate_trace
    from arh.traces.pytest_support import assert_trace as assert_trace
    from arh.traces.reading.detection import all_readers as all_readers
    from arh.traces.reading.detection import read_document as read_document
    from arh.traces.reading.source import read_traces as read_traces
    from arh.traces.registry import RULES as RULES
    from arh.traces.registry import Rule as Rule
    from arh.traces.rendering.interface import render_console as render_console
    from arh.traces.rendering.interface import render_html as render_html
    from arh.traces.rendering.interface import render_json as render_json
    from arh.traces.rendering.interface import render_junit as render_junit
    from arh.traces.rendering.interface import render_markdown as render_markdown
    from arh.traces.rendering.interface import render_sarif as render_sarif
    from arh.traces.trace import Note as Note
    from arh.traces.trace import Step as Step
    from arh.traces.trace import Trace as Trace

__all__ = [
    "RULES",
    "Note",
    "Policy",
    "Rule",
    "Step",
    "Trace",
    "TraceReport",
    "all_readers",
    "assert_trace",
    "compare_reports",
    "evaluate_gate",
    "read_document",
    "read_traces",
    "render_console",
    "render_html",
    "render_json",
    "render_junit",
    "render_markdown",
    "render_sarif",
    "report_document",
    "validate_trace",
]


def __getattr__(name: str) -> object:
    """Return a name of the interface, imported now."""
    if name in {"Note", "Step", "Trace"}:
        from arh.traces import trace

        return getattr(trace, name)
    if name in {"RULES", "Rule"}:
        from arh.traces import registry

        return getattr(registry, name)
    if name in {"compare_reports", "evaluate_gate"}:
        from arh.traces.comparing import gate

        return getattr(gate, name)
    if name in {"Policy", "TraceReport", "assert_trace", "validate_trace"}:
        from arh.traces import pytest_support

        return getattr(pytest_support, name)
    if name.startswith("render_"):
        from arh.traces.rendering import interface

        return getattr(interface, name)
    if name == "report_document":
        from arh.traces.judging import report

        return getattr(report, name)
    if name in {"all_readers", "read_document"}:
        from arh.traces.reading import detection

        return getattr(detection, name)
    if name == "read_traces":
        from arh.traces.reading import source

        return getattr(source, name)
    raise AttributeError(name)
