"""What a model answers: one typed decision, with its usage and its latency.

A reply that cannot be read as a decision is `Malformed` or `Truncated`; it is never guessed at.
"""

from __future__ import annotations

from dataclasses import dataclass

from arh.canonical import Json
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Calls:
    """One or more tool calls, to be executed in this order."""

    requests: tuple[ToolRequest, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class AskUser:
    """A question to the user; the conversation goes on with the answer, or ends."""

    message: str


@dataclass(frozen=True, slots=True)
class Final:
    """A final answer: free prose, or the JSON object of a `ResponseEnvelope`."""

    answer: str | Json


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declines the task and says so."""

    message: str


@dataclass(frozen=True, slots=True)
class Truncated:
    """The reply was cut off: nothing in it may be acted on."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class Malformed:
    """The reply broke its own format: nothing in it may be acted on."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No reply came: `reason` is timeout, dependency_error or rate_limited."""

    reason: str
    retry_after_ms: int | None = None


Decision = Calls | AskUser | Final | Refusal | Truncated | Malformed | Unavailable


@quick
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total(self) -> int:
        """Input and output tokens together (cached tokens are part of the input)."""
        return self.input_tokens + self.output_tokens


@quick
@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked; `timeout_ms` and `output_tokens_max` are what the budgets leave."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    timeout_ms: int
    output_tokens_max: int | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered a live model's call, as the server says; the agent never sees it.

    `trouble` is a word or two on why no reply came, and empty where one did. `first_ms` is the time
    to the first token, where the reply was streamed. `metered` says that the usage is the server's.
    """

    model: str = ""
    fingerprint: str = ""
    reply_id: str = ""
    first_ms: int | None = None
    trouble: str = ""
    metered: bool = False


@quick
@dataclass(frozen=True, slots=True)
class ModelReply:
    """One answer of a model; `model` identifies it as the adapter knows it.

    `served` is there where the model was a live one, or a recording of one.
    """

    decision: Decision
    usage: Usage = Usage()
    latency_ms: int = 0
    model: str = ""
    served: Served | None = None
