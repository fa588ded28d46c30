"""Trace schema version 1: what is read, and what is refused where and why."""

from __future__ import annotations

from typing import Any

import pytest

from arh.errors import AuthoringError
from arh.traces.trace import Step, Trace, TraceRefused


def trace(*steps: object, **fields: object) -> dict[str, Any]:
    """A trace document with the given steps."""
    return {"trace_id": "t", "agent_name": "a", "workflow": "w", "steps": list(steps), **fields}


def step(**fields: object) -> dict[str, Any]:
    """A step document."""
    return {"step_id": "s", "type": "tool_call", **fields}


def refusal(document: object) -> str:
    """What is said when the document is refused."""
    with pytest.raises(TraceRefused) as caught:
        Trace.from_dict(document)
    assert isinstance(caught.value, AuthoringError)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def test_absent_fields_stay_absent() -> None:
    """Nothing that was not recorded becomes zero or empty text."""
    read = Step.from_dict(step())

    assert (
        read.latency_ms,
        read.cost_usd,
        read.input_tokens,
        read.text,
        read.arguments,
    ) == (None, None, None, None, None)
    assert read.status == "ok"
    assert read.anchor == "s"


def test_every_field_is_read() -> None:
    """A full step keeps its values."""
    full = step(
        status="error",
        tool_name="pay",
        arguments={"a": 1},
        output=[1],
        text="x",
        error="late",
        latency_ms=1.5,
        cost_usd=0,
        input_tokens=5.0,
        output_tokens=7,
        citations=[{"url": "https://a.example"}],
        requires_grounding=True,
        metadata={"k": "v"},
    )

    read = Trace.from_dict(trace(step(), full)).steps[1]

    assert read == Step(
        step_id="s",
        type="tool_call",
        status="error",
        tool_name="pay",
        arguments={"a": 1},
        output=[1],
        text="x",
        error="late",
        latency_ms=1.5,
        cost_usd=0,
        input_tokens=5,
        output_tokens=7,
        citations=({"url": "https://a.example"},),
        requires_grounding=True,
        metadata={"k": "v"},
        ordinal=1,
    )


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "ok"),
        ({"error": "x"}, "error"),
        ({"error": ""}, "ok"),
        ({"status": None, "error": "x"}, "error"),
        ({"status": "ok", "error": "x"}, "ok"),
    ],
)
def test_an_error_implies_its_status_unless_stated(fields: dict[str, Any], status: str) -> None:
    """A stated status wins, and an error text alone is an error."""
    assert status == Step.from_dict(step(**fields)).status


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (None, "None"), ({}, "{}"), ("", "")])
def test_identifiers_are_text(value: object, text: str) -> None:
    """Recorders write numbers as identifiers, and such files stay valid."""
    assert text == Trace.from_dict(trace(trace_id=value)).trace_id
    assert text == Step.from_dict(step(step_id=value)).step_id


@pytest.mark.parametrize("value", [None, "1", 1, 1.7, "1.x"])
def test_versions_of_major_one_are_supported(value: object) -> None:
    """Minor versions add, so a reader of version 1 reads them."""
    assert Trace.from_dict(trace(schema_version=value)).trace_id == "t"


@pytest.mark.parametrize("value", ["", "2", True, "1abc", " 1", 10])
def test_other_major_versions_are_refused(value: object) -> None:
    """What another major version means is not known."""
    said = refusal(trace(schema_version=value))

    assert "trace declares unsupported schema_version" in said
    assert "`schema_version`" in said


@pytest.mark.parametrize(
    ("fields", "path", "expected"),
    [
        ({"type": "tool"}, "type", "tool_call or model_response"),
        ({"type": ["tool_call"]}, "type", "tool_call or model_response"),
        ({"status": "failed"}, "status", "ok or error"),
        ({"status": False}, "status", "ok or error"),
        ({"arguments": "{}"}, "arguments", "an object or null"),
        ({"metadata": ["a"]}, "metadata", "an object"),
        ({"tool_name": 5}, "tool_name", "text or null"),
        ({"error": {"code": 1}}, "error", "text or null"),
        ({"latency_ms": -1}, "latency_ms", "a finite number of at least 0"),
        ({"latency_ms": True}, "latency_ms", "a finite number of at least 0"),
        ({"latency_ms": float("nan")}, "latency_ms", "a finite number of at least 0"),
        ({"cost_usd": float("inf")}, "cost_usd", "a finite number of at least 0"),
        ({"cost_usd": 10**400}, "cost_usd", "a finite number of at least 0"),
        ({"input_tokens": 1.5}, "input_tokens", "a whole number of at least 0"),
        ({"output_tokens": "5"}, "output_tokens", "a whole number of at least 0"),
        ({"citations": "none"}, "citations", "a list or null"),
        ({"citations": {"a": 1}}, "citations", "a list or null"),
        ({"citations": 5}, "citations", "a list or null"),
        ({"requires_grounding": "false"}, "requires_grounding", "true or false"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], path: str, expected: str) -> None:
    """The JSON path, what was expected and what was found are said."""
    said = refusal(trace(step(), step(**fields)))

    assert f"`steps[1].{path}`: expected {expected}" in said
    assert ", found `" in said


@pytest.mark.parametrize("name", ["trace_id", "agent_name", "workflow", "steps"])
def test_a_missing_field_is_named(name: str) -> None:
    """The first that is missing is said."""
    document = trace()
    del document[name]

    assert f"`{name}`: expected a value, found nothing; add the field" in refusal(document)


@pytest.mark.parametrize("document", [None, [], "x", 5, {"steps": 5}, trace(steps="x"), trace(5)])
def test_what_is_no_trace_is_refused(document: object) -> None:
    """Any JSON value gets an answer."""
    assert "expected" in refusal(document)


@pytest.mark.parametrize("value", [None, "", 0, [], {}, False])
def test_empty_values_stand_for_absent_ones(value: object) -> None:
    """Old files write them so."""
    read = Step.from_dict(step(metadata=value, citations=value))

    assert read.metadata == {}
    assert read.citations == ()
