"""The fault proxies of the store: its transactions, their reads and commits, and its reader.

A fault strikes a read (of a handler, or of the gateway through the reader) or a commit. Reads of
the store's own collections count only for a fault that names one of them, because an author who
lets the first read fail means the first record that the work needs. Faults of a tool that happen
inside its transaction come here as an `Order` for one call: the transaction is refused at commit,
or its reads are older than they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from arh.canonical import JsonValue, encode
from arh.ports.sue import OpenTx, StateReader, Store
from arh.records.faults import FaultPlan
from arh.records.state import (
    SHARED_TENANT,
    CommitEntry,
    CommitResult,
    Failed,
    Operation,
    Receipt,
    Record,
    Unknown,
)
from arh.sim.visits import Armed, FaultPort, Visit, duration, failure

T = TypeVar("T")
Old = list[list[object]]  # collection, key, revision read, revision current (0: removed)

PATIENCE_MS: Final = 2**31  # a store's caller states no time of its own


class Order:
    """What a tool's fault wants of the transactions of one call, and whether it came to pass."""

    __slots__ = ("old", "refused", "revisions_back")

    def __init__(self, revisions_back: int = 0) -> None:
        """Ask for older reads, or with 0 for a refused commit."""
        self.revisions_back = revisions_back
        self.refused = False
        self.old: Old = []


Orders = dict[str, Order]


class FaultyStore:
    """A store behind its faults."""

    __slots__ = ("_commits", "_inner", "_orders", "_reads")

    def __init__(self, inner: Store, reads: FaultPort, commits: FaultPort, orders: Orders) -> None:
        """Stand before the store; `orders` are those of the tools' faults, by call."""
        self._inner = inner
        self._reads = reads
        self._commits = commits
        self._orders = orders

    def transaction(self, operation: Operation) -> FaultyTx:
        """Open a transaction whose reads and commit may be struck."""
        inner = self._inner.transaction(operation)
        order = self._orders.get(operation.call_id)
        reader = self._inner.reader()
        return FaultyTx(inner, operation, reader, (self._reads, self._commits), order)

    def reader(self) -> FaultyReader:
        """Return a reader whose single reads may fail or be slow; it is never stale."""
        return FaultyReader(self._inner.reader(), self._reads)


class FaultyTx:
    """A transaction behind the faults of its store and of its tool."""

    __slots__ = ("_inner", "_operation", "_order", "_ports", "_reader", "_written")

    def __init__(
        self,
        inner: OpenTx,
        operation: Operation,
        reader: StateReader,
        ports: tuple[FaultPort, FaultPort],
        order: Order | None,
    ) -> None:
        """Stand before the transaction; `ports` are those of reads and of commits."""
        self._inner = inner
        self._operation = operation
        self._reader = reader
        self._ports = ports
        self._order = order
        self._written: set[str] = set()

    def get(self, collection: str, key: str) -> Record | None:
        """Return the record, or an older revision of it.

        Raises:
            DependencyFailure: The read failed.
        """
        return self._read(
            collection,
            lambda: self._inner.get(collection, key),
            lambda back, old: self._aged(
                self._inner.get(collection, key), collection, key, back, old
            ),
        )

    def find(self, collection: str, where: Mapping[str, JsonValue]) -> tuple[Record, ...]:
        """Return the matching records, or those that matched some revisions ago.

        Raises:
            DependencyFailure: The read failed.
        """
        return self._read(
            collection,
            lambda: self._inner.find(collection, where),
            lambda back, old: self._aged_matches(collection, where, back, old),
        )

    def put(
        self, collection: str, key: str, value: JsonValue, *, expect_revision: int | None = None
    ) -> None:
        """Write the record at commit."""
        self._written.add(collection)
        self._inner.put(collection, key, value, expect_revision=expect_revision)

    def remove(self, collection: str, key: str) -> None:
        """Remove the record at commit."""
        self._written.add(collection)
        self._inner.remove(collection, key)

    def commit(self) -> CommitResult:
        """Commit, or not, and say so, or not."""
        if self._order is not None and not self._order.revisions_back:
            self._order.refused = True
            return Failed()
        if not self._written:
            return self._inner.commit()
        with self._ports[1].enter(self._operation.call_id, self._written) as visit:
            return self._inner.commit() if visit.plan is None else self._struck(visit, visit.plan)

    def _struck(self, visit: Visit, plan: FaultPlan) -> CommitResult:
        """Return what a fault makes of the commit."""
        if plan.phase == "before_commit":
            visit.take(duration(plan), PATIENCE_MS)
            return self._inner.commit() if plan.effect == "slowdown" else Failed()
        if plan.hidden_outcome != "not_committed":
            result = self._inner.commit()
            if not isinstance(result, Receipt):
                return result  # there is no acknowledgement to lose
        visit.take(duration(plan), PATIENCE_MS, hidden_outcome=plan.hidden_outcome)
        return Unknown()

    def _read(self, collection: str, read: Callable[[], T], aged: Callable[[int, Old], T]) -> T:
        """Return what a read returns, or what a fault or an order makes of it."""
        own = collection in self._written or collection.startswith("_")
        order = self._order
        if order is not None and order.revisions_back and not own:
            return aged(order.revisions_back, order.old)
        call = self._operation.call_id
        with self._ports[0].enter(call, (collection,), _for_read(collection)) as visit:
            plan = visit.plan
            if plan is None or (plan.effect == "stale" and own):
                return read()
            if plan.effect != "stale":
                delay(visit, plan)
                return read()
            old: Old = []
            found = aged(plan.revisions_back or 1, old)
            if old:
                visit.strike(records=old)
            return found

    def _aged(
        self, now: Record | None, collection: str, key: str, back: int, old: Old
    ) -> Record | None:
        """Return the record as it was, noting it in `old`, or as it is where it has no past."""
        past = self._reader.previous(self._operation.tenant, collection, key, back)
        if past is None:
            return now
        old.append([collection, key, past.revision, 0 if now is None else now.revision])
        return past

    def _aged_matches(
        self, collection: str, where: Mapping[str, JsonValue], back: int, old: Old
    ) -> tuple[Record, ...]:
        """Return the records that matched some revisions ago; those removed since are left out."""
        self._inner.find(collection, where)  # the transaction has seen what it would have seen
        visible: dict[str, Record] = {}
        for record in self._reader.records(collection):
            if record.tenant == self._operation.tenant or (
                record.tenant == SHARED_TENANT and record.key not in visible
            ):
                visible[record.key] = record
        noted: Old = []
        past = [self._aged(r, collection, key, back, noted) for key, r in sorted(visible.items())]
        found = tuple(r for r in past if r is not None and _matches(r, where))
        shown = {(r.key, r.revision) for r in found}
        old += [n for n in noted if (n[1], n[2]) in shown or _matches(visible[str(n[1])], where)]
        return found


