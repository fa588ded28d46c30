"""Approvals bind: each binding altered alone undoes a grant that was good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arh.canonical import Json
from arh.records.authorization import ApprovalRequest, Grant
from arh.records.identity import SecurityContext
from arh.security.approvals import CAUSES, Choice, GrantStore, choose, payload

KEY = b"the service's key"
CLERK = SecurityContext("clerk", "bot", "north", ("write:payment",))
REQUEST = ApprovalRequest(
    "call-0001", CLERK, "send", "2.1", Json.of({"to": "A-1", "amount": 25}), "d1", 100, 1000
)
GRANT = Grant(
    "approval-1",
    approver="boss",
    subject="clerk",
    tenant="north",
    tool="send",
    tool_version="2.1",
    action_digest="d1",
    scope=Json.of({"to": "A-1", "amount": {"max": 25}}),
    issued_at_ms=50,
    expires_at_ms=200,
)


def chosen(*grants: Grant, request: ApprovalRequest = REQUEST, now_ms: int | None = None) -> Choice:
    """Return the choice among grants that the service signed."""
    service = GrantStore(grants, KEY)
    return choose(service._grants, request, service, now_ms=now_ms)


def test_a_grant_whose_every_binding_holds_binds() -> None:
    """The twin of every refusal below: nothing altered, the grant binds."""
    service = GrantStore([GRANT], KEY)

    assert Choice(service._grants[0]) == choose(service._grants, REQUEST, service)


ALTERED = {
    "approval_self": {"approver": "clerk"},
    "approval_tool_version_unsupported": {"tool_version": "2.0"},
    "approval_digest_mismatch": {"action_digest": "d2"},
    "approval_empty": {"action_digest": None, "scope": Json.of({})},
    "approval_scope_mismatch": {"scope": Json.of({"to": "A-2"})},
    "approval_not_yet_valid": {"issued_at_ms": 101},
    "approval_expired": {"expires_at_ms": 100},
}


@pytest.mark.parametrize("cause", ALTERED)
def test_one_altered_binding_undoes_a_grant(cause: str) -> None:
    """Each binding is checked on its own, and the refusal says which one failed."""
    assert Choice(None, cause) == chosen(replace(GRANT, **ALTERED[cause]))  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["subject", "tenant", "tool"])
def test_a_grant_of_another_subject_tenant_or_tool_does_not_match(field: str) -> None:
    """A grant for somebody or something else is no approval of this action."""
    altered = replace(GRANT, **{field: "other"})  # type: ignore[arg-type]

    assert Choice(None, "no_matching_approval") == chosen(altered)


def test_there_is_no_approval_by_default() -> None:
    """Without a grant on record nothing is approved."""
    assert Choice(None, "no_approval_on_record") == chosen()


def test_the_acting_agent_approves_nothing_for_itself() -> None:
    """The agent is no more an approver of its own action than the subject is."""
    assert Choice(None, "approval_self") == chosen(replace(GRANT, approver="bot"))


@pytest.mark.parametrize(
    "change",
    [
        {"approver": "ceo"},
        {"scope": Json.of({"to": "A-1"})},
        {"expires_at_ms": 10_000},
        {"single_use": False},
        {"approval_id": "approval-2"},
        {"issued_at_ms": 0},
        {"action_digest": None},
        {"tool_version": None},
        {"signature": ""},
        {"signature": "ü" * 64},
    ],
)
def test_a_grant_changed_after_signing_is_forged(change: dict[str, object]) -> None:
    """The signature covers every field: what was widened later is not the service's word."""
    service = GrantStore([GRANT], KEY)
    altered = replace(service._grants[0], **change)  # type: ignore[arg-type]

    assert Choice(None, "approval_forged") == choose([altered], REQUEST, service)


def test_the_signature_of_another_key_is_forged() -> None:
    """A service with another key signs nothing that counts here."""
    ours, theirs = GrantStore([], KEY), GrantStore([GRANT], b"another key")

    assert Choice(None, "approval_forged") == choose(theirs._grants, REQUEST, ours)


def test_a_forged_grant_stays_unsigned() -> None:
    """The store keeps what is declared forged as it is, and it does not bind."""
    service = GrantStore([GRANT], KEY, forged=["approval-1"])

    assert service.grants(REQUEST).grants == (GRANT,)
    assert Choice(None, "approval_forged") == choose([GRANT], REQUEST, service)


