"""The reports on traces as text, for users who judge in Python: one function for each kind.

Each takes the reports alone. Commands also know which file a trace came from and what could not be
judged, and hand a `TraceRun` to the file of the kind.
"""

from __future__ import annotations

from collections.abc import Iterable

from arh.traces.judging.report import TraceReport
from arh.traces.rendering.console import console_report
from arh.traces.rendering.html import html_report
from arh.traces.rendering.junit import junit_report
from arh.traces.rendering.markdown import markdown_report
from arh.traces.rendering.run import TraceRun, run_text
from arh.traces.rendering.sarif import sarif_report


def render_console(reports: Iterable[TraceReport]) -> str:
    """Return lines for a terminal or a CI log."""
    return console_report(TraceRun.of(reports))


def render_json(reports: Iterable[TraceReport]) -> str:
    """Return the JSON report, which is a baseline too."""
    return run_text(TraceRun.of(reports))


def render_markdown(reports: Iterable[TraceReport]) -> str:
    """Return a page in Markdown."""
    return markdown_report(TraceRun.of(reports))


def render_junit(reports: Iterable[TraceReport]) -> str:
    """Return JUnit XML, a test case for each trace."""
    return junit_report(TraceRun.of(reports))


def render_sarif(reports: Iterable[TraceReport]) -> str:
    """Return a log in SARIF 2.1.0."""
    return sarif_report(TraceRun.of(reports))


def render_html(reports: Iterable[TraceReport]) -> str:
    """Return a page in HTML that needs nothing else and runs nothing."""
    return html_report(TraceRun.of(reports))
