"""The fault injector of one run: it puts planned faults between a system and its dependencies.

The composer passes every dependency through one `wrap_*`. Where no fault is planned it gets the
dependency itself back, so that a run without faults costs nothing; else a proxy, through which the
system under evaluation sees a symptom as production would show it and never the plan.

Events, all with source `fault_proxy`:

    fault_armed     fault, target_type, target_name, phase, effect, trigger, invocation
    port_entered    fault, port, call
    fault_injected  fault, call, phase, effect, symptom, parameters: what really happened
    port_left       fault, port, call, symptom (`none` where the fault did not strike)

`call` is the gateway's call id, `ask-0001` and so on for a model, and empty for a read that the
gateway makes outside any transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from arh.errors import HarnessError
from arh.ports.environment import Recorder, SteeredClock
from arh.ports.sue import ApprovalService, DecisionPoint, Endpoint, Model, Store, ToolClient
from arh.records.faults import FaultPlan
from arh.sim.fault_table import row
from arh.sim.faulty_services import FaultyApprovalService, FaultyDecisionPoint, FaultyModel
from arh.sim.faulty_store import FaultyStore, Orders
from arh.sim.faulty_tools import FaultyToolClient
from arh.sim.streams import SequentialIds
from arh.sim.visits import SOURCE, Armed, FaultPort

if TYPE_CHECKING:
    from arh.sim.wire import Wire


class FaultInjector:
    """Arms the faults of one run and wraps its ports."""

    def __init__(
        self,
        plans: Sequence[FaultPlan],
        clock: SteeredClock,
        recorder: Recorder,
    ) -> None:
        """Hold the faults, none of them armed yet.

        Raises:
            HarnessError: The table has no such fault: it passed a check that it should not have.
        """
        self._recorder = recorder
        self._ids = SequentialIds()
        self._orders: Orders = {}
        self._wires: dict[str, Wire] = {}
        self._wrapped: set[str] = set()
        self._armed = tuple(map(_armed, plans))
        names = ("execute", "read", "commit", "complete", "decide", "grants")
        self._ports = {
            name: FaultPort(name, [a for a in self._armed if a.row.port == name], clock, recorder)
            for name in names
        }

    def arm(self) -> None:
        """Put on record every fault whose dependencies were all passed through their proxies."""
        for armed in self._armed:
            if _ports_of(armed) <= self._wrapped:
                self._recorder.record("fault_armed", SOURCE, _declared(armed.plan))

    def wrap_model(self, model: Model, actor: str) -> Model:
        """Return the model behind its faults, or itself."""
        self._wrapped.add("complete")
        port = self._ports["complete"]
        return FaultyModel(model, port, self._ids) if port else model

    def wrap_tools(self, client: ToolClient) -> ToolClient:
        """Return the tool client behind its faults, or itself."""
        self._wrapped.add("execute")
        port = self._ports["execute"]
        return FaultyToolClient(client, port, self._orders, self._wires) if port else client

    def wrap_endpoint(self, endpoint: Endpoint, tools: Collection[str]) -> Endpoint:
        """Return the way to a service through a proxy on the wire, or itself without faults there.

        The faults of the tools that it fulfils are then brought about on the wire.
        """
        if not any(_on_wire(armed, tools) for armed in self._armed):
            return endpoint
        from arh.sim.wire import Wire  # noqa: PLC0415 - few runs need a server

        wire = Wire(endpoint)
        self._wires.update(dict.fromkeys(tools, wire))
        return wire.endpoint

    def close(self) -> None:
        """End the proxies that stand on the wire."""
        for wire in set(self._wires.values()):
            wire.close()

    def wrap_store(self, store: Store) -> Store:
        """Return the store behind its faults and those of tools inside it, or itself."""
        self._wrapped |= {"read", "commit"}
        reads, commits = self._ports["read"], self._ports["commit"]
        inside = any("commit" in _ports_of(armed) for armed in self._armed)
        if reads or commits or inside:
            return FaultyStore(store, reads, commits, self._orders)
        return store

    def wrap_decisions(self, point: DecisionPoint) -> DecisionPoint:
        """Return the decision point behind its faults, or itself."""
        self._wrapped.add("decide")
        port = self._ports["decide"]
        return FaultyDecisionPoint(point, port) if port else point

    def wrap_approvals(self, service: ApprovalService) -> ApprovalService:
        """Return the approval service behind its faults, or itself."""
        self._wrapped.add("grants")
        port = self._ports["grants"]
        return FaultyApprovalService(service, port) if port else service


def _armed(plan: FaultPlan) -> Armed:
    found = row(plan)
    if found is None:
        raise HarnessError(
            f"no fault {plan.effect} {plan.phase} of a {plan.target_type}: check plans at load"
        )
    return Armed(plan, found)


def _on_wire(armed: Armed, tools: Collection[str]) -> bool:
    """Return true if the fault may strike one of these tools."""
    name = armed.plan.target_name
    return armed.row.port == "execute" and (not name or name in tools)


def _ports_of(armed: Armed) -> set[str]:
    """Return the ports that must be proxies for the fault to happen as planned."""
    plan = armed.plan
    inside = plan.phase == "before_commit" or plan.effect == "stale"
    return {armed.row.port, "commit"} if plan.target_type == "tool" and inside else {armed.row.port}


def _declared(plan: FaultPlan) -> dict[str, object]:
    return {
        "fault": plan.id,
        "target_type": plan.target_type,
        "target_name": plan.target_name,
        "phase": plan.phase,
        "effect": plan.effect,
        "trigger": plan.trigger,
        "invocation": plan.invocation,
    }
