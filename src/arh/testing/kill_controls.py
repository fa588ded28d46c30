"""The controls of a deployed configuration, each with the way to break it and when it is used.

What is broken is arh's own enforcement of what the team configured, never the team's code: the same
tools, policies, data and agent run with one control less. A control that the configuration does not
use is named with the reason. The list is the same for every pack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from arh import bootstrap
from arh.harness.running.composition import Composition, Work
from arh.ports.control import AttemptSource
from arh.ports.sue import DecisionPoint, GrantVerifier
from arh.records.authorization import (
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
    Grant,
)
from arh.records.identity import SecurityContext
from arh.records.packs import WorkflowPack
from arh.records.tasks import Budgets, ProgressLimits
from arh.security.approvals import payload
from arh.security.policy import PolicySet, Rule
from arh.testing.defects.approvals import (
    Rewrite,
    Rewriting,
    as_it_is,
    for_anything,
    unlike,
)
from arh.testing.defects.decision_points import allow, answering
from arh.testing.defects.exchange import exchanged, skipped
from arh.testing.defects.gateway import any_digest, any_key, fail_open
from arh.testing.pack_bench import STRANGER, Change
from arh.testing.workbench import Compose
from arh.tools.checks import approve
from arh.tools.gateway import Dependencies
from arh.tools.stages import Call, End, Stage

PLENTY: Final = 1_000_000
SOMEBODY_ELSE: Final = "somebody-else-entirely"


@dataclass(frozen=True, slots=True)
class Used:
    """A configuration, as far as it says which controls it uses."""

    pack: WorkflowPack
    rules: tuple[Rule, ...]
    own_agent: bool

    @property
    def approving(self) -> bool:
        """True if any rule ever demands an approval."""
        return any(r.require_approval or r.require_approval_above is not None for r in self.rules)

    @property
    def keyed(self) -> bool:
        """True if any tool takes a key."""
        return any(tool.manifest.key_argument for tool in self.pack.tools)

    @property
    def owned(self) -> bool:
        """True if any tool names records that belong to tenants."""
        owned = {spec.name for spec in self.pack.collections if spec.tenant_field}
        named = {r.collection for tool in self.pack.tools for r in tool.manifest.resources}
        return bool(owned & named)

    @property
    def sensitive(self) -> frozenset[str]:
        """The names of all sensitive fields."""
        return frozenset(n for tool in self.pack.tools for n in tool.manifest.sensitive_fields)


@dataclass(frozen=True, slots=True)
class Control:
    """One control: what is broken, the way to break it, and why it is not used, if it is not.

    With `redaction`, the runs are the same and what would be written of them is not.
    """

    id: str
    breaks: str
    unused: Callable[[Used], str]
    composer: Callable[[WorkflowPack], Compose] | None = None
    change: Change | None = None
    redaction: bool = False


def used(suite: bootstrap.Suite, under_test: bootstrap.UnderTest) -> Used:
    """Return what the configuration uses, by every policy that it ships."""
    policies = suite.configuration.policies.values()
    rules = tuple(rule for policy in policies for each in policy.rules.values() for rule in each)
    return Used(suite.pack, rules, isinstance(under_test.agent, bootstrap.ReferenceUnderTest))


# --- when a control is used ----------------------------------------------------------------------


def always(_used: Used) -> str:
    """Return nothing: every configuration uses it."""
    return ""


def if_(holds: Callable[[Used], bool], otherwise: str) -> Callable[[Used], str]:
    """Return what says `otherwise` where something does not hold."""
    return lambda used: "" if holds(used) else otherwise


def any_rule(has: Callable[[Rule], object], otherwise: str) -> Callable[[Used], str]:
    """Return what says `otherwise` where no rule has something."""
    return lambda used: "" if any(has(rule) for rule in used.rules) else otherwise


APPROVING: Final = if_(lambda used: used.approving, "no rule of a policy demands an approval")
KEYED: Final = if_(lambda used: used.keyed, "no tool takes a key")
WRITING: Final = if_(lambda used: bool(used.pack.writing), "no tool writes")
OWNED: Final = if_(lambda used: used.owned, "no tool names records that belong to tenants")
OWN_AGENT: Final = if_(
    lambda used: used.own_agent, "the agent is not the reference one and keeps its own limits"
)


# --- how it is broken ----------------------------------------------------------------------------


def of_every_pack(compose: Compose) -> Callable[[WorkflowPack], Compose]:
    """Return what breaks the control alike for every pack."""
    return lambda _pack: compose


@dataclass(frozen=True, slots=True)
class Asking:
    """A decision point that is asked about something else than what was requested."""

    point: DecisionPoint
    change: Callable[[AuthorizationRequest], AuthorizationRequest]

    def decide(self, request: AuthorizationRequest) -> AuthorizationDecision:
        """Decide about the changed request."""
        return self.point.decide(self.change(request))


def asking(
    change: Callable[[AuthorizationRequest], AuthorizationRequest],
) -> Callable[[WorkflowPack], Compose]:
    """Return what lets the decision point see requests as they are not, and decide all else."""
    return of_every_pack(exchanged(decisions=lambda point: Asking(point, change)))


def all_powerful(request: AuthorizationRequest) -> AuthorizationRequest:
    """Take the caller, and the agent that acts for it, for ones that hold every scope."""
    context = replace(request.context, scopes=("*:*",), actor_scopes=("*:*",))
    return replace(request, context=context)


def all_ones_own(request: AuthorizationRequest) -> AuthorizationRequest:
    """Take every record for one of the caller's tenant."""
    tenant = request.context.tenant
    own = tuple(replace(each, tenant=each.tenant and tenant) for each in request.resources)
    return replace(request, resources=own)


