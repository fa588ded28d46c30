"""A request to a model as one canonical value: what recordings are addressed by.

Model, parameters, prompt bundle, messages and tools are in it; how long the caller would wait is
not, since no model sees it.
"""

from __future__ import annotations

from arh.canonical import Json, JsonValue
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


def message_value(message: Message) -> dict[str, JsonValue]:
    """Return a message as JSON: as a model sees it."""
    calls: list[JsonValue] = [[r.call_id, r.tool, r.arguments] for r in message.requests]
    return {
        "role": message.role,
        "text": message.content,
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
