"""The store as a state machine: whatever is done to it, plain dictionaries say the same."""

from __future__ import annotations

import functools
from typing import TypeAlias

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from arh.canonical import Json, JsonValue
from arh.records.packs import CollectionSpec
from arh.records.setup import SeedRecord
from arh.records.state import Conflict, Operation, Receipt, Record, record_digest
from arh.state.merkle import EMPTY
from arh.state.snapshot import Projection
from arh.state.store import MemoryStore, Transaction, entry_digest
from arh.state.versions import trie_key
from tests.unit.state.anew import projection_digest

Identity: TypeAlias = "tuple[str, str, str]"  # collection, tenant, key
Row: TypeAlias = "dict[str, JsonValue]"

SHARED = "*"
TENANTS = st.sampled_from(["acme", "acme", "rival", SHARED])
COLLECTIONS = st.sampled_from(["accounts", "tickets"])
KEYS = st.sampled_from(["a", "b"])
ROWS = st.fixed_dictionaries({"n": st.sampled_from([0, 1, True])})
SPECS = (CollectionSpec("tickets", ("n",), volatile=("n",)),)
SEEDS = (("acme", "a"), ("acme", "a"), ("rival", "a"), (SHARED, "a"), (SHARED, "b"))


class Clock:
    """A clock that stands still."""

    def now_ms(self) -> int:
        """Return the only time there is."""
        return 0


class Naive:
    """One tenant's transaction over copied dictionaries, checked at its end."""

    def __init__(self, tenant: str, rows: dict[Identity, tuple[int, Row]]) -> None:
        self.tenant = tenant
        self.rows = dict(rows)
        self.start = dict(rows)
        self.seen: set[Identity] = set()
        self.expected: dict[Identity, int] = {}
        self.written: dict[Identity, Row | None] = {}
        self.doomed = False

    def visible(self, collection: str, key: str) -> Row | None:
        """Return the tenant's row, else the shared one, noting what was looked at."""
        own, shared = (collection, self.tenant, key), (collection, SHARED, key)
        self.seen.add(own)
        if own in self.rows:
            return self.rows[own][1]
        if shared in self.rows:
            self.seen.add(shared)
            return self.rows[shared][1]
        return None

    def conflicts(self, now: dict[Identity, tuple[int, Row]]) -> bool:
        """Return whether the transaction must not commit over the present rows."""
        if not self.written:
            return False
        moved = any(now.get(i, (0,))[0] != self.start.get(i, (0,))[0] for i in self.seen)
        broken = any(now.get(i, (0,))[0] != r for i, r in self.expected.items())
        return moved or broken or self.doomed


