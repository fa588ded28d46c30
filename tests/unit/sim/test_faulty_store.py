"""A faulty store fails, ages or hides as declared, and nothing beyond."""

from __future__ import annotations

import pytest

from arh.errors import DependencyFailure
from arh.records.faults import FaultPlan
from arh.records.state import Conflict, Failed, Receipt, Unknown
from arh.sim.faulty_store import Order
from tests.unit.sim.world import (
    World,
    of,
    operation,
    tool,
)


@pytest.mark.parametrize(
    ("effect", "reason"), [("timeout", "timeout"), ("error", "dependency_error")]
)
def test_a_failing_read_raises_the_symptom(effect: str, reason: str) -> None:
    """A handler's read fails as the store of a production system does."""
    world = World((of("state_store", "not_dispatched", effect, ms=10),))
    tx = world.injector.wrap_store(world.store).transaction(operation())

    with pytest.raises(DependencyFailure, match=reason):
        tx.get("accounts", "A1")
    assert tx.find("accounts", {"owner": "bo"})[0].key == "A2"


def test_a_read_of_the_stores_own_collections_counts_only_by_name() -> None:
    """The first read is the first of a business record; a named system collection is struck."""
    plain = of("state_store", "not_dispatched", "error")
    named = of("state_store", "not_dispatched", "error", target_name="_operations")

    outcomes = [World((plan,)).write() for plan in (plain, named)]
    entered = [World((plan,)) for plan in (plain, named)]
    for world in entered:
        world.read()

    assert [o.status for o in outcomes] == ["error", "error"]
    assert [w.states() for w in entered] == [["delivered"], ["not_exposed"]]


def test_a_fault_of_a_collection_leaves_the_others_alone() -> None:
    """The name filters reads by their collection and commits by what they write."""
    reads = of("state_store", "not_dispatched", "error", target_name="notes")
    commits = of("state_store", "before_commit", "error", target_name="notes")
    unrelated = of("state_store", "before_commit", "error", target_name="accounts")

    assert World((reads,)).read().status == "executed"
    assert World((commits,)).write().status == "error"
    assert World((unrelated,)).write().status == "executed"


def test_a_gateway_that_cannot_read_lets_nothing_happen() -> None:
    """A read outside any transaction fails, the call ends, and the proof finds its call."""
    plan = of("state_store", "not_dispatched", "error", target_name="_operations")
    world = World((plan,))

    outcome = world.write()

    assert outcome.status == "error"
    assert world.notes() == 0
    assert world.deliveries()[0].calls == ("call-0001",)


def test_a_slow_store_only_takes_time() -> None:
    """A slow read and a slow commit still give their results."""
    for phase in ("not_dispatched", "before_commit"):
        world = World((of("state_store", phase, "slowdown", ms=800),))

        outcome = world.write()

        assert (outcome.status, world.clock.now_ms()) == ("executed", 800)


def test_a_stale_search_finds_what_matched_then() -> None:
    """Records are found by their older values, and shown with them."""
    world = World((of("state_store", "after_dispatch", "stale", trigger="always"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())

    by_old = [(r.key, r.revision) for r in tx.find("accounts", {"owner": "al"})]
    by_new = tx.find("accounts", {"owner": "alice"})
    by_plan = [(r.key, r.revision) for r in tx.find("accounts", {"plan": "free"})]

    assert by_old == [("A1", 1)]
    assert by_new == ()
    assert by_plan == [("A1", 1), ("A2", 1)]


def test_a_transaction_never_sees_its_own_writes_as_old() -> None:
    """What a handler has just written is not a replica's to lose."""
    world = World((of("state_store", "after_dispatch", "stale", trigger="always"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.put("accounts", "A1", {"plan": "new"})

    found = tx.get("accounts", "A1")

    assert found is not None
    assert found.value.value() == {"plan": "new"}


def commit_of(plan: FaultPlan) -> tuple[object, int]:
    """Return what a commit says under a fault, and how many notes there really are."""
    world = World((plan,))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.put("notes", "n1", {"text": "hi"})
    return tx.commit(), world.notes()


def test_a_reader_is_never_stale() -> None:
    """What the gateway decides by is current, and does not count as a read that could be old."""
    world = World((of("state_store", "after_dispatch", "stale"),))
    reader = world.injector.wrap_store(world.store).reader()

    found = reader.get("tenant-a", "accounts", "A1")

    assert found == world.store.reader().get("tenant-a", "accounts", "A1")
    assert world.of("port_entered") == []


def test_a_stale_tool_does_not_make_the_stores_own_rows_old() -> None:
    """Operations, redemptions and limits are as they are, whatever the handler is shown."""
    world = World((tool("after_dispatch", "stale", target_name="look"),))
    store = world.injector.wrap_store(world.store)
    world.injector._orders["call-0001"] = Order(1)
    for number in range(2):
        tx = world.store.transaction(operation())
        tx.put("_limits", "daily", {"total": number})
        tx.commit()

    faulty = store.transaction(operation())
    found = {
        name: faulty.get(name, key) for name, key in (("_limits", "daily"), ("accounts", "A1"))
    }

    assert {name: record.revision for name, record in found.items() if record is not None} == {
        "_limits": 2,
        "accounts": 1,
    }


def test_a_commit_is_refused_or_its_outcome_is_unknown() -> None:
    """Before the commit nothing is kept; after it, something is that nobody acknowledges."""
    refused = commit_of(of("state_store", "before_commit", "error"))
    lost = commit_of(of("state_store", "after_commit", "error"))
    kept = commit_of(of("state_store", "after_dispatch", "error", hidden_outcome="committed"))
    gone = commit_of(of("state_store", "after_dispatch", "error", hidden_outcome="not_committed"))

    assert refused == (Failed(), 0)
    assert (lost, kept, gone) == ((Unknown(), 1), (Unknown(), 1), (Unknown(), 0))


def test_a_conflict_has_no_acknowledgement_to_lose() -> None:
    """What the store itself refuses passes, and no fault happened."""
    world = World((of("state_store", "after_commit", "error"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.put("accounts", "A1", {"plan": "new"}, expect_revision=1)

    result = tx.commit()

    assert result == Conflict("accounts", "A1", 1, 2)
    assert world.of("fault_injected") == []


def test_a_commit_without_writes_is_none() -> None:
    """A transaction that only read is not a commit that a fault could strike."""
    world = World((of("state_store", "before_commit", "error"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.get("accounts", "A1")

    assert isinstance(tx.commit(), Receipt)
    assert world.of("port_entered") == []


def test_the_reader_of_a_faulty_store_reads_the_same_state() -> None:
    """All but single reads pass untouched."""
    world = World((of("state_store", "not_dispatched", "error", target_name="notes"),))
    world.write()
    faulty, true = world.injector.wrap_store(world.store).reader(), world.store.reader()

    assert (faulty.digest(), faulty.collections()) == (true.digest(), true.collections())
    assert faulty.changes_since(0) == true.changes_since(0)
    assert faulty.records("accounts") == true.records("accounts")
    assert faulty.sequence() == true.sequence()
    assert faulty.at(0) is not None
    previous = faulty.previous("tenant-a", "accounts", "A1")
    assert previous == true.previous("tenant-a", "accounts", "A1")
