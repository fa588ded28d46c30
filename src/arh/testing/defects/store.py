"""Stores that forget, lose, mix up or change what they should keep.

Some are shown to the gateway of a run, some stand where evidence is read from, and some are held
against the conformance kit that every store has to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from arh.canonical import Json, JsonValue
from arh.ports.sue import OpenTx, StateReader, Store
from arh.records.setup import SeedRecord
from arh.records.state import (
    Change,
    CommitEntry,
    CommitResult,
    Conflict,
    Operation,
    Receipt,
    Record,
)
from arh.sim.clock import VirtualClock
from arh.state.store import MemoryStore
from arh.state.versions import Version
from arh.testing import store_kit
from arh.testing.defects.agents import BLOCKED, GOLDEN, LOST_REPLY
from arh.testing.defects.decision_points import CROSS_TENANT, Answering, allow
from arh.testing.defects.exchange import exchanged, found, planted
from arh.testing.defects.planting import Catcher, Defect, Outcome, catchers, in_run

KIT: Final = "store kit"
OPERATIONS: Final = "_operations"
Write = tuple[str, str, "JsonValue", "int | None"]


class Wrapped:
    """A store that passes everything on; what is broken overrides one method."""

    def __init__(self, store: Store) -> None:
        """Stand before a store."""
        self.real = store

    def transaction(self, operation: Operation) -> OpenTx:
        """Open a transaction."""
        return self.real.transaction(operation)

    def reader(self) -> StateReader:
        """Return a reader."""
        return self.real.reader()


class WrappedTx:
    """A transaction that passes everything on, and keeps what was written."""

    def __init__(self, tx: OpenTx, store: Store, operation: Operation) -> None:
        """Stand before a transaction of a store."""
        self.tx, self.store, self.operation = tx, store, operation
        self.writes: list[Write] = []

    def get(self, collection: str, key: str) -> Record | None:
        """Read."""
        return self.tx.get(collection, key)

    def find(self, collection: str, where: Mapping[str, JsonValue]) -> tuple[Record, ...]:
        """Search."""
        return self.tx.find(collection, where)

    def put(
        self, collection: str, key: str, value: JsonValue, *, expect_revision: int | None = None
    ) -> None:
        """Write."""
        self.writes.append((collection, key, value, expect_revision))
        self.tx.put(collection, key, value, expect_revision=expect_revision)

    def remove(self, collection: str, key: str) -> None:
        """Remove."""
        self.tx.remove(collection, key)

    def commit(self) -> CommitResult:
        """Commit."""
        return self.tx.commit()


class WrappedReader:
    """A reader that passes everything on."""

    def __init__(self, reader: StateReader) -> None:
        """Stand before a reader."""
        self.real = reader

    def get(self, tenant: str, collection: str, key: str) -> Record | None:
        """Read."""
        return self.real.get(tenant, collection, key)

    def owner(self, collection: str, key: str) -> Record | None:
        """Read for a decision."""
        return self.real.owner(collection, key)

    def records(self, collection: str) -> tuple[Record, ...]:
        """List."""
        return self.real.records(collection)

    def collections(self) -> tuple[str, ...]:
        """Name the collections."""
        return self.real.collections()

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return commit entries."""
        return self.real.changes_since(sequence)

    def digest(self) -> str:
        """Digest the state."""
        return self.real.digest()

    def sequence(self) -> int:
        """Return the last sequence."""
        return self.real.sequence()

    def at(self, sequence: int) -> StateReader | None:
        """Return a reader of the past."""
        return self.real.at(sequence)

    def previous(self, tenant: str, collection: str, key: str, back: int = 1) -> Record | None:
        """Return an earlier revision."""
        return self.real.previous(tenant, collection, key, back)


# --- transactions that are broken ----------------------------------------------------------------


class LastWins(WrappedTx):
    """Writes over whatever came between."""

    def commit(self) -> CommitResult:
        """Commit; over a conflict, write all of it again without looking."""
        result = self.tx.commit()
        if not isinstance(result, Conflict):
            return result
        again = self.store.transaction(self.operation)
        for collection, key, value, _ in self.writes:
            again.put(collection, key, value)
        return again.commit()


class NotUnique(LastWins):
    """Does not see that an operation is there already."""

    def get(self, collection: str, key: str) -> Record | None:
        """Read anything but operations."""
        written = any(write[:2] == (collection, key) for write in self.writes)
        hidden = collection == OPERATIONS and not written
        return None if hidden else super().get(collection, key)

    def put(
        self, collection: str, key: str, value: JsonValue, *, expect_revision: int | None = None
    ) -> None:
        """Write without any expectation."""
        super().put(collection, key, value)


class AllTenants(WrappedTx):
    """Reads what belongs to others."""

    def get(self, collection: str, key: str) -> Record | None:
        """Read a record of whomever."""
        return super().get(collection, key) or self.store.reader().owner(collection, key)


class Lossy(WrappedTx):
    """Says that it committed, and did not."""

    def commit(self) -> CommitResult:
        """Return a receipt for nothing."""
        reader = self.store.reader()
        state = reader.digest()
        return Receipt(
            CommitEntry(reader.sequence() + 1, 0, self.operation, (), state, state, "", "0" * 64)
        )


