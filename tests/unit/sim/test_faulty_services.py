"""A model or service that fails gives no decision, and none is made up for it."""

from __future__ import annotations

import pytest

from arh.canonical import EMPTY
from arh.errors import DependencyFailure
from arh.records.authorization import AuthorizationRequest
from arh.records.decisions import Malformed, Truncated, Unavailable, Usage
from tests.unit.sim.world import (
    CONTEXT,
    World,
    of,
    seen,
)


def test_a_model_that_was_not_asked_costs_no_tokens() -> None:
    """Before dispatch nothing is asked, so nothing is used."""
    world = World((of("model", "not_dispatched", "rate_limit", retry_after_ms=50),))

    reply = world.ask()

    assert (reply.decision, reply.usage) == (Unavailable("rate_limited", 50), Usage())
    assert world.model.asked == 0


@pytest.mark.parametrize(
    ("effect", "kind"),
    [("timeout", Unavailable), ("malformed", Malformed), ("truncated_stream", Truncated)],
)
def test_a_lost_or_broken_reply_of_a_model_keeps_its_tokens(effect: str, kind: type) -> None:
    """The model worked, so its tokens count, and nothing of its decision may be acted on."""
    world = World((of("model", "after_dispatch", effect),))

    reply = world.ask()

    assert isinstance(reply.decision, kind)
    assert reply.usage == Usage(10, 5)
    assert world.model.asked == 1


def test_a_slow_model_takes_its_own_time_and_the_faults() -> None:
    """Latency and clock agree."""
    world = World((of("model", "after_dispatch", "slowdown", ms=1_000),))

    reply = world.ask()

    assert (reply.latency_ms, world.clock.now_ms()) == (1_200, 1_200)


def test_models_of_several_actors_share_one_count() -> None:
    """The second call is the second call, whoever makes it."""
    world = World((of("model", "not_dispatched", "error", trigger="nth", invocation=2),))
    other = world.injector.wrap_model(world.model, "agent-b")

    world.ask()
    world.proxied, first = other, world.proxied
    second = world.ask()

    assert first is not other
    assert isinstance(second.decision, Unavailable)


def test_an_earlier_decision_does_not_count_for_another_action() -> None:
    """The stale answer of a decision point is a real one, for somebody else's question."""
    plan = of("authorization_service", "after_dispatch", "stale", trigger="nth", invocation=2)
    world = World((plan,))

    world.read("A2")
    outcome = world.read("A1")

    assert seen(outcome)[:2] == ("rejected", "authorization_unavailable")
    assert world.calls[-1].decision is not None
    assert world.calls[-1].decision.status == "indeterminate"
    assert world.states() == ["delivered"]


def test_earlier_approvals_do_not_count_for_another_action() -> None:
    """An answer about one action opens no other."""
    plan = of("approval_service", "after_dispatch", "stale", trigger="nth", invocation=2)
    world = World((plan,))

    world.write("k1")
    outcome = world.write("k2")

    assert seen(outcome)[:2] == ("rejected", "approval_unavailable")
    assert world.notes() == 1
    assert world.states() == ["delivered"]


def test_an_earlier_answer_to_the_same_action_is_not_stale() -> None:
    """A repeat of the same action gets what it would have got: nothing has happened."""
    plan = of("authorization_service", "after_dispatch", "stale", trigger="nth", invocation=2)
    world = World((plan,))

    outcomes = [world.read(), world.read()]

    assert [o.status for o in outcomes] == ["executed", "executed"]
    assert world.states() == ["not_injected"]


@pytest.mark.parametrize("target", ["authorization_service", "approval_service"])
def test_without_an_earlier_answer_nothing_is_stale(target: str) -> None:
    """The first question of a run has no earlier answer to get."""
    world = World((of(target, "after_dispatch", "stale"),))

    world.write()

    assert world.states() == ["not_injected"]


@pytest.mark.parametrize("target", ["authorization_service", "approval_service"])
@pytest.mark.parametrize("effect", ["timeout", "error", "malformed"])
def test_a_security_service_that_fails_blocks_and_denies_nothing(target: str, effect: str) -> None:
    """No effect while a control's health is unknown, and no denial that nobody spoke."""
    world = World((of(target, "after_dispatch", effect),))

    outcome = world.write()
    again = world.write()

    assert outcome.status == "rejected"
    assert outcome.reason.endswith("_unavailable")
    assert again.status == "executed"
    assert world.notes() == 1


def test_a_service_fault_of_another_tool_is_not_exposed() -> None:
    """The name filters the services' questions by the tool that they are about."""
    world = World((of("authorization_service", "not_dispatched", "error", target_name="note"),))

    assert world.read().status == "executed"
    assert world.states() == ["not_exposed"]


def test_a_deadline_that_has_passed_leaves_no_time_to_spend() -> None:
    """Time never runs back for a caller that is late already."""
    world = World((of("authorization_service", "not_dispatched", "timeout"),))
    world.clock.advance(50)
    request = AuthorizationRequest(
        request_id="call-0009",
        context=CONTEXT,
        tool="look",
        version="1.0.0",
        effect="read",
        arguments=EMPTY,
        action_digest="d",
        resources=(),
        at_ms=0,
        deadline_ms=10,
    )

    with pytest.raises(DependencyFailure):
        world.point.decide(request)
    assert world.clock.now_ms() == 50
