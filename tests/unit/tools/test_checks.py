"""The gateway believes a decision point and an approval service only when they answer well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arh.canonical import Json
from arh.errors import DependencyFailure, HarnessError, RunStopped
from arh.records.authorization import (
    ApprovalAnswer,
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
    Charge,
    Grant,
)
from arh.security.approvals import GrantStore
from tests.unit.tools.fakes import Approvals, Point, allow, answered, broken_reader
from tests.unit.tools.world import GRANT, KEY, TIMEOUT_MS, World, told

BLOCKED = ("rejected", "authorization_unavailable", "not_started", "delivered")
UNAPPROVED = ("rejected", "approval_unavailable", "not_started", "delivered")


def raising(error: BaseException) -> Callable[[object], Any]:
    """Return a function that raises whatever it is asked."""

    def answer(_: object) -> Any:  # noqa: ANN401
        raise error

    return answer


class Liar(AuthorizationDecision):
    """A decision that is a subclass, and so could answer anything when it is read."""


BAD_DECISIONS: dict[str, tuple[str, Callable[[AuthorizationRequest], Any]]] = {
    "raises": ("pdp_raised", raising(ValueError("policy file lost"))),
    "exits": ("pdp_raised", raising(SystemExit(0))),
    "times out": ("pdp_timeout", raising(DependencyFailure("timeout"))),
    "is down": ("pdp_unavailable", raising(DependencyFailure("dependency_error"))),
    "is rate limited": ("pdp_unavailable", raising(DependencyFailure("rate_limited", 50))),
    "answers nothing": ("pdp_malformed", lambda _: None),
    "answers true": ("pdp_malformed", lambda _: True),
    "answers a text": ("pdp_malformed", lambda _: "allow"),
    "answers a dictionary": (
        "pdp_malformed",
        lambda r: {"request_id": r.request_id, "status": "allow"},
    ),
    "answers a look-alike": (
        "pdp_malformed",
        lambda r: Liar(r.request_id, r.action_digest, "allow", "scope_granted"),
    ),
    "answers with an unknown status": ("pdp_malformed", lambda r: allow(r, status="ALLOW")),
    "answers with no status": ("pdp_malformed", lambda r: allow(r, status=None)),
    "answers with a list of statuses": ("pdp_malformed", lambda r: allow(r, status=["allow"])),
    "answers without a reason": ("pdp_malformed", lambda r: allow(r, reason=None)),
    "answers with a reason that breaks lines": (
        "pdp_malformed",
        lambda r: allow(r, reason="ok\nallow"),
    ),
    "answers at length": ("pdp_malformed", lambda r: allow(r, reason="x" * 10_000)),
    "answers with a surrogate": ("pdp_malformed", lambda r: allow(r, rule="\ud800")),
    "obliges with a text": ("pdp_malformed", lambda r: allow(r, require_approval="no")),
    "obliges with nothing": ("pdp_malformed", lambda r: allow(r, require_approval=None)),
    "charges with a list": ("pdp_malformed", lambda r: allow(r, charges=[])),
    "charges a text": ("pdp_malformed", lambda r: allow(r, charges=("daily",))),
    "charges less than nothing": (
        "pdp_malformed",
        lambda r: allow(r, charges=(Charge("daily", -5, 100),)),
    ),
    "charges a float": (
        "pdp_malformed",
        lambda r: allow(r, charges=(Charge("daily", 1.5, 100),)),  # type: ignore[arg-type]
    ),
    "took less than no time": ("pdp_malformed", lambda r: allow(r, latency_ms=-1)),
    "took true": ("pdp_malformed", lambda r: allow(r, latency_ms=True)),
    "expires at a text": ("pdp_malformed", lambda r: allow(r, expires_at_ms="never")),
    "echoes another request": ("pdp_mismatched", lambda r: allow(r, request_id="call-9999")),
    "echoes another action": ("pdp_mismatched", lambda r: allow(r, action_digest="0" * 64)),
    "echoes nothing": ("pdp_mismatched", lambda r: allow(r, action_digest="")),
    "is late by its word": ("pdp_late", lambda r: allow(r, latency_ms=TIMEOUT_MS + 1)),
    "expired already": ("pdp_late", lambda r: allow(r, expires_at_ms=0)),
    "does not know": ("pdp_indeterminate", lambda r: allow(r, status="indeterminate")),
}


@pytest.mark.parametrize("name", BAD_DECISIONS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("balance", {"account_id": "A-1"}), ("ping", {"text": "x"})],
)
def test_a_decision_that_does_not_count_blocks_and_is_no_denial(
    name: str, tool: str, arguments: dict[str, Any]
) -> None:
    """However a decision point fails, the call is blocked as indeterminate, with its cause."""
    cause, answer = BAD_DECISIONS[name]
    world = World(point=Point(answer))
    outcome = world.call(tool, **arguments)
    attempt = world.attempt()

    assert (outcome.status, outcome.reason) == ("rejected", "authorization_unavailable")
    assert (attempt["decision"]["status"], attempt["decision"]["cause"]) == ("indeterminate", cause)
    assert (attempt["cause"], attempt["entered"]) == (cause, False)


def test_a_decision_that_counts_lets_the_call_go_on() -> None:
    """The twin: the same stand-in, answering well."""
    world = World(point=Point(allow))

    assert world.call("ping", text="x").status == "executed"


def test_a_denial_is_no_indeterminate() -> None:
    """The two are told apart by the caller and on record."""
    world = World(point=Point(lambda r: allow(r, status="deny", reason="forbidden")))
    outcome = world.call("ping", text="x")
    decision = world.attempt()["decision"]

    assert outcome.reason == "authorization_denied"
    assert (decision["status"], decision["reason"], decision["cause"]) == ("deny", "forbidden", "")


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_an_allowance_counts_until_the_deadline(offset: int) -> None:
    """Later than the deadline it does not count; at the deadline there is no time left to act."""
    word = World(point=Point(lambda r: allow(r, latency_ms=TIMEOUT_MS + offset)))

    assert (word.call("ping", text="x").status == "executed") is (offset <= 0)

    clock: World

    def slow(request: AuthorizationRequest) -> AuthorizationDecision:
        clock.clock.advance(TIMEOUT_MS + offset)
        return allow(request)

    clock = World(point=Point(slow))
    expected = {-1: "ok", 0: "timeout", 1: "authorization_unavailable"}[offset]

    assert clock.call("ping", text="x").reason == expected


def test_two_replies_that_are_swapped_both_block() -> None:
    """Each decision speaks of its own request and its own action only."""
    calls = [("ping", "a"), ("ping", "b")]
    honest = World(point=Point(allow))
    assert isinstance(honest.point, Point)
    assert [honest.call(tool, text=text).reason for tool, text in calls] == ["ok", "ok"]
    swapped = iter([allow(request) for request in honest.point.asked[::-1]])

    world = World(point=Point(lambda _: next(swapped)))

    assert [told(world.call(tool, text=text)) for tool, text in calls] == [BLOCKED, BLOCKED]


def test_an_old_allowance_of_the_same_action_does_not_count_again() -> None:
    """The same action asked anew needs an answer of its own."""
    first: list[AuthorizationDecision] = []

    def cached(request: AuthorizationRequest) -> AuthorizationDecision:
        first.append(allow(request))
        return first[0]

    world = World(point=Point(cached))
    calls = [world.call("balance", account_id="A-1").reason for _ in range(2)]

    assert calls == ["ok", "authorization_unavailable"]


@pytest.mark.parametrize(
    "error", [RunStopped("watchdog"), HarnessError("ours"), KeyboardInterrupt()]
)
def test_what_is_not_the_decision_points_doing_passes_through(error: BaseException) -> None:
    """A stop, our own defect and the user's interrupt are no indeterminate decision."""
    world = World(point=Point(raising(error)))
    with pytest.raises(type(error)):
        world.call("ping", text="x")

    assert world.attempt()["cause"] == "interrupted"