class StoreMachine(RuleBasedStateMachine):
    """Interleaved transactions of several tenants, on the store and on dictionaries."""

    transactions: Bundle[tuple[Transaction, Naive]] = Bundle("transactions")

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore(Clock())
        seeds = [SeedRecord(t, "accounts", k, Json.of({"n": 1})) for t, k in SEEDS]
        self.store.seed(seeds, ("tickets",))
        self.rows: dict[Identity, tuple[int, Row]] = {}
        self.revisions: dict[Identity, int] = {}
        for seed in seeds:
            self.keep((seed.collection, seed.tenant, seed.key), row_of(seed.value))
        self.commits = 0
        self.projection = Projection(self.store.reader(), SPECS)

    def keep(self, identity: Identity, row: Row) -> None:
        """Put a row into the dictionaries at its next revision."""
        self.revisions[identity] = self.revisions.get(identity, 0) + 1
        self.rows[identity] = (self.revisions[identity], row)

    @rule(target=transactions, tenant=TENANTS)
    def open(self, tenant: str) -> tuple[Transaction, Naive]:
        """Open a transaction."""
        operation = Operation("o", "k", "tool", "1", "", "subject", "actor", tenant)
        return self.store.transaction(operation), Naive(tenant, self.rows)

    @rule(both=transactions, collection=COLLECTIONS, key=KEYS)
    def get(self, both: tuple[Transaction, Naive], collection: str, key: str) -> None:
        """Both see the same row, and never another tenant's."""
        tx, naive = both
        found = tx.get(collection, key)

        assert naive.visible(collection, key) == (None if found is None else row_of(found.value))
        assert found is None or found.tenant in {naive.tenant, SHARED}

    @rule(both=transactions, collection=COLLECTIONS, row=ROWS | st.just({}))
    def find(self, both: tuple[Transaction, Naive], collection: str, row: Row) -> None:
        """Both find the same keys, in order."""
        tx, naive = both
        start = {k for c, t, k in naive.rows if c == collection and t in {naive.tenant, SHARED}}
        written = [k for c, _, k in naive.written if c == collection]
        matching = [k for k in sorted(start) if holds(peek(naive, collection, k), row)]
        naive.seen |= {(collection, naive.tenant, k) for k in written}
        naive.seen |= {owner(naive, collection, k) for k in matching}
        for key in written:
            naive.visible(collection, key)

        assert matching == [r.key for r in tx.find(collection, row)]

    @rule(
        both=transactions,
        collection=COLLECTIONS,
        key=KEYS,
        row=ROWS,
        expecting=st.sampled_from(["nothing", "nothing", "nothing", "what it sees", "absence"]),
    )
    def put(
        self,
        both: tuple[Transaction, Naive],
        collection: str,
        key: str,
        row: Row,
        expecting: str,
    ) -> None:
        """Both buffer a write."""
        tx, naive = both
        own = (collection, naive.tenant, key)
        seen = naive.rows.get(own, (0,))[0]
        expected = {"nothing": None, "what it sees": seen, "absence": 0}[expecting]
        tx.put(collection, key, row, expect_revision=expected)
        if expected is not None and own not in naive.written:
            naive.expected[own] = expected
        elif expected is not None:
            naive.doomed |= expected != seen
        naive.written[own] = row
        naive.rows[own] = (self.provisional(tx, own), row)

    def provisional(self, tx: Transaction, own: Identity) -> int:
        """Return the revision that a buffered write will have, as the store promised it."""
        return tx._version.next_revision(own)

    @rule(both=transactions, collection=COLLECTIONS, key=KEYS)
    def remove(self, both: tuple[Transaction, Naive], collection: str, key: str) -> None:
        """Both buffer a removal."""
        tx, naive = both
        own = (collection, naive.tenant, key)
        tx.remove(collection, key)
        naive.written[own] = None
        naive.rows.pop(own, None)

    @rule(both=consumes(transactions))
    def commit(self, both: tuple[Transaction, Naive]) -> None:
        """Both commit, or both conflict and change nothing."""
        tx, naive = both
        before = self.store.reader().digest()
        result = tx.commit()

        assert isinstance(result, Conflict if naive.conflicts(self.rows) else Receipt)
        if isinstance(result, Conflict):
            assert self.store.reader().digest() == before
            return
        changed = False
        for identity, row in naive.written.items():
            changed |= row is not None or identity in self.rows
            if row is None:
                self.rows.pop(identity, None)
            else:
                self.keep(identity, row)
        self.commits += changed

    @rule(both=consumes(transactions))
    def drop(self, both: tuple[Transaction, Naive]) -> None:
        """A transaction that is dropped is as if it had never been."""
        del both

    @invariant()
    def same_rows(self) -> None:
        """The store holds exactly the rows, tenants and revisions of the dictionaries."""
        reader = self.store.reader()
        names = ("accounts", "tickets")
        stored = {
            (r.collection, r.tenant, r.key): (r.revision, r.value)
            for name in names
            for r in reader.records(name)
        }

        assert stored == {i: (revision, Json.of(row)) for i, (revision, row) in self.rows.items()}

    @invariant()
    def digest_is_recomputable(self) -> None:
        """The digest, kept change by change, is the one worked out from the rows alone."""
        records = [
            Record(t, c, k, revision, Json.of(row))
            for (c, t, k), (revision, row) in self.rows.items()
        ]
        recomputed = functools.reduce(
            lambda trie, r: trie.put(
                trie_key((r.collection, r.tenant, r.key)), bytes.fromhex(record_digest(r))
            ),
            records,
            EMPTY,
        )

        assert self.store.reader().digest() == recomputed.root

    @invariant()
    def chain_holds(self) -> None:
        """Entries count the commits, link to one another and join the states that they name."""
        entries = self.store.reader().changes_since(0)
        previous, state = "", self.start_digest()

        assert [e.sequence for e in entries] == list(range(1, self.commits + 1))
        for entry in entries:
            assert (entry.previous, entry.state_before) == (previous, state)
            assert entry.digest == entry_digest(entry)
            previous, state = entry.digest, entry.state_after
        assert state == self.store.reader().digest()

    @invariant()
    def projection_follows(self) -> None:
        """The projection that is kept up to date equals one worked out anew."""
        assert self.projection.digest() == projection_digest(self.store.reader(), SPECS)

    def start_digest(self) -> str:
        """Return the digest of the seeded state, which stays readable."""
        start = self.store.reader().at(0)
        assert start is not None
        return start.digest()


def row_of(value: Json) -> Row:
    """Return a stored value, which is an object."""
    row = value.value()
    assert isinstance(row, dict)
    return row


def owner(naive: Naive, collection: str, key: str) -> Identity:
    """Return whose record of that key the transaction sees."""
    own = (collection, naive.tenant, key)
    return own if own in naive.rows else (collection, SHARED, key)


def peek(naive: Naive, collection: str, key: str) -> Row:
    """Return the row that the transaction sees, without noting it."""
    return naive.rows[owner(naive, collection, key)][1]


def holds(row: Row, where: Row) -> bool:
    """Return whether the row has the fields wanted, equal as JSON, where true is not 1."""
    return Json.of({name: row[name] for name in where}) == Json.of(where)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
