"""Zone 2 for one run: its own clock, identifiers, fault proxies and baton, sharing nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from arh.ports.environment import Checkpoint, Recorder
from arh.ports.sue import (
    ApprovalService,
    DecisionPoint,
    Endpoint,
    Model,
    Store,
    Telemetry,
    ToolClient,
)
from arh.records.faults import FaultPlan
from arh.sim.clock import VirtualClock
from arh.sim.faults import FaultInjector
from arh.sim.streams import SequentialIds


class RunEnvironment:
    """Implements `arh.ports.environment.Environment`."""

    def __init__(
        self,
        clock: VirtualClock,
        plans: Sequence[FaultPlan],
        recorder: Recorder,
        checkpoint: Checkpoint,
        telemetry: Telemetry | None,
    ) -> None:
        """Plan the faults; `arm` arms them."""
        self.clock = clock
        self.ids = SequentialIds()
        self.telemetry = telemetry
        self.checkpoint = checkpoint
        self._injector = FaultInjector(plans, clock, recorder)

    def arm(self) -> None:
        """Arm every planned fault, once all ports are wrapped."""
        self._injector.arm()

    def wrap_model(self, model: Model, actor: str) -> Model:
        """Return the model behind its fault proxy, or itself if nothing can happen to it."""
        return self._injector.wrap_model(model, actor)

    def wrap_tools(self, client: ToolClient) -> ToolClient:
        """Return the tool client behind its fault proxy, or itself."""
        return self._injector.wrap_tools(client)

    def wrap_store(self, store: Store) -> Store:
        """Return the store behind its fault proxy, or itself."""
        return self._injector.wrap_store(store)

    def wrap_decisions(self, point: DecisionPoint) -> DecisionPoint:
        """Return the decision point behind its fault proxy, or itself."""
        return self._injector.wrap_decisions(point)

    def wrap_endpoint(self, endpoint: Endpoint, tools: Collection[str]) -> Endpoint:
        """Return the way to a service through its fault proxy, or itself."""
        return self._injector.wrap_endpoint(endpoint, tools)

    def close(self) -> None:
        """End the proxies: what they stood before is not reached through them any more."""
        self._injector.close()

    def wrap_approvals(self, service: ApprovalService) -> ApprovalService:
        """Return the approval service behind its fault proxy, or itself."""
        return self._injector.wrap_approvals(service)