class Compensating(WrappedTx):
    """Takes a credit back as soon as it is committed."""

    def commit(self) -> CommitResult:
        """Commit, and remove the credit in a second transaction."""
        result = self.tx.commit()
        given = [key for collection, key, _, _ in self.writes if collection == "credits"]
        if given:
            undo = self.store.transaction(self.operation)
            for key in given:
                undo.remove("credits", key)
            undo.commit()
        return result


class Elsewhere(WrappedTx):
    """Writes a copy of every business record among another tenant's."""

    def commit(self) -> CommitResult:
        """Commit twice, for two tenants."""
        result = self.tx.commit()
        other = self.store.transaction(replace(self.operation, tenant="tenant-b"))
        for collection, key, value, _ in self.writes:
            if not collection.startswith("_"):
                other.put(collection, key, value)
        other.commit()
        return result


class BackDoor(WrappedTx):
    """Commits something that nobody asked for."""

    def commit(self) -> CommitResult:
        """Commit a credit of its own first."""
        own = replace(self.operation, operation_id="op-backdoor", call_id="", tool="issue_credit")
        door = self.store.transaction(own)
        door.put(
            "credits", "CR-0666", {"account_id": "A-1007", "amount": 1, "credit_id": "CR-0666"}
        )
        door.commit()
        return self.tx.commit()


class EditedWorld(WrappedTx):
    """Changes the state without any transaction."""

    def commit(self) -> CommitResult:
        """Commit, and put a ticket into the state by hand."""
        result = self.tx.commit()
        versions = found(self.store, "_versions", list)
        last = versions[-1]
        if isinstance(last, Version):
            row = Json.of({"account_id": "A-1007", "ticket_id": "TK-0666"})
            record = Record("tenant-a", "tickets", "TK-0666", 1, row)
            versions[-1] = last.put(last.sequence, record)
        planted(self.store, _versions=versions)
        return result


MakeTx = Callable[[OpenTx, Store, Operation], OpenTx]


class Transacting(Wrapped):
    """A store whose transactions are of another kind."""

    def __init__(self, store: Store, make: MakeTx) -> None:
        """Wrap every transaction."""
        super().__init__(store)
        self.make = make

    def transaction(self, operation: Operation) -> OpenTx:
        """Open a wrapped transaction."""
        return self.make(self.real.transaction(operation), self.real, operation)


# --- readers that are broken ---------------------------------------------------------------------


class BlindToOperations(WrappedReader):
    """Shows no operation that was committed."""

    def get(self, tenant: str, collection: str, key: str) -> Record | None:
        """Read anything but operations."""
        return None if collection == OPERATIONS else super().get(tenant, collection, key)


class BlindToTenants(WrappedReader):
    """Shows everybody's records as one's own."""

    def get(self, tenant: str, collection: str, key: str) -> Record | None:
        """Read, and take what is found for the tenant's."""
        record = super().get(tenant, collection, key) or self.owner(collection, key)
        return None if record is None else replace(record, tenant=tenant)


class WithoutEntries(WrappedReader):
    """Shows no commit entry."""

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return nothing."""
        return ()


class WithInventedEntry(WrappedReader):
    """Shows an entry for something that was never committed."""

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return a second entry behind each."""
        entries = super().changes_since(sequence)
        invented = tuple(
            replace(entry, sequence=entry.sequence + 1, state_before=entry.state_after)
            for entry in entries
        )
        return (*entries, *invented)


class WithoutTickets(WrappedReader):
    """Cannot read one collection."""

    def collections(self) -> tuple[str, ...]:
        """Name all collections but tickets."""
        return tuple(name for name in super().collections() if name != "tickets")


class WithoutEmpty(WrappedReader):
    """Names only collections that hold something."""

    def collections(self) -> tuple[str, ...]:
        """Name the collections that have records."""
        return tuple(name for name in super().collections() if self.records(name))


class Reading(Wrapped):
    """A store whose reader is of another kind."""

    def __init__(self, store: Store, make: Callable[[StateReader], StateReader]) -> None:
        """Wrap every reader."""
        super().__init__(store)
        self.make = make

    def reader(self) -> StateReader:
        """Return a wrapped reader."""
        return self.make(self.real.reader())


class ForgetsOperations(Transacting):
    """A store without the constraint that makes operations unique."""

    def __init__(self, store: Store) -> None:
        """Hide operations from transactions and readers."""
        super().__init__(store, NotUnique)

    def reader(self) -> StateReader:
        """Return a reader that shows no operations."""
        return BlindToOperations(self.real.reader())


class ForgetsTenants(Transacting):
    """A store that does not tell tenants apart."""

    def __init__(self, store: Store) -> None:
        """Show everything to everybody."""
        super().__init__(store, AllTenants)

    def reader(self) -> StateReader:
        """Return a reader that shows everything."""
        return BlindToTenants(self.real.reader())


# --- in the conformance kit ----------------------------------------------------------------------


