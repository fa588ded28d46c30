"""The tool client: runs one authorised call against the store, its system rows in the same commit.

It stands behind the gateway, and nothing else calls a handler. What was authorised is what runs:
the arguments are decoded from the bytes whose digest the decision echoed, and a write goes through
only while its resources are as the decision saw them. A transactional tool's operation, redemption,
charges and effects are committed together or not at all; remote tools are in `arh.tools.remote`.

Every end is a raw reply. `commit` in it is the truth as this side knows it: where the store cannot
say, or another attempt may have committed the same operation, it is `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from arh.errors import DependencyFailure
from arh.ports.sue import Clock, Ids, OpenTx, Store
from arh.records.execution import Execution, Handler, RawReply, Read, StoredOperation
from arh.records.outcomes import Reason
from arh.records.state import CommitResult, Receipt
from arh.records.tools import Effect
from arh.tools import ledger, replies
from arh.tools.handling import Call, Handled, handle
from arh.tools.remote import Place, RemoteCalls, under_way
from arh.tools.services import NO_SERVICES, Services


def _go_on(_point: str) -> None:
    """Return at once: the caller is alone."""


@final
class TransactionalClient:
    """Implements `arh.ports.sue.ToolClient` over any store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        checkpoint: Callable[[str], None] = _go_on,
        services: Services = NO_SERVICES,
    ) -> None:
        """Work on a store; `checkpoint` is called with `before_commit` and `after_commit`."""
        self._services = services
        self._store = store
        self._clock = clock
        self._ids = ids
        self._checkpoint = checkpoint
        self._out: set[Place] = set()

    def execute(self, execution: Execution) -> RawReply:
        """Run the call once and return how it ended."""
        effect = execution.tool.manifest.effect
        if effect is Effect.READ:
            return self._read(execution)
        if effect is Effect.TRANSACTIONAL:
            return self._write(execution)
        # Made for the call: one that was kept would lead back to us, and hold all that we hold.
        return RemoteCalls(self._store, self.handle, self.commit, self._out).execute(execution)

    def look_up(self, tenant: str, tool: str, key: str) -> StoredOperation | None:
        """Return the operation that the store holds under this key, or `None`.

        What became of an `intent`, `execute` can ask the remote; for `unresolved` nobody can.

        Raises:
            DependencyFailure: The store could not be read.
        """
        record = self._store.reader().get(tenant, ledger.OPERATIONS, ledger.key_of(tool, key))
        stored = ledger.stored(record, tenant)
        return under_way(stored, out=(tenant, tool, key) in self._out)

    def handle(
        self, handler: Handler, execution: Execution, tx: OpenTx, *, writable: bool
    ) -> Handled:
        """Run a handler within a transaction."""
        about = Call(execution, self._clock, self._ids, self._services)
        return handle(handler, execution, tx, about=about, writable=writable)

    def commit(self, tx: OpenTx) -> CommitResult | DependencyFailure:
        """Commit between the two checkpoints; a store that fails has perhaps committed."""
        self._checkpoint("before_commit")
        try:
            result = tx.commit()
        except DependencyFailure as failure:
            return failure
        self._checkpoint("after_commit")
        return result

    def _read(self, execution: Execution) -> RawReply:
        """Run a reading tool, whose transaction is never committed."""
        try:
            tx = self._store.transaction(execution.operation)
        except DependencyFailure as failure:
            return replies.lost(failure, "not_applicable")
        handled = self.handle(execution.tool.handler, execution, tx, writable=False)
        if isinstance(handled.answer, bytes):
            return replies.delivered(handled.answer, "not_applicable", reads=handled.reads)
        return replies.unfinished(handled, "not_applicable")

    def _write(self, execution: Execution) -> RawReply:
        """Run a transactional tool, or refuse it with nothing changed."""
        deadline_ms = self._clock.now_ms() + execution.timeout_ms
        try:
            tx = self._store.transaction(execution.operation)
            blocked = _blocked(tx, execution)
        except DependencyFailure as failure:
            return replies.lost(failure, "not_committed")
        if blocked is not None:
            return blocked
        handled = self.handle(execution.tool.handler, execution, tx, writable=True)
        if not isinstance(handled.answer, bytes):
            return replies.unfinished(handled, "not_committed")
        if self._clock.now_ms() > deadline_ms:
            late = DependencyFailure(Reason.TIMEOUT)
            return replies.lost(late, "not_committed", reads=handled.reads)
        return self._settle(tx, execution, handled.answer, handled.reads)

    def _settle(
        self, tx: OpenTx, execution: Execution, body: bytes, reads: tuple[Read, ...]
    ) -> RawReply:
        """Commit the effects together with the reply."""
        try:
            ledger.complete(tx, execution, body)
        except DependencyFailure as failure:
            return replies.lost(failure, "not_committed", reads=reads)
        result = self.commit(tx)
        if isinstance(result, Receipt):
            return replies.delivered(body, "committed", reads=reads, entry=result.entry.sequence)
        return replies.uncommitted(result, reads=reads)


def _blocked(tx: OpenTx, execution: Execution) -> RawReply | None:
    """Return the reply that keeps the call from its handler, if its system rows say so."""
    operation = execution.operation
    stored = ledger.read(tx, operation)
    if stored is not None:
        return replies.taken(stored, operation)
    refused = ledger.claim(tx, execution)
    return None if refused is None else replies.refused(*refused, "not_committed")
