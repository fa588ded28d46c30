"""Under compatibility a message's text comes after its calls, as the public tool has it."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.traces import Policy, validate_trace
from arh.traces.judging.peer_order import peer_order
from arh.traces.reading.detection import read_document
from arh.traces.trace import Trace
from tests.unit.traces.formats.writers import WRITERS, Call, Talk, Turn

POLICY = Policy.from_dict(
    {
        "policy_id": "p",
        "allow_unlisted_tools": True,
        "completion": {"require_final_response": True},
    }
)
UNANSWERED = Talk("q", (Turn("One."), Turn("I will pay.", (Call("pay", {}, "paid"),))))


def read(document: JsonValue) -> Trace:
    """Return the one trace of a document."""
    (trace,) = read_document(document, "talk.json")
    return trace


@pytest.mark.parametrize(
    ("name", "passes"),
    [("openai-chat", True), ("cohere-chat", True), ("anthropic-messages", False)],
)
def test_a_text_with_a_call_ends_a_conversation_only_for_the_public_tool(
    name: str,
    passes: bool,  # noqa: FBT001 - what the parameter is about
) -> None:
    """There its two kinds of format differ; here all read the text first."""
    trace = read(WRITERS[name](UNANSWERED))

    assert passes is validate_trace(trace, POLICY, compat="0.2").passed
    assert not validate_trace(trace, POLICY).passed


def test_every_step_stays_and_ordinals_are_new() -> None:
    """Only the order changes, and only within a message."""
    trace = read(WRITERS["openai-chat"](UNANSWERED))
    ordered = peer_order(trace)

    assert [step.anchor for step in trace.steps] == ["response#1", "response#2", "pay#1"]
    assert [step.anchor for step in ordered.steps] == ["response#1", "pay#1", "response#2"]
    assert [step.ordinal for step in ordered.steps] == [0, 1, 2]


def test_other_traces_are_left_as_they_are() -> None:
    """Also one whose recorder wrote something else under the same name."""
    talk = read(WRITERS["arh"](UNANSWERED))
    odd = Trace(
        "t", "a", "w", talk.steps, source="openai-chat", metadata={"recording": {"turns": [9]}}
    )

    assert peer_order(talk) is talk
    assert [step.step_id for step in peer_order(odd).steps] == [step.step_id for step in talk.steps]
