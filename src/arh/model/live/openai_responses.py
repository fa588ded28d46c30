"""OpenAI's responses: how a request is written, and how a reply is read, strictly.

The last event of a stream holds the whole response, so only that one is read; without it the
stream was cut off. Nothing is stored with the provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final

from arh.canonical import JsonValue
from arh.model.live.canonical_request import shown_reply
from arh.model.live.openai_chat import openai_client
from arh.model.live.providers import Endpoint, library, parameters
from arh.model.live.replies import CONDUCT, Answer, Tokens, Wire, cut, decided, failed
from arh.records.decisions import Decision, Malformed, ModelRequest, Usage
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.models import ModelSettings

ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
SAYING: Final = (
    "response.output_text.delta",
    "response.refusal.delta",
    "response.function_call_arguments.delta",
)
# What a model thinks is not what it answers; nothing of it is acted on.
UNREAD: Final = ("reasoning",)


class ResponsesProvider:
    """Implements `arh.model.live.providers.Provider`."""

    key_variable: ClassVar[str] = "OPENAI_API_KEY"

    def __init__(self, endpoint: Endpoint) -> None:
        """Make the SDK's client; nothing is sent.

        Raises:
            AuthoringError: The SDK is not installed.
        """
        self.sdk: Any = library("openai", extra="openai")
        self.client: Any = openai_client(self.sdk, endpoint)

    def body(self, request: ModelRequest, settings: ModelSettings, tokens: int) -> dict[str, Any]:
        """Return the request's body."""
        system = [m.content for m in request.messages if m.role == "system"]
        items = [item for m in request.messages if m.role != "system" for item in _items(m)]
        body: dict[str, Any] = {
            "model": settings.name,
            "input": items,
            "tools": [_offered(tool) for tool in (*request.tools, *CONDUCT)],
            "max_output_tokens": tokens,
            "store": False,
            "stream": True,
            **parameters(settings),
        }
        return {**body, "instructions": "\n\n".join(system)} if system else body

    def open(self, body: dict[str, Any], timeout_s: float) -> AbstractContextManager[Any]:
        """Return the SDK's call, whose raw bytes are read by whoever enters it."""
        rest = {k: v for k, v in body.items() if k not in ("model", "input", "stream")}
        return self.client.responses.with_streaming_response.create(  # type: ignore[no-any-return]  # the SDK is optional
            model=body["model"],
            input=body["input"],
            stream=body["stream"],
            extra_body=rest,
            timeout=timeout_s,
        )

    def close(self) -> None:
        """Close every connection."""
        self.client.close()

    def whole(self, value: JsonValue) -> Answer:
        """Read a reply that came in one piece."""
        return _answer(_Response.model_validate(value))

    def collector(self) -> ResponsesCollector:
        """Return what takes the events of a stream."""
        return ResponsesCollector()


def _offered(tool: ToolSpec) -> dict[str, JsonValue]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters.value(),
        "strict": False,
    }


def _items(message: Message) -> Iterator[dict[str, JsonValue]]:
    """Yield the items that a message comes to."""
    if message.reply is not None:
        call_id = message.reply.call_id
        yield {"type": "function_call_output", "call_id": call_id, "output": shown_reply(message)}
        return
    if message.content:
        yield {"role": message.role, "content": message.content}
    for each in message.requests:
        yield {
            "type": "function_call",
            "call_id": each.call_id,
            "name": each.tool,
            "arguments": each.arguments,
        }


# --- replies -------------------------------------------------------------------------------------


class _Cached(Wire):
    cached_tokens: Tokens | None = None


class _Usage(Wire):
    input_tokens: Tokens
    output_tokens: Tokens
    input_tokens_details: _Cached | None = None

    def read(self) -> Usage:
        cached = self.input_tokens_details and self.input_tokens_details.cached_tokens
        return Usage(self.input_tokens, self.output_tokens, cached or 0)


class _Part(Wire):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(Wire):
    type: str
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Why(Wire):
    reason: str | None = None


class _Response(Wire):
    id: str = ""
    model: str = ""
    status: str
    output: list[_Item]
    incomplete_details: _Why | None = None
    usage: _Usage | None = None


def _answer(reply: _Response) -> Answer:
    if reply.status in ("failed", "cancelled"):
        return failed(f"response {reply.status}")
    usage = None if reply.usage is None else reply.usage.read()
    return Answer(_decision(reply), usage, reply.model, "", reply.id)


def _decision(reply: _Response) -> Decision:
    if reply.status == "incomplete":
        why = reply.incomplete_details and reply.incomplete_details.reason
        return cut("content_filter" if why == "content_filter" else "length")
    if reply.status != "completed":
        return Malformed("an unknown status")
    items = [item for item in reply.output if item.type not in UNREAD]
    if any(item.type not in ("message", "function_call") for item in items):
        return Malformed("an output that was not asked for")
    parts = [part for item in items for part in item.content or ()]
    if any(part.type not in ("output_text", "refusal") for part in parts):
        return Malformed("content of an unknown kind")
    text = "".join(part.text or "" for part in parts)
    refusal = "".join(part.refusal or "" for part in parts)
    calls = [
        ToolRequest(item.call_id or "", item.name or "", item.arguments or "")
        for item in items
        if item.type == "function_call"
    ]
    return decided(text, refusal, calls)


class _Event(Wire):
    type: str
    response: dict[str, Any] | None = None


class ResponsesCollector:
    """Waits for the event that holds the whole response."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._last: _Event | None = None
        self._failed = False

    def take(self, value: JsonValue) -> bool:
        """Take an event's value; return whether a part of the answer was in it."""
        event = _Event.model_validate(value)
        if event.type in ENDS and event.response is not None:
            self._last = event
        self._failed = self._failed or event.type == "error"
        return event.type in SAYING

    def answer(self) -> Answer:
        """Return what the stream came to, whether or not it ended as it should."""
        if self._failed:
            return failed("error in the stream")
        if self._last is None:
            return Answer(cut("the stream ended early"))
        return _answer(_Response.model_validate(self._last.response))
