"""A fault is delivered only if injector, port and caller agree; every missing link has its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arh.harness.evidence.delivery import deliveries
from arh.records.control.evidence import CallEvidence, Event, ExchangeEvidence, FaultEvidence
from arh.records.faults import FaultPlan

PLAN = FaultPlan("f1", "tool", "after_commit", "timeout", target_name="note", ms=300)
MODEL_PLAN = FaultPlan("m1", "model", "not_dispatched", "error")


def event(seq: int, kind: str, source: str = "fault_proxy", actor: str = "a", **data: Any) -> Event:  # noqa: ANN401
    """Return an event of a run."""
    return Event(f"run#{seq}", seq, kind, source, 0, actor, data)


INJECTED = event(
    3,
    "fault_injected",
    fault="f1",
    call="call-0001",
    phase="after_commit",
    effect="timeout",
    symptom="timeout",
    parameters={"ms": 300},
)
EVENTS = (
    event(1, "fault_armed", fault="f1"),
    event(2, "port_entered", fault="f1", port="execute", call="call-0001"),
    INJECTED,
    event(4, "port_left", fault="f1", port="execute", call="call-0001", symptom="timeout"),
)
CALL = CallEvidence(
    event_id="run#5",
    seq=5,
    index=0,
    actor="a",
    call_id="call-0001",
    requested_id="r",
    tool="note",
    version="1",
    arguments={},
    arguments_text="",
    argument_digest="",
    key="k",
    key_source="argument",
    operation_id="op-1",
    requested_ms=0,
    returned_ms=300,
    decision=None,
    approval=None,
    lookup="absent",
    entered=True,
    status="error",
    reason="timeout",
    cause="",
    commit_belief="unknown",
    delivery="timeout",
    result=None,
    reads=(),
    marks=(),
    stages=(),
)
CALM = replace(CALL, status="executed", reason="ok", delivery="delivered")
EXCHANGE = ExchangeEvidence(
    event_id="run#9",
    seq=9,
    actor="a",
    asked_ms=0,
    answered_ms=0,
    message_count=1,
    new_messages=(),
    decision="unavailable",
    requests=(),
    text="",
    input_tokens=0,
    output_tokens=0,
    cached_tokens=0,
    latency_ms=0,
    model="",
)
MODEL_EVENTS = (
    event(5, "fault_armed", fault="m1"),
    event(6, "port_entered", fault="m1", port="complete", call="ask-0001"),
    event(
        7,
        "fault_injected",
        fault="m1",
        call="ask-0001",
        phase="not_dispatched",
        effect="error",
        symptom="error",
        parameters={"ms": 0},
    ),
    event(8, "port_left", fault="m1", port="complete", call="ask-0001", symptom="error"),
)


def state(
    events: tuple[Event, ...], calls: tuple[CallEvidence, ...] = (CALL,), plan: FaultPlan = PLAN
) -> str:
    """Return how far the fault is proven."""
    return deliveries((plan,), events, calls, ())[0].state


def test_a_fault_that_all_parties_saw_is_delivered() -> None:
    """The proof names the arming, the injection and the caller's own record."""
    assert deliveries((PLAN,), EVENTS, (CALL,), ()) == (
        FaultEvidence(
            fault_id="f1",
            target_type="tool",
            target_name="note",
            phase="after_commit",
            effect="timeout",
            state="delivered",
            events=("run#1", "run#3", "run#5"),
            calls=("call-0001",),
        ),
    )


def without(*kinds: str) -> tuple[Event, ...]:
    """Return the proof without some kinds of events."""
    return tuple(e for e in EVENTS if e.kind not in kinds)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), "not_armed"),
        (without("fault_armed"), "not_armed"),
        (without("port_entered", "fault_injected", "port_left"), "not_exposed"),
        (without("fault_injected"), "not_injected"),
        (without("port_left"), "not_witnessed"),
        (without("port_entered"), "not_exposed"),
    ],
)
def test_each_missing_link_has_its_name(events: tuple[Event, ...], expected: str) -> None:
    """The first thing that is missing is what is said."""
    assert state(events) == expected


def test_a_symptom_without_an_injection_is_no_delivery() -> None:
    """The caller timed out, and not by the fault's doing."""
    assert state(without("fault_injected"), (CALL,)) == "not_injected"


def test_an_injection_that_the_caller_did_not_feel_is_not_witnessed() -> None:
    """The caller's own record says that all was well, or there is none."""
    assert [state(EVENTS, calls) for calls in ((CALM,), (), (replace(CALL, call_id="other"),))] == [
        "not_witnessed"
    ] * 3


def changed(change: Callable[[Event], Event]) -> tuple[Event, ...]:
    """Return the proof with its injection changed."""
    return tuple(change(e) if e is INJECTED else e for e in EVENTS)


def with_data(**data: object) -> Callable[[Event], Event]:
    """Return a change of an event's data."""
    return lambda e: replace(e, data={**e.data, **data})


@pytest.mark.parametrize(
    "change",
    [
        with_data(call="call-0002"),
        with_data(effect="error"),
        with_data(phase="not_dispatched"),
        with_data(symptom="slow"),
        with_data(symptom=None),
        with_data(symptom=["timeout"]),
        with_data(call=None, symptom=7),
        with_data(parameters=None, symptom="error"),
    ],
)
def test_an_injection_that_is_not_the_declared_one_proves_nothing(
    change: Callable[[Event], Event],
) -> None:
    """Call, phase, effect and symptom must be those of the plan and of the visit."""
    assert state(changed(change)) == "not_witnessed"


