"""Zone 2 as zone 1's composer and the packs may use it: clock, identifiers, fault proxies, user."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from arh.ports.sue import (
    ApprovalService,
    Clock,
    DecisionPoint,
    Endpoint,
    Ids,
    Model,
    Store,
    Telemetry,
    ToolClient,
)
from arh.records.messages import Message


class SteeredClock(Clock, Protocol):
    """A clock that the environment moves."""

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass."""
        ...


class Recorder(Protocol):
    """Where environment and runner write events; the acting agent is known from the schedule."""

    def record(self, kind: str, source: str, data: dict[str, object]) -> int:
        """Append one event as it is now and return its sequence number."""
        ...


class Checkpoint(Protocol):
    """A point inside a port where the baton may change hands."""

    def __call__(self, point: str, /) -> None:
        """Return when the calling actor may go on."""
        ...


class Environment(Protocol):
    """What a run's composer gets: every dependency passes through `wrap_*` exactly once."""

    @property
    def clock(self) -> SteeredClock:
        """The run's own clock."""
        ...

    @property
    def ids(self) -> Ids:
        """The run's own identifiers."""
        ...

    @property
    def telemetry(self) -> Telemetry | None:
        """Where the system under evaluation reports its spans; `None` if nobody listens."""
        ...

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the baton may change hands."""
        ...

    def wrap_model(self, model: Model, actor: str) -> Model:
        """Return the model behind its fault proxy."""
        ...

    def wrap_tools(self, client: ToolClient) -> ToolClient:
        """Return the tool client behind its fault proxy."""
        ...

    def wrap_store(self, store: Store) -> Store:
        """Return the store behind its fault proxy."""
        ...

    def wrap_decisions(self, point: DecisionPoint) -> DecisionPoint:
        """Return the decision point behind its fault proxy."""
        ...

    def wrap_approvals(self, service: ApprovalService) -> ApprovalService:
        """Return the approval service behind its fault proxy."""
        ...

    def wrap_endpoint(self, endpoint: Endpoint, tools: Collection[str]) -> Endpoint:
        """Return the way to a service that fulfils these tools, through its fault proxy."""
        ...


@dataclass(frozen=True, slots=True)
class UserReply:
    """What the simulated user says; `done` ends the conversation, `error` names its own failure."""

    message: Message | None = None
    done: bool = False
    error: str = ""


class User(Protocol):
    """A simulated user."""

    def reply(self, visible: tuple[Message, ...]) -> UserReply:
        """Answer the conversation as the user sees it: no tool traffic, no system prompt."""
        ...
