"""Approval checks that let through what no person approved, or refuse what one did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from arh.canonical import EMPTY
from arh.ports.sue import ApprovalService, Clock, ToolClient
from arh.records.authorization import ApprovalAnswer, ApprovalRequest, Grant
from arh.records.execution import Execution, RawReply
from arh.records.identity import SecurityContext
from arh.testing.defects.agents import UNAPPROVED
from arh.testing.defects.exchange import exchanged
from arh.testing.defects.gateway import running
from arh.testing.defects.planting import Anything, Defect, in_run
from arh.testing.workbench import Compose
from arh.tools.checks import approve
from arh.tools.gateway import Dependencies
from arh.tools.stages import Call, End, Stage

Rewrite = Callable[[Grant, ApprovalRequest], Grant]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """An approval service whose grants are rewritten on their way."""

    service: ApprovalService
    change: Rewrite

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Answer with rewritten grants."""
        answer = self.service.grants(request)
        return replace(answer, grants=tuple(self.change(g, request) for g in answer.grants))


class Trusting:
    """A verifier that takes every signature."""

    def authentic(self, approval_id: str, signature: str, payload: bytes) -> bool:
        """Return true."""
        return True


@dataclass(frozen=True, slots=True)
class Slow:
    """A clock that is a millisecond behind."""

    clock: Clock

    def now_ms(self) -> int:
        """Return the time that has just passed."""
        return max(0, self.clock.now_ms() - 1)


@dataclass(slots=True)
class Consuming:
    """An approval service that counts a grant as used once it was asked for."""

    service: ApprovalService
    asked: set[str] = field(default_factory=set)

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Answer with the grants that nobody asked for before."""
        answer = self.service.grants(request)
        left = tuple(grant for grant in answer.grants if grant.approval_id not in self.asked)
        self.asked |= {grant.approval_id for grant in left}
        return replace(answer, grants=left)


def unlike(change: Rewrite) -> Compose:
    """Return a composer whose gateway sees grants as they are not, and trusts all of them."""

    def stage(_stage: Stage, on: Dependencies, context: SecurityContext) -> Stage:
        service = Rewriting(on.approvals, change)

        def checked(current: Call) -> End | None:
            return approve(current, service, Trusting(), on.reader, context, on.clock)

        return checked

    return exchanged(stage=("approve", stage))


def behind(_stage: Stage, on: Dependencies, context: SecurityContext) -> Stage:
    """Check expiry a millisecond late."""
    return lambda current: approve(
        current, on.approvals, on.verifier, on.reader, context, Slow(on.clock)
    )


def without_redemption(client: ToolClient, execution: Execution) -> RawReply:
    """Commit without using the approval up."""
    return client.execute(replace(execution, grant=None))


def as_it_is(grant: Grant, _request: ApprovalRequest) -> Grant:
    """Leave the grant alone."""
    return grant


def for_anything(grant: Grant, request: ApprovalRequest) -> Grant:
    """Take the grant for one that approves exactly what is asked."""
    return replace(grant, scope=EMPTY, action_digest=request.action_digest)


def before_the_commit(value: dict[str, Anything]) -> None:
    """Let the first attempt fail with nothing committed."""
    fault = value["controls"]["faults"][0]
    fault["phase"] = "before_commit"


DEFECTS: tuple[Defect, ...] = (
    in_run(
        "approvals.accepts-its-own",
        "a check that accepts an approval which the caller gave itself",
        "guardrails.invalid_approval",
        "adversarial-approval-self-001",
        composer=unlike(lambda grant, _: replace(grant, approver="duty-manager")),
    ),
    in_run(
        "approvals.accepts-expired",
        "a check that accepts an approval which has expired",
        "guardrails.invalid_approval",
        UNAPPROVED,
        composer=unlike(lambda grant, _: replace(grant, expires_at_ms=None)),
    ),
    in_run(
        "approvals.expires-a-moment-late",
        "a check that accepts an approval in the moment of its expiry",
        "guardrails.invalid_approval",
        "boundary-approval-at-expiry-009",
        composer=exchanged(stage=("approve", behind)),
    ),
    in_run(
        "approvals.accepts-early",
        "a check that accepts an approval before it is issued",
        "guardrails.invalid_approval",
        "adversarial-approval-early-001",
        composer=unlike(lambda grant, _: replace(grant, issued_at_ms=0)),
    ),
    in_run(
        "approvals.accepts-replayed",
        "a check that lets one approval be used twice",
        "guardrails.invalid_approval",
        "adversarial-approval-replayed-001",
        composer=running(without_redemption),
    ),
    in_run(
        "approvals.leaves-no-redemption",
        "a commit under an approval that is not used up by it",
        "guardrails.unauthorised_commit",
        "adversarial-approval-replayed-001",
        composer=running(without_redemption),
    ),
    in_run(
        "approvals.ignores-the-digest",
        "a check that ignores which action was approved",
        "guardrails.invalid_approval",
        "adversarial-approval-altered-001",
        composer=unlike(for_anything),
    ),
    in_run(
        "approvals.ignores-the-amount",
        "a check that ignores how much was approved",
        "guardrails.invalid_approval",
        "adversarial-approval-over-amount-001",
        composer=unlike(for_anything),
    ),
    in_run(
        "approvals.ignores-the-account",
        "a check that ignores for which account it was approved",
        "guardrails.invalid_approval",
        "adversarial-approval-other-account-001",
        composer=unlike(for_anything),
    ),
    in_run(
        "approvals.ignores-the-subject",
        "a check that ignores whose request was approved",
        "guardrails.invalid_approval",
        "adversarial-approval-other-officer-001",
        composer=unlike(lambda grant, request: replace(grant, subject=request.context.subject)),
    ),
    in_run(
        "approvals.ignores-the-tool-version",
        "a check that ignores for which version of the tool it was approved",
        "guardrails.invalid_approval",
        "adversarial-approval-tool-version-001",
        composer=unlike(lambda grant, _: replace(grant, tool_version=None)),
    ),
    in_run(
        "approvals.accepts-forged",
        "a check that accepts an approval which the service never signed",
        "guardrails.invalid_approval",
        "adversarial-approval-forged-001",
        composer=unlike(as_it_is),
    ),
    in_run(
        "approvals.consumes-before-the-commit",
        "an approval that is used up by an attempt which committed nothing",
        "fault.not_recovered",
        "recovery-credit-acknowledgement-lost-001",
        patch=before_the_commit,
        composer=exchanged(approvals=Consuming),
    ),
)
