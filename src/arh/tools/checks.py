"""The two stages that ask others: may this action run, and has somebody approved it.

Whatever a decision point or an approval service does, raises or answers, the result is a value: an
answer that is not exactly well formed, that speaks of another request or comes too late, does not
count, and then the call is blocked. That is `indeterminate`, and never confused with a denial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure, call
from arh.ports.sue import ApprovalService, Clock, DecisionPoint, GrantVerifier, StateReader
from arh.records.authorization import (
    ApprovalAnswer,
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
    Charge,
    Grant,
)
from arh.records.identity import SecurityContext
from arh.records.outcomes import Reason
from arh.security.approvals import Choice, choose
from arh.tools.attempts import approval_entry, decision_entry
from arh.tools.ledger import REDEMPTIONS
from arh.tools.stages import Call, End, failed, rejected

CONCEALED: Final = "cross_tenant"
STATUSES: Final = ("allow", "deny", "indeterminate")
TEXT_CHARS_MAX: Final = 256

_TEXT: Final = {str}

T = TypeVar("T")


def authorise(
    current: Call, point: DecisionPoint, context: SecurityContext, clock: Clock
) -> End | None:
    """Ask the decision point; only an allowance that was meant for this action lets it go on.

    A record of another tenant is, to the caller, a record that does not exist.
    """
    request = _question(current, context)
    answer, cause = _ask(lambda: point.decide(request), AuthorizationDecision, "pdp")
    now_ms = clock.now_ms()
    current.waited = True
    current.attempt.times.append(("authorization", current.now_ms, now_ms))
    if answer is not None:
        cause = _decision_fault(answer, request, now_ms)
    decision = None if cause else answer
    if decision is None or decision.status == "indeterminate":
        cause = cause or "pdp_indeterminate"
        _note_decision(current, decision, "indeterminate", cause)
        return rejected(Reason.AUTHORIZATION_UNAVAILABLE, cause)
    _note_decision(current, decision, decision.status, "")
    if decision.status == "deny":
        if decision.reason == CONCEALED:
            return failed(Reason.NOT_FOUND, CONCEALED)
        return rejected(Reason.AUTHORIZATION_DENIED, decision.reason)
    current.decision = decision
    return None


def approve(
    current: Call,
    service: ApprovalService,
    verifier: GrantVerifier,
    reader: StateReader,
    context: SecurityContext,
    clock: Clock,
) -> End | None:
    """Find the grant that binds the action, if the decision demands one.

    An operation that is under way already has redeemed its own, and is only resolved.
    """
    decision = current.decision
    if decision is None or not decision.require_approval or current.stored is not None:
        current.attempt.approval = approval_entry("not_required")
        current.attempt.stages.append(["approved", "not_required"])
        return None
    current.waited = True
    request = _application(current, context, clock.now_ms())
    answer, cause = _ask(lambda: service.grants(request), ApprovalAnswer, "approval")
    now_ms = clock.now_ms()
    current.attempt.times.append(("approval", request.at_ms, now_ms))
    cause = cause if answer is None else _answer_fault(answer, request, now_ms)
    grants = () if cause or answer is None else _unused(answer.grants, reader, context.tenant)
    choice, cause = _choose(grants, request, verifier, now_ms) if not cause else (None, cause)
    if choice is None:
        _note_approval(current, "unavailable", cause)
        return rejected(Reason.APPROVAL_UNAVAILABLE, cause)
    return _take(current, choice)


def _unused(grants: tuple[Grant, ...], reader: StateReader, tenant: str) -> tuple[Grant, ...]:
    """Return the grants without those that are used up, if that leaves a choice.

    A shortcut, so that a used grant does not stand before a good one: redemption itself decides.
    """
    if len(grants) <= 1:
        return grants
    try:
        left = call(
            "state_reader",
            lambda: tuple(grant for grant in grants if not _redeemed(grant, reader, tenant)),
        )
    except DependencyFailure:
        return grants
    return grants if isinstance(left, ForeignFailure) or not left else left


def _redeemed(grant: Grant, reader: StateReader, tenant: str) -> bool:
    """Return true if the grant's only use is taken; one for many uses has no such row."""
    return reader.get(tenant, REDEMPTIONS, grant.approval_id) is not None


def _choose(
    grants: tuple[Grant, ...], request: ApprovalRequest, verifier: GrantVerifier, now_ms: int
) -> tuple[Choice | None, str]:
    """Return the choice, or `None` where grants or verifier are broken, with the cause."""
    choice = call("grants", lambda: choose(grants, request, verifier, now_ms=now_ms))
    return (None, "approval_malformed") if isinstance(choice, ForeignFailure) else (choice, "")


def redemption_failed(current: Call, cause: str) -> None:
    """Note that the store did not take the grant that was found, and why."""
    grant = current.grant
    named = ("", "") if grant is None else (grant.approval_id, grant.approver)
    current.attempt.approval = approval_entry("denied", cause, *named)


def _take(current: Call, choice: Choice) -> End | None:
    """Go on with the grant that binds, or end for want of one."""
    grant = choice.grant
    if grant is None:
        _note_approval(current, "denied", choice.cause)
        return rejected(Reason.APPROVAL_DENIED, choice.cause)
    current.grant = grant
    _note_approval(current, "granted", "", grant)
    return None