class FirstRevisions(WrappedTx):
    """Tells every record's revision as the first."""

    def commit(self) -> CommitResult:
        """Commit, and count no further than one."""
        result = self.tx.commit()
        if not isinstance(result, Receipt):
            return result
        return Receipt(replace(result.entry, changes=tuple(map(_first, result.entry.changes))))


def _first(change: Change) -> Change:
    return replace(change, revision_after=min(1, change.revision_after))


def in_kit(identity: str, breaks: str, check: str, make: Callable[[Store], Store]) -> Defect:
    """Return a defect of a store that one check of the store kit finds."""

    def plant(change: Callable[[Store], Store]) -> Outcome:
        wrong = store_kit.violations(lambda seeds, names: change(memory(seeds, names)))
        return Outcome(not wrong, catchers(KIT, (line.split(":", 1)[0] for line in wrong)))

    return Defect(
        identity,
        breaks,
        Catcher(KIT, check),
        lambda _bench: plant(make),
        lambda _bench: plant(lambda store: store),
    )


def memory(seeds: tuple[SeedRecord, ...], names: tuple[str, ...]) -> Store:
    """Return the store that comes with arh."""
    store = MemoryStore(VirtualClock())
    store.seed(seeds, names)
    return store


def transacting(make: MakeTx) -> Callable[[Store], Store]:
    """Return what gives a store other transactions."""
    return lambda store: Transacting(store, make)


def reading(make: Callable[[StateReader], StateReader]) -> Callable[[Store], Store]:
    """Return what gives a store another reader."""
    return lambda store: Reading(store, make)


DEFECTS: tuple[Defect, ...] = (
    in_run(
        "store.has-no-unique-constraint",
        "a store that takes one operation twice",
        "fault.duplicate_effect",
        LOST_REPLY,
        composer=exchanged(store=ForgetsOperations),
    ),
    in_run(
        "store.mixes-tenants",
        "a store that shows and gives every tenant's records to everybody",
        "guardrails.bypass",
        CROSS_TENANT,
        composer=exchanged(store=ForgetsTenants),
    ),
    in_run(
        "store.writes-elsewhere",
        "a store that leaves a copy among another tenant's records",
        "guardrails.foreign_identity",
        GOLDEN,
        composer=exchanged(store=transacting(Elsewhere)),
    ),
    in_run(
        "store.loses-a-commit",
        "a store that confirms what it did not keep",
        "evidence.conflict",
        GOLDEN,
        composer=exchanged(store=transacting(Lossy)),
    ),
    in_run(
        "store.commits-without-an-entry",
        "a store whose state changes and whose entries do not say so",
        "evidence.conflict",
        GOLDEN,
        composer=exchanged(truth=reading(WithoutEntries)),
    ),
    in_run(
        "store.has-an-entry-without-a-commit",
        "a store with an entry for what never happened",
        "evidence.conflict",
        GOLDEN,
        composer=exchanged(truth=reading(WithInventedEntry)),
    ),
    in_run(
        "store.has-a-back-door",
        "an effect that came through no gateway",
        "guardrails.out_of_band_effect",
        GOLDEN,
        composer=exchanged(store=transacting(BackDoor)),
    ),
    in_run(
        "store.is-edited",
        "a world that is edited without any transaction",
        "evidence.conflict",
        GOLDEN,
        composer=exchanged(store=transacting(EditedWorld)),
    ),
    in_run(
        "store.contradicts-the-runner",
        "a store whose entries do not lead to the state that the runner found",
        "outcome.evidence_conflict",
        GOLDEN,
        composer=exchanged(store=transacting(EditedWorld)),
    ),
    in_run(
        "store.compensates-a-credit",
        "a prohibited credit that is taken back at once, and shows in the entries alone",
        "outcome.invariant_violated",
        BLOCKED,
        composer=exchanged(
            decisions=lambda point: Answering(point, allow), store=transacting(Compensating)
        ),
    ),
    in_run(
        "store.cannot-be-read",
        "a source of the outcome that cannot be read",
        "outcome.undecided",
        GOLDEN,
        composer=exchanged(truth=reading(WithoutTickets)),
    ),
    in_kit(
        "store.loses-updates",
        "a store in which the last writer wins",
        "refuses_a_lost_update",
        transacting(LastWins),
    ),
    in_kit(
        "store.inserts-twice",
        "a store that inserts one key twice",
        "lets_one_of_two_insert_a_key",
        transacting(NotUnique),
    ),
    in_kit(
        "store.shows-other-tenants",
        "a store whose transactions read what belongs to others",
        "hides_other_tenants",
        transacting(AllTenants),
    ),
    in_kit(
        "store.repeats-revisions",
        "a store that counts a record's revisions anew",
        "never_repeats_a_revision",
        transacting(FirstRevisions),
    ),
    in_kit(
        "store.keeps-no-entries",
        "a store whose commits leave no entries",
        "chains_its_entries",
        reading(WithoutEntries),
    ),
    in_kit(
        "store.forgets-empty-collections",
        "a store that cannot tell an empty collection from an unknown one",
        "tells_empty_from_unknown",
        reading(WithoutEmpty),
    ),
)
