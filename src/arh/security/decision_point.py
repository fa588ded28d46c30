"""The policy decision point: decides from a policy, the request and nothing else.

Effective authority is what subject and acting agent both hold. A denial says why; an allowance says
which obligations the enforcement point must discharge. Pure, total and deterministic: a request
that is malformed is denied, and no request makes it raise. That a record belongs to another tenant
is found last, so that the answer before it is the same for a record that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from arh.canonical import Json, JsonValue, encode
from arh.records.authorization import AuthorizationDecision, AuthorizationRequest, Charge, Resource
from arh.records.identity import SecurityContext
from arh.records.state import SHARED_TENANT
from arh.security.limits import amount_of, charge
from arh.security.policy import Pairs, PolicySet, Rule

_UNREAD: Final[Mapping[str, JsonValue]] = MappingProxyType({})


class _Verdict(NamedTuple):
    """A decision before it is addressed to a request."""

    reason: str
    rule: str = ""
    require_approval: bool = False
    charges: tuple[Charge, ...] = ()


class PolicyDecisionPoint:
    """Decides by one policy."""

    def __init__(self, policy: PolicySet) -> None:
        """Hold the policy, which does not change."""
        self._policy = policy
        self._label = f"{policy.name}@{policy.version}"

    @property
    def digest(self) -> str:
        """The digest of the policy's document."""
        return self._policy.digest

    def decide(self, request: AuthorizationRequest) -> AuthorizationDecision:
        """Return allow or deny with its reason, echoing the request's id and action digest."""
        reason, rule, approval, charges = self._verdict(request)
        return AuthorizationDecision(
            request.request_id,
            request.action_digest,
            "allow" if reason == "scope_granted" else "deny",
            reason,
            f"decision-{request.request_id}",
            self._label,
            self._policy.digest,
            rule,
            approval,
            charges,
        )

    def _verdict(self, request: AuthorizationRequest) -> _Verdict:
        """Find the rule that decides, and what it says."""
        rules = self._policy.rules.get(request.tool) if type(request.tool) is str else None
        if not rules:
            return _Verdict("no_policy_for_tool")
        arguments = _arguments(request, rules)
        if arguments is None:
            return _Verdict("malformed_request")
        for rule in rules:
            if rule.deny_when and _all_equal(rule.deny_when, arguments):
                return _Verdict("denied_by_rule", rule.id)
        for rule in rules:
            if not rule.when or _all_equal(rule.when, arguments):
                return _apply(rule, request, arguments)
        return _Verdict("no_policy_for_tool")


def _apply(
    rule: Rule, request: AuthorizationRequest, arguments: Mapping[str, JsonValue]
) -> _Verdict:
    """Return what one rule says of a request: the first reason to deny, or its obligations."""
    context = request.context
    if not rule.held_by(context.scopes):
        return _Verdict("insufficient_scope", rule.id)
    if not rule.held_by(context.actor_scopes):
        return _Verdict("actor_scope", rule.id)
    if rule.identity_arguments and _impersonated(rule, context, arguments):
        return _Verdict("identity_mismatch", rule.id)
    amount = amount_of(arguments, rule.amount_argument) if rule.needs_amount else 0
    if amount is None:
        return _Verdict("malformed_request", rule.id)
    if rule.amount_max is not None and amount > rule.amount_max:
        return _Verdict("amount_over_limit", rule.id)
    taken = None if rule.limit is None else charge(rule.limit, amount, context, arguments)
    if rule.limit is not None and taken is None:
        return _Verdict("malformed_request", rule.id)
    if not rule.any_tenant:
        for resource in request.resources:
            if resource.tenant not in (None, SHARED_TENANT, context.tenant):
                return _Verdict("cross_tenant", rule.id)
    above = rule.require_approval_above
    approval = rule.require_approval or (above is not None and amount > above)
    return _Verdict("scope_granted", rule.id, approval, () if taken is None else (taken,))


def _impersonated(rule: Rule, context: SecurityContext, arguments: Mapping[str, JsonValue]) -> bool:
    """Return true if an argument names another principal than the bound one."""
    bound = {"subject": context.subject, "tenant": context.tenant}
    return any(
        name in arguments and arguments[name] != bound[principal]
        for name, principal in rule.identity_arguments
    )


def _all_equal(pairs: Pairs, arguments: Mapping[str, JsonValue]) -> bool:
    """Return true if every argument has its value, of the same JSON type."""
    return all(
        name in arguments and encode(arguments[name]) == encode(value) for name, value in pairs
    )


def _arguments(
    request: AuthorizationRequest, rules: tuple[Rule, ...]
) -> Mapping[str, JsonValue] | None:
    """Return the arguments of a request that is well formed, or `None`.

    They are decoded only if there is a rule that reads them.
    """
    if not _well_formed(request):
        return None
    for rule in rules:
        if rule.reads_arguments:
            arguments = request.arguments.value()
            return arguments if isinstance(arguments, dict) else None
    return _UNREAD if request.arguments.data.startswith(b"{") else None


def _well_formed(request: AuthorizationRequest) -> bool:
    """Return true if every part that a rule reads is what its record says, whoever made it."""
    context, resources = request.context, request.resources
    if type(context) is not SecurityContext or type(resources) is not tuple:
        return False
    if type(context.scopes) is not tuple or type(context.actor_scopes) is not tuple:
        return False
    for item in resources:
        if type(item) is not Resource:
            return False
    return isinstance(request.arguments, Json)
