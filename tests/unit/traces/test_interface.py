"""What users import from `arh.traces`, and the assertion for tests of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

import arh.traces
from arh.canonical import JsonValue
from tests.controls.trace_cases import POLICY, TRACE, edited


def test_every_name_of_the_interface_is_there() -> None:
    """And nothing else answers."""
    assert all(getattr(arh.traces, name) is not None for name in arh.traces.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(arh.traces, "nonsense")  # noqa: B009 - the type checker knows the names


def test_a_good_trace_is_asserted() -> None:
    """The report comes back; documents are taken as they are."""
    assert arh.traces.assert_trace(TRACE, POLICY).score == 100
    assert arh.traces.assert_trace(
        arh.traces.Trace.from_dict(TRACE), arh.traces.Policy.from_dict(POLICY)
    ).passed


def test_a_bad_trace_says_why() -> None:
    """The score, and each error with its step."""
    bad = edited(TRACE, {"steps/1/arguments/amount": 1000})

    with pytest.raises(AssertionError) as caught:
        arh.traces.assert_trace(bad, POLICY)
    assert str(caught.value) == (
        "trace t does not pass policy p: score 90.32 (at least 70), 1 errors\n"
        "  ARH-SCH-009 argument `amount` of `refund` is 1000 (step s2)"
    )


def test_reports_are_rendered_in_every_kind() -> None:
    """Each kind is read back by what reads it, and names the defect; the JSON is a baseline."""
    bad = edited(TRACE, {"steps/1/arguments/amount": 1000})
    report = arh.traces.validate_trace(
        arh.traces.Trace.from_dict(bad), arh.traces.Policy.from_dict(POLICY)
    )
    written = json.loads(arh.traces.render_json([report]))
    sarif = json.loads(arh.traces.render_sarif([report]))
    junit = ET.fromstring(arh.traces.render_junit([report]))  # noqa: S314 - our own text

    assert written == arh.traces.report_document([report])
    assert arh.traces.evaluate_gate(arh.traces.compare_reports(written, written)).passed
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["ARH-SCH-009"]
    assert junit.get("failures") == "1"
    for render in (
        arh.traces.render_console,
        arh.traces.render_markdown,
        arh.traces.render_html,
    ):
        assert "ARH-SCH-009" in render([report])
        assert "ARH-SCH-009" not in render([])


def test_a_recording_is_read_from_bytes_and_from_a_document() -> None:
    """Both find out the format, also that of a reader of the user's own."""
    document: JsonValue = {"messages": [{"role": "assistant", "content": "Done."}]}
    (read,) = arh.traces.read_traces(json.dumps(document).encode(), "a.json")
    (same,) = arh.traces.read_document(document, "a.json", readers=arh.traces.all_readers([]))

    assert (read, [step.text for step in read.steps]) == (same, ["Done."])


def test_many_errors_are_cut() -> None:
    """The message stays short."""
    steps = [{"step_id": f"s{at}", "type": "tool_call"} for at in range(30)]

    with pytest.raises(AssertionError, match=r"and 1[0-9] more"):
        arh.traces.assert_trace(edited(TRACE, {"steps": steps}), POLICY)


def test_reading_and_judging_load_no_models() -> None:
    """One trace is judged before pydantic's models would be loaded."""
    code = (
        "import sys; from arh.traces import Trace, Policy, validate_trace;"
        f"validate_trace(Trace.from_dict({TRACE!r}), Policy.from_dict({POLICY!r}));"
        "print([m for m in ('pydantic.main', 'jsonschema_rs', 'ruamel.yaml', 'asyncio') "
        "if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "[]"
