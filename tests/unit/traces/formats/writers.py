"""One conversation, written in the form of each provider.

The writers are the readers' opposite, made by reading the providers' documentation and not the
readers. `Turn` holds what all formats can carry; what some cannot is left out by those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue
from arh.traces.trace import JsonObject


@dataclass(frozen=True, slots=True)
class Call:
    """One call with its result; `failed` needs a format with an error channel."""

    name: str
    arguments: JsonObject
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model: text, then calls, whose results follow."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """What a user asked and the replies to it."""

    question: str
    turns: tuple[Turn, ...]


def call_id(turn: int, place: int) -> str:
    """Return the id that the writers give to a call."""
    return f"call_{turn}_{place}"


def dumped(value: JsonValue) -> str:
    """Return JSON text as a provider writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def openai_chat(talk: Talk) -> JsonValue:
    """Write a list of messages with `tool_calls`."""
    messages: list[JsonValue] = [{"role": "user", "content": talk.question}]
    for t, turn in enumerate(talk.turns):
        message: JsonObject = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call_id(t, k),
                    "type": "function",
                    "function": {"name": call.name, "arguments": dumped(call.arguments)},
                }
                for k, call in enumerate(turn.calls)
            ]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call_id(t, k), "content": call.output}
            for k, call in enumerate(turn.calls)
        ]
    return {"messages": messages}


def openai_chat_legacy(talk: Talk) -> JsonValue:
    """Write `function_call` and the role `function`, for turns of one call."""
    messages: list[JsonValue] = [{"role": "user", "content": talk.question}]
    for turn in talk.turns:
        message: JsonObject = {"role": "assistant", "content": turn.text or None}
        for call in turn.calls:
            message["function_call"] = {"name": call.name, "arguments": dumped(call.arguments)}
        messages.append(message)
        messages += [
            {"role": "function", "name": call.name, "content": call.output} for call in turn.calls
        ]
    return messages


def openai_responses(talk: Talk) -> JsonValue:
    """Write a list of items."""
    items: list[JsonValue] = [{"role": "user", "content": talk.question}]
    for t, turn in enumerate(talk.turns):
        if turn.text:
            content: JsonValue = [{"type": "output_text", "text": turn.text, "annotations": []}]
            items.append({"type": "message", "role": "assistant", "content": content})
        for k, call in enumerate(turn.calls):
            items.append(
                {
                    "type": "function_call",
                    "id": f"fc_{t}_{k}",
                    "call_id": call_id(t, k),
                    "name": call.name,
                    "arguments": dumped(call.arguments),
                }
            )
        items += [
            {"type": "function_call_output", "call_id": call_id(t, k), "output": call.output}
            for k, call in enumerate(turn.calls)
        ]
    return {"input": items}


def anthropic_messages(talk: Talk) -> JsonValue:
    """Write messages of blocks."""
    messages: list[JsonValue] = [{"role": "user", "content": talk.question}]
    for t, turn in enumerate(talk.turns):
        blocks: list[JsonValue] = [{"type": "text", "text": turn.text}] if turn.text else []
        blocks += [
            {"type": "tool_use", "id": call_id(t, k), "name": call.name, "input": call.arguments}
            for k, call in enumerate(turn.calls)
        ]
        messages.append({"role": "assistant", "content": blocks})
        results: list[JsonValue] = [
            {
                "type": "tool_result",
                "tool_use_id": call_id(t, k),
                "content": [{"type": "text", "text": call.output}],
                "is_error": call.failed,
            }
            for k, call in enumerate(turn.calls)
        ]
        if results:
            messages.append({"role": "user", "content": results})
    return {"messages": messages}


def claude_code(talk: Talk) -> JsonValue:
    """Write a session file's lines around messages of blocks."""
    inner = anthropic_messages(talk)
    assert isinstance(inner, dict)
    messages = inner["messages"]
    assert isinstance(messages, list)
    return [
        {"type": message["role"], "sessionId": "s", "message": message}
        for message in messages
        if isinstance(message, dict)
    ]


def cohere_chat(talk: Talk) -> JsonValue:
    """Write messages with results as documents; the first reply bears an empty `citations`."""
    messages: list[JsonValue] = [{"role": "user", "content": talk.question}]
    for t, turn in enumerate(talk.turns):
        message: JsonObject = {"role": "assistant", "citations": []}
        if turn.text:
            message["content"] = [{"type": "text", "text": turn.text}]
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call_id(t, k),
                    "type": "function",
                    "function": {"name": call.name, "arguments": dumped(call.arguments)},
                }
                for k, call in enumerate(turn.calls)
            ]
        messages.append(message)
        for k, call in enumerate(turn.calls):
            block: JsonValue = [{"type": "document", "document": {"data": call.output}}]
            messages.append({"role": "tool", "tool_call_id": call_id(t, k), "content": block})
    return {"messages": messages}


def gemini(talk: Talk) -> JsonValue:
    """Write contents of parts, without ids; a failure is the key `error` of a response."""
    contents: list[JsonValue] = [{"role": "user", "parts": [{"text": talk.question}]}]
    for turn in talk.turns:
        parts: list[JsonValue] = [{"text": turn.text}] if turn.text else []
        parts += [{"functionCall": {"name": c.name, "args": c.arguments}} for c in turn.calls]
        contents.append({"role": "model", "parts": parts})
        results: list[JsonValue] = [
            {
                "functionResponse": {
                    "name": call.name,
                    "response": {("error" if call.failed else "output"): call.output},
                }
            }
            for call in turn.calls
        ]
        if results:
            contents.append({"role": "user", "parts": results})
    return {"contents": contents}


