"""The dialect of chat completions (`POST /v1/chat/completions`), whole and as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from arh.canonical import JsonValue
from arh.connect.model_endpoint.openai import (
    Offered,
    openai_fault,
    refused_choice,
    refused_tools,
)
from arh.connect.model_endpoint.wire import (
    Answer,
    Data,
    Fault,
    Name,
    Positive,
    Question,
    Text,
    Wire,
    event,
    pieces,
    tool_message,
    validated,
)
from arh.records.decisions import Usage
from arh.records.messages import Message, ToolRequest

_DONE: Final = b"data: [DONE]\n\n"
_REASONS: Final = {"stop": "stop", "calls": "tool_calls", "length": "length", "refusal": "stop"}


class ChatDialect:
    """Implements `Dialect`."""

    def read(self, body: JsonValue) -> Question | Fault:
        """Return what the body asks."""
        request = validated(_Request, body)
        if isinstance(request, Fault):
            return request
        refused = refused_tools(request.tools) or refused_choice(request.tool_choice)
        messages = _conversation(request.messages)
        if refused is not None or isinstance(messages, Fault):
            return refused or messages  # type: ignore[return-value]  # one of them is a fault
        options = request.stream_options
        return Question(
            messages,
            request.model,
            request.max_completion_tokens or request.max_tokens,
            bool(request.stream),
            options is not None and bool(options.include_usage),
        )

    def whole(self, answer: Answer) -> Data | Fault:
        """Return the answer as a `chat.completion`."""
        turn = answer.turn
        message: Data = {"role": "assistant", "content": turn.text or None, "refusal": None}
        if turn.end == "refusal":
            message |= {"content": None, "refusal": turn.text}
        if turn.requests:
            message["tool_calls"] = [_call(request) for request in turn.requests]
        choice: Data = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _REASONS[turn.end],
        }
        usage = _usage(answer.usage)
        return {**_head(answer, "chat.completion"), "choices": [choice], "usage": usage}

    def events(self, answer: Answer) -> Iterator[bytes] | Fault:
        """Return the answer as a stream of `chat.completion.chunk`."""
        return _events(answer)

    def fault(self, fault: Fault) -> tuple[int, Data]:
        """Return status and body that say what went wrong."""
        return openai_fault(fault)


class _Function(Wire):
    name: Name
    arguments: str


class _Call(Wire):
    id: Name
    type: Literal["function"]
    function: _Function


class _Instruction(Wire):
    role: Literal["system", "developer"]
    content: Text


class _User(Wire):
    role: Literal["user"]
    content: Text


class _Assistant(Wire):
    role: Literal["assistant"]
    content: Text = ""
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    audio: None = None
    function_call: None = None


class _Tool(Wire):
    role: Literal["tool"]
    content: Text
    tool_call_id: Name


_Said = Annotated[_Instruction | _User | _Assistant | _Tool, Field(discriminator="role")]


class _StreamOptions(Wire):
    include_usage: bool | None = None


class _Request(Wire):
    model: Name
    messages: Annotated[list[_Said], Field(min_length=1)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    n: Literal[1] | None = None
    tools: list[Offered] | None = None
    tool_choice: object = None
    functions: None = None
    modalities: list[Literal["text"]] | None = None
    audio: None = None
    web_search_options: None = None


def _conversation(said: list[_Said]) -> tuple[Message, ...] | Fault:
    """Return the messages, each result joined to the call that it answers."""
    asked: dict[str, ToolRequest] = {}
    messages: list[Message] = []
    for one in said:
        message = _message(one, asked)
        if isinstance(message, Fault):
            return message
        asked |= {request.call_id: request for request in message.requests}
        messages.append(message)
    return tuple(messages)


def _message(one: _Said, asked: dict[str, ToolRequest]) -> Message | Fault:
    match one:
        case _Instruction():
            return Message("system", one.content)
        case _User():
            return Message("user", one.content)
        case _Tool():
            return tool_message(one.tool_call_id, one.content, asked)
        case _Assistant():
            calls = one.tool_calls or []
            requests = [ToolRequest(c.id, c.function.name, c.function.arguments) for c in calls]
            return Message("assistant", one.content or one.refusal or "", tuple(requests))


def _head(answer: Answer, kind: str) -> Data:
    return {
        "id": f"chatcmpl-{answer.number}",
        "object": kind,
        "created": answer.now_ms // 1000,
        "model": answer.question.model,
    }


def _call(request: ToolRequest) -> Data:
    function: Data = {"name": request.tool, "arguments": request.arguments}
    return {"id": request.call_id, "type": "function", "function": function}


def _usage(usage: Usage) -> Data:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _events(answer: Answer) -> Iterator[bytes]:
    head = _head(answer, "chat.completion.chunk")
    if answer.question.stream_usage:
        head["usage"] = None

    def chunk(delta: Data, reason: str | None = None) -> bytes:
        choice: Data = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return event({**head, "choices": [choice]})

    turn = answer.turn
    yield chunk({"role": "assistant", "content": ""})
    said = "refusal" if turn.end == "refusal" else "content"
    for piece in pieces(turn.text):
        yield chunk({said: piece})
    for index, request in enumerate(turn.requests):
        for call in _call_pieces(index, request):
            yield chunk({"tool_calls": [call]})
    yield chunk({}, _REASONS[turn.end])
    if answer.question.stream_usage:
        yield event({**head, "choices": [], "usage": _usage(answer.usage)})
    yield _DONE


def _call_pieces(index: int, request: ToolRequest) -> Iterator[Data]:
    function: Data = {"name": request.tool, "arguments": ""}
    yield {"index": index, "id": request.call_id, "type": "function", "function": function}
    for piece in pieces(request.arguments):
        yield {"index": index, "function": {"arguments": piece}}
