"""Calls whose effect happens at a remote: commit the intent, send the call, commit its outcome.

Between intent and outcome nobody here can know the effect, so an operation that stays an intent is
never sent again blindly. If its tool can look the key up at the remote, a repeat does so: a call
that arrived is settled with what it brought about, one that the remote refused is released, and one
that never came may go out. Otherwise it stays unresolved. A handler reads our state but writes none
of it: its effects are the remote's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeAlias, final

from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure
from arh.ports.sue import OpenTx, Store
from arh.records.execution import Execution, Handler, RawReply, StoredOperation
from arh.records.outcomes import Reason
from arh.records.state import CommitResult, Operation, Receipt
from arh.records.tools import Refused
from arh.tools import ledger, replies
from arh.tools.handling import Handled

Commit: TypeAlias = Callable[[OpenTx], CommitResult | DependencyFailure]
Place: TypeAlias = "tuple[str, str, str]"  # tenant, tool, key


class Handle(Protocol):
    """Runs a handler within a transaction."""

    def __call__(
        self, handler: Handler, execution: Execution, tx: OpenTx, *, writable: bool
    ) -> Handled:
        """Return how the handler ended."""
        ...


@final
class RemoteCalls:
    """Runs the tools of both remote classes; made for one call, since it leads to its client."""

    def __init__(self, store: Store, handle: Handle, commit: Commit, out: set[Place]) -> None:
        """Work on a store; `handle`, `commit` and `out`, what is in flight, are the client's."""
        self._store = store
        self._handle = handle
        self._commit = commit
        self._out = out

    def execute(self, execution: Execution) -> RawReply:
        """Send the call, resolve the one that was sent before, or say that nobody knows."""
        try:
            tx = self._store.transaction(execution.operation)
            stored = ledger.read(tx, execution.operation)
            refused = ledger.claim(tx, execution) if stored is None else None
        except DependencyFailure as failure:
            return replies.lost(failure, "not_committed")
        if stored is not None:
            return self._repeat(stored, execution)
        if refused is not None:
            return replies.refused(*refused, "not_committed")
        result = self._commit(tx)
        if isinstance(result, Receipt):
            return self._send(execution)
        return replies.uncommitted(result)

    def _repeat(self, stored: StoredOperation, execution: Execution) -> RawReply:
        """Find out what became of the operation that is on record."""
        operation = execution.operation
        same = stored.argument_digest == operation.argument_digest
        if not same or stored.status == ledger.COMMITTED or _place(operation) in self._out:
            return replies.taken(stored, operation)
        lookup = execution.tool.lookup
        if lookup is None or stored.status == "unresolved":
            return replies.failed(Reason.UNRESOLVED, "unknown", "no_lookup")
        handled = self._ask(lookup, execution)
        if isinstance(handled.answer, Refused) and handled.answer.reason == Reason.NOT_FOUND:
            return self._send(execution)
        if isinstance(handled.answer, DependencyFailure):  # it says nothing of the call itself
            return replies.unfinished(handled, "unknown")
        return self._conclude(execution, handled)

    def _send(self, execution: Execution) -> RawReply:
        """Let the call go out, whose intent is committed."""
        return self._conclude(execution, self._ask(execution.tool.handler, execution))

    def _ask(self, handler: Handler, execution: Execution) -> Handled:
        """Run a handler that talks to the remote, marking the operation as in flight."""
        place = _place(execution.operation)
        self._out.add(place)
        try:
            tx = self._store.transaction(execution.operation)
            return self._handle(handler, execution, tx, writable=False)
        except DependencyFailure as failure:
            return Handled(failure, ())
        finally:
            self._out.discard(place)

    def _conclude(self, execution: Execution, handled: Handled) -> RawReply:
        """Commit what is certain of the call; anything else leaves the intent as it is."""
        answer, reads = handled.answer, handled.reads
        undone = isinstance(answer, DependencyFailure) and answer.undone
        if isinstance(answer, ForeignFailure) or (
            isinstance(answer, DependencyFailure) and not undone
        ):
            return replies.unfinished(handled, "unknown")
        result = self._record(execution, answer)
        if not isinstance(result, Receipt):
            return replies.unrecorded(result, reads=reads)
        entry = result.entry.sequence
        if isinstance(answer, bytes):
            return replies.delivered(answer, "committed", reads=reads, entry=entry)
        return replies.unfinished(handled, "not_committed")

    def _record(
        self, execution: Execution, answer: bytes | Refused | DependencyFailure
    ) -> CommitResult | DependencyFailure:
        """Settle the operation, or release it if nothing was done, in a transaction of its own."""
        try:
            tx = self._store.transaction(execution.operation)
            if isinstance(answer, bytes):
                ledger.settle(tx, execution, answer)
            else:
                ledger.release(tx, execution.operation)
        except DependencyFailure as failure:
            return failure
        return self._commit(tx)


def under_way(stored: StoredOperation | None, *, out: bool) -> StoredOperation | None:
    """Return the stored operation, told to be in flight while its call is out."""
    if stored is not None and stored.status != ledger.COMMITTED and out:
        return replace(stored, status="in_flight")
    return stored


def _place(operation: Operation) -> Place:
    return operation.tenant, operation.tool, operation.key