def ruled(change: Callable[[Rule], Rule]) -> Callable[[WorkflowPack], Compose]:
    """Return what lets the decision point decide by rules that lack something."""

    def compose(
        configuration: bootstrap.Configuration, agent: bootstrap.AgentFactory
    ) -> bootstrap.Composer:
        policies = {name: lacking(each) for name, each in configuration.policies.items()}
        return bootstrap.Composer(replace(configuration, policies=policies), agent)

    def lacking(policy: PolicySet) -> PolicySet:
        rules = {tool: tuple(map(change, each)) for tool, each in policy.rules.items()}
        return replace(policy, rules=rules)

    return of_every_pack(compose)


@dataclass(frozen=True, slots=True)
class Trusting:
    """A verifier that also takes what a rewritten grant says, if the original was signed."""

    verifier: GrantVerifier
    change: Rewrite
    rewritten: set[bytes] = field(default_factory=set)

    def rewrite(self, grant: Grant, request: ApprovalRequest) -> Grant:
        """Return the grant rewritten, or a forged one as it is."""
        if not self.verifier.authentic(grant.approval_id, grant.signature, payload(grant)):
            return grant
        changed = self.change(grant, request)
        self.rewritten.add(payload(changed))
        return changed

    def authentic(self, approval_id: str, signature: str, payload: bytes) -> bool:
        """Return true for what was signed, and for what was made of it."""
        made = payload in self.rewritten
        return made or self.verifier.authentic(approval_id, signature, payload)


def granted(change: Rewrite) -> Callable[[WorkflowPack], Compose]:
    """Return what lets the approval stage see signed grants as they are not."""

    def stage(_stage: Stage, on: Dependencies, context: SecurityContext) -> Stage:
        trusting = Trusting(on.verifier, change)
        service = Rewriting(on.approvals, trusting.rewrite)

        def checked(current: Call) -> End | None:
            return approve(current, service, trusting, on.reader, context, on.clock)

        return checked

    return of_every_pack(exchanged(stage=("approve", stage)))


def by_another(grant: Grant, _request: ApprovalRequest) -> Grant:
    """Take the grant for somebody else's."""
    return replace(grant, approver=SOMEBODY_ELSE)


def without_end(grant: Grant, _request: ApprovalRequest) -> Grant:
    """Take the grant for one that never expires."""
    return replace(grant, expires_at_ms=None)


def for_many_uses(grant: Grant, _request: ApprovalRequest) -> Grant:
    """Take the grant for one that may be used again."""
    return replace(grant, single_use=False)


@dataclass(frozen=True, slots=True)
class Unwritten:
    """An attempt log that leaves out the attempts at some tools."""

    log: AttemptSource
    tools: frozenset[str]

    def drain(self) -> tuple[dict[str, object], ...]:
        """Return all attempts but those."""
        return tuple(entry for entry in self.log.drain() if entry["tool"] not in self.tools)


def unlogged(pack: WorkflowPack) -> Compose:
    """Return what leaves every attempt at a write out of the log."""
    return exchanged(attempts=partial(Unwritten, tools=pack.writing))


def elsewhere() -> Change:
    """Return what binds every gateway to a tenant that is not the caller's."""

    def change(composition: Composition) -> Composition:
        actors = tuple(
            replace(each, context=replace(each.context, tenant=STRANGER))
            for each in composition.setup.actors
        )
        return replace(composition, setup=replace(composition.setup, actors=actors))

    return change


