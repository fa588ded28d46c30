"""What passes between user, agent and model: messages, tool requests and replies, tool definitions.

Everything here is visible to the model under test, so nothing here may carry a commit belief, a
milestone, a fault or an expectation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arh.canonical import Json
from arh.records.quick import quick

Role = Literal["system", "user", "assistant", "tool"]
ReplyStatus = Literal["executed", "rejected", "error"]


@quick
@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call that a model or an agent asks for.

    `arguments` is JSON text exactly as it was written. `metadata_key` is the idempotency key that
    came beside the call; it counts for tools that name no argument as their key.
    """

    call_id: str
    tool: str
    arguments: str
    metadata_key: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class ToolReply:
    """What the model may see of a finished call; `result` is null unless the call was executed."""

    call_id: str
    tool: str
    status: ReplyStatus
    reason: str
    result: Json | None = None


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    `requests` only on an assistant's, `reply` only on a tool's.
    """

    role: Role
    content: str
    requests: tuple[ToolRequest, ...] = ()
    reply: ToolReply | None = None
    name: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it: `parameters` is a JSON Schema (draft 2020-12) of an object."""

    name: str
    version: str
    description: str
    parameters: Json