def test_only_a_slow_answer_may_turn_into_a_timeout() -> None:
    """An error that shows as a timeout is not the error that was declared."""
    plan = replace(PLAN, effect="error")
    slow = replace(PLAN, effect="slowdown")

    assert state(changed(with_data(effect="error")), plan=plan) == "not_witnessed"
    assert state(changed(with_data(effect="slowdown")), plan=slow) == "delivered"


def test_only_fault_proxies_speak_of_faults() -> None:
    """Events of the same kinds from anybody else are not evidence."""
    forged = tuple(replace(e, source="agent") for e in EVENTS)

    assert state(forged) == "not_armed"


def test_every_injection_must_be_witnessed() -> None:
    """One of two that was not felt leaves the fault unproven."""
    second = tuple(
        replace(e, seq=e.seq + 10, id=f"run#{e.seq + 10}", data={**e.data, "call": "call-0002"})
        for e in EVENTS[1:]
    )
    twice = (CALL, replace(CALL, call_id="call-0002", event_id="run#15", seq=15))

    assert state((*EVENTS, *second), twice) == "delivered"
    assert state((*EVENTS, *second), (CALL, replace(CALM, call_id="call-0002"))) == "not_witnessed"


def test_visits_of_two_actors_may_overlap() -> None:
    """One call is struck while another is still inside the same port."""
    other = replace(EVENTS[1], seq=2, actor="b", data={**EVENTS[1].data, "call": "call-0002"})
    left = event(6, "port_left", fault="f1", port="execute", call="call-0002", symptom="none")

    assert state((EVENTS[0], EVENTS[1], other, *EVENTS[2:], left)) == "delivered"


def test_a_models_exchange_is_the_actors_next() -> None:
    """Another actor's exchange and an earlier one do not witness."""
    exchanges = {
        "next": (EXCHANGE,),
        "earlier": (replace(EXCHANGE, seq=4),),
        "of another": (replace(EXCHANGE, actor="b"),),
        "calm, then not": (replace(EXCHANGE, decision="final"), replace(EXCHANGE, seq=20)),
    }

    found = {
        name: deliveries((MODEL_PLAN,), MODEL_EVENTS, (), those)[0].state
        for name, those in exchanges.items()
    }

    assert found == {
        "next": "delivered",
        "earlier": "not_witnessed",
        "of another": "not_witnessed",
        "calm, then not": "not_witnessed",
    }


@pytest.mark.parametrize(
    ("effect", "parameters", "fields", "expected"),
    [
        ("slowdown", {"ms": 300}, {}, "delivered"),
        ("slowdown", {"ms": 301}, {}, "not_witnessed"),
        ("slowdown", {}, {}, "not_witnessed"),
        ("slowdown", {"ms": True}, {}, "not_witnessed"),
        ("partial", {"removed": ["a"]}, {"result": {"b": 1}}, "delivered"),
        ("partial", {"removed": ["a"]}, {"result": {"a": 1}}, "not_witnessed"),
        ("partial", {"removed": []}, {"result": {"b": 1}}, "not_witnessed"),
        ("partial", {"removed": "a"}, {"result": {"b": 1}}, "not_witnessed"),
        ("partial", {"removed": ["a"]}, {"result": None}, "not_witnessed"),
        ("partial", {"removed": ["a"]}, {"delivery": "malformed"}, "delivered"),
        ("stale", {"records": [["t", "k", 1, 2]]}, {"reads": (("t", "k", 1),)}, "delivered"),
        ("stale", {"records": [["t", "k", 1, 2]]}, {"reads": (("t", "k", 2),)}, "not_witnessed"),
        ("stale", {"records": None}, {"reads": (("t", "k", 1),)}, "not_witnessed"),
        ("stale", {"records": ["t"]}, {"reads": (("t", "k", 1),)}, "not_witnessed"),
    ],
)
def test_a_symptom_is_compared_with_what_was_injected(
    effect: str, parameters: dict[str, object], fields: dict[str, Any], expected: str
) -> None:
    """The time, the missing fields and the older revision must be those of the injection."""
    symptom = "slow" if effect == "slowdown" else effect
    plan = FaultPlan("f1", "tool", "after_dispatch", effect)
    data = {"phase": "after_dispatch", "effect": effect, "symptom": symptom}
    events = (
        *EVENTS[:2],
        replace(INJECTED, data={**INJECTED.data, **data, "parameters": parameters}),
        replace(EVENTS[3], data={**EVENTS[3].data, "symptom": symptom}),
    )

    assert state(events, (replace(CALM, **fields),), plan) == expected


def test_a_plan_that_the_table_lacks_is_never_delivered() -> None:
    """Evidence of a fault that nobody can explain proves nothing."""
    plan = replace(PLAN, effect="boredom")

    assert state(EVENTS, plan=plan) == "not_witnessed"


def test_faults_are_listed_in_the_order_declared_and_apart() -> None:
    """One fault's events prove nothing of another."""
    twin = replace(PLAN, id="f2")

    found = deliveries((twin, PLAN, MODEL_PLAN), (*EVENTS, *MODEL_EVENTS), (CALL,), (EXCHANGE,))

    assert [(f.fault_id, f.state) for f in found] == [
        ("f2", "not_armed"),
        ("f1", "delivered"),
        ("m1", "delivered"),
    ]
