"""What an authorisation policy would have said of a call that is only known from a recording.

A recording seldom says who acted, with which scopes, and whose record was touched. What is not
known is never guessed: the policy is asked as if everything unknown were in the call's favour. If
it denies even then, it would have denied; if it allows, the answer is allow only where nothing that
the rule depends on is unknown, and otherwise unknown, with the names of what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from arh.canonical import Json, JsonValue, Refused, digest
from arh.records.authorization import AuthorizationDecision, AuthorizationRequest
from arh.records.identity import SecurityContext
from arh.security.decision_point import PolicyDecisionPoint
from arh.security.limits import BY_ARGUMENT
from arh.security.policy import PolicySet, Rule

Status = Literal["allow", "deny", "unknown"]
EVERYTHING: Final = ("*:*",)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of who acted; `None` is not known."""

    subject: str | None = None
    tenant: str | None = None
    scopes: tuple[str, ...] | None = None
    actor_scopes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the policy would have said, by which rule; `missing` is what decides an unknown."""

    status: Status
    reason: str
    rule: str = ""
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class PolicyReplay:
    """Asks one policy about recorded calls, and remembers which of its rules decided any."""

    policy: PolicySet
    known: Known = field(default_factory=Known)
    fired: set[str] = field(default_factory=set)

    def ask(self, tool: str, arguments: dict[str, JsonValue] | None) -> Replayed:
        """Return what the policy would have said of a call."""
        rules = self.policy.rules.get(tool, ())
        if not rules:
            return Replayed("deny", "no_policy_for_tool")
        if arguments is None:
            return Replayed("unknown", "arguments_unknown", missing=("arguments",))
        try:
            frozen = Json.of(arguments)
        except Refused:
            return Replayed("unknown", "arguments_unknown", missing=("arguments",))
        decision = self._decision(tool, frozen, arguments, rules)
        self.fired.add(decision.rule)
        if decision.status != "allow":
            return Replayed("deny", decision.reason, decision.rule)
        rule = next(each for each in rules if each.id == decision.rule)
        missing = tuple(self._missing(rule, decision, arguments))
        return Replayed("unknown" if missing else "allow", decision.reason, rule.id, missing)

    def never_fired(self) -> tuple[str, ...]:
        """Return the rules that decided no call, in the policy's order."""
        every = (rule.id for rules in self.policy.rules.values() for rule in rules)
        return tuple(rule for rule in every if rule not in self.fired)

    def _decision(
        self,
        tool: str,
        frozen: Json,
        arguments: dict[str, JsonValue],
        rules: Sequence[Rule],
    ) -> AuthorizationDecision:
        request = AuthorizationRequest(
            request_id="replay",
            context=self._favourable(arguments, rules),
            tool=tool,
            version="",
            effect="",
            arguments=frozen,
            action_digest=digest(tool),
            resources=(),
            at_ms=0,
            deadline_ms=0,
        )
        return PolicyDecisionPoint(self.policy).decide(request)

    def _favourable(
        self, arguments: dict[str, JsonValue], rules: Sequence[Rule]
    ) -> SecurityContext:
        """Return who would have to act for the rules to allow it, as far as nobody is known."""
        named = {
            principal: value
            for rule in rules
            for name, principal in rule.identity_arguments
            if isinstance(value := arguments.get(name), str)
        }
        known = self.known
        return SecurityContext(
            subject=named.get("subject", "") if known.subject is None else known.subject,
            actor="",
            tenant=named.get("tenant", "") if known.tenant is None else known.tenant,
            scopes=EVERYTHING if known.scopes is None else known.scopes,
            actor_scopes=EVERYTHING if known.actor_scopes is None else known.actor_scopes,
        )

    def _missing(
        self, rule: Rule, decision: AuthorizationDecision, arguments: dict[str, JsonValue]
    ) -> Iterator[str]:
        """Yield what the rule depends on and nobody knows."""
        known = self.known
        if known.scopes is None:
            yield "scopes"
        if known.actor_scopes is None:
            yield "actor_scopes"
        asked = {principal for name, principal in rule.identity_arguments if name in arguments}
        if rule.limit is not None and not rule.limit.by.startswith(BY_ARGUMENT):
            asked.add(rule.limit.by)
        if "subject" in asked and known.subject is None:
            yield "subject"
        if ("tenant" in asked or not rule.any_tenant) and known.tenant is None:
            yield "tenant"
        if not rule.any_tenant:
            yield "owner of the records that the call names"
        if decision.require_approval:
            yield "approval"
        if rule.limit is not None:
            yield f"what was charged to {rule.limit.name} before"
