"""The fault proxy of the tool client: one execution of one authorised call.

What happened and what its caller learns are set apart here, and nowhere else: where the table says
that a reply is lost, the caller gets a timeout or an error, and neither body, reads, commit entry
nor commit status of the real reply pass through. The hidden outcome stays in the store, where the
control plane reads it. A write whose real outcome is not a commit (the handler refused) has no
acknowledgement to lose, so no such fault happens to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from arh.canonical import Refused, encode, parse
from arh.ports.sue import ToolClient
from arh.records.execution import Execution, RawReply, StoredOperation
from arh.records.faults import FaultPlan
from arh.records.outcomes import CommitBelief
from arh.records.tools import Effect
from arh.sim.fault_table import touches
from arh.sim.faulty_store import Order, Orders
from arh.sim.faulty_wire import UNWIRED, wired
from arh.sim.visits import REASONS, FaultPort, Visit, duration

if TYPE_CHECKING:
    from arh.sim.wire import Wire

_DONE: Final = ("committed", "replayed")


class FaultyToolClient:
    """A tool client behind its faults."""

    __slots__ = ("_inner", "_orders", "_port", "_wires")

    def __init__(
        self,
        inner: ToolClient,
        port: FaultPort,
        orders: Orders,
        wires: Mapping[str, Wire] | None = None,
    ) -> None:
        """Stand before the client; `orders` reach the store's proxy, by call.

        `wires` are the proxies before the services of tools, by tool: their faults happen there.
        """
        self._inner = inner
        self._port = port
        self._orders = orders
        self._wires = {} if wires is None else wires

    def execute(self, execution: Execution) -> RawReply:
        """Return the reply, or what a fault leaves of it."""
        operation, effect = execution.operation, execution.tool.manifest.effect
        wire = self._wires.get(operation.tool)
        with self._port.enter(
            operation.call_id,
            (operation.tool,),
            lambda armed: (
                touches(armed.row, effect) and (wire is None or armed.plan.effect not in UNWIRED)
            ),
        ) as visit:
            plan = visit.plan
            if plan is None:
                return self._inner.execute(execution)
            if wire is not None:
                return wired(wire, self._inner, execution, visit, plan)
            return _Strike(self._inner, self._orders, execution, visit, plan).reply()

    def look_up(self, tenant: str, tool: str, key: str) -> StoredOperation | None:
        """Return the operation that the store holds under this key, or `None`."""
        return self._inner.look_up(tenant, tool, key)


class _Strike:
    """One execution that a fault is due to strike."""

    __slots__ = ("_execution", "_inner", "_orders", "_plan", "_visit", "_writes")

    def __init__(
        self,
        inner: ToolClient,
        orders: Orders,
        execution: Execution,
        visit: Visit,
        plan: FaultPlan,
    ) -> None:
        self._inner = inner
        self._orders = orders
        self._execution = execution
        self._visit = visit
        self._plan = plan
        self._writes = execution.tool.manifest.effect is not Effect.READ

    def reply(self) -> RawReply:
        """Return what the effect makes of the execution."""
        match self._plan.effect:
            case "slowdown":
                return self._slow()
            case "malformed" | "partial":
                return self._damaged()
            case "stale":
                return self._stale()
            case "duplicate_delivery":
                return self._twice()
            case _:
                return self._lost()

    def _lost(self) -> RawReply:
        """Let the reply get lost in the phase that the plan names."""
        phase, hidden = self._plan.phase, self._plan.hidden_outcome
        if phase == "not_dispatched" or (self._writes and hidden == "not_committed"):
            return self._symptom()
        if phase == "before_commit":
            return self._rolled_back()
        reply = self._inner.execute(self._execution)
        return self._symptom() if self._can_lose(reply) else reply

    def _rolled_back(self) -> RawReply:
        """Let the handler run and its transaction be refused."""
        order = Order()
        reply = self._under(order)
        return self._symptom() if order.refused else reply

    def _slow(self) -> RawReply:
        """Let the request or its reply take time; the caller waits no longer than it can."""
        left, ms = self._execution.timeout_ms, self._plan.ms or 0
        if self._plan.phase == "not_dispatched":
            if ms >= left:
                return self._symptom(late=True)
            self._visit.take(ms, left)
            reply = self._inner.execute(replace(self._execution, timeout_ms=left - ms))
            return replace(reply, latency_ms=reply.latency_ms + ms)
        reply = self._inner.execute(self._execution)
        if self._plan.phase == "after_commit" and not self._can_lose(reply):
            return reply
        if reply.latency_ms + ms >= left:
            return self._symptom(late=True)
        self._visit.take(ms, left)
        return replace(reply, latency_ms=reply.latency_ms + ms)

    def _damaged(self) -> RawReply:
        """Return a reply whose body is broken, or lacks fields."""
        reply = self._inner.execute(self._execution)
        if self._plan.phase == "after_commit" and not self._can_lose(reply):
            return reply
        if reply.delivery != "delivered":
            return reply
        return self._partial(reply) if self._plan.effect == "partial" else self._malformed(reply)

    def _malformed(self, reply: RawReply) -> RawReply:
        raw = self._plan.raw
        body = cut(reply.body) if raw is None else raw.encode("utf-8", "surrogatepass")
        self._visit.strike(bytes=len(body))
        return replace(reply, body=body, commit=self._said("unknown"), entry=None, reads=())

    def _partial(self, reply: RawReply) -> RawReply:
        kept = frozenset(self._plan.keep_fields or ())
        value = _ok(reply.body)
        removed = sorted(value.keys() - kept)
        if not removed:
            return reply
        left = {name: field for name, field in value.items() if name in kept}
        self._visit.strike(removed=removed)
        return replace(reply, body=encode({"ok": left}))

    def _stale(self) -> RawReply:
        """Let the handler read older revisions, without a word about it."""
        order = Order(self._plan.revisions_back or 1)
        reply = self._under(order)
        if order.old:
            self._visit.strike(records=order.old)
        return reply

    def _twice(self) -> RawReply:
        """Deliver the request twice; only the second reply comes back."""
        first = self._inner.execute(self._execution)
        if first.delivery != "delivered":
            return first
        self._visit.strike()
        return self._inner.execute(self._execution)

    def _under(self, order: Order) -> RawReply:
        """Execute while the store's proxy has an order for this call."""
        call = self._execution.operation.call_id
        self._orders[call] = order
        try:
            return self._inner.execute(self._execution)
        finally:
            del self._orders[call]

    def _can_lose(self, reply: RawReply) -> bool:
        """Return true if there is an answer to lose: of a write, the word of its commit."""
        return reply.commit in _DONE if self._writes else reply.delivery == "delivered"

    def _symptom(self, *, late: bool = False) -> RawReply:
        """Return what the caller gets instead of a reply, after the time that it takes."""
        plan, left = self._plan, self._execution.timeout_ms
        spent = self._visit.take(
            None if late else duration(plan),
            left,
            "timeout" if late else "",
            hidden_outcome=plan.hidden_outcome if self._writes else None,
            retry_after_ms=plan.retry_after_ms,
        )
        reason = REASONS[plan.effect]
        row = self._visit.armed.row if self._visit.armed else None
        return RawReply(
            delivery="timeout" if reason == "timeout" else "error",
            commit=self._said(row.commit if row and row.commit else "unknown"),
            reason=reason,
            retry_after_ms=plan.retry_after_ms,
            latency_ms=spent,
        )

    def _said(self, belief: CommitBelief) -> CommitBelief:
        """Return what a reply may say of a commit: of a read, nothing."""
        return belief if self._writes else "not_applicable"


def cut(body: bytes) -> bytes:
    """Return the body without its end: no proper part of a JSON object is JSON."""
    return body[: max(1, len(body) * 2 // 3)] if body else b'{"o'


def _ok(body: bytes) -> dict[str, object]:
    """Return the fields of a reply that succeeded, none of any other."""
    try:
        value = parse(body)
    except Refused:
        return {}
    result = value.get("ok") if isinstance(value, dict) else None
    return dict(result) if isinstance(result, dict) else {}