@pytest.mark.parametrize(("now_ms", "binds"), [(199, True), (200, False), (201, False)])
def test_a_grant_ends_at_its_expiry(now_ms: int, binds: bool) -> None:  # noqa: FBT001
    """The last good moment is the one before the expiry."""
    assert binds is (chosen(GRANT, now_ms=now_ms).grant is not None)


@pytest.mark.parametrize(("now_ms", "binds"), [(49, False), (50, True), (51, True)])
def test_a_grant_begins_when_it_is_issued(now_ms: int, binds: bool) -> None:  # noqa: FBT001
    """A grant from the future does not bind yet."""
    assert binds is (chosen(GRANT, now_ms=now_ms).grant is not None)


@pytest.mark.parametrize(
    ("scope", "arguments", "binds"),
    [
        ({"amount": {"max": 25}}, {"amount": 25}, True),
        ({"amount": {"max": 25}}, {"amount": 1}, True),
        ({"amount": {"max": 25}}, {"amount": 26}, False),
        ({"amount": {"max": 25}}, {"amount": 0}, False),
        ({"amount": {"max": 25}}, {"amount": -5}, False),
        ({"amount": {"max": 25}}, {"amount": "5"}, False),
        ({"amount": {"max": 25}}, {"amount": True}, False),
        ({"amount": {"max": 25}}, {"amount": 2.5}, False),
        ({"amount": {"max": 25}}, {}, False),
        ({"amount": {"max": True}}, {"amount": 1}, False),
        ({"amount": {"max": "25"}}, {"amount": 1}, False),
        ({"amount": 25}, {"amount": 25}, True),
        ({"amount": 25}, {"amount": "25"}, False),
        ({"amount": 1}, {"amount": True}, False),
        ({"note": None}, {}, False),
        ({"to": ["A", "B"]}, {"to": ["A", "B"]}, True),
        ({"to": ["A", "B"]}, {"to": ["B", "A"]}, False),
        ({"to": "A", "amount": 1}, {"to": "A", "amount": 2}, False),
    ],
)
def test_a_scope_binds_each_argument_that_it_names(
    scope: dict[str, object],
    arguments: dict[str, object],
    binds: bool,  # noqa: FBT001
) -> None:
    """Arguments are compared with their JSON types, and amounts are positive integers."""
    grant = replace(GRANT, scope=Json.of(scope), action_digest=None)
    request = replace(REQUEST, arguments=Json.of(arguments))
    expected = "" if binds else "approval_scope_mismatch"

    assert expected == chosen(grant, request=request).cause


def test_the_first_grant_that_binds_is_taken() -> None:
    """Grants that do not bind stand in nobody's way."""
    second = replace(GRANT, approval_id="approval-2")
    grant = chosen(replace(GRANT, expires_at_ms=60), second, GRANT).grant

    assert grant is not None
    assert grant.approval_id == "approval-2"


def test_the_cause_is_that_of_the_grant_which_came_furthest() -> None:
    """An expired grant for this action says more than one for another tool."""
    other, expired = replace(GRANT, tool="other"), replace(GRANT, expires_at_ms=60)

    assert chosen(expired, other).cause == "approval_expired"
    assert chosen(other, expired).cause == "approval_expired"


def test_the_service_answers_for_the_asker_and_its_tenant_only() -> None:
    """No other tenant's grant leaves the service, other subjects' only where none is ours."""
    theirs = replace(GRANT, approval_id="approval-2", subject="other")
    foreign = replace(GRANT, approval_id="approval-3", tenant="south")
    all_three = GrantStore([theirs, foreign, GRANT], KEY).grants(REQUEST)
    without_ours = GrantStore([theirs, foreign], KEY).grants(REQUEST)

    assert [grant.approval_id for grant in all_three.grants] == ["approval-1"]
    assert [grant.approval_id for grant in without_ours.grants] == ["approval-2"]
    assert all_three.action_digest == "d1"


def test_the_signed_payload_tells_every_two_grants_apart() -> None:
    """Whatever field differs, the payload differs, but for the signature itself."""
    changed = [replace(GRANT, **change) for change in ALTERED.values()]  # type: ignore[arg-type]

    assert len({payload(grant) for grant in (GRANT, *changed)}) == len(changed) + 1
    assert payload(GRANT) == payload(replace(GRANT, signature="anything"))


def test_the_causes_are_a_closed_list() -> None:
    """Every cause above is in the list, with the one that only redemption can find."""
    seen = {*ALTERED, "no_approval_on_record", "no_matching_approval", "approval_forged"}

    assert {*seen, "approval_replayed"} == set(CAUSES)
