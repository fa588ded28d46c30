"""What the gateway tells its caller of one call: status, reason, and two separate beliefs.

Whether an effect was committed and whether its reply was delivered are two facts. `Reason` is
closed; a workflow pack may add refusals of its own as `x-<pack>:<slug>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from arh.canonical import Json
from arh.records.messages import ReplyStatus, ToolReply
from arh.records.quick import quick

CommitBelief = Literal[
    "not_applicable",
    "not_started",
    "not_committed",
    "committed",
    "replayed",
    "unknown",
    "compensated",
]
Delivery = Literal["delivered", "timeout", "error", "malformed"]


class Reason(StrEnum):
    """Why a call ended as it did, as its caller may know it."""

    OK = "ok"
    REPLAYED = "replayed"
    UNKNOWN_TOOL = "unknown_tool"
    ARGUMENTS_UNPARSABLE = "arguments_unparsable"
    ARGUMENTS_INVALID = "arguments_invalid"
    AUTHORIZATION_DENIED = "authorization_denied"
    AUTHORIZATION_UNAVAILABLE = "authorization_unavailable"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    LIMIT_EXCEEDED = "limit_exceeded"
    KEY_MISMATCH = "key_mismatch"
    IN_FLIGHT = "in_flight"
    PRECONDITION_FAILED = "precondition_failed"
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    DEPENDENCY_ERROR = "dependency_error"
    RATE_LIMITED = "rate_limited"
    MALFORMED_RESULT = "malformed_result"
    UNRESOLVED = "unresolved"
    TOOL_ERROR = "tool_error"
    BUDGET_REFUSED = "budget_refused"


RETRYABLE = frozenset(
    {
        Reason.AUTHORIZATION_UNAVAILABLE,
        Reason.APPROVAL_UNAVAILABLE,
        Reason.IN_FLIGHT,
        Reason.TIMEOUT,
        Reason.DEPENDENCY_ERROR,
        Reason.RATE_LIMITED,
        Reason.MALFORMED_RESULT,
        Reason.PRECONDITION_FAILED,
    }
)
PACK_REASON = re.compile(r"x-[a-z][a-z0-9_]{0,30}:[a-z][a-z0-9_-]{0,60}")


@quick
@dataclass(frozen=True, slots=True)
class Mark:
    """A milestone that an outcome satisfies.

    `justified` marks count only for a target the user named.
    """

    milestone: str
    target: str = ""
    justified: bool = False


@quick
@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How one call ended, as the caller may know it.

    `marks` are for a supervisor, never for a model.
    """

    call_id: str
    tool: str
    version: str
    status: ReplyStatus
    reason: str
    result: Json | None = None
    operation_id: str = ""
    commit_belief: CommitBelief = "not_applicable"
    delivery: Delivery = "delivered"
    retry_after_ms: int | None = None
    marks: tuple[Mark, ...] = ()

    @property
    def retryable(self) -> bool:
        """True if trying the same call again can be right."""
        return self.reason in RETRYABLE

    def reply(self) -> ToolReply:
        """Return what the model may see of this outcome."""
        return ToolReply(self.call_id, self.tool, self.status, self.reason, self.result)