class FaultyReader:
    """A reader behind the faults of its store."""

    __slots__ = ("_inner", "_reads")

    def __init__(self, inner: StateReader, reads: FaultPort) -> None:
        """Stand before the reader."""
        self._inner = inner
        self._reads = reads

    def get(self, tenant: str, collection: str, key: str) -> Record | None:
        """Return the tenant's (or the shared) record, or `None`.

        Raises:
            DependencyFailure: The read failed.
        """
        return self._read(collection, lambda: self._inner.get(tenant, collection, key))

    def owner(self, collection: str, key: str) -> Record | None:
        """Return the record of that key whoever owns it, or `None`.

        Raises:
            DependencyFailure: The read failed.
        """
        return self._read(collection, lambda: self._inner.owner(collection, key))

    def records(self, collection: str) -> tuple[Record, ...]:
        """Return every record of the collection, of all tenants, in key order."""
        return self._inner.records(collection)

    def collections(self) -> tuple[str, ...]:
        """Return the names of all collections, in order."""
        return self._inner.collections()

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return the commit entries after `sequence`, in order."""
        return self._inner.changes_since(sequence)

    def digest(self) -> str:
        """Return the digest of the whole state."""
        return self._inner.digest()

    def sequence(self) -> int:
        """Return the sequence of the last commit that the reader shows."""
        return self._inner.sequence()

    def at(self, sequence: int) -> StateReader | None:
        """Return a reader of the state right after that commit, or `None`."""
        return self._inner.at(sequence)

    def previous(self, tenant: str, collection: str, key: str, back: int = 1) -> Record | None:
        """Return the visible record as it was `back` revisions ago, or `None`."""
        return self._inner.previous(tenant, collection, key, back)

    def _read(self, collection: str, read: Callable[[], T]) -> T:
        fits = _for_read(collection)
        with self._reads.enter(
            "", (collection,), lambda armed: armed.plan.effect != "stale" and fits(armed)
        ) as visit:
            if visit.plan is not None:
                delay(visit, visit.plan)
            return read()


def delay(visit: Visit, plan: FaultPlan) -> None:
    """Let the symptom's time pass; return if the read was only slow.

    Raises:
        DependencyFailure: The read failed.
    """
    visit.take(duration(plan), PATIENCE_MS)
    if plan.effect != "slowdown":
        raise failure(plan)


def _for_read(collection: str) -> Callable[[Armed], bool]:
    """Return whether a fault means reads of this collection: the store's own only by name."""
    system = collection.startswith("_")
    return lambda armed: not system or armed.plan.target_name == collection


def _matches(record: Record, where: Mapping[str, JsonValue]) -> bool:
    """Return true if every named field has exactly the value that is asked for."""
    value = record.value.value()
    return isinstance(value, dict) and all(
        name in value and encode(value[name]) == encode(wanted) for name, wanted in where.items()
    )
