"""Anthropic's messages: how a request is written, and how a reply is read, strictly.

What the provider counts apart is put together: input tokens include those that were read from a
cache or written to one. A call's input comes as an object and is kept as the text that came.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final

from arh.canonical import JsonValue, Refused, encode, parse
from arh.model.live.canonical_request import shown_reply
from arh.model.live.providers import Endpoint, http_client, library, parameters
from arh.model.live.replies import (
    CONDUCT,
    DECLINED,
    Answer,
    Tokens,
    Wire,
    cut,
    decided,
    failed,
    malformed,
)
from arh.records.decisions import Decision, Malformed, ModelRequest, Refusal, Usage
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.models import ModelSettings

BASE_URL: Final = "https://api.anthropic.com"
WHOLE: Final = ("end_turn", "stop_sequence", "tool_use")
CUT: Final = ("max_tokens", "pause_turn", "model_context_window_exceeded")
UNREAD: Final = ("thinking", "redacted_thinking")


class MessagesProvider:
    """Implements `arh.model.live.providers.Provider`."""

    key_variable: ClassVar[str] = "ANTHROPIC_API_KEY"

    def __init__(self, endpoint: Endpoint) -> None:
        """Make the SDK's client; nothing is sent.

        Raises:
            AuthoringError: The SDK is not installed.
        """
        self.sdk: Any = library("anthropic", extra="anthropic")
        self.client: Any = self.sdk.Anthropic(
            api_key=endpoint.key or "none",
            webhook_key="",
            base_url=endpoint.base_url or BASE_URL,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client(endpoint),
        )

    def body(self, request: ModelRequest, settings: ModelSettings, tokens: int) -> dict[str, Any]:
        """Return the request's body."""
        system = [m.content for m in request.messages if m.role == "system"]
        body: dict[str, Any] = {
            "model": settings.name,
            "messages": _turns([m for m in request.messages if m.role != "system"]),
            "tools": [_offered(tool) for tool in (*request.tools, *CONDUCT)],
            "max_tokens": tokens,
            "stream": True,
            **parameters(settings),
        }
        return {**body, "system": "\n\n".join(system)} if system else body

    def open(self, body: dict[str, Any], timeout_s: float) -> AbstractContextManager[Any]:
        """Return the SDK's call, whose raw bytes are read by whoever enters it."""
        named = ("model", "messages", "max_tokens", "stream")
        rest = {k: v for k, v in body.items() if k not in named}
        return self.client.messages.with_streaming_response.create(  # type: ignore[no-any-return]  # the SDK is optional
            model=body["model"],
            messages=body["messages"],
            max_tokens=body["max_tokens"],
            stream=body["stream"],
            extra_body=rest,
            timeout=timeout_s,
        )

    def close(self) -> None:
        """Close every connection."""
        self.client.close()

    def whole(self, value: JsonValue) -> Answer:
        """Read a reply that came in one piece."""
        return _answer(_Reply.model_validate(value))

    def collector(self) -> MessagesCollector:
        """Return what takes the events of a stream."""
        return MessagesCollector()


def _offered(tool: ToolSpec) -> dict[str, JsonValue]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters.value(),
    }


def _turns(messages: list[Message]) -> list[dict[str, JsonValue]]:
    """Return the conversation in turns: replies to parallel calls stand in one."""
    turns: list[tuple[str, list[JsonValue]]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(message))
    return [{"role": role, "content": blocks} for role, blocks in turns if blocks]


def _blocks(message: Message) -> list[JsonValue]:
    if message.reply is not None:
        call_id = message.reply.call_id
        failed_call = message.reply.status != "executed"
        return [
            {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": shown_reply(message),
                "is_error": failed_call,
            }
        ]
    blocks: list[JsonValue] = []
    if message.content:
        blocks.append({"type": "text", "text": message.content})
    for each in message.requests:
        used: dict[str, JsonValue] = {"type": "tool_use", "id": each.call_id, "name": each.tool}
        blocks.append({**used, "input": _input(each.arguments)})
    return blocks


