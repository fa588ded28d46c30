"""Identifiers and names that the public tool gives are kept, for those who compare with it."""

from __future__ import annotations

from typing import Final

import pytest

from arh.canonical import JsonValue
from arh.traces.reading.detection import read_document

CALL: Final[JsonValue] = {"function": {"name": "f", "arguments": "{}"}}
NAMED: Final[JsonValue] = {"id": "call_a", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("messages", "ids", "names"),
    [
        (
            [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "x", "tool_calls": [NAMED, CALL]},
                {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
            ],
            ["m1-response", "call_a", "m1-tool1", "m2-function"],
            ("openai-chat-agent", "openai-chat-import", "openai-chat"),
        ),
        (
            [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "x"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "text", "text": "x"},
                        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
                        {"type": "tool_use", "name": "f", "input": {}},
                    ],
                },
            ],
            ["m1-text0", "m2-text1", "toolu_1", "m2-tool3"],
            ("anthropic-agent", "anthropic-messages-import", "anthropic-messages"),
        ),
        (
            [
                {"role": "user", "content": "q"},
                {"role": "assistant", "tool_plan": "first f", "tool_calls": [CALL]},
                {"role": "assistant", "content": "x", "citations": []},
            ],
            ["m1-plan", "m1-tool0", "m2-response"],
            ("cohere-chat-agent", "cohere-chat-import", "cohere-chat"),
        ),
    ],
    ids=["openai-chat", "anthropic-messages", "cohere-chat"],
)
def test_steps_and_traces_have_the_names_of_the_public_tool(
    messages: JsonValue, ids: list[str], names: tuple[str, str, str]
) -> None:
    """A provider's id where there is one, else the number of the message and of the part."""
    (trace,) = read_document(messages, "runs/talk.json")

    assert ids == [step.step_id for step in trace.steps]
    assert names == (trace.agent_name, trace.workflow, trace.source)
    assert (trace.trace_id, trace.schema_version) == ("talk", "1")


def test_names_in_the_wrapper_are_taken_over_and_empty_ones_are_not() -> None:
    """Its metadata stays as it is."""
    document: JsonValue = {
        "trace_id": "t-7",
        "agent_name": "",
        "workflow": "refunds",
        "metadata": {"run": 3},
        "messages": [{"role": "assistant", "content": "x"}],
    }
    (trace,) = read_document(document, "talk.json")

    assert (trace.trace_id, trace.agent_name, trace.workflow) == (
        "t-7",
        "openai-chat-agent",
        "refunds",
    )
    assert trace.metadata["run"] == 3