def bedrock_converse(talk: Talk) -> JsonValue:
    """Write blocks that their key names."""
    messages: list[JsonValue] = [{"role": "user", "content": [{"text": talk.question}]}]
    for t, turn in enumerate(talk.turns):
        blocks: list[JsonValue] = [{"text": turn.text}] if turn.text else []
        blocks += [
            {"toolUse": {"toolUseId": call_id(t, k), "name": call.name, "input": call.arguments}}
            for k, call in enumerate(turn.calls)
        ]
        messages.append({"role": "assistant", "content": blocks})
        results: list[JsonValue] = [
            {
                "toolResult": {
                    "toolUseId": call_id(t, k),
                    "status": "error" if call.failed else "success",
                    "content": [{"text": call.output}],
                }
            }
            for k, call in enumerate(turn.calls)
        ]
        if results:
            messages.append({"role": "user", "content": results})
    return {"messages": messages}


def ai_sdk_ui(talk: Talk) -> JsonValue:
    """Write one message a reply, whose parts are calls with their results."""
    messages: list[JsonValue] = [
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": talk.question}]}
    ]
    for t, turn in enumerate(talk.turns):
        parts: list[JsonValue] = [{"type": "text", "text": turn.text}] if turn.text else []
        for k, call in enumerate(turn.calls):
            part: JsonObject = {
                "type": "dynamic-tool",
                "toolName": call.name,
                "toolCallId": call_id(t, k),
                "state": "output-error" if call.failed else "output-available",
                "input": call.arguments,
            }
            part["errorText" if call.failed else "output"] = call.output
            parts.append(part)
        messages.append({"id": f"a{t}", "role": "assistant", "parts": parts})
    return messages


def otel_genai(talk: Talk) -> JsonValue:
    """Write a span a reply and a span a call, as an exporter does: the last to begin first."""
    spans: list[JsonValue] = []
    now = 1_700_000_000_000_000_000
    for t, turn in enumerate(talk.turns):
        now += 1_000_000
        parts: list[JsonValue] = [{"type": "text", "content": turn.text}] if turn.text else []
        parts += [
            {"type": "tool_call", "id": call_id(t, k), "name": c.name, "arguments": c.arguments}
            for k, c in enumerate(turn.calls)
        ]
        said: JsonValue = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
        spans.append(_span("chat", now, {"gen_ai.output.messages": dumped(said)}))
        for k, call in enumerate(turn.calls):
            now += 1_000_000
            span = _span(
                "execute_tool",
                now,
                {
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.call.id": call_id(t, k),
                    "gen_ai.tool.call.arguments": dumped(call.arguments),
                    "gen_ai.tool.call.result": call.output,
                },
            )
            if call.failed:
                span["status"] = {"code": 2, "message": call.output}
            spans.append(span)
    scope: JsonValue = {"scope": {"name": "agent"}, "spans": [*reversed(spans)]}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def _span(operation: str, start: int, attributes: Mapping[str, str]) -> JsonObject:
    """Return a span of OTLP JSON."""
    named = {"gen_ai.operation.name": operation, **attributes}
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "name": operation,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000),
        "attributes": [{"key": key, "value": {"stringValue": v}} for key, v in named.items()],
    }


def arh_trace(talk: Talk) -> JsonValue:
    """Write the canonical format."""
    steps: list[JsonValue] = []
    for t, turn in enumerate(talk.turns):
        if turn.text:
            steps.append({"step_id": f"text-{t}", "type": "model_response", "text": turn.text})
        for k, call in enumerate(turn.calls):
            step: JsonObject = {
                "step_id": call_id(t, k),
                "type": "tool_call",
                "tool_name": call.name,
                "arguments": call.arguments,
                "output": call.output,
            }
            if call.failed:
                step["error"] = call.output
            steps.append(step)
    return {"trace_id": "t", "agent_name": "a", "workflow": "w", "steps": steps}


def mcp_jsonrpc(talk: Talk) -> JsonValue:
    """Write requests and responses; the model's text is not on this wire."""
    messages: list[JsonValue] = []
    for t, turn in enumerate(talk.turns):
        for k, call in enumerate(turn.calls):
            number = t * 100 + k
            params: JsonValue = {"name": call.name, "arguments": call.arguments}
            messages.append(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )
            content: JsonValue = [{"type": "text", "text": call.output}]
            result: JsonValue = {"content": content, "isError": call.failed}
            messages.append({"jsonrpc": "2.0", "id": number, "result": result})
    return messages


Writer = Callable[[Talk], JsonValue]

WRITERS: Final[Mapping[str, Writer]] = {
    "ai-sdk-ui": ai_sdk_ui,
    "anthropic-messages": anthropic_messages,
    "arh": arh_trace,
    "bedrock-converse": bedrock_converse,
    "claude-code": claude_code,
    "cohere-chat": cohere_chat,
    "gemini": gemini,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "otel-genai": otel_genai,
}
"""Writers of all formats that carry a whole conversation, by the reader that reads them back."""

WITH_ERRORS: Final = frozenset(WRITERS) - {"cohere-chat", "openai-chat", "openai-responses"}
"""Formats in which a tool can be said to have failed."""
