"""What the dialects of the model endpoint share: questions, faults, and how they are read strictly.

A dialect is one provider's wire format. It reads a body into a `Question`, which knows nothing of
any provider, and writes the run's decision in the provider's own form, whole or as a stream. A body
that cannot be read is a `Fault` that names the field; nothing in it is guessed at, and what a
dialect does not know (an image, a tool that somebody else would run) is refused, never left out.

Nothing here says where a decision came from: a reply names the model that was asked for, and a
fault names the caller's own mistake or that the model gave no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, TypeVar, cast
from typing import Final as Constant

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from arh.canonical import Json, JsonValue, Refused, line, parse
from arh.errors import quoted, safe
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    Refusal,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import Message, ReplyStatus, ToolReply, ToolRequest

BODY_BYTES_MAX: Constant = 4 * 1024 * 1024
PIECES_MAX: Constant = 16
PIECE_CHARS_MIN: Constant = 24
STATUSES: Constant[Mapping[str, ReplyStatus]] = {
    "executed": "executed",
    "rejected": "rejected",
    "error": "error",
}

Data = dict[str, JsonValue]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question:
    """What a client asks of a model, without its provider's form."""

    messages: tuple[Message, ...]
    model: str
    output_tokens_max: int | None = None
    stream: bool = False
    stream_usage: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no decision; `reason` is a word for it that no provider uses.

    The client's own mistakes are `invalid`, `unauthorized`, `not_found`, `method`, `length`,
    `too_large`, `media` and `host`; `malformed`, `timeout`, `dependency_error` and `rate_limited`
    are the model's, and `over` says that the run has ended.
    """

    reason: str
    message: str
    field: str = ""
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said: a text, calls, or both. `end` is why it stopped there."""

    text: str = ""
    requests: tuple[ToolRequest, ...] = ()
    end: Literal["stop", "calls", "length", "refusal"] = "stop"


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn on its way out, with what identifies it: the same in every execution of the run."""

    question: Question
    turn: Turn
    usage: Usage
    number: str
    now_ms: int


class Dialect(Protocol):
    """One provider's wire format."""

    def read(self, body: JsonValue) -> Question | Fault:
        """Return what the body asks."""
        ...

    def whole(self, answer: Answer) -> Data | Fault:
        """Return the answer as one object."""
        ...

    def events(self, answer: Answer) -> Iterator[bytes] | Fault:
        """Return the answer as server-sent events."""
        ...

    def fault(self, fault: Fault) -> tuple[int, Data]:
        """Return status and body that say what went wrong."""
        ...


class Wire(BaseModel):
    """Part of a request, of exact types; what only steers sampling is not declared or read."""

    # Built at once: connections are threads, and the first of them must not build for all.
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


def read_body(data: bytes) -> JsonValue | Fault:
    """Return the value of a body, read strictly."""
    try:
        return parse(data, size_max=BODY_BYTES_MAX)
    except Refused as refused:
        return Fault("invalid", f"the body is no acceptable JSON: {refused}")


def validated(model: type[M], body: JsonValue) -> M | Fault:
    """Return the body as a model, or its first mistake with the field that holds it."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = _place(first["loc"])
        return Fault("invalid", f"{place or 'the body'}: {safe(first['msg'])}", place)


def _place(steps: tuple[int | str, ...]) -> str:
    """Return a path as a provider writes it, without the kinds that we tell apart by."""
    place, before = "", None
    for step in steps:
        if isinstance(step, int):
            place += f"[{step}]"
        elif not (isinstance(before, int) and step in _KINDS):
            place += f".{safe(step, chars_max=60)}"
        before = step
    return place.removeprefix(".")


_KINDS: Constant = frozenset(
    {"system", "developer", "user", "assistant", "tool"}
    | {"message", "function_call", "function_call_output"}
    | {"text", "tool_use", "tool_result"}
)


def _as_text(value: object) -> object:
    """Return a text as it is, null as none, and a list of text parts as one text."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return value
    return "\n".join(_part_text(part) for part in cast("list[object]", value))


def _part_text(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        raise ValueError("a part of a content is an object with a `type`")  # noqa: TRY004 - pydantic's
    text = part.get(_TEXT_PARTS.get(kind, ""))
    if not isinstance(text, str):
        known = kind in _TEXT_PARTS
        raise ValueError(  # noqa: TRY004 - pydantic wants a ValueError
            f"a part {quoted(kind)} has no text" if known else f"{quoted(kind)}: only text is read"
        )
    return text


_TEXT_PARTS: Constant = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
Text = Annotated[str, BeforeValidator(_as_text)]
Name = Annotated[str, Field(min_length=1, max_length=256)]
Positive = Annotated[int, Field(ge=1, le=2**31)]


def tool_message(
    call_id: str, content: str, asked: Mapping[str, ToolRequest], *, failed: bool = False
) -> Message | Fault:
    """Return what the client shows the model of a call, with the call that it answers.

    The outcome is read from the shown text alone. A client that shows the model less than the
    gateway said has a model that knows less.
    """
    request = asked.get(call_id)
    if request is None:
        return Fault("invalid", f"no call with the id {quoted(call_id)} precedes its result")
    return Message("tool", content, reply=_reply(request, content, failed=failed))


def _reply(request: ToolRequest, content: str, *, failed: bool) -> ToolReply:
    """Return the outcome that the text states, else the text as an executed call's result."""
    value = _unwrapped(content)
    if isinstance(value, dict):
        status, reason = value.get("status"), value.get("reason")
        known = STATUSES.get(status) if isinstance(status, str) else None
        if known is not None and isinstance(reason, str):
            result = value.get("result")
            shown = None if result is None else Json.of(result)
            return ToolReply(request.call_id, request.tool, known, reason, shown)
    if failed:
        return ToolReply(request.call_id, request.tool, "error", "error")
    return ToolReply(request.call_id, request.tool, "executed", "ok", Json.of(value))


def _unwrapped(content: str) -> JsonValue:
    """Return the JSON that a text holds, also inside one text part; else the text itself."""
    value: JsonValue = content
    for _ in range(3):
        if not isinstance(value, str):
            break
        try:
            read = parse(value)
        except Refused:
            break
        inner = read[0] if isinstance(read, list) and len(read) == 1 else read
        part = inner if isinstance(inner, dict) and inner.get("type") == "text" else {}
        text = part.get("text")
        if not isinstance(text, str):
            return read
        value = text
    return value


def turn_of(decision: Decision) -> Turn | Fault:
    """Return the decision as a model's turn, or why there is none.

    A question to the user is a text: no provider has another form for it. Nothing of a reply that
    was cut off is sent on, since nothing in it may be acted on.
    """
    match decision:
        case Calls(requests, text):
            return Turn(text, requests, "calls")
        case Final(answer):
            return Turn(answer if isinstance(answer, str) else answer.data.decode())
        case AskUser(message):
            return Turn(message)
        case Refusal(message):
            return Turn(message, end="refusal")
        case Truncated():
            return Turn(end="length")
        case Malformed():
            return Fault("malformed", "the model's reply could not be read")
        case Unavailable(reason, retry_after_ms):
            return Fault(reason, "the model gave no reply", retry_after_ms=retry_after_ms)


def pieces(text: str) -> Iterator[str]:
    """Yield the text in the parts of a stream, several of them if it is long."""
    size = max(PIECE_CHARS_MIN, -(-len(text) // PIECES_MAX))
    yield from (text[at : at + size] for at in range(0, len(text), size))


def event(data: Data, name: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + line(data) + b"\n\n"
