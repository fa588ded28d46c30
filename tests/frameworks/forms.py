"""Asks the endpoint in every form that the vendors' own libraries know, and answers what was heard.

The libraries hold each reply against their own types strictly, so that a form which only resembles
the vendor's raises here.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

SAID = [{"role": "user", "content": "Hello."}]
LIMIT = 512

openai = import_module("openai").OpenAI(_strict_response_validation=True, max_retries=0)
anthropic = import_module("anthropic").Anthropic(_strict_response_validation=True, max_retries=0)


def chat(reply: Any) -> list[object]:  # noqa: ANN401 - the library's own type
    """Read a chat completion."""
    choice = reply.choices[0]
    calls = [
        [call.id, call.function.name, json.loads(call.function.arguments)]
        for call in choice.message.tool_calls or []
    ]
    return [choice.finish_reason, choice.message.content or choice.message.refusal or "", calls]


def responses(reply: Any) -> list[object]:  # noqa: ANN401 - the library's own type
    """Read a response."""
    parts = [part for item in reply.output if item.type == "message" for part in item.content]
    text = "".join(part.text if part.type == "output_text" else part.refusal for part in parts)
    calls = [
        [item.call_id, item.name, json.loads(item.arguments)]
        for item in reply.output
        if item.type == "function_call"
    ]
    return [reply.status, text, calls]


def messages(reply: Any) -> list[object]:  # noqa: ANN401 - the library's own type
    """Read a message."""
    text = "".join(block.text for block in reply.content if block.type == "text")
    calls = [[b.id, b.name, b.input] for b in reply.content if b.type == "tool_use"]
    return [reply.stop_reason, text, calls]


def streamed_chat() -> list[object]:
    """Put a chat completion together by hand, as the library's helper refuses one cut short."""
    text, reason = "", None
    calls: list[list[str]] = []
    for chunk in openai.chat.completions.create(model="any", messages=SAID, stream=True):
        choice = chunk.choices[0]
        text += choice.delta.content or choice.delta.refusal or ""
        reason = choice.finish_reason
        for call in choice.delta.tool_calls or []:
            if call.id:
                calls.append([call.id, call.function.name, ""])
            calls[call.index][2] += call.function.arguments
    return [reason, text, [[*call[:2], json.loads(call[2])] for call in calls]]


def streamed_responses() -> list[object]:
    """Let the library put a response together."""
    with openai.responses.stream(model="any", input=SAID) as stream:
        ends = [event.response for event in stream if hasattr(event, "response")]
    return responses(ends[-1])


def streamed_messages() -> list[object]:
    """Let the library put a message together."""
    with anthropic.messages.stream(model="any", max_tokens=LIMIT, messages=SAID) as stream:
        return messages(stream.get_final_message())


def heard() -> list[list[object]]:
    """Return what is heard in each form."""
    return [
        chat(openai.chat.completions.create(model="any", messages=SAID)),
        streamed_chat(),
        responses(openai.responses.create(model="any", input=SAID)),
        streamed_responses(),
        messages(anthropic.messages.create(model="any", max_tokens=LIMIT, messages=SAID)),
        streamed_messages(),
    ]


sys.stdin.readline()
print(json.dumps({"type": "final", "answer": [heard() for _ in range(int(sys.argv[1]))]}))