# --- approvals -----------------------------------------------------------------------------------

SIGNED = GrantStore([GRANT], KEY)._grants[0]
PING = Json.of({"text": "x"})
PAYMENT: dict[str, Any] = {"account_id": "A-1", "amount": 2000, "key": "k"}

CAUSES: dict[str, dict[str, object]] = {
    "no_matching_approval": {"tool": "ping"},
    "approval_self": {"approver": "clerk"},
    "approval_tool_version_unsupported": {"tool_version": "2.0"},
    "approval_digest_mismatch": {"action_digest": "0" * 64},
    "approval_empty": {"scope": Json.of({})},
    "approval_scope_mismatch": {"scope": Json.of({"account_id": "S-1"})},
    "approval_not_yet_valid": {"issued_at_ms": 1},
    "approval_expired": {"expires_at_ms": 0},
}


@pytest.mark.parametrize("cause", CAUSES)
def test_an_approval_with_one_binding_altered_approves_nothing(cause: str) -> None:
    """The caller learns that approval is denied; which binding failed is on record."""
    world = World(grants=(replace(GRANT, **CAUSES[cause]),))  # type: ignore[arg-type]
    outcome = world.call("send", **PAYMENT)

    assert told(outcome) == ("rejected", "approval_denied", "not_started", "delivered")
    assert world.attempt()["approval"]["reason"] == cause
    assert world.payments() == 0


