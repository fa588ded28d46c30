"""The spans of one call: the call itself, and below it whatever it asked others.

Made from the finished attempt alone. Attributes are bounded words (a tool of the registry, a
status, a reason code), never a digest, an identifier or a text of the caller. A refusal is not an
error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arh.ports.sue import Telemetry
from arh.records.outcomes import Reason
from arh.tools.attempts import Attempt

WORKFLOW: Final = 0
NO_TOOL: Final = "unknown"

Attributes = Mapping[str, str | int | bool]


def report(telemetry: Telemetry, attempt: Attempt) -> None:
    """Report `tool_call`, below it `authorization`, `approval` and `tool_execution`."""
    number = telemetry.reserve()
    for name, start_ms, end_ms in attempt.times:
        telemetry.span(
            telemetry.reserve(),
            name,
            parent=number,
            start_ms=start_ms,
            end_ms=end_ms,
            attributes=_attributes(name, attempt),
            error=_error(name, attempt),
        )
    telemetry.span(
        number,
        "tool_call",
        parent=WORKFLOW,
        start_ms=attempt.requested_ms,
        end_ms=attempt.returned_ms,
        attributes=_call_attributes(attempt),
        error=attempt.reason if attempt.status == "error" else "",
    )


def _call_attributes(attempt: Attempt) -> Attributes:
    known = attempt.reason != Reason.UNKNOWN_TOOL and attempt.version != ""
    return {
        "tool.name": attempt.tool if known else NO_TOOL,
        "tool.version": attempt.version,
        "tool.status": attempt.status,
        "tool.reason": str(attempt.reason),
        "tool.commit_belief": attempt.commit_belief,
        "tool.delivery": attempt.delivery,
    }


def _attributes(name: str, attempt: Attempt) -> Attributes:
    """Return what a child span says, as far as it got."""
    if name == "authorization" and attempt.decision is not None:
        return {"authorization.decision": str(attempt.decision["status"])}
    if name == "approval" and attempt.approval is not None:
        return {"approval.result": str(attempt.approval["result"])}
    return {"tool.name": attempt.tool, "tool.version": attempt.version}


def _error(name: str, attempt: Attempt) -> str:
    """Return what went wrong in a child span: a block for want of an answer, or a failed tool."""
    if name == "authorization" and attempt.decision is not None:
        return str(attempt.decision["cause"])
    if name == "approval" and attempt.approval is not None:
        unavailable = attempt.approval["result"] == "unavailable"
        return str(attempt.approval["reason"]) if unavailable else ""
    return str(attempt.reason) if attempt.status == "error" else ""
