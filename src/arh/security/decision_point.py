"""The policy decision point: decides from a policy, the request and nothing else.

Effective authority is what subject and acting agent both hold. A denial says why; an allowance says
which obligations the enforcement point must discharge. Pure, total and deterministic: a request
that is malformed is denied, and no request makes it raise. That a record belongs to another tenant
is found last, so that the answer before it is the same for a record that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arh.canonical import Json, JsonValue, encode
from arh.records.authorization import AuthorizationDecision, AuthorizationRequest, Charge, Resource
from arh.records.identity import SecurityContext
from arh.records.state import SHARED_TENANT
from arh.security.limits import amount_of, charge
from arh.security.policy import Pairs, PolicySet, Rule, scope_holds


@dataclass(frozen=True, slots=True)
class _Verdict:
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
        verdict = self._verdict(request)
        return AuthorizationDecision(
            request_id=request.request_id,
            action_digest=request.action_digest,
            status="allow" if verdict.reason == "scope_granted" else "deny",
            reason=verdict.reason,
            decision_id=f"decision-{request.request_id}",
            policy=self._label,
            policy_digest=self._policy.digest,
            rule=verdict.rule,
            require_approval=verdict.require_approval,
            charges=verdict.charges,
        )

    def _verdict(self, request: AuthorizationRequest) -> _Verdict:
        """Find the rule that decides, and what it says."""
        rules = self._policy.rules.get(request.tool) if type(request.tool) is str else None
        if not rules:
            return _Verdict("no_policy_for_tool")
        arguments = _arguments(request)
        if arguments is None:
            return _Verdict("malformed_request")
        denying = next((rule for rule in rules if _all_equal(rule.deny_when, arguments)), None)
        if denying is not None:
            return _Verdict("denied_by_rule", denying.id)
        rule = next((r for r in rules if not r.when or _all_equal(r.when, arguments)), None)
        if rule is None:
            return _Verdict("no_policy_for_tool")
        return _apply(rule, request, arguments)


def _apply(
    rule: Rule, request: AuthorizationRequest, arguments: Mapping[str, JsonValue]
) -> _Verdict:
    """Return what one rule says of a request: the first reason to deny, or its obligations."""
    context = request.context
    denial = _lacking(rule, context) or _impersonated(rule, context, arguments)
    if denial:
        return _Verdict(denial, rule.id)
    amount = amount_of(arguments, rule.amount_argument) if rule.needs_amount else 0
    if amount is None:
        return _Verdict("malformed_request", rule.id)
    if rule.amount_max is not None and amount > rule.amount_max:
        return _Verdict("amount_over_limit", rule.id)
    taken = None if rule.limit is None else charge(rule.limit, amount, context, arguments)
    if rule.limit is not None and taken is None:
        return _Verdict("malformed_request", rule.id)
    if not rule.any_tenant and any(_foreign(item, context) for item in request.resources):
        return _Verdict("cross_tenant", rule.id)
    above = rule.require_approval_above
    approval = rule.require_approval or (above is not None and amount > above)
    return _Verdict("scope_granted", rule.id, approval, () if taken is None else (taken,))


def _lacking(rule: Rule, context: SecurityContext) -> str:
    """Say who lacks the scope: the subject, the agent that acts for it, or nobody."""
    if not scope_holds(context.scopes, rule.scope):
        return "insufficient_scope"
    return "" if scope_holds(context.actor_scopes, rule.scope) else "actor_scope"


def _impersonated(rule: Rule, context: SecurityContext, arguments: Mapping[str, JsonValue]) -> str:
    """Say whether an argument names another principal than the bound one."""
    bound = {"subject": context.subject, "tenant": context.tenant}
    for name, principal in rule.identity_arguments:
        if name in arguments and arguments[name] != bound[principal]:
            return "identity_mismatch"
    return ""


def _foreign(resource: Resource, context: SecurityContext) -> bool:
    """Return true for a record of another tenant; one that is shared or absent is not foreign."""
    return resource.tenant not in (None, SHARED_TENANT, context.tenant)


def _all_equal(pairs: Pairs, arguments: Mapping[str, JsonValue]) -> bool:
    """Return true if there are pairs and every argument has its value, of the same JSON type."""
    return bool(pairs) and all(
        name in arguments and encode(arguments[name]) == encode(value) for name, value in pairs
    )


def _arguments(request: AuthorizationRequest) -> dict[str, JsonValue] | None:
    """Return the arguments of a request that is well formed, or `None`."""
    if not _well_formed(request):
        return None
    arguments = request.arguments.value()
    return arguments if isinstance(arguments, dict) else None


def _well_formed(request: AuthorizationRequest) -> bool:
    """Return true if every part that a rule reads is what its record says, whoever made it."""
    context: object = request.context
    resources: object = request.resources
    if type(context) is not SecurityContext or type(resources) is not tuple:
        return False
    held: tuple[object, ...] = (context.scopes, context.actor_scopes)
    return (
        all(type(scopes) is tuple for scopes in held)
        and all(type(item) is Resource for item in resources)
        and isinstance(request.arguments, Json)
    )
