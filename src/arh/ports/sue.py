"""What zone 1 and workflow packs may import: the ports of the system under evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from arh.records.authorization import (
    ApprovalAnswer,
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
)
from arh.records.decisions import ModelReply, ModelRequest
from arh.records.execution import Execution, RawReply, StoredOperation
from arh.records.messages import Message, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.state import CommitEntry, CommitResult, Operation, Record
from arh.records.tasks import AgentReport, Note, Task
from arh.records.transactions import CallContext, Tx

__all__ = [
    "Agent",
    "ApprovalService",
    "CallContext",
    "Clock",
    "DecisionPoint",
    "Endpoint",
    "Gateway",
    "GrantVerifier",
    "Ids",
    "Model",
    "OpenTx",
    "Session",
    "StateReader",
    "Store",
    "Telemetry",
    "ToolClient",
    "Tx",
]


Endpoint: TypeAlias = Callable[[], str]  # returns the address of a service, as of now


class Clock(Protocol):
    """Time as the run knows it."""

    def now_ms(self) -> int:
        """Return milliseconds since the run began."""
        ...


class Ids(Protocol):
    """Identifiers of one run, the same in every execution of it."""

    def next(self, stream: str) -> str:
        """Return the stream's next identifier, `<stream>-0001` first."""
        ...


class Session(Protocol):
    """An agent's only ways out. A stopped run raises `RunStopped` from every method, for good."""

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Ask the model for its next decision."""
        ...

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Ask the gateway to run a tool."""
        ...

    def ask(self, message: str) -> Message | None:
        """Ask the user; `None` means that no answer will come."""
        ...

    def now_ms(self) -> int:
        """Return the run's time."""
        ...

    def wait(self, ms: int) -> None:
        """Let time pass, as a back-off does."""
        ...

    def note(self, note: Note) -> None:
        """Put on record what the agent's own supervisor refused or stopped."""
        ...


class Agent(Protocol):
    """The agent under test."""

    def run(self, task: Task, session: Session) -> AgentReport:
        """Work on the task until it is done, refused or out of budget."""
        ...


class Model(Protocol):
    """A model behind an adapter: scripted, recorded or live."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return one typed decision."""
        ...


class Gateway(Protocol):
    """The policy enforcement point, bound to one trusted identity: the only path to a tool."""

    def call(
        self, request: ToolRequest, *, timeout_ms: int, metadata_key: str | None = None
    ) -> ToolOutcome:
        """Resolve, parse, validate, authorise, look up, approve and execute one call."""
        ...


class DecisionPoint(Protocol):
    """The policy decision point: decides, never enforces."""

    def decide(self, request: AuthorizationRequest) -> AuthorizationDecision:
        """Return allow or deny with its reason, echoing the request's id and action digest."""
        ...


class ApprovalService(Protocol):
    """Issues signed grants; it neither redeems nor consumes them."""

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the grants on record for the action's subject and tool."""
        ...


class GrantVerifier(Protocol):
    """Tells a grant of the trusted service from a forged one."""

    def authentic(self, approval_id: str, signature: str, payload: bytes) -> bool:
        """Return true if the service signed exactly this payload."""
        ...


class ToolClient(Protocol):
    """Runs one authorised execution in one transaction."""

    def execute(self, execution: Execution) -> RawReply:
        """Return the raw reply; a lost one says so and nothing more."""
        ...

    def look_up(self, tenant: str, tool: str, key: str) -> StoredOperation | None:
        """Return the operation that the store holds under this key, or `None`."""
        ...


class OpenTx(Tx, Protocol):
    """A transaction that its owner commits; handlers only get the `Tx` of it."""

    def commit(self) -> CommitResult:
        """Commit all or nothing, checking every revision read for writing."""
        ...


class StateReader(Protocol):
    """Reads authoritative state without changing it."""

    def get(self, tenant: str, collection: str, key: str) -> Record | None:
        """Return the tenant's (or the shared) record, or `None`."""
        ...

    def owner(self, collection: str, key: str) -> Record | None:
        """Return the record of that key whoever owns it, or `None`.

        For decisions, never for handlers.
        """
        ...

    def records(self, collection: str) -> tuple[Record, ...]:
        """Return every record of the collection, of all tenants, in key order."""
        ...

    def collections(self) -> tuple[str, ...]:
        """Return the names of all collections, in order, system collections included."""
        ...

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return the commit entries after `sequence`, in order."""
        ...

    def digest(self) -> str:
        """Return the digest of the whole state."""
        ...

    def sequence(self) -> int:
        """Return the sequence of the last commit that the reader shows, 0 before the first."""
        ...

    def at(self, sequence: int) -> StateReader | None:
        """Return a reader of the state right after that commit, `None` if it cannot be had."""
        ...

    def previous(self, tenant: str, collection: str, key: str, back: int = 1) -> Record | None:
        """Return the visible record as it was `back` revisions ago, `None` if that is unknown."""
        ...


class Store(Protocol):
    """A transactional store."""

    def transaction(self, operation: Operation) -> OpenTx:
        """Open a transaction for the operation."""
        ...

    def reader(self) -> StateReader:
        """Return a reader of the committed state, always current."""
        ...


class Telemetry(Protocol):
    """Where the system under evaluation reports its own spans; a dead one changes nothing."""

    def reserve(self) -> int:
        """Return a fresh span number, so that children can name a parent that ends after them."""
        ...

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
        """Report one finished span; parent 0 is the workflow's own."""
        ...
