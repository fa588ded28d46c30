"""The dialect of Anthropic's messages (`POST /v1/messages`), whole and as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from arh.canonical import JsonValue, Refused, line, parse
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
from arh.errors import quoted
from arh.records.decisions import Usage
from arh.records.messages import Message, ToolRequest

_ENDS: Final = {
    "stop": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}
# By reason: the status and the error's type.
_FORMS: Final[Mapping[str, tuple[int, str]]] = {
    "invalid": (400, "invalid_request_error"),
    "unauthorized": (401, "authentication_error"),
    "not_found": (404, "not_found_error"),
    "method": (405, "invalid_request_error"),
    "length": (411, "invalid_request_error"),
    "too_large": (413, "request_too_large"),
    "media": (415, "invalid_request_error"),
    "host": (421, "invalid_request_error"),
    "rate_limited": (429, "rate_limit_error"),
    "malformed": (502, "api_error"),
    "timeout": (504, "timeout_error"),
    "dependency_error": (529, "overloaded_error"),
    "busy": (529, "overloaded_error"),
    "over": (503, "api_error"),
}


class MessagesDialect:
    """Implements `Dialect`."""

    def read(self, body: JsonValue) -> Question | Fault:
        """Return what the body asks."""
        request = validated(_Request, body)
        if isinstance(request, Fault):
            return request
        refused = _refused(request)
        messages = _conversation(request)
        if refused is not None or isinstance(messages, Fault):
            return refused or messages  # type: ignore[return-value]  # one of them is a fault
        return Question(messages, request.model, request.max_tokens, bool(request.stream))

    def whole(self, answer: Answer) -> Data | Fault:
        """Return the answer as a `message`."""
        content = _blocks(answer)
        if isinstance(content, Fault):
            return content
        return _message_object(answer, content, _ENDS[answer.turn.end], _usage(answer.usage))

    def events(self, answer: Answer) -> Iterator[bytes] | Fault:
        """Return the answer as the events of a message."""
        content = _blocks(answer)
        return content if isinstance(content, Fault) else _events(answer)

    def fault(self, fault: Fault) -> tuple[int, Data]:
        """Return status and body that say what went wrong."""
        status, kind = _FORMS.get(fault.reason, (500, "api_error"))
        error: Data = {"type": kind, "message": fault.message}
        return status, {"type": "error", "error": error}


class _Words(Wire):
    text: str


class _Use(Wire):
    id: Name
    name: Name
    input: dict[str, object]


class _Result(Wire):
    tool_use_id: Name
    content: Text = ""
    is_error: bool | None = None


def _kind(block: Any) -> str | None:  # noqa: ANN401 - whatever the client sent
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else None


_Block = Annotated[
    Annotated[_Words, Tag("text")]
    | Annotated[_Use, Tag("tool_use")]
    | Annotated[_Result, Tag("tool_result")],
    Discriminator(_kind),
]


def _as_blocks(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class _Said(Wire):
    role: Literal["user", "assistant"]
    content: Annotated[list[_Block], BeforeValidator(_as_blocks)]


class _Offered(Wire):
    type: str | None = None


class _Choice(Wire):
    type: str


class _Request(Wire):
    model: Name
    messages: Annotated[list[_Said], Field(min_length=1)]
    max_tokens: Positive
    system: Text = ""
    stream: bool | None = None
    tools: list[_Offered] | None = None
    tool_choice: _Choice | None = None
    mcp_servers: None = None
    container: None = None


def _refused(request: _Request) -> Fault | None:
    """Return what the run's model cannot do: a tool of the provider would act past the gateway."""
    for index, tool in enumerate(request.tools or ()):
        if tool.type not in (None, "custom"):
            field = f"tools[{index}].type"
            text = f"{field}: {quoted(tool.type)}: only tools of the client are supported"
            return Fault("invalid", text, field)
    if request.tool_choice is not None and request.tool_choice.type == "none":
        return Fault("invalid", "tool_choice: `none` is not supported", "tool_choice")
    return None


def _conversation(request: _Request) -> tuple[Message, ...] | Fault:
    """Return the messages, each result joined to the call that it answers."""
    asked: dict[str, ToolRequest] = {}
    messages = [Message("system", request.system)] if request.system else []
    for said in request.messages:
        told = _messages(said, asked)
        if isinstance(told, Fault):
            return told
        messages += told
    return tuple(messages)


def _messages(said: _Said, asked: dict[str, ToolRequest]) -> list[Message] | Fault:
    """Return one turn's messages: the results of calls by themselves, then what was said."""
    told: list[Message] = []
    requests: list[ToolRequest] = []
    for block in said.content:
        if isinstance(block, _Use) and said.role == "assistant":
            requests.append(ToolRequest(block.id, block.name, line(block.input).decode()))
        elif isinstance(block, _Result) and said.role == "user":
            failed = bool(block.is_error)
            shown = tool_message(block.tool_use_id, block.content, asked, failed=failed)
            if isinstance(shown, Fault):
                return shown
            told.append(shown)
        elif not isinstance(block, _Words):
            return Fault("invalid", f"a message of the {said.role} has a block that it cannot have")
    asked |= {request.call_id: request for request in requests}
    words = "\n".join(block.text for block in said.content if isinstance(block, _Words))
    if words or requests or not told:
        told.append(Message(said.role, words, tuple(requests)))
    return told


def _blocks(answer: Answer) -> list[JsonValue] | Fault:
    """Return the content of a whole message; arguments that are no object have no form in it."""
    turn = answer.turn
    blocks: list[JsonValue] = [{"type": "text", "text": turn.text}] if turn.text else []
    for request in turn.requests:
        given = _object(request.arguments)
        if given is None:
            return Fault("malformed", "the model's reply could not be read")
        blocks.append(
            {"type": "tool_use", "id": request.call_id, "name": request.tool, "input": given}
        )
    return blocks


def _object(text: str) -> Data | None:
    try:
        value = parse(text)
    except Refused:
        return None
    return value if isinstance(value, dict) else None


def _message_object(answer: Answer, content: list[JsonValue], end: str | None, usage: Data) -> Data:
    return {
        "id": f"msg-{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.question.model,
        "content": content,
        "stop_reason": end,
        "stop_sequence": None,
        "usage": usage,
    }


def _usage(usage: Usage) -> Data:
    """Return the usage; cached tokens are counted apart from the others here."""
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }


def _events(answer: Answer) -> Iterator[bytes]:
    turn, usage = answer.turn, _usage(answer.usage)
    begun = _message_object(answer, [], None, {**usage, "output_tokens": 0})
    yield _event("message_start", {"message": begun})
    index = 0
    if turn.text:
        yield from _block(index, {"type": "text", "text": ""}, "text_delta", "text", turn.text)
        index += 1
    for at, request in enumerate(turn.requests, start=index):
        block: Data = {"type": "tool_use", "id": request.call_id, "name": request.tool, "input": {}}
        yield from _block(at, block, "input_json_delta", "partial_json", request.arguments)
    delta: Data = {"stop_reason": _ENDS[turn.end], "stop_sequence": None}
    yield _event("message_delta", {"delta": delta, "usage": usage})
    yield _event("message_stop", {})


def _block(index: int, block: Data, kind: str, field: str, text: str) -> Iterator[bytes]:
    yield _event("content_block_start", {"index": index, "content_block": block})
    for piece in pieces(text):
        delta: Data = {"type": kind, field: piece}
        yield _event("content_block_delta", {"index": index, "delta": delta})
    yield _event("content_block_stop", {"index": index})


def _event(name: str, data: Data) -> bytes:
    return event({"type": name, **data}, name)
