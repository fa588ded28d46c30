"""What a provider's reply comes to: one typed decision, and what the server said beside it.

The rules that all providers share. Calls keep their order and their argument text. Nothing that is
cut off, withheld, empty or against its own form is acted on, and prose is never read as a call. A
model asks the user and declines by two tools that stand beside the workflow's own, since prose can
mean either or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from arh.canonical import Json, Refused, parse
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Malformed,
    Refusal,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.decisions import (
    Final as Answered,
)
from arh.records.messages import ToolRequest, ToolSpec

ID_CHARS_MAX: Final = 256
CALLS_MAX: Final = 128
NAME_CHARS_MAX: Final = 256
DECLINED: Final = "the model declined"


# What a server says it counted; no call has more, and none gives anything back.
Tokens = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Wire(BaseModel):
    """A part of a provider's reply, as we read it: types are exact, what we do not know is left."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that was read; without `usage` the server named none."""

    decision: Decision
    usage: Usage | None = None
    model: str = ""
    fingerprint: str = ""
    reply_id: str = ""
    trouble: str = ""


def malformed(detail: str) -> Answer:
    """Return that a reply broke its format."""
    return Answer(Malformed(detail))


def failed(trouble: str) -> Answer:
    """Return that the server gave up on the request and said so in place of a reply."""
    return Answer(Unavailable("dependency_error"), trouble=trouble)


def _control(name: str, description: str, field: str) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {field: {"type": "string"}},
        "required": [field],
        "additionalProperties": False,
    }
    return ToolSpec(name, "1", description, Json.of(schema))


ASK_USER: Final = _control(
    "ask_user",
    "Ask the user one question and wait for the answer. For whatever is missing or unclear.",
    "question",
)
DECLINE: Final = _control(
    "decline",
    "Decline the task where it must not be done, and tell the user why.",
    "message",
)
CONDUCT: Final = (ASK_USER, DECLINE)


def decided(text: str, refusal: str, calls: Sequence[ToolRequest]) -> Decision:
    """Return what a whole reply decides; the caller has seen that it was not cut off."""
    if refusal:
        return Refusal(refusal)
    if calls:
        return _called(calls, text)
    return Answered(text) if text.strip() else Malformed("empty reply")


def cut(reason: str) -> Decision:
    """Return that a reply is not whole."""
    return Truncated(reason)


def _called(calls: Sequence[ToolRequest], text: str) -> Decision:
    ids = [each.call_id for each in calls]
    if len(calls) > CALLS_MAX:
        return Malformed("too many calls")
    if not all(0 < len(each) <= ID_CHARS_MAX for each in ids):
        return Malformed("a call without a usable id")
    if len(set(ids)) < len(ids):
        return Malformed("two calls with one id")
    if not all(0 < len(each.tool) <= NAME_CHARS_MAX for each in calls):
        return Malformed("a call without a usable name")
    control = next((c for c in CONDUCT if any(each.tool == c.name for each in calls)), None)
    if control is None:
        return Calls(tuple(calls), text)
    if len(calls) > 1:
        return Malformed(f"{control.name} beside other calls")
    return _conducted(control, calls[0].arguments)


def _conducted(control: ToolSpec, arguments: str) -> Decision:
    """Return the question or the refusal that a call of ours stands for."""
    try:
        value = parse(arguments, integral_floats=False)
    except Refused:
        value = None
    if not isinstance(value, dict) or len(value) != 1:
        return Malformed(f"{control.name} with other arguments than its own")
    said = value.get("question" if control is ASK_USER else "message")
    if not isinstance(said, str) or not said.strip():
        return Malformed(f"{control.name} with nothing said")
    return AskUser(said) if control is ASK_USER else Refusal(said)
