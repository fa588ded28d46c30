"""What is fuzzed: every reader of recordings, the policy parser, the comparison, each renderer.

A target takes any bytes. It may refuse them in the declared way and no other; whatever it accepts
is judged, rendered, and read again by the real parser of each format. `make fuzz` lets a
coverage-guided fuzzer choose the bytes, the tests a seeded sample of changed seeds.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from arh.canonical import JsonValue, Refused, encode, parse
from arh.errors import AuthoringError
from arh.traces.authoring.policy import Policy
from arh.traces.authoring.policy_files import read_policy
from arh.traces.canonical_form import trace_document
from arh.traces.comparing.compare import compare_reports
from arh.traces.comparing.gate import evaluate_gate
from arh.traces.judging.report import TraceReport
from arh.traces.judging.validator import validate_trace
from arh.traces.reading.detection import AUTO, BUILT_IN
from arh.traces.reading.source import read_traces
from arh.traces.rendering.comparison import console_comparison, markdown_comparison
from arh.traces.rendering.console import console_report
from arh.traces.rendering.html import html_report
from arh.traces.rendering.junit import junit_report
from arh.traces.rendering.markdown import markdown_report
from arh.traces.rendering.run import Placed, TraceRun, run_document, run_text
from arh.traces.rendering.sarif import sarif_report
from arh.traces.trace import Trace
from benchmarks.trace_workload import POLICY, trace
from tests.unit.traces.formats.samples import SAMPLES, STREAMS

ROOT: Final = Path(__file__).parents[2]
Target = Callable[[bytes], None]
STRICT: Final = Policy.from_dict({**POLICY, "policy_id": "strict"})
PLAIN: Final = Policy.from_dict({"policy_id": "plain", "allow_unlisted_tools": True})


def targets() -> dict[str, Target]:
    """Return every target by its name."""
    named = {f"traces-{reader.name}": _traces(reader.name) for reader in BUILT_IN}
    return {
        "traces": _traces(AUTO),
        **named,
        "policy": policy,
        "compare": compare,
    }


def seeds(name: str) -> Iterator[bytes]:
    """Yield valid inputs of a target."""
    if name == "policy":
        yield encode(POLICY)
        yield (ROOT / "examples" / "traces" / "policy.json").read_bytes()
    elif name == "compare":
        yield encode([_report("clean"), _report("failing")])
    else:
        yield trace("t", 4).encode()
        yield from (encode(document) for document in _samples())


def policy(data: bytes) -> None:
    """Read a policy, and judge by it what was accepted."""
    try:
        read = read_policy(data, "policy.json", trusted=False)
    except AuthoringError as error:
        _is_told(error)
        return
    _judged(Trace.from_dict(json.loads(trace("t", 4))), read)


def compare(data: bytes) -> None:
    """Compare two reports, and render what was accepted."""
    try:
        value = parse(data)
        if not isinstance(value, list) or len(value) != 2:
            return
        comparison = compare_reports(value[0], value[1])
        gate = evaluate_gate(comparison)
    except (Refused, AuthoringError):
        return
    console_comparison(comparison, gate)
    MarkdownIt().parse(markdown_comparison(comparison, gate))


def _traces(form: str) -> Target:
    """Return the target that reads recordings of a format."""

    def target(data: bytes) -> None:
        try:
            found = read_traces(data, "fuzzed.json", form=form)
        except AuthoringError as error:
            _is_told(error)
            return
        reports = [report for each in found for report in _judged(each, STRICT)]
        _rendered(TraceRun(tuple(Placed(report, "a b/c.json", 1) for report in reports)))

    return target


def _judged(read: Trace, by: Policy) -> list[TraceReport]:
    """Judge a trace by two policies, write it, and return the reports."""
    json.loads(json.dumps(trace_document(read), allow_nan=False))
    return [validate_trace(read, by), validate_trace(read, PLAIN)]


def _rendered(run: TraceRun) -> None:
    """Render in every way; each result is read again by a parser of its format."""
    console_report(run).encode("ascii", "backslashreplace")
    MarkdownIt().parse(markdown_report(run))
    ET.fromstring(junit_report(run))  # noqa: S314 - no entity is declared in it
    HTMLParser().feed(html_report(run))
    parse(sarif_report(run))
    parse(run_text(run))
    compare_reports(run_document(TraceRun(run.placed[:1])), run_document(TraceRun(run.placed[:1])))


def _is_told(error: AuthoringError) -> None:
    """A refusal can be printed: one line a problem, no control character."""
    text = str(error)
    assert text
    assert all(line.isprintable() for line in text.splitlines())


def _report(kind: str) -> JsonValue:
    read = Trace.from_dict(json.loads(trace("t", 8, kind)))
    return run_document(TraceRun.of([validate_trace(read, STRICT)]))


def _samples() -> Iterator[JsonValue]:
    for samples in (*SAMPLES.values(), *STREAMS.values()):
        yield from samples
