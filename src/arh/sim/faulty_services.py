"""The fault proxies of the model and of the security path's two services.

None of the three commits anything, so their faults have one question: was the dependency asked
before its answer was lost or damaged. A decision is never invented: a damaged answer is one that
its caller must refuse, or an earlier one that belongs to another request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Generic, TypeVar, cast

from arh.ports.sue import ApprovalService, DecisionPoint, Model
from arh.records.authorization import (
    ApprovalAnswer,
    ApprovalRequest,
    AuthorizationDecision,
    AuthorizationRequest,
)
from arh.records.decisions import (
    Malformed,
    ModelReply,
    ModelRequest,
    Truncated,
    Unavailable,
)
from arh.records.faults import FaultPlan
from arh.sim.streams import SequentialIds
from arh.sim.visits import REASONS, FaultPort, Visit, duration, failure

Q = TypeVar("Q", AuthorizationRequest, ApprovalRequest)
A = TypeVar("A", AuthorizationDecision, ApprovalAnswer)

_NOT_AN_ANSWER: Final = {"status": "ok"}


class FaultyModel:
    """A model behind its faults."""

    __slots__ = ("_ids", "_inner", "_port")

    def __init__(self, inner: Model, port: FaultPort, ids: SequentialIds) -> None:
        """Stand before the model; all models of a run share the port and its counts."""
        self._inner = inner
        self._port = port
        self._ids = ids

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply, or what a fault made of it; times are in `latency_ms` too."""
        with self._port.enter(self._ids.next("ask")) as visit:
            plan = visit.plan
            if plan is None:
                return self._inner.complete(request)
            if plan.phase == "not_dispatched":
                return _no_reply(ModelReply(Unavailable("")), visit, plan, request)
            reply = self._inner.complete(request)
            if isinstance(reply.decision, Unavailable):
                return reply
            return _struck(reply, visit, plan, request)


def _struck(reply: ModelReply, visit: Visit, plan: FaultPlan, request: ModelRequest) -> ModelReply:
    """Return what a fault leaves of a reply that the model gave."""
    if plan.effect == "malformed":
        visit.strike()
        return replace(reply, decision=Malformed("the reply broke its format"))
    if plan.effect == "truncated_stream":
        visit.strike()
        return replace(reply, decision=Truncated("the stream ended early"))
    in_time = reply.latency_ms + (plan.ms or 0) < request.timeout_ms
    if plan.effect != "slowdown" or not in_time:
        return _no_reply(reply, visit, plan, request)
    spent = visit.take(plan.ms, request.timeout_ms)
    return replace(reply, latency_ms=reply.latency_ms + spent)


def _no_reply(
    reply: ModelReply, visit: Visit, plan: FaultPlan, request: ModelRequest
) -> ModelReply:
    """Return that no reply came; the tokens of one that was lost stay counted."""
    late = plan.effect == "slowdown"
    spent = visit.take(
        None if late else duration(plan),
        request.timeout_ms,
        "timeout" if late else "",
        retry_after_ms=plan.retry_after_ms,
    )
    decision = Unavailable(REASONS[plan.effect], plan.retry_after_ms)
    latency = min(max(spent, reply.latency_ms), request.timeout_ms)
    return replace(reply, decision=decision, latency_ms=latency)


class _Service(Generic[Q, A]):
    """What happens to a question to a service and to its answer."""

    __slots__ = ("_ask", "_port", "_previous")

    def __init__(self, ask: Callable[[Q], A], port: FaultPort) -> None:
        self._ask: Callable[[Q], A] = ask
        self._port = port
        self._previous: A | None = None

    def answer(self, request: Q) -> A:
        """Return the service's answer, or what a fault made of it.

        Raises:
            DependencyFailure: No answer came.
        """
        with self._port.enter(request.request_id, (request.tool,)) as visit:
            plan = visit.plan
            if plan is None:
                return self._remembered(self._ask(request))
            left = request.deadline_ms - self._port.clock.now_ms()
            if plan.phase == "not_dispatched":
                self._fail(visit, plan, left)
            return self._struck(self._ask(request), request, visit, plan, left)

    def _struck(self, answer: A, request: Q, visit: Visit, plan: FaultPlan, left: int) -> A:
        """Return what a fault leaves of an answer that the service gave."""
        previous, self._previous = self._previous, answer
        if plan.effect == "malformed":
            visit.strike()
            return cast("A", dict(_NOT_AN_ANSWER))
        if plan.effect == "stale":
            if previous is None or previous.action_digest == request.action_digest:
                return answer
            visit.strike()
            return previous
        if plan.effect == "slowdown" and (plan.ms or 0) < left:
            spent = visit.take(plan.ms, left)
            return replace(answer, latency_ms=answer.latency_ms + spent)
        return self._fail(visit, plan, left)

    def _fail(self, visit: Visit, plan: FaultPlan, left: int) -> A:
        late = plan.effect == "slowdown"
        visit.take(
            duration(plan),
            left,
            "timeout" if late else "",
            retry_after_ms=plan.retry_after_ms,
        )
        raise failure(plan)

    def _remembered(self, answer: A) -> A:
        self._previous = answer
        return answer


class FaultyDecisionPoint:
    """A decision point behind its faults."""

    __slots__ = ("_service",)

    def __init__(self, inner: DecisionPoint, port: FaultPort) -> None:
        """Stand before the decision point."""
        self._service: _Service[AuthorizationRequest, AuthorizationDecision] = _Service(
            inner.decide, port
        )

    def decide(self, request: AuthorizationRequest) -> AuthorizationDecision:
        """Return the decision, or what a fault made of it; see `_Service.answer`."""
        return self._service.answer(request)


class FaultyApprovalService:
    """An approval service behind its faults."""

    __slots__ = ("_service",)

    def __init__(self, inner: ApprovalService, port: FaultPort) -> None:
        """Stand before the approval service."""
        self._service: _Service[ApprovalRequest, ApprovalAnswer] = _Service(inner.grants, port)

    def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Return the answer, or what a fault made of it; see `_Service.answer`."""
        return self._service.answer(request)
