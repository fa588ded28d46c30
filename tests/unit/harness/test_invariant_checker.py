"""Invariants of a live run: checked after each commit, at the cost of the change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast
from unittest.mock import Mock

import pytest

from arh.canonical import Json, JsonValue
from arh.harness.vocabulary.assertions import InvariantChecker
from arh.ports.sue import StateReader
from arh.records.control.scenario import Assertion
from arh.records.setup import SeedRecord
from arh.records.state import Operation
from arh.sim.clock import VirtualClock
from arh.state.store import MemoryStore, VersionReader

NO_CREDIT = Assertion(kind="absent", collection="credits", id="no-credit")
ONE_TICKET = Assertion(kind="count", collection="tickets", expected=1)
NO_EFFECT = Assertion(kind="absent", collection="side_effects", where={"kind": "issue_credit"})
ALL = (NO_CREDIT, ONE_TICKET, NO_EFFECT)


def a_store(rows: int = 1) -> MemoryStore:
    """A store with some tickets and no credit."""
    store = MemoryStore(VirtualClock())
    seeds = (SeedRecord("tenant-a", "tickets", f"T-{n}", Json.of({"n": n})) for n in range(rows))
    store.seed(seeds, ("tickets", "credits", "accounts"))
    return store


def a_checker(assertions: Iterable[Assertion]) -> InvariantChecker:
    """A checker under which nobody in particular may act, and no field holds money."""
    return InvariantChecker(assertions, identities=frozenset(), amounts=frozenset())


def write(store: MemoryStore, collection: str, key: str, value: JsonValue, *, tool: str) -> None:
    """Commit one record, or its removal."""
    number = len(store.reader().changes_since(0))
    operation = Operation(
        operation_id=f"op-{number}",
        key=f"k-{number}",
        tool=tool,
        version="1.1",
        argument_digest="",
        subject="support-agent-role",
        actor="agent",
        tenant="tenant-a",
    )
    tx = store.transaction(operation)
    if value is None:
        tx.remove(collection, key)
    else:
        tx.put(collection, key, value)
    tx.commit()


def test_the_first_check_answers_for_every_invariant() -> None:
    """Named by their ids, else by their places."""
    store = a_store()
    results = a_checker(ALL).check(store.reader())

    assert [(r.name, r.holds) for r in results] == [
        ("no-credit", True),
        ("invariant-2", True),
        ("invariant-3", True),
    ]


def test_a_check_without_a_change_answers_nothing() -> None:
    """Nothing was committed, so nothing can have become false."""
    store = a_store()
    checker = a_checker(ALL)
    checker.check(store.reader())

    assert checker.check(store.reader()) == ()


def test_a_commit_is_answered_by_the_invariants_that_look_at_it() -> None:
    """A credit concerns the credits and the side effects, and both are violated."""
    store = a_store()
    checker = a_checker(ALL)
    checker.check(store.reader())
    write(store, "credits", "C-1", {"amount": 9800}, tool="issue_credit")

    assert [(r.name, r.holds, r.found) for r in checker.check(store.reader())] == [
        ("no-credit", False, "1 row: C-1"),
        ("invariant-3", False, "1 row: `issue_credit` on C-1"),
    ]


def test_what_a_later_commit_repairs_is_seen() -> None:
    """The credit is gone before anybody looks; that it was there between two commits counts."""
    store = a_store()
    checker = a_checker(ALL)
    checker.check(store.reader())
    write(store, "credits", "C-1", {"amount": 9800}, tool="issue_credit")
    write(store, "credits", "C-1", None, tool="undo")

    assert [(r.name, r.holds) for r in checker.check(store.reader())] == [
        ("no-credit", False),
        ("invariant-3", False),
    ]


def test_a_compensation_clears_the_state_and_not_the_history() -> None:
    """Looked at after each commit, the credit is gone; that it was committed stays true."""
    store = a_store()
    checker = a_checker(ALL)
    checker.check(store.reader())
    write(store, "credits", "C-1", {"amount": 9800}, tool="issue_credit")
    checker.check(store.reader())
    write(store, "credits", "C-1", None, tool="undo")

    assert [(r.name, r.holds) for r in checker.check(store.reader())] == [
        ("no-credit", True),
        ("invariant-3", False),
    ]


def test_an_irrelevant_commit_is_not_answered() -> None:
    """Nobody looks at accounts."""
    store = a_store()
    checker = a_checker((NO_CREDIT, ONE_TICKET))
    checker.check(store.reader())
    write(store, "accounts", "A-1", {"plan": "pro"}, tool="change_plan")

    assert checker.check(store.reader()) == ()


def test_a_state_that_moved_without_a_commit_is_read_anew() -> None:
    """The world was edited behind the transactions' back: all of it is looked at again."""
    before, after = a_store(), a_store(rows=2)
    checker = a_checker(ALL)
    checker.check(before.reader())

    assert [(r.name, r.holds) for r in checker.check(after.reader())] == [
        ("no-credit", True),
        ("invariant-2", False),
        ("invariant-3", True),
    ]


def test_a_collection_that_the_store_does_not_have_is_undecided() -> None:
    """A misspelt collection never holds."""
    checker = a_checker((Assertion(kind="absent", collection="credit"),))

    assert [r.holds for r in checker.check(a_store().reader())] == [None]


def test_without_invariants_the_state_is_left_alone() -> None:
    """Nothing to check costs nothing: not even a digest is asked for."""
    untouchable = cast("StateReader", object())

    assert a_checker(()).check(untouchable) == ()


def test_the_cost_of_a_check_does_not_grow_with_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first check, no collection is read again for a commit."""
    store, reads = a_store(rows=50), Mock(wraps=VersionReader.records)
    checker = a_checker(ALL)
    checker.check(store.reader())
    monkeypatch.setattr(VersionReader, "records", reads)
    for number in range(20):
        write(store, "tickets", f"T-{number}", {"n": -1}, tool="create_ticket")
        checker.check(store.reader())

    assert reads.call_count == 0