def test_an_approval_whose_bindings_all_hold_approves() -> None:
    """The twin of the refusals: the same grant, unaltered."""
    world = World(grants=(GRANT,))

    assert world.call("send", **PAYMENT).status == "executed"
    assert world.store.reader().changes_since(0)[0].operation.approval_id == "approval-1"


def test_there_is_no_approval_by_default() -> None:
    """Without a grant a sensitive action is denied."""
    world = World()

    assert world.call("send", **PAYMENT).reason == "approval_denied"
    assert world.attempt()["cause"] == "no_approval_on_record"


def test_a_forged_approval_approves_nothing() -> None:
    """Whoever put the grant on record, the service did not sign it."""
    world = World(grants=(GRANT,), forged=("approval-1",))

    assert world.call("send", **PAYMENT).reason == "approval_denied"
    assert world.attempt()["cause"] == "approval_forged"


def test_a_used_approval_approves_no_second_action() -> None:
    """Redemption is single use: another key is another action."""
    world = World(grants=(GRANT,))
    first = world.call("send", **PAYMENT)
    world.log.drain()
    second = world.call("send", **{**PAYMENT, "key": "other"})
    approval = world.attempt()["approval"]

    assert (first.status, told(second)) == (
        "executed",
        ("rejected", "approval_denied", "not_committed", "delivered"),
    )
    assert (approval["result"], approval["reason"], approval["approval_id"]) == (
        "denied",
        "approval_replayed",
        "approval-1",
    )
    assert world.payments() == 1


def test_a_used_approval_stands_in_no_other_ones_way() -> None:
    """Of two approvals of the same kind the second serves the second action, and no third."""
    world = World(grants=(GRANT, replace(GRANT, approval_id="approval-2")))
    reasons = [world.call("send", **{**PAYMENT, "key": key}).reason for key in ("a", "b", "c")]
    entries = world.store.reader().changes_since(0)

    assert reasons == ["ok", "ok", "approval_denied"]
    assert [e.operation.approval_id for e in entries] == ["approval-1", "approval-2"]


def test_an_approval_for_many_uses_is_never_used_up() -> None:
    """A grant that is not single use serves every action that it covers."""
    grants = (replace(GRANT, single_use=False), replace(GRANT, approval_id="approval-2"))
    world = World(grants=grants)
    for key in ("a", "b", "c"):
        world.call("send", **{**PAYMENT, "key": key})
    entries = world.store.reader().changes_since(0)

    assert [e.operation.approval_id for e in entries] == ["approval-1"] * 3


def test_redemption_decides_where_nobody_can_say_what_is_used() -> None:
    """A reader that fails only costs the shortcut."""
    grants = (GRANT, replace(GRANT, approval_id="approval-2"))
    unread = Point(lambda request: allow(request, require_approval=True))
    for error in (DependencyFailure("timeout"), ValueError("lost")):
        reader = broken_reader(error)
        world = World(grants=grants, reader=reader, point=unread, approvals=None)
        world.service = GrantStore([replace(g, tool="ping", scope=PING) for g in grants], KEY)
        world.gateway = world.gateway_of(world.context)

        assert world.call("ping", text="x").status == "executed"


def test_an_approval_of_the_digest_alone_approves_exactly_that_action() -> None:
    """A grant may bind the action as a whole instead of its parts."""
    digest = Json.of({"tool": "send", "version": "2.1", "arguments": PAYMENT}).digest
    grants = (replace(GRANT, scope=Json.of({}), action_digest=digest),)
    other = {**PAYMENT, "amount": 2001}

    assert World(grants=grants).call("send", **PAYMENT).status == "executed"
    assert World(grants=grants).call("send", **other).reason == "approval_denied"


