"""Stand-ins for what a gateway asks: they answer as a test says, and remember what they got."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from arh.ports.sue import StateReader
from arh.records.authorization import (
    ApprovalAnswer,
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
    Grant,
)
from arh.records.execution import Execution, RawReply, StoredOperation


@dataclass
class Point:
    """A decision point that answers what `answer` makes of the request."""

    answer: Callable[[AuthorizationRequest], Any]
    asked: list[AuthorizationRequest] = field(default_factory=list)

    def decide(self, request: AuthorizationRequest) -> AuthorizationDecision:
        """Return the answer, whatever it is."""
        self.asked.append(request)
        made: AuthorizationDecision = self.answer(request)
        return made


def allow(request: AuthorizationRequest, **changes: Any) -> AuthorizationDecision:  # noqa: ANN401
    """Return an allowance of the request, changed as told."""
    fields: dict[str, Any] = {
        "request_id": request.request_id,
        "action_digest": request.action_digest,
        "status": "allow",
        "reason": "scope_granted",
        **changes,
    }
    return AuthorizationDecision(**fields)


@dataclass
class Approvals:
    """An approval service that answers what `answer` makes of the request."""

    answer: Callable[[ApprovalRequest], Any]
    asked: list[ApprovalRequest] = field(default_factory=list)

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the answer, whatever it is."""
        self.asked.append(request)
        made: ApprovalAnswer = self.answer(request)
        return made


def answered(request: ApprovalRequest, *grants: Grant, **changes: Any) -> ApprovalAnswer:  # noqa: ANN401
    """Return the answer to a request with these grants, changed as told."""
    fields: dict[str, Any] = {
        "action_digest": request.action_digest,
        "grants": grants,
        **changes,
    }
    return ApprovalAnswer(**fields)


def nothing_stored(_tenant: str, _tool: str, _key: str) -> Any:  # noqa: ANN401
    """Return that no operation is stored."""
    return None


@dataclass
class Client:
    """A tool client that replies as told."""

    reply: Callable[[Execution], Any]
    stored: Callable[[str, str, str], Any] = nothing_stored
    executions: list[Execution] = field(default_factory=list)

    def execute(self, execution: Execution) -> RawReply:
        """Return the reply, whatever it is."""
        self.executions.append(execution)
        made: RawReply = self.reply(execution)
        return made

    def look_up(self, tenant: str, tool: str, key: str) -> StoredOperation | None:
        """Return the stored operation, whatever it is."""
        found: StoredOperation | None = self.stored(tenant, tool, key)
        return found


def replying(body: bytes, commit: str = "committed", **fields: Any) -> Client:  # noqa: ANN401
    """Return a client that delivers one body."""
    reply = RawReply("delivered", commit, body, **fields)  # type: ignore[arg-type]
    return Client(lambda _: reply)


def broken_reader(error: BaseException) -> StateReader:
    """Return a state reader that raises whenever it is read."""

    class Broken:
        def __getattr__(self, name: str) -> object:
            raise error

    return cast("StateReader", Broken())


@dataclass
class Spans:
    """A telemetry that remembers spans as (name, parent, attributes, error)."""

    seen: list[tuple[str, int, dict[str, str | int | bool], str]] = field(default_factory=list)
    reserved: int = 0

    def reserve(self) -> int:
        """Return the next number."""
        self.reserved += 1
        return self.reserved

    def span(
        self,
        number: int,
        name: str,
        *,
        parent: int,
        start_ms: int,
        end_ms: int,
        attributes: Mapping[str, str | int | bool],
        error: str = "",
    ) -> None:
        """Remember the span."""
        self.seen.append((name, parent, dict(attributes), error))


class DeadTelemetry:
    """A telemetry that raises whatever it is told."""

    def reserve(self) -> int:
        """Raise."""
        raise ConnectionError

    def span(
        self,
        number: int,
        name: str,
        *,
        parent: int,
        start_ms: int,
        end_ms: int,
        attributes: Mapping[str, str | int | bool],
        error: str = "",
    ) -> None:
        """Raise."""
        raise ConnectionError