def _ask(f: Callable[[], object], kind: type[T], port: str) -> tuple[T | None, str]:
    """Return the answer of the right kind, or `None` with the cause."""
    try:
        answer = call(port, f)
    except DependencyFailure as failure:
        timed_out = failure.reason == Reason.TIMEOUT
        return None, f"{port}_timeout" if timed_out else f"{port}_unavailable"
    if isinstance(answer, ForeignFailure):
        return None, f"{port}_raised"
    if type(answer) is not kind:
        return None, f"{port}_malformed"
    return answer, ""


def _question(current: Call, context: SecurityContext) -> AuthorizationRequest:
    """Return what the decision point is asked; by place, since a record costs half as much so."""
    attempt, manifest = current.attempt, current.tool.manifest
    return AuthorizationRequest(
        attempt.call_id,
        context,
        manifest.name,
        manifest.version,
        current.tool.effect,
        current.frozen,
        attempt.argument_digest,
        current.resources,
        current.now_ms,
        current.deadline_ms,
    )


def _application(current: Call, context: SecurityContext, now_ms: int) -> ApprovalRequest:
    manifest = current.tool.manifest
    return ApprovalRequest(
        request_id=current.attempt.call_id,
        context=context,
        tool=manifest.name,
        version=manifest.version,
        arguments=current.frozen,
        action_digest=current.attempt.argument_digest,
        at_ms=now_ms,
        deadline_ms=current.deadline_ms,
    )


def _decision_fault(
    decision: AuthorizationDecision, request: AuthorizationRequest, now_ms: int
) -> str:
    """Say why an answer of the right kind does not count, if it does not."""
    if not _well_formed(decision):
        return "pdp_malformed"
    if decision.request_id != request.request_id or decision.action_digest != request.action_digest:
        return "pdp_mismatched"
    if _late(decision.latency_ms, request.at_ms, request.deadline_ms, now_ms):
        return "pdp_late"
    expires = decision.expires_at_ms
    return "pdp_late" if expires is not None and now_ms >= expires else ""


def _answer_fault(answer: ApprovalAnswer, request: ApprovalRequest, now_ms: int) -> str:
    """Say why an approval service's answer does not count, if it does not."""
    well_formed = (
        type(answer.grants) is tuple
        and all(type(grant) is Grant for grant in answer.grants)
        and _is_count(answer.latency_ms)
    )
    if not well_formed:
        return "approval_malformed"
    if answer.action_digest != request.action_digest:
        return "approval_mismatched"
    late = _late(answer.latency_ms, request.at_ms, request.deadline_ms, now_ms)
    return "approval_late" if late else ""


def _late(latency_ms: int, asked_ms: int, deadline_ms: int, now_ms: int) -> bool:
    """Return true if an answer came after the deadline, by its own word or by the clock."""
    return now_ms > deadline_ms or asked_ms + latency_ms > deadline_ms


def _well_formed(decision: AuthorizationDecision) -> bool:
    """Return true if every field is of its type and of bounded length, whoever filled it."""
    texts = (
        decision.request_id,
        decision.action_digest,
        decision.status,
        decision.reason,
        decision.decision_id,
        decision.policy,
        decision.policy_digest,
        decision.rule,
    )
    flag: object = decision.require_approval
    latency: object = decision.latency_ms
    expires: object = decision.expires_at_ms
    return (
        _are_texts(texts)
        and decision.status in STATUSES
        and type(flag) is bool
        and type(latency) is int
        and latency >= 0
        and (expires is None or type(expires) is int)
        and _are_charges(decision.charges)
    )


def _are_texts(texts: tuple[str, ...]) -> bool:
    """Return true for short texts that can be printed, and so recorded; looked at as one."""
    if set(map(type, texts)) != _TEXT:
        return False
    joined = "".join(texts)
    short = len(joined) <= TEXT_CHARS_MAX or max(map(len, texts)) <= TEXT_CHARS_MAX
    return short and joined.isprintable()


def _are_charges(charges: object) -> bool:
    """Return true for a tuple of charges, none of which could give anything back."""
    if type(charges) is not tuple:
        return False
    for charge in charges:
        if type(charge) is not Charge or not _are_texts((charge.limit,)):
            return False
        if not (_is_count(charge.amount) and _is_count(charge.limit_max)):
            return False
    return True


def _is_count(number: object) -> bool:
    """Return true for an integer that is not negative; a boolean is no integer."""
    return type(number) is int and number >= 0


def _note_decision(
    current: Call, decision: AuthorizationDecision | None, status: str, cause: str
) -> None:
    reason = decision.reason if decision else cause
    attempt = current.attempt
    attempt.decision = decision_entry(
        decision, current.resources, status=status, reason=reason, cause=cause
    )
    attempt.stages.append(["decided", status])


def _note_approval(current: Call, result: str, cause: str = "", grant: Grant | None = None) -> None:
    named = ("", "") if grant is None else (grant.approval_id, grant.approver)
    current.attempt.approval = approval_entry(result, cause, *named)
    current.attempt.stages.append(["approved", result])