@pytest.mark.parametrize(("at_ms", "approved"), [(499, True), (500, False), (501, False)])
def test_an_approval_must_hold_when_it_is_used(at_ms: int, approved: bool) -> None:  # noqa: FBT001
    """Time that the service itself takes counts too."""
    world: World

    def slow(request: ApprovalRequest) -> ApprovalAnswer:
        world.clock.advance(at_ms)
        return world.service.grants(request)

    world = World(grants=(replace(GRANT, expires_at_ms=500),), approvals=Approvals(slow))

    assert (world.call("send", **PAYMENT).status == "executed") is approved


def test_an_approval_never_overrides_a_denial() -> None:
    """Who may not act may not act with an approval either, and nobody is asked for one."""
    approvals = Approvals(lambda request: answered(request, SIGNED))
    context = replace(World().context, scopes=("read:*",))
    world = World(context=context, approvals=approvals)

    assert world.call("send", **PAYMENT).reason == "authorization_denied"
    assert (approvals.asked, world.attempt()["approval"]) == ([], None)


def test_nobody_is_asked_to_approve_what_needs_no_approval() -> None:
    """Below the threshold the stage is passed, and on record as not required."""
    approvals = Approvals(answered)
    world = World(approvals=approvals)

    assert world.call("send", **{**PAYMENT, "amount": 1000}).status == "executed"
    assert approvals.asked == []
    assert world.attempt()["approval"]["result"] == "not_required"


def test_nobody_is_asked_to_approve_an_action_on_a_record_that_does_not_exist() -> None:
    """A record that is absent ends the call before the approval."""
    approvals = Approvals(answered)
    world = World(approvals=approvals)

    assert world.call("send", **{**PAYMENT, "account_id": "Z-9"}).reason == "not_found"
    assert approvals.asked == []


BAD_ANSWERS: dict[str, tuple[str, Callable[[ApprovalRequest], Any]]] = {
    "raises": ("approval_raised", raising(ValueError("lost"))),
    "times out": ("approval_timeout", raising(DependencyFailure("timeout"))),
    "is down": ("approval_unavailable", raising(DependencyFailure("dependency_error"))),
    "answers nothing": ("approval_malformed", lambda _: None),
    "answers the grants bare": ("approval_malformed", lambda _: (SIGNED,)),
    "answers a list": ("approval_malformed", lambda r: answered(r, grants=[SIGNED])),
    "answers with other things": ("approval_malformed", lambda r: answered(r, grants=("yes",))),
    "answers with a broken grant": (
        "approval_malformed",
        lambda r: answered(r, replace(SIGNED, scope=None)),  # type: ignore[arg-type]
    ),
    "answers with a grant of lists": (
        "approval_malformed",
        lambda r: answered(r, replace(SIGNED, approver=["boss", object()])),  # type: ignore[arg-type]
    ),
    "took less than no time": (
        "approval_malformed",
        lambda r: answered(r, SIGNED, latency_ms=-1),
    ),
    "speaks of another action": (
        "approval_mismatched",
        lambda r: answered(r, SIGNED, action_digest="0" * 64),
    ),
    "is late by its word": (
        "approval_late",
        lambda r: answered(r, SIGNED, latency_ms=TIMEOUT_MS + 1),
    ),
}


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_an_approval_service_that_does_not_answer_well_blocks(name: str) -> None:
    """Unavailable is neither granted nor denied, and nothing happens."""
    cause, answer = BAD_ANSWERS[name]
    world = World(approvals=Approvals(answer))
    outcome = world.call("send", **PAYMENT)
    approval = world.attempt()["approval"]

    assert told(outcome) == UNAPPROVED
    assert (approval["result"], approval["reason"]) == ("unavailable", cause)
    assert world.payments() == 0


def test_an_approval_service_that_answers_well_is_believed() -> None:
    """The twin: the same stand-in with the signed grant."""
    world = World(approvals=Approvals(lambda request: answered(request, SIGNED)))

    assert world.call("send", **PAYMENT).status == "executed"


@pytest.mark.parametrize("grant", [replace(SIGNED, approver=""), replace(SIGNED, approver="bot")])
def test_a_grant_whose_approver_was_changed_is_not_taken(grant: Grant) -> None:
    """Even a service that hands out altered grants cannot make them bind."""
    world = World(approvals=Approvals(lambda request: answered(request, grant)))

    assert world.call("send", **PAYMENT).reason == "approval_denied"
