"""A tool's fault brought about on the wire to the service that fulfils it, and held against it.

The call goes through the team's own client to the proxy before the team's own service, which does
what the order says with the request that comes by. What the caller then gets is what that client
makes of it: nothing here writes a reply. Only if the proxy says that it struck is the fault on
record as injected. The run's clock moves by what the plan says; the wire itself is only as slow as
it takes for the client to notice.

A service keeps no older revisions that could be read, so no fault on the wire is `stale`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from arh.ports.sue import ToolClient
from arh.records.execution import Execution, RawReply
from arh.records.faults import FaultPlan
from arh.records.tools import Effect
from arh.sim.visits import Visit, duration
from arh.sim.wire_orders import order_of

if TYPE_CHECKING:
    from arh.sim.wire import Wire

UNWIRED: Final = frozenset({"stale"})


def wired(
    wire: Wire, inner: ToolClient, execution: Execution, visit: Visit, plan: FaultPlan
) -> RawReply:
    """Return what the tool's own client makes of a fault on its wire."""
    left, writes = execution.timeout_ms, execution.tool.manifest.effect is not Effect.READ
    late = plan.effect == "slowdown" and (plan.ms or 0) >= left
    order = order_of(plan, writes=writes, late=late)
    with wire.under(order):
        reply = inner.execute(execution)
    if not order.struck or (order.act == "refuse" and reply.delivery != "error"):
        return reply
    shown: dict[str, object] = {
        "hidden_outcome": plan.hidden_outcome if writes else None,
        "retry_after_ms": plan.retry_after_ms,
        "removed": order.removed or None,
        "bytes": order.size,
    }
    if order.act in {"malformed", "partial", "twice"}:
        visit.strike("", **shown)
        return reply
    ms = None if late else duration(plan)
    spent = visit.take(ms, left, "timeout" if late else "", **shown)
    return replace(reply, latency_ms=reply.latency_ms + spent)
