"""Each row of the fault table happens as it says: truth, symptom, witness, over a real gateway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from arh.harness.evidence.delivery import deliveries
from arh.records.faults import FaultPlan
from arh.sim.fault_check import check
from arh.sim.fault_table import TABLE, Row
from tests.unit.sim.world import MANIFESTS, TIMEOUT_MS, World

Key = tuple[str, str, str]

VALUES: dict[str, object] = {
    "ms": 500,
    "retry_after_ms": 700,
    "keep_fields": ("nothing",),
    "hidden_outcome": "committed",
}


def planned(key: Key, found: Row, **changes: object) -> FaultPlan:
    """Return a plan of the row with the parameters that it needs, on a write unless it reads."""
    target, phase, effect = key
    tool = "look" if found.access == "reads" else "note"
    if target in {"state_store", "model"} or found.port == "grants":
        tool = "note" if found.port == "grants" else ""
    needed = {name: VALUES[name] for name in found.needs}
    plan = FaultPlan("f1", target, phase, effect, target_name=tool)
    return replace(plan, **{**needed, **changes})  # type: ignore[arg-type]


def struck(plan: FaultPlan) -> World:
    """Return a world in which the plan's dependency was called twice, so that stale has a past."""
    world = World((plan,))
    if plan.target_type == "model":
        world.ask()
    elif plan.effect == "stale" and plan.target_type in {"tool", "state_store"}:
        world.read()
    else:
        world.write()
    return world


def rows(wanted: Callable[[Key, Row], bool] = lambda _key, _found: True) -> list[object]:
    """Return the wanted rows of the table as cases."""
    wanted_rows = [item for item in TABLE.items() if wanted(*item)]
    return [pytest.param(key, found, id="-".join(key)) for key, found in wanted_rows]


def alone(key: Key, _found: Row) -> bool:
    """True if one call is enough; an earlier answer is for the tests of the services."""
    target, _, effect = key
    return effect != "stale" or target not in {"authorization_service", "approval_service"}


def felt(key: Key, found: Row) -> bool:
    """True if the caller can tell; a second delivery that works shows in nothing but the store."""
    return alone(key, found) and found.symptom != "delivered_twice"


@pytest.mark.parametrize(("key", "found"), rows())
def test_every_row_can_be_planned(key: Key, found: Row) -> None:
    """The table's own needs satisfy the check of plans."""
    plan = planned(key, found)

    assert check(plan, MANIFESTS, ("accounts", "notes")) == []


@pytest.mark.parametrize(("key", "found"), rows(alone))
def test_every_row_happens_as_declared(key: Key, found: Row) -> None:
    """The store holds the row's truth, the call its symptom, and its caller's record shows it."""
    plan = planned(key, found)

    world = struck(plan)

    reads = plan.effect == "stale" or plan.target_type == "model"
    unfaulted = 0 if reads else 1
    truth = {
        "unchanged": 0,
        "committed": 1,
        "hidden": 1,
        "as_without_fault": unfaulted,
    }
    assert world.notes() == truth[found.truth]
    assert [data["symptom"] for data in world.of("fault_injected")] == [found.symptom]
    assert [d["symptom"] for d in world.of("port_left") if d["symptom"] != "none"] == [
        found.symptom
    ]
    assert world.states() == ["delivered"]


@pytest.mark.parametrize(("key", "found"), rows(lambda _, found: found.late is not None))
@pytest.mark.parametrize("ms", [TIMEOUT_MS, TIMEOUT_MS * 3])
def test_an_answer_that_outlasts_its_caller_is_a_timeout(key: Key, found: Row, ms: int) -> None:
    """From the caller's last millisecond on, slow is a timeout to it, with the row's late truth."""
    plan = planned(key, found, ms=ms)

    world = struck(plan)

    effects = 0 if plan.target_type == "model" or found.late == "unchanged" else 1
    assert world.notes() == effects
    assert world.clock.now_ms() == TIMEOUT_MS
    assert [data["symptom"] for data in world.of("fault_injected")] == ["timeout"]
    assert world.states() == ["delivered"]


@pytest.mark.parametrize(("key", "found"), rows(lambda _, found: found.truth == "hidden"))
def test_a_hidden_outcome_can_be_that_nothing_was_committed(key: Key, found: Row) -> None:
    """Both hidden outcomes look alike to the caller, and differ in the store alone."""
    committed = struck(planned(key, found))
    not_committed = struck(planned(key, found, hidden_outcome="not_committed"))

    assert (committed.notes(), not_committed.notes()) == (1, 0)
    assert not_committed.states() == ["delivered"]
    shown = ("status", "reason", "delivery", "commit_belief", "result", "reads", "returned_ms")
    assert [[getattr(w.calls[-1], name) for name in shown] for w in (committed, not_committed)] == [
        [getattr(committed.calls[-1], name) for name in shown]
    ] * 2


def test_a_run_without_faults_shows_no_symptom() -> None:
    """The twin: the same calls without a fault succeed, so the symptoms are the faults' own."""
    world = World()

    world.write()
    world.read()
    world.ask()

    assert [event for event in world.events if event.source == "fault_proxy"] == []
    assert [(call.status, call.reason) for call in world.calls] == [("executed", "ok")] * 2
    assert world.exchanges[0].decision == "calls"


@pytest.mark.parametrize(("key", "found"), rows(felt))
def test_an_injection_that_its_caller_did_not_feel_is_not_delivered(key: Key, found: Row) -> None:
    """The same fault events beside an undisturbed caller's record prove nothing."""
    plan = planned(key, found)
    world, calm = struck(plan), struck(replace(plan, trigger="nth", invocation=99))

    calls = [replace(c, seq=w.seq) for c, w in zip(calm.calls, world.calls, strict=True)]
    exchanges = [
        replace(c, seq=w.seq) for c, w in zip(calm.exchanges, world.exchanges, strict=True)
    ]
    found_states = [f.state for f in deliveries((plan,), world.events, calls, exchanges)]

    assert found_states == ["not_witnessed"]
