"""The dialect of Responses (`POST /v1/responses`), whole and as a stream.

Nothing is stored: each request holds the whole conversation, and one that names an earlier response
is refused. Items that stand side by side and are all the assistant's are one message, as they were
when they were answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

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
from arh.records.messages import Message, Role, ToolRequest

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


class ResponsesDialect:
    """Implements `Dialect`."""

    def read(self, body: JsonValue) -> Question | Fault:
        """Return what the body asks."""
        request = validated(_Request, body)
        if isinstance(request, Fault):
            return request
        refused = refused_tools(request.tools) or refused_choice(request.tool_choice)
        messages = _conversation(request)
        if refused is not None or isinstance(messages, Fault):
            return refused or messages  # type: ignore[return-value]  # one of them is a fault
        limit = request.max_output_tokens
        return Question(messages, request.model, limit, bool(request.stream), stream_usage=True)

    def whole(self, answer: Answer) -> Data | Fault:
        """Return the answer as a `response`."""
        status = "incomplete" if answer.turn.end == "length" else "completed"
        items: list[JsonValue] = [item for item in _items(answer)]  # noqa: C416 - widens the type
        return _response(answer, status, items, _usage(answer.usage))

    def events(self, answer: Answer) -> Iterator[bytes] | Fault:
        """Return the answer as the events of a response."""
        return _numbered(_events(answer))

    def fault(self, fault: Fault) -> tuple[int, Data]:
        """Return status and body that say what went wrong."""
        return openai_fault(fault)


class _Said(Wire):
    role: Literal["system", "developer", "user", "assistant"]
    content: Text


class _Called(Wire):
    call_id: Name
    name: Name
    arguments: str


class _Returned(Wire):
    call_id: Name
    output: Text


def _kind(item: Any) -> str | None:  # noqa: ANN401 - whatever the client sent
    """Return an item's type; a message may leave it out."""
    kind = item.get("type", "message") if isinstance(item, dict) else None
    return kind if isinstance(kind, str) else None


_Item = Annotated[
    Annotated[_Said, Tag("message")]
    | Annotated[_Called, Tag("function_call")]
    | Annotated[_Returned, Tag("function_call_output")],
    Discriminator(_kind),
]


def _as_items(given: object) -> object:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class _Request(Wire):
    model: Name
    input: Annotated[list[_Item], Field(min_length=1), BeforeValidator(_as_items)]
    instructions: Text = ""
    stream: bool | None = None
    max_output_tokens: Positive | None = None
    tools: list[Offered] | None = None
    tool_choice: object = None
    previous_response_id: None = None
    conversation: None = None
    prompt: None = None
    background: Literal[False] | None = None


def _conversation(request: _Request) -> tuple[Message, ...] | Fault:
    """Return the messages, each result joined to the call that it answers."""
    messages = [Message("system", request.instructions)] if request.instructions else []
    asked: dict[str, ToolRequest] = {}
    calls: list[ToolRequest] = []
    for item in request.input:
        if isinstance(item, _Called):
            calls.append(ToolRequest(item.call_id, item.name, item.arguments))
            asked[item.call_id] = calls[-1]
            continue
        _close(messages, calls)
        message = _message(item, asked)
        if isinstance(message, Fault):
            return message
        messages.append(message)
    _close(messages, calls)
    return tuple(messages)


def _close(messages: list[Message], calls: list[ToolRequest]) -> None:
    """Give the calls that were collected to the assistant's message before them, or make one."""
    if not calls:
        return
    if messages and messages[-1].role == "assistant" and not messages[-1].requests:
        messages[-1] = replace(messages[-1], requests=tuple(calls))
    else:
        messages.append(Message("assistant", "", tuple(calls)))
    calls.clear()


def _message(item: _Said | _Returned, asked: dict[str, ToolRequest]) -> Message | Fault:
    if isinstance(item, _Returned):
        return tool_message(item.call_id, item.output, asked)
    return Message(_ROLES[item.role], item.content)


def _response(answer: Answer, status: str, output: list[JsonValue], usage: Data | None) -> Data:
    cut: Data | None = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {
        "id": f"resp-{answer.number}",
        "object": "response",
        "created_at": answer.now_ms // 1000,
        "status": status,
        "error": None,
        "incomplete_details": cut,
        "instructions": None,
        "max_output_tokens": answer.question.output_tokens_max,
        "metadata": {},
        "model": answer.question.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": usage,
    }


def _items(answer: Answer) -> Iterator[Data]:
    """Yield what the turn consists of: a message if it has a text, then its calls."""
    turn = answer.turn
    status = "incomplete" if turn.end == "length" else "completed"
    if turn.text or not turn.requests:
        part = _part(turn.text, refusal=turn.end == "refusal")
        yield {**_message_head(answer), "status": status, "content": [part]}
    for index, request in enumerate(turn.requests):
        yield {**_call_head(answer, index, request), "arguments": request.arguments}


def _message_head(answer: Answer) -> Data:
    return {"id": f"msg-{answer.number}", "type": "message", "role": "assistant"}


def _call_head(answer: Answer, index: int, request: ToolRequest) -> Data:
    return {
        "id": f"fc-{answer.number}-{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": request.call_id,
        "name": request.tool,
    }


def _part(text: str, *, refusal: bool) -> Data:
    if refusal:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(usage: Usage) -> Data:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }


def _numbered(events: Iterable[Data]) -> Iterator[bytes]:
    for number, data in enumerate(events):
        yield event({**data, "sequence_number": number}, str(data["type"]))


def _events(answer: Answer) -> Iterator[Data]:
    begun = _response(answer, "in_progress", [], None)
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    items = list(_items(answer))
    for index, item in enumerate(items):
        told = _message_events(item) if item["type"] == "message" else _call_events(item)
        for data in told:
            yield {**data, "output_index": index}
    ended = "incomplete" if answer.turn.end == "length" else "completed"
    output: list[JsonValue] = [*items]
    whole = _response(answer, ended, output, _usage(answer.usage))
    yield {"type": f"response.{ended}", "response": whole}


def _message_events(item: Data) -> Iterator[Data]:
    content = item["content"]
    part = content[0] if isinstance(content, list) else None
    refusal = isinstance(part, dict) and part["type"] == "refusal"
    field = "refusal" if refusal else "text"
    kind = "response.refusal" if refusal else "response.output_text"
    text = str(part[field]) if isinstance(part, dict) else ""
    yield {
        "type": "response.output_item.added",
        "item": {**item, "status": "in_progress", "content": []},
    }
    at: Data = {"item_id": item["id"], "content_index": 0}
    yield {"type": "response.content_part.added", **at, "part": _part("", refusal=refusal)}
    extra: Data = {} if refusal else {"logprobs": []}
    for piece in pieces(text):
        yield {"type": f"{kind}.delta", **at, "delta": piece, **extra}
    yield {"type": f"{kind}.done", **at, field: text, **extra}
    yield {"type": "response.content_part.done", **at, "part": part}
    yield {"type": "response.output_item.done", "item": item}


def _call_events(item: Data) -> Iterator[Data]:
    arguments = str(item["arguments"])
    begun = {**item, "status": "in_progress", "arguments": ""}
    yield {"type": "response.output_item.added", "item": begun}
    kind = "response.function_call_arguments"
    for piece in pieces(arguments):
        yield {"type": f"{kind}.delta", "item_id": item["id"], "delta": piece}
    done: Data = {"item_id": item["id"], "name": item["name"], "arguments": arguments}
    yield {"type": f"{kind}.done", **done}
    yield {"type": "response.output_item.done", "item": item}
