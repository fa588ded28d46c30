"""The decision point denies by default, with one reason for each denial, and never raises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from arh.canonical import EMPTY, Json
from arh.records.authorization import (
    AuthorizationDecision,
    AuthorizationRequest,
    Charge,
    Resource,
)
from arh.records.identity import SecurityContext
from arh.security.decision_point import PolicyDecisionPoint
from arh.security.policy import read_policy

POLICY = Json.of(
    {
        "policy": "bank",
        "version": "1.0",
        "rules": [
            {"id": "read", "tool": "balance", "scope": "read:account"},
            {"id": "survey", "tool": "survey", "scope": "read:account", "tenant": "any"},
            {
                "id": "refund",
                "tool": "send",
                "scope": "write:refund",
                "when": {"kind": "refund"},
                "require_approval": True,
            },
            {
                "id": "send",
                "tool": "send",
                "scope": "write:payment",
                "require_approval_above": 100,
                "amount_max": 500,
                "limit": {"name": "daily", "by": "subject", "max": 900},
                "identity_arguments": {"payer": "subject", "bank": "tenant"},
                "deny_when": {"to": "X-1"},
            },
            {
                "id": "tip",
                "tool": "tip",
                "scope": "write:payment",
                "when": {"kind": "tip"},
                "limit": {"name": "tips", "by": "argument:to", "max": 90},
            },
        ],
    }
)
POINT = PolicyDecisionPoint(read_policy(POLICY))
CLERK = SecurityContext("clerk", "bot", "north", ("read:account", "write:payment"))
REQUEST = AuthorizationRequest(
    "call-0001",
    CLERK,
    "send",
    "2.1",
    "transactional",
    Json.of({"amount": 100, "to": "A-1"}),
    "digest",
    (Resource("accounts", "A-1", "north", 1),),
    0,
    1000,
)


def decided(**changes: object) -> tuple[str, str, str]:
    """Return status, reason and rule of the decision on a changed request."""
    decision = POINT.decide(replace(REQUEST, **changes))  # type: ignore[arg-type]
    return decision.status, decision.reason, decision.rule


def asked(**arguments: object) -> tuple[str, str, str]:
    """Return status, reason and rule of the decision on other arguments."""
    return decided(arguments=Json.of({"amount": 100, "to": "A-1", **arguments}))


ALLOWED = ("allow", "scope_granted", "send")


def test_an_allowance_carries_its_reason_its_policy_and_its_obligations() -> None:
    """The whole decision, echoing what it was asked."""
    expected = AuthorizationDecision(
        request_id="call-0001",
        action_digest="digest",
        status="allow",
        reason="scope_granted",
        decision_id="decision-call-0001",
        policy="bank@1.0",
        policy_digest=POLICY.digest,
        rule="send",
        require_approval=False,
        charges=(Charge("daily:subject:clerk", 100, 900),),
    )

    assert expected == POINT.decide(REQUEST)


def test_the_same_request_gets_the_same_decision() -> None:
    """Nothing is remembered between two questions."""
    assert POINT.decide(REQUEST) == POINT.decide(REQUEST)
    assert POINT.digest == POLICY.digest


def test_a_tool_without_a_rule_is_denied() -> None:
    """Silence of the policy is a denial."""
    assert decided(tool="delete_all") == ("deny", "no_policy_for_tool", "")


def test_a_tool_whose_conditions_all_fail_is_denied() -> None:
    """A rule that does not apply grants nothing."""
    assert decided(tool="tip") == ("deny", "no_policy_for_tool", "")


@pytest.mark.parametrize(
    ("scopes", "actor_scopes", "expected"),
    [
        (("write:payment",), ("write:payment",), ALLOWED),
        (("write:payment",), ("read:*",), ("deny", "actor_scope", "send")),
        (("read:*",), ("write:payment",), ("deny", "insufficient_scope", "send")),
        ((), (), ("deny", "insufficient_scope", "send")),
    ],
)
def test_only_what_subject_and_agent_both_hold_is_granted(
    scopes: tuple[str, ...], actor_scopes: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    """An agent with more rights than its user lends it none, and the other way round."""
    context = replace(CLERK, scopes=scopes, actor_scopes=actor_scopes)

    assert expected == decided(context=context)


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ("north", ALLOWED),
        ("*", ALLOWED),
        (None, ALLOWED),
        ("south", ("deny", "cross_tenant", "send")),
        ("", ("deny", "cross_tenant", "send")),
        ("NORTH", ("deny", "cross_tenant", "send")),
    ],
)
def test_a_record_of_another_tenant_is_out_of_reach(
    owner: str | None, expected: tuple[str, str, str]
) -> None:
    """Own, shared and absent records are no ground for a denial."""
    resources = (Resource("accounts", "A-1", "north", 1), Resource("accounts", "A-2", owner, 1))

    assert expected == decided(resources=resources)


def test_a_rule_for_any_tenant_crosses_on_purpose() -> None:
    """Only a rule that says so reads across tenants."""
    foreign = (Resource("accounts", "B-1", "south", 1),)

    assert decided(tool="survey", resources=foreign) == ("allow", "scope_granted", "survey")
    assert decided(tool="balance", resources=foreign) == ("deny", "cross_tenant", "read")


@pytest.mark.parametrize(
    "arguments", [{"amount": 501}, {"payer": "boss"}, {"to": "X-1"}, {"amount": "x"}]
)
def test_whether_a_record_is_foreign_is_found_last(arguments: dict[str, Any]) -> None:
    """A denial for another reason is the same for a foreign record as for an absent one."""
    call = Json.of({"amount": 100, "to": "A-1", **arguments})
    foreign = (Resource("accounts", "B-1", "south", 1),)
    absent = (Resource("accounts", "B-1", None, None),)

    answers = [decided(arguments=call, resources=named) for named in (foreign, absent)]

    assert answers[0] == answers[1]
    assert answers[0][:1] == ("deny",)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"payer": "clerk", "bank": "north"}, ALLOWED),
        ({"payer": "boss"}, ("deny", "identity_mismatch", "send")),
        ({"bank": "south"}, ("deny", "identity_mismatch", "send")),
        ({"payer": None}, ("deny", "identity_mismatch", "send")),
        ({"payer": ["clerk"]}, ("deny", "identity_mismatch", "send")),
        ({"payer": "Clerk"}, ("deny", "identity_mismatch", "send")),
    ],
)
def test_an_identity_in_the_arguments_must_be_the_bound_one(
    arguments: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    """Whoever the arguments name, the principal stays the bound one."""
    assert expected == asked(**arguments)


@pytest.mark.parametrize(
    ("amount", "reason", "approval"),
    [
        (100, "scope_granted", False),
        (101, "scope_granted", True),
        (500, "scope_granted", True),
        (501, "amount_over_limit", False),
        (0, "malformed_request", False),
        (-5, "malformed_request", False),
        (True, "malformed_request", False),
        (50.5, "malformed_request", False),
        ("50", "malformed_request", False),
        (None, "malformed_request", False),
    ],
)
def test_an_amount_decides_by_its_size_alone(
    amount: object,
    reason: str,
    approval: bool,  # noqa: FBT001
) -> None:
    """The bounds are inclusive, and what is no positive integer is no amount."""
    decision = POINT.decide(replace(REQUEST, arguments=Json.of({"amount": amount})))

    assert (reason, approval) == (decision.reason, decision.require_approval)


def test_a_rule_that_denies_overrides_every_grant() -> None:
    """`deny_when` of any rule of the tool denies, also where another rule would grant."""
    assert asked(to="X-1") == ("deny", "denied_by_rule", "send")
    assert asked(to="X-1", kind="refund") == ("deny", "denied_by_rule", "send")


def test_the_first_rule_whose_condition_holds_decides() -> None:
    """A refund needs its own scope and its own approval."""
    context = replace(CLERK, scopes=("write:refund",))
    refund = Json.of({"kind": "refund"})
    decision = POINT.decide(replace(REQUEST, context=context, arguments=refund))

    assert (decision.rule, decision.require_approval) == ("refund", True)
    assert asked(kind="refund") == ("deny", "insufficient_scope", "refund")


@pytest.mark.parametrize("kind", ["Tip", ["tip"], None, True])
def test_a_condition_compares_values_with_their_types(kind: object) -> None:
    """What merely looks like the value is another one."""
    arguments = Json.of({"kind": kind, "to": "A-1", "amount": 5})

    assert decided(tool="tip", arguments=arguments) == ("deny", "no_policy_for_tool", "")


@pytest.mark.parametrize(("urgent", "allowed"), [(True, True), (1, False), ("true", False)])
def test_true_is_not_one(urgent: object, allowed: bool) -> None:  # noqa: FBT001
    """A condition on a boolean is met by that boolean only."""
    rule = {"id": "a", "tool": "send", "scope": "write:payment", "when": {"urgent": True}}
    policy = Json.of({"policy": "p", "version": "1.0", "rules": [rule]})
    request = replace(REQUEST, arguments=Json.of({"urgent": urgent}))
    decision = PolicyDecisionPoint(read_policy(policy)).decide(request)

    assert (decision.status == "allow") is allowed


def test_a_limit_of_which_nobody_says_whose_it_is_is_not_passed() -> None:
    """Without the argument that names the holder the call is denied."""
    context = replace(CLERK, scopes=("*:*",))
    named = Json.of({"kind": "tip", "amount": 5, "to": "A-1"})
    unnamed = Json.of({"kind": "tip", "amount": 5})
    decision = POINT.decide(replace(REQUEST, tool="tip", context=context, arguments=named))

    assert decision.charges == (Charge('tips:argument:to:"A-1"', 5, 90),)
    assert decided(tool="tip", arguments=unnamed) == ("deny", "malformed_request", "tip")


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": None},
        {"tool": ["send"]},
        {"arguments": None},
        {"arguments": {"amount": 5}},
        {"arguments": Json.of([1])},
        {"arguments": EMPTY},
        {"context": None},
        {"context": {"subject": "clerk"}},
        {"context": SecurityContext("clerk", "bot", "north", cast("Any", "*:*"))},
        {"context": SecurityContext("clerk", "bot", "north", (), cast("Any", None))},
        {"context": SecurityContext("clerk", "bot", "north", cast("Any", (5, None)))},
        {"resources": None},
        {"resources": ["accounts"]},
        {"resources": (("accounts", "A-1", "north", 1),)},
    ],
)
def test_a_malformed_request_is_denied_and_nothing_raises(changes: dict[str, Any]) -> None:
    """Whatever part of a request is broken, the answer is a denial that echoes it."""
    assert decided(**changes)[0] == "deny"