def limitless(*, budgets: bool) -> Change:
    """Return what lets the agent's supervisor know no budget, or no limit on non-progress."""

    def change(composition: Composition) -> Composition:
        works = tuple((a, tuple(map(freed, each))) for a, each in composition.works)
        return replace(composition, works=works)

    def freed(work: Work) -> Work:
        task = work.task
        wide = Budgets(PLENTY, PLENTY, PLENTY * 1000, retries_max=task.budgets.retries_max)
        patient = ProgressLimits(PLENTY, PLENTY, PLENTY, PLENTY)
        task = replace(task, budgets=wide) if budgets else replace(task, progress=patient)
        return replace(work, task=task)

    return change


CONTROLS: Final[tuple[Control, ...]] = (
    Control(
        "authorisation",
        "the decision point allows whatever is asked",
        always,
        of_every_pack(answering(allow)),
    ),
    Control(
        "fail-closed",
        "a call goes on when nobody can decide about it",
        always,
        of_every_pack(exchanged(stage=("authorise", fail_open))),
    ),
    Control(
        "scopes",
        "a caller without the scope is allowed",
        always,
        asking(all_powerful),
    ),
    Control(
        "deny-rules",
        "what a rule denies by its arguments is allowed",
        any_rule(lambda rule: rule.deny_when, "no rule of a policy has `deny_when`"),
        ruled(lambda rule: replace(rule, deny_when=())),
    ),
    Control(
        "identity-arguments",
        "a caller may name another principal in an argument",
        any_rule(
            lambda rule: rule.identity_arguments, "no rule of a policy has `identity_arguments`"
        ),
        ruled(lambda rule: replace(rule, identity_arguments=())),
    ),
    Control(
        "tenants",
        "records of another tenant are taken for one's own by the decision point",
        if_(
            lambda used: used.owned and any(not rule.any_tenant for rule in used.rules),
            "no rule is bound to the tenant of the records that its tool names",
        ),
        asking(all_ones_own),
    ),
    Control(
        "tenant-binding",
        "the gateway is bound to another tenant than the caller's",
        OWNED,
        change=elsewhere(),
    ),
    Control(
        "approvals",
        "an approval is not asked for",
        APPROVING,
        ruled(lambda rule: replace(rule, require_approval=False, require_approval_above=None)),
    ),
    Control(
        "approval-binding",
        "an approval of one action serves for any other",
        APPROVING,
        granted(for_anything),
    ),
    Control(
        "approval-signature",
        "an approval that nobody signed is taken",
        APPROVING,
        of_every_pack(unlike(as_it_is)),
    ),
    Control("approval-expiry", "an approval never expires", APPROVING, granted(without_end)),
    Control(
        "approval-by-another",
        "a caller may approve what it asks for itself",
        APPROVING,
        granted(by_another),
    ),
    Control(
        "approval-single-use",
        "an approval is not used up",
        APPROVING,
        granted(for_many_uses),
    ),
    Control(
        "amount-maximum",
        "an amount above the largest is allowed",
        any_rule(lambda rule: rule.amount_max is not None, "no rule of a policy has `amount_max`"),
        ruled(lambda rule: replace(rule, amount_max=None)),
    ),
    Control(
        "cumulative-limit",
        "nothing is charged against a limit",
        any_rule(lambda rule: rule.limit is not None, "no rule of a policy has a `limit`"),
        ruled(lambda rule: replace(rule, limit=None)),
    ),
    Control(
        "idempotency",
        "each attempt counts as an operation of its own, whatever its key",
        WRITING,
        of_every_pack(exchanged(stage=("identify", any_key))),
    ),
    Control(
        "key-binding",
        "a key is answered with the stored result, whatever the arguments are",
        KEYED,
        of_every_pack(exchanged(stage=("look_up", any_digest))),
    ),
    Control(
        "argument-schema",
        "arguments are not held against the tool's schema",
        always,
        of_every_pack(exchanged(stage=("validate", skipped))),
    ),
    Control(
        "attempt-log",
        "attempts at writes are left out of the log",
        WRITING,
        unlogged,
    ),
    Control(
        "budgets",
        "the agent's supervisor knows no budget",
        OWN_AGENT,
        change=limitless(budgets=True),
    ),
    Control(
        "progress-limits",
        "the agent's supervisor never sees that it makes no progress",
        OWN_AGENT,
        change=limitless(budgets=False),
    ),
    Control(
        "redaction",
        "sensitive fields are written to evidence as they are",
        if_(lambda used: bool(used.sensitive), "no tool declares a sensitive field"),
        redaction=True,
    ),
)
