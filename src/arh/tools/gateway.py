"""The policy enforcement point: the only path from an agent to a tool.

One call goes through stages in a fixed order: resolve, parse, validate, identify, locate,
authorise, look up, approve, execute. Each stage lets it go on or ends it; time is checked when a
call enters, after each stage that reached out of the gateway, and before the dispatch. The gateway
is bound to one trusted identity, and nothing that an agent writes can change it. Refusals are
values. Exactly one attempt is on record for each call, also for a stopped one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from arh.foreign import call as guarded
from arh.ports.sue import (
    ApprovalService,
    Clock,
    DecisionPoint,
    GrantVerifier,
    Ids,
    StateReader,
    Telemetry,
    ToolClient,
)
from arh.records.identity import SecurityContext
from arh.records.messages import ToolRequest
from arh.records.outcomes import Mark, Reason, ToolOutcome
from arh.tools.attempts import (
    ARGUMENTS_TEXT_CHARS_MAX,
    NAME_CHARS_MAX,
    Attempt,
    AttemptLog,
    encodable,
)
from arh.tools.checks import approve, authorise
from arh.tools.dispatch import execute, look_up, require_records
from arh.tools.registry import Registry
from arh.tools.spans import report
from arh.tools.stages import (
    Call,
    End,
    Stage,
    failed,
    identify,
    locate,
    parse,
    rejected,
    resolve,
    validate,
)


def _go_on(_point: str) -> None:
    """Return at once: the caller is alone."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a gateway stands on; each of them may be faulted, none is trusted to answer well."""

    point: DecisionPoint
    approvals: ApprovalService
    verifier: GrantVerifier
    client: ToolClient
    reader: StateReader
    clock: Clock
    ids: Ids
    telemetry: Telemetry | None = None
    checkpoint: Callable[[str], None] = _go_on


@final
class PolicyGateway:
    """Implements `arh.ports.sue.Gateway` for one actor."""

    def __init__(
        self,
        registry: Registry,
        context: SecurityContext,
        actor: str,
        offered: Iterable[str],
        attempts: AttemptLog,
        dependencies: Dependencies,
    ) -> None:
        """Bind the gateway to an identity and the tools offered to it.

        The checkpoint is called with `gateway` when a call enters, `decided` once it is authorised.
        """
        self._registry = registry
        self._context = context
        self._actor = actor
        self._offered = {name: tool for name in offered if (tool := registry.get(name))}
        self._attempts = attempts
        self._on = dependencies
        self._stages = self._plan()

    def call(
        self, request: ToolRequest, *, timeout_ms: int, metadata_key: str | None = None
    ) -> ToolOutcome:
        """Run one call through every stage and return what its caller may know of it."""
        on = self._on
        now_ms = on.clock.now_ms()
        attempt = Attempt(
            self._actor,
            on.ids.next("call"),
            encodable(request.call_id, NAME_CHARS_MAX),
            encodable(request.tool, NAME_CHARS_MAX),
            encodable(request.arguments, ARGUMENTS_TEXT_CHARS_MAX),
            now_ms,
        )
        late = timeout_ms <= 0
        current = Call(request, metadata_key, attempt, now_ms + timeout_ms, now_ms, late)
        try:
            return self._conclude(current, self._end(current))
        finally:
            attempt.returned_ms = on.clock.now_ms()
            self._attempts.write(attempt)
            telemetry = on.telemetry
            if telemetry is not None:
                guarded("telemetry", lambda: report(telemetry, attempt))

    def _plan(self) -> tuple[Stage, ...]:
        """Return the stages before the dispatch in their order, with what each of them needs."""
        on, context, offered = self._on, self._context, self._offered
        return (
            self._checkpoint("gateway"),
            lambda current: resolve(current, offered),
            parse,
            validate,
            lambda current: identify(current, context),
            lambda current: locate(current, on.reader, context.tenant),
            lambda current: authorise(current, on.point, context, on.clock),
            self._checkpoint("decided"),
            lambda current: look_up(current, on.client, context.tenant),
            require_records,
            lambda current: approve(
                current, on.approvals, on.verifier, on.reader, context, on.clock
            ),
        )

    def _end(self, current: Call) -> End:
        """Return the end that the first stage to end the call gives it, the dispatch at last."""
        for stage in self._stages:
            end = (self._expired(current) if current.waited else None) or stage(current)
            if end is not None:
                return end
        on = self._on
        return self._expired(current) or execute(current, on.client, self._context, on.clock)

    def _expired(self, current: Call) -> End | None:
        """End a call that has no time left, or whose allowance has run out meanwhile."""
        current.now_ms = now_ms = self._on.clock.now_ms()
        current.waited = False
        if now_ms >= current.deadline_ms:
            return failed(Reason.TIMEOUT, "deadline_passed")
        if current.decision is not None:
            expires_at_ms = current.decision.expires_at_ms
            if expires_at_ms is not None and now_ms >= expires_at_ms:
                return rejected(Reason.AUTHORIZATION_UNAVAILABLE, "decision_expired")
        return None

    def _checkpoint(self, point: str) -> Stage:
        """Return a stage at which another actor may get its turn."""
        reach = self._on.checkpoint

        def stage(current: Call) -> End | None:
            current.waited = True
            reach(point)
            return None

        return stage

    def _conclude(self, current: Call, end: End) -> ToolOutcome:
        """Note the end in the attempt and return its outcome."""
        attempt = current.attempt
        belief = end.commit_belief or ("not_started" if current.writes else "not_applicable")
        marks = self._marks(current, end)
        reason = str(end.reason)
        attempt.status, attempt.reason, attempt.cause = end.status, reason, end.cause
        attempt.commit_belief, attempt.delivery = belief, end.delivery
        attempt.result, attempt.marks = end.value, marks
        attempt.stages.append(["returned", end.status])
        return ToolOutcome(
            attempt.requested_id,
            attempt.tool,
            attempt.version,
            end.status,
            reason,
            end.result,
            attempt.operation_id,
            belief,
            end.delivery,
            end.retry_after_ms,
            marks,
        )

    def _marks(self, current: Call, end: End) -> tuple[Mark, ...]:
        """Return the milestones that the call satisfies; one that failed satisfies none."""
        if end.status != "executed":
            return ()
        first = end.commit_belief == "committed"
        arguments = current.arguments
        return self._registry.marks(current.tool, end.value, arguments, first_commit=first)
