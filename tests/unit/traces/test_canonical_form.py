"""A trace that is written and read again is judged as before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arh.traces.authoring.policy import Policy
from arh.traces.canonical_form import restored, trace_document
from arh.traces.judging.validator import validate_trace
from arh.traces.reading.source import read_traces
from arh.traces.trace import Note, Step, Trace

WHOLE = Trace(
    trace_id="t",
    agent_name="a",
    workflow="w",
    source="openai-chat",
    metadata={"mine": 1},
    steps=(
        Step("c1", "tool_call", "unknown", "look", {"x": 1}, ordinal=0, stable_id="s0"),
        Step("c2", "tool_call", tool_name="cut", raw_arguments='{"x', ordinal=1),
        Step("c3", "tool_call", "error", "fail", {}, error="no", latency_ms=1.5, ordinal=2),
        Step(
            "r",
            "model_response",
            text="done",
            input_tokens=3,
            output_tokens=4,
            citations=({"url": "https://x"},),
            requires_grounding=True,
            metadata={"adapter": {"kept": True}, "m": 2},
            ordinal=3,
        ),
    ),
    notes=(Note("image_block", "png", "messages[1]", "c1", "alt"), Note("other")),
    offered_tools=("look", "cut"),
)


def again(trace: Trace) -> Trace:
    """Write a trace and read it."""
    return restored(Trace.from_dict(json.loads(json.dumps(trace_document(trace)))))


def without_metadata(trace: Trace) -> list[Any]:
    """Return all of a trace but its free metadata."""
    names = [name for name in Step.__dataclass_fields__ if name != "metadata"]
    steps = [[getattr(step, name) for name in names] for step in trace.steps]
    return [trace.trace_id, trace.source, trace.notes, trace.offered_tools, steps]


def test_nothing_is_lost() -> None:
    """Also not what schema version 1 has no place for."""
    assert without_metadata(again(WHOLE)) == without_metadata(WHOLE)


def test_what_stood_in_the_metadata_stays() -> None:
    """Beside what is added."""
    read = again(WHOLE)

    assert read.metadata["mine"] == 1
    assert read.steps[3].metadata == {"adapter": {"kept": True}, "m": 2}


def test_writing_twice_is_writing_once() -> None:
    """Notes do not double."""
    once = trace_document(WHOLE)

    assert trace_document(again(WHOLE)) == once


@pytest.mark.parametrize(
    "adapter",
    ["x", [], {"notes": 1}, {"notes": [1]}, {"notes": [{"kind": 3}]}, {"offered_tools": [1]}],
)
def test_hostile_metadata_is_no_crash(adapter: object) -> None:
    """What is no note is a note that nobody can read."""
    document: Any = {
        "trace_id": "t",
        "agent_name": "a",
        "workflow": "w",
        "metadata": {"adapter": adapter},
        "steps": [{"step_id": "1", "type": "tool_call", "metadata": {"adapter": adapter}}],
    }

    read = restored(Trace.from_dict(document))

    listed = isinstance(adapter, dict) and "notes" in adapter
    assert [note.kind.startswith("unreadable_note") for note in read.notes] == [True] * listed


def test_what_was_restored_is_not_judged_a_second_time() -> None:
    """A converted recording has the findings of the recording: its metadata names nothing twice."""
    recording = {
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": "[word"}}],
            }
        ]
    }
    policy = Policy.from_dict(
        {"policy_id": "p", "allow_unlisted_tools": True, "unsafe_patterns": ["word", "#1"]}
    )
    (trace,) = read_traces(json.dumps(recording).encode(), "t.json")
    again = restored(Trace.from_dict(trace_document(trace)))

    assert validate_trace(trace, policy).findings == validate_trace(again, policy).findings
    assert trace_document(trace) == trace_document(again)
