"""A request to a model as one canonical value: what recordings are addressed by.

Model, parameters, prompt bundle, messages and tools are in it; how long the caller would wait is
not, since no model sees it.
"""

from __future__ import annotations

from arh.canonical import Json, JsonValue, encode
from arh.records.decisions import ModelRequest
from arh.records.messages import Message, ToolSpec
from arh.records.models import ModelSettings


def canonical_request(request: ModelRequest, settings: ModelSettings) -> Json:
    """Return the request in its canonical form (RFC 8785)."""
    return Json.of(
        {
            "model": settings.identity,
            "base_url": settings.base_url,
            "parameters": settings.parameters.value(),
            "bundle": settings.bundle,
            "messages": [message_value(message) for message in request.messages],
            "tools": [_tool(tool) for tool in request.tools],
            "output_tokens_max": min(
                settings.output_tokens_max, request.output_tokens_max or settings.output_tokens_max
            ),
        }
    )


def shown_reply(message: Message) -> str:
    """Return what a model reads of a tool's reply: the message's text, else status and result.

    An agent may leave the text empty, since the reply stands beside it.
    """
    reply = message.reply
    if reply is None or message.content:
        return message.content
    result = "null" if reply.result is None else reply.result.data.decode()
    status, reason = encode(reply.status).decode(), encode(reply.reason).decode()
    return f'{{"status":{status},"reason":{reason},"result":{result}}}'


def message_value(message: Message) -> dict[str, JsonValue]:
    """Return a message as JSON: as a model sees it."""
    calls: list[JsonValue] = [[r.call_id, r.tool, r.arguments] for r in message.requests]
    return {
        "role": message.role,
        "text": shown_reply(message),
        "requests": calls,
        "call_id": "" if message.reply is None else message.reply.call_id,
    }


def _tool(tool: ToolSpec) -> dict[str, JsonValue]:
    return {
        "name": tool.name,
        "version": tool.version,
        "description": tool.description,
        "parameters": tool.parameters.value(),
    }
