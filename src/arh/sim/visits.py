"""One call through a port on which faults are armed, and what is put on record about it.

Every matching call is a visit: `port_entered` and `port_left` for each armed fault that it matches,
and between them `fault_injected`, once, if a fault really happened to it. A proxy first lets the
visit say which fault is due, then does what the fault means, and only then calls `strike`. What
could not be done (nothing was committed whose acknowledgement could be lost, no older revision
exists) leaves no `fault_injected`, so a fault that did not happen is never counted as one that did.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Final, Self

from arh.errors import DependencyFailure
from arh.ports.environment import Recorder, SteeredClock
from arh.records.faults import FaultPlan
from arh.sim.fault_table import Row

SOURCE: Final = "fault_proxy"
NONE: Final = "none"


class Armed:
    """One fault with the number of matching calls so far; every proxy of its port shares it."""

    __slots__ = ("count", "plan", "row")

    def __init__(self, plan: FaultPlan, row: Row) -> None:
        """Start counting at none."""
        self.plan = plan
        self.row = row
        self.count = 0

    def due(self) -> bool:
        """Count one more matching call and return true if the fault strikes it."""
        self.count += 1
        return self.plan.strikes(self.count)


class Visit:
    """One call through an armed port, from entering to leaving."""

    __slots__ = ("_call", "_clock", "_entered", "_port", "_recorder", "armed", "symptom")

    def __init__(self, port: FaultPort, call: str, entered: Sequence[Armed]) -> None:
        """Count the call for every fault that it matches; the first one due may strike."""
        self._port = port.name
        self._clock = port.clock
        self._recorder = port.recorder
        self._call = call
        self._entered = entered
        due = [armed for armed in entered if armed.due()]
        self.armed: Armed | None = due[0] if due else None
        self.symptom = NONE

    @property
    def plan(self) -> FaultPlan | None:
        """The fault that is due, if one is."""
        return None if self.armed is None else self.armed.plan

    def strike(self, symptom: str = "", **shown: object) -> None:
        """Put on record that the due fault has happened, and with what parameters."""
        if self.armed is None or self.symptom != NONE:
            return
        plan = self.armed.plan
        self.symptom = symptom or self.armed.row.symptom
        self._recorder.record(
            "fault_injected",
            SOURCE,
            {
                "fault": plan.id,
                "call": self._call,
                "phase": plan.phase,
                "effect": plan.effect,
                "symptom": self.symptom,
                "parameters": {name: value for name, value in shown.items() if value is not None},
            },
        )

    def take(self, ms: int | None, left_ms: int, symptom: str = "", **shown: object) -> int:
        """Strike, let the symptom's time pass, at most what the caller has left, and return it.

        Without `ms` the caller waits for all of the time that it has.
        """
        left = max(left_ms, 0)
        spent = left if ms is None else min(ms, left)
        self.strike(symptom, ms=spent, **shown)
        self._clock.advance(spent)
        return spent

    def __enter__(self) -> Self:
        self._each("port_entered")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._each("port_left", symptom=True)

    def _each(self, kind: str, *, symptom: bool = False) -> None:
        for armed in self._entered:
            data: dict[str, object] = {
                "fault": armed.plan.id,
                "port": self._port,
                "call": self._call,
            }
            if symptom:
                data["symptom"] = self.symptom if armed is self.armed else NONE
            self._recorder.record(kind, SOURCE, data)


class FaultPort:
    """The faults that are armed on one port."""

    __slots__ = ("_armed", "clock", "name", "recorder")

    def __init__(
        self, name: str, armed: Sequence[Armed], clock: SteeredClock, recorder: Recorder
    ) -> None:
        """Hold the faults in the order in which they were declared."""
        self.name = name
        self.clock = clock
        self.recorder = recorder
        self._armed = tuple(armed)

    def __bool__(self) -> bool:
        return bool(self._armed)

    def enter(
        self,
        call: str,
        names: Collection[str] = (),
        fits: Callable[[Armed], bool] = lambda _armed: True,
    ) -> Visit:
        """Return the visit of a call that touches what is named, where `fits` holds of a fault."""
        entered = [
            armed
            for armed in self._armed
            if (not armed.plan.target_name or armed.plan.target_name in names) and fits(armed)
        ]
        return Visit(self, call, entered)


def duration(plan: FaultPlan) -> int | None:
    """Return how long the symptom takes, `None` for as long as its caller waits."""
    return plan.ms if plan.ms is not None or plan.effect == "timeout" else 0


def failure(plan: FaultPlan) -> DependencyFailure:
    """Return the exception that stands for an effect at a port which raises."""
    return DependencyFailure(REASONS[plan.effect], plan.retry_after_ms)


REASONS: Final = {
    "timeout": "timeout",
    "slowdown": "timeout",
    "error": "dependency_error",
    "rate_limit": "rate_limited",
}
