"""Approvals: signed grants of persons, and which of them binds one action.

`GrantStore` stands for the approval service: it issues nothing by itself and consumes nothing; a
grant is redeemed by the store, in the transaction that holds the effect. `choose` is the gateway's
check. A grant binds only if every one of its bindings does; the cause of a refusal is that of the
grant which came furthest. An approval is no authority: it is asked for after an allowance only.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from arh.canonical import JsonValue, encode
from arh.ports.sue import GrantVerifier
from arh.records.authorization import ApprovalAnswer, ApprovalRequest, Grant

Cause = Literal[
    "no_approval_on_record",
    "no_matching_approval",
    "approval_forged",
    "approval_self",
    "approval_tool_version_unsupported",
    "approval_digest_mismatch",
    "approval_empty",
    "approval_scope_mismatch",
    "approval_not_yet_valid",
    "approval_expired",
    "approval_replayed",
]
"""Why no grant binds, in the order of the checks; `approval_replayed` comes from redemption."""

CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
_RANK: Final[dict[Cause, int]] = {cause: rank for rank, cause in enumerate(CAUSES)}


@dataclass(frozen=True, slots=True)
class Choice:
    """The grant that binds, or the cause for which none does."""

    grant: Grant | None
    cause: Cause | Literal[""] = ""


def choose(
    grants: Iterable[Grant],
    request: ApprovalRequest,
    verifier: GrantVerifier,
    *,
    now_ms: int | None = None,
) -> Choice:
    """Return the first grant that binds the request.

    Args:
        grants: What the service answered, best first.
        request: The action, with the digest that was authorised.
        verifier: Tells the service's signature from any other.
        now_ms: The time that counts for validity; that of the request by default.
    """
    at_ms = request.at_ms if now_ms is None else now_ms
    arguments = request.arguments.value()
    named = arguments if isinstance(arguments, dict) else {}
    furthest: Cause = "no_approval_on_record"
    for grant in grants:
        cause = (
            _unbound_identity(grant, request, verifier)
            or _unbound_action(grant, request, named)
            or _unbound_time(grant, at_ms)
        )
        if cause is None:
            return Choice(grant)
        furthest = max(furthest, cause, key=_RANK.__getitem__)
    return Choice(None, furthest)


class GrantStore:
    """The trusted approval service of a run: the grants on record, signed with its key."""

    def __init__(self, grants: Iterable[Grant], key: bytes, *, forged: Iterable[str] = ()) -> None:
        """Sign the grants, but for those whose ids are `forged` and those that bring a signature.

        Either stays as somebody else could have put it there, for tests of the verifier.
        """
        self._key = key
        left = frozenset(forged)
        self._grants = tuple(
            grant if grant.signature or grant.approval_id in left else self._signed(grant)
            for grant in grants
        )

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the grants on record for the action's subject and tool.

        Failing those, all that name the tenant, so that the caller can tell none from none that
        matches.
        """
        context = request.context
        near = tuple(grant for grant in self._grants if grant.tenant == context.tenant)
        exact = tuple(
            grant
            for grant in near
            if grant.subject == context.subject and grant.tool == request.tool
        )
        return ApprovalAnswer(request.action_digest, exact or near)

    def authentic(self, approval_id: str, signature: str, payload: bytes) -> bool:
        """Return true if this service signed exactly this payload."""
        return hmac.compare_digest(self._sign(payload).encode(), signature.encode())

    def _signed(self, grant: Grant) -> Grant:
        return replace(grant, signature=self._sign(payload(grant)))

    def _sign(self, data: bytes) -> str:
        return hmac.digest(self._key, data, "sha256").hex()


def payload(grant: Grant) -> bytes:
    """Return the bytes that a signature covers: every field of the grant but the signature."""
    return encode(
        {
            "action_digest": grant.action_digest,
            "approval_id": grant.approval_id,
            "approver": grant.approver,
            "expires_at_ms": grant.expires_at_ms,
            "issued_at_ms": grant.issued_at_ms,
            "scope": grant.scope.value(),
            "single_use": grant.single_use,
            "subject": grant.subject,
            "tenant": grant.tenant,
            "tool": grant.tool,
            "tool_version": grant.tool_version,
        }
    )


def _unbound_identity(
    grant: Grant, request: ApprovalRequest, verifier: GrantVerifier
) -> Cause | None:
    """Return why the grant is not for this caller, or not from the service."""
    context = request.context
    bound = (context.tenant, context.subject, request.tool)
    if (grant.tenant, grant.subject, grant.tool) != bound:
        return "no_matching_approval"
    if not verifier.authentic(grant.approval_id, grant.signature, payload(grant)):
        return "approval_forged"
    if grant.approver in ("", context.subject, context.actor):
        return "approval_self"
    return None


def _unbound_action(
    grant: Grant, request: ApprovalRequest, arguments: Mapping[str, JsonValue]
) -> Cause | None:
    """Return why the grant is not for this action."""
    if grant.tool_version is not None and grant.tool_version != request.version:
        return "approval_tool_version_unsupported"
    if grant.action_digest is not None and grant.action_digest != request.action_digest:
        return "approval_digest_mismatch"
    scope = grant.scope.value()
    if not isinstance(scope, dict) or (not scope and grant.action_digest is None):
        return "approval_empty"
    if not all(_covers(limit, name, arguments) for name, limit in scope.items()):
        return "approval_scope_mismatch"
    return None


def _unbound_time(grant: Grant, at_ms: int) -> Cause | None:
    """Return why the grant is not valid now; it is no longer valid at the moment it expires."""
    if at_ms < grant.issued_at_ms:
        return "approval_not_yet_valid"
    if grant.expires_at_ms is not None and at_ms >= grant.expires_at_ms:
        return "approval_expired"
    return None


def _covers(limit: JsonValue, name: str, arguments: Mapping[str, JsonValue]) -> bool:
    """Return true if the argument is the only value approved, or an amount up to the approved."""
    if name not in arguments:
        return False
    value = arguments[name]
    if isinstance(limit, dict) and limit.keys() == {"max"}:
        amount_max = limit["max"]
        return type(value) is int and type(amount_max) is int and 0 < value <= amount_max
    return encode(value) == encode(limit)
