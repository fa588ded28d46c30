"""A client over a small store, what it is asked to execute, and a store that fails on demand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from arh.canonical import EMPTY, Json, JsonValue
from arh.errors import DependencyFailure
from arh.ports.sue import OpenTx, Store
from arh.records.authorization import Grant, Resource
from arh.records.execution import Execution, Handler, RawReply, Read, Tool
from arh.records.setup import SeedRecord
from arh.records.state import CommitResult, Operation, Receipt
from arh.records.tools import Effect, Refused, ToolManifest
from arh.state.store import MemoryStore
from arh.tools.client import TransactionalClient

ACCOUNT = Resource("accounts", "A1", "acme", 1)


class StandingClock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        """Return the time that the test set."""
        return self.ms


class CountedIds:
    """Identifiers by stream."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def next(self, stream: str) -> str:
        """Return the stream's next identifier."""
        self.counts[stream] = self.counts.get(stream, 0) + 1
        return f"{stream}-{self.counts[stream]:04d}"


class Bench:
    """A client over a store with two tenants' accounts and a shared policy."""

    def __init__(self, wrap: Callable[[MemoryStore], Any] = lambda store: store) -> None:
        self.clock = StandingClock()
        self.store = MemoryStore(self.clock)
        seeds = (
            SeedRecord("acme", "accounts", "A1", Json.of({"id": "A1", "status": "active"})),
            SeedRecord("rival", "accounts", "B1", Json.of({"id": "B1", "status": "active"})),
            SeedRecord("*", "policies", "credit", Json.of({"limit": 2500})),
        )
        self.store.seed(seeds, ("credits",))
        self.points: list[str] = []
        self.at: dict[str, Callable[[], None]] = {}
        self.client = TransactionalClient(
            cast("Store", wrap(self.store)), self.clock, CountedIds(), self.reach
        )

    def reach(self, point: str) -> None:
        """Note a checkpoint, and do once what the test wants done there."""
        self.points.append(point)
        self.at.pop(point, lambda: None)()

    def write(self, collection: str, key: str, value: dict[str, JsonValue]) -> None:
        """Commit one write of another operation."""
        tx = self.store.transaction(replace(operation(), operation_id="op-x", key="other"))
        tx.put(collection, key, value)
        assert isinstance(tx.commit(), Receipt)

    def rows(self, collection: str) -> list[JsonValue]:
        """Return the values of a collection."""
        return [record.value.value() for record in self.store.reader().records(collection)]


def operation(key: str = "k1", digest: str = "d1") -> Operation:
    """Return an operation of the tenant `acme`."""
    return Operation(f"op-{key}", key, "issue_credit", "1.1", digest, "ana", "agent", "acme")


def issue_credit(arguments: dict[str, JsonValue], tx: Any, call: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
    """Credit an account that exists."""
    if tx.get("accounts", arguments["account"]) is None:
        return Refused("not_found", "account")
    credit_id = call.new_id("CR")
    tx.put("credits", credit_id, {"credit_id": credit_id, "account": arguments["account"]})
    return {"credit_id": credit_id}


def tool(
    handler: Any = issue_credit,  # noqa: ANN401 - hostile ones too
    effect: Effect = Effect.TRANSACTIONAL,
    lookup: Handler | None = None,
) -> Tool:
    """Return a tool around a handler."""
    manifest = ToolManifest("issue_credit", "1.1", "", effect, EMPTY, EMPTY)
    return Tool(manifest, cast("Handler", handler), lookup)


def execution(key: str = "k1", **changes: Any) -> Execution:  # noqa: ANN401 - any field
    """Return an authorised credit for account `A1`."""
    plain = Execution(tool(), operation(key), Json.of({"account": "A1"}), (ACCOUNT,), 1000)
    return replace(plain, **changes)


def grant(approval_id: str = "AP1", *, single_use: bool = True) -> Grant:
    """Return an approval."""
    return Grant(approval_id, "boss", "ana", "acme", "issue_credit", single_use=single_use)


def reading(handler: Callable[[Any, Any, Any], object]) -> Execution:
    """Return an authorised call of a reading tool."""
    return execution(tool=tool(handler, Effect.READ), resources=())


def refused(
    reason: str, cause: str = "", *, reads: tuple[Read, ...] = (), detail: str = ""
) -> RawReply:
    """Return the reply of a refused write that changed nothing."""
    body = json.dumps({"refused": {"detail": detail, "reason": reason}}, separators=(",", ":"))
    return RawReply(
        "delivered", "not_committed", body.encode(), reason=reason, cause=cause, reads=reads
    )


SAW_ACCOUNT = (Read("accounts", "A1", 1),)


@dataclass
class Faulty:
    """A store whose transactions fail at one point, before or after the real thing happened."""

    store: MemoryStore
    commit: CommitResult | DependencyFailure | None = None
    commits_first: bool = False
    fails_on: str = ""
    skip: int = 0

    def transaction(self, of: Operation) -> OpenTx:
        """Open a transaction, or fail."""
        self.fail("transaction")
        return cast("OpenTx", FaultyTx(self, self.store.transaction(of)))

    def reader(self) -> Any:  # noqa: ANN401 - the real one
        """Return the real reader, or fail."""
        self.fail("reader")
        return self.store.reader()

    def fail(self, where: str) -> None:
        """Raise the dependency's symptom if this is the place."""
        if self.fails_on == where:
            raise DependencyFailure("rate_limited", 250)


class FaultyTx:
    """One transaction of a faulty store."""

    def __init__(self, faults: Faulty, tx: Any) -> None:  # noqa: ANN401 - delegated to
        self.faults = faults
        self.tx = tx
        self.find, self.put, self.remove = tx.find, tx.put, tx.remove

    def get(self, collection: str, key: str) -> object:
        """Read, or fail."""
        self.faults.fail(f"get {collection}")
        return self.tx.get(collection, key)

    def commit(self) -> CommitResult:
        """Commit, or answer as the fault says."""
        faults = self.faults
        if faults.commit is None or faults.skip:
            faults.skip = max(0, faults.skip - 1)
            return cast("CommitResult", self.tx.commit())
        if faults.commits_first:
            self.tx.commit()
        if isinstance(faults.commit, DependencyFailure):
            raise faults.commit
        return faults.commit