def _input(arguments: str) -> dict[str, JsonValue]:
    """Return the arguments as an object; text that is none is shown under a name of its own."""
    try:
        value = parse(arguments)
    except Refused:
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}


# --- replies -------------------------------------------------------------------------------------


class _Usage(Wire):
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None

    def read(self) -> Usage:
        cached, made = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        return Usage(self.input_tokens + cached + made, self.output_tokens, cached)


class _Block(Wire):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class _Reply(Wire):
    id: str = ""
    model: str = ""
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


def _answer(reply: _Reply) -> Answer:
    texts = {at: encode(block.input or {}).decode() for at, block in enumerate(reply.content)}
    usage = None if reply.usage is None else reply.usage.read()
    return Answer(_decision(reply, texts), usage, reply.model, "", reply.id)


def _decision(reply: _Reply, arguments: dict[int, str]) -> Decision:
    """Return the decision; `arguments` are the texts of the calls' inputs by place."""
    stop = reply.stop_reason
    text = "".join(block.text or "" for block in reply.content if block.type == "text")
    if stop == "refusal":
        return Refusal(text or DECLINED)
    if stop is None or stop in CUT:
        return cut(stop or "no stop reason")
    if stop not in WHOLE:
        return Malformed("an unknown stop reason")
    if any(block.type not in ("text", "tool_use", *UNREAD) for block in reply.content):
        return Malformed("an output that was not asked for")
    calls = [
        ToolRequest(block.id or "", block.name or "", arguments[at])
        for at, block in enumerate(reply.content)
        if block.type == "tool_use"
    ]
    if stop == "tool_use" and not calls:
        return Malformed("calls were announced and none came")
    return decided(text, "", calls)


class _Delta(Wire):
    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Event(Wire):
    type: str
    index: int | None = None
    message: dict[str, Any] | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


class MessagesCollector:
    """Puts the blocks of a stream together."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._head: _Reply | None = None
        self._blocks: dict[int, tuple[_Block, list[str], list[str]]] = {}
        self._stop: str | None = None
        self._output_tokens: int | None = None
        self._ended = self._failed = self._broken = False

    def take(self, value: JsonValue) -> bool:
        """Take an event's value; return whether a part of the answer was in it."""
        event = _Event.model_validate(value)
        match event.type:
            case "message_start":
                self._head = _Reply.model_validate(event.message)
            case "content_block_start" if event.content_block and event.index is not None:
                self._broken = self._broken or event.index in self._blocks
                self._blocks[event.index] = (event.content_block, [], [])
            case "content_block_delta" if event.delta and event.index is not None:
                return self._add(event.index, event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason if event.delta else None
                if event.usage is not None:
                    self._output_tokens = event.usage.output_tokens
            case "message_stop":
                self._ended = True
            case "error":
                self._failed = True
        return False

    def _add(self, index: int, delta: _Delta) -> bool:
        if index not in self._blocks:
            self._broken = True
            return False
        _, texts, inputs = self._blocks[index]
        texts.append(delta.text or "")
        inputs.append(delta.partial_json or "")
        return delta.type in ("text_delta", "input_json_delta")

    def answer(self) -> Answer:
        """Return what the stream came to, whether or not it ended as it should."""
        head = self._head
        if self._failed:
            return failed("error in the stream")
        if self._broken:
            return malformed("blocks of a stream do not fit together")
        if head is None or not self._ended:
            return Answer(cut("the stream ended early"))
        blocks = [made for _, made in sorted(self._blocks.items())]
        content = [
            block.model_copy(update={"text": (block.text or "") + "".join(texts)})
            for block, texts, _ in blocks
        ]
        arguments = {
            at: "".join(inputs) or encode(block.input or {}).decode()
            for at, (block, _, inputs) in enumerate(blocks)
        }
        reply = head.model_copy(update={"content": content, "stop_reason": self._stop})
        return Answer(_decision(reply, arguments), self._usage(head), head.model, "", head.id)

    def _usage(self, head: _Reply) -> Usage | None:
        if head.usage is None or self._output_tokens is None:
            return None
        read = head.usage.read()
        return Usage(read.input_tokens, self._output_tokens, read.cached_tokens)
