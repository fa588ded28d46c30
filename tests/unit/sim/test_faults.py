"""Faults strike when they are due, are armed only where they can, and leave equal traces."""

from __future__ import annotations

import pytest

from arh.errors import HarnessError
from arh.records.faults import FaultPlan
from arh.sim.faults import FaultInjector
from tests.unit.sim.world import (
    World,
    of,
    tool,
)


def test_without_a_fault_a_port_is_the_dependency_itself() -> None:
    """Nothing stands in the way of a run without faults."""
    world = World()

    assert world.client is world.raw_client
    assert world.proxied is world.model
    assert world.injector.wrap_store(world.store) is world.store


@pytest.mark.parametrize(
    ("trigger", "invocation", "struck"),
    [("first", None, [0]), ("nth", 1, [0]), ("nth", 3, [2]), ("always", None, [0, 1, 2])],
)
def test_a_trigger_counts_the_calls_that_match(
    trigger: str, invocation: int | None, struck: list[int]
) -> None:
    """Calls of other tools are not counted; of the named tool, exactly the chosen are struck."""
    plan = tool("not_dispatched", "error", trigger=trigger, invocation=invocation)
    world = World((plan,))

    outcomes = []
    for number in range(3):
        world.read()
        outcomes.append(world.write(f"k{number}"))

    assert [n for n, o in enumerate(outcomes) if o.status == "error"] == struck
    assert world.states() == ["delivered"]


def test_a_fault_of_a_tool_that_nobody_calls_is_not_exposed() -> None:
    """An armed fault without a matching call has shown nothing."""
    world = World((tool("not_dispatched", "timeout"),))

    world.read()

    assert world.states() == ["not_exposed"]


def test_an_invocation_beyond_the_last_call_is_not_injected() -> None:
    """The port was used, and the fault never was due."""
    world = World((tool("not_dispatched", "timeout", trigger="nth", invocation=3),))

    world.write()
    world.write("k2")

    assert world.states() == ["not_injected"]
    assert world.notes() == 2


def test_a_fault_whose_dependency_was_not_passed_through_its_proxy_is_not_armed() -> None:
    """A composer that forgets a port is found out."""
    world = World((tool("not_dispatched", "timeout"), of("model", "not_dispatched", "error")))
    injector = FaultInjector(world.plans, world.clock, world)
    before = len(world.of("fault_armed"))

    injector.wrap_model(world.model, "agent-a")
    injector.arm()

    assert [d["target_type"] for d in world.of("fault_armed")[before:]] == ["model"]


def test_a_fault_inside_the_transaction_needs_the_store_too() -> None:
    """Before commit, the tool's proxy alone could not do what the table says."""
    world = World((tool("before_commit", "error"),), armed=False)
    injector = FaultInjector(world.plans, world.clock, world)

    injector.wrap_tools(world.raw_client)
    injector.arm()

    assert world.of("fault_armed") == []


def test_of_two_faults_due_in_one_call_the_first_declared_happens() -> None:
    """The other one stays unproven, which makes the run unjudgeable rather than half true."""
    first = FaultPlan("f1", "tool", "not_dispatched", "timeout", target_name="note", ms=100)
    second = FaultPlan("f2", "tool", "not_dispatched", "error")
    world = World((first, second))

    outcome = world.write()

    assert outcome.reason == "timeout"
    assert [(d["fault"], d["symptom"]) for d in world.of("port_left")] == [
        ("f1", "timeout"),
        ("f2", "none"),
    ]
    assert world.states() == ["delivered", "not_injected"]


def test_a_plan_that_the_table_lacks_is_our_defect() -> None:
    """Plans were checked at load: one that slips through is no longer the author's mistake."""
    world = World()

    with pytest.raises(HarnessError, match="no fault stale not_dispatched of a model"):
        FaultInjector([of("model", "not_dispatched", "stale")], world.clock, world)


def test_equal_runs_leave_equal_traces() -> None:
    """The same plans and calls give the same events, times and ids."""
    plans = (
        tool("after_commit", "timeout", ms=300),
        FaultPlan("f2", "model", "after_dispatch", "slowdown", ms=50, trigger="always"),
        FaultPlan("f3", "state_store", "after_dispatch", "stale", trigger="nth", invocation=2),
    )

    def trace() -> tuple[object, ...]:
        world = World(plans)
        world.ask()
        world.write()
        world.write()
        world.read()
        return tuple((e.kind, e.at_ms, e.data) for e in world.events)

    assert trace() == trace()


def test_every_visit_is_entered_and_left() -> None:
    """Each call through an armed port is on record from beginning to end, struck or not."""
    world = World((tool("not_dispatched", "error", trigger="nth", invocation=2),))

    for number in range(3):
        world.write(f"k{number}")

    kinds = [e.kind for e in world.events if e.source == "fault_proxy"]
    assert kinds == [
        "fault_armed",
        *("port_entered", "port_left"),
        *("port_entered", "fault_injected", "port_left"),
        *("port_entered", "port_left"),
    ]
