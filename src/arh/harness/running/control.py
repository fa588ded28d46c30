"""The control of one run: whether it may go on, and the port watchdog that says when not.

A stop is final: once a run is stopped, every port of it raises `RunStopped`, whatever the agent
caught. The port watchdog is deterministic (virtual time and counts) and strictly later than the
budgets that the system under evaluation enforces on itself: if it fires, the system did not stop
itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from arh.errors import RunStopped
from arh.ports.sue import Clock


@dataclass(frozen=True, slots=True)
class WatchdogLimits:
    """When the harness itself stops a run.

    Model calls, tool calls, milliseconds, for all actors.
    """

    model_calls_max: int
    tool_calls_max: int
    deadline_ms: int


class Control:
    """Latches the first stop and counts what passes the ports."""

    def __init__(self, clock: Clock, limits: WatchdogLimits) -> None:
        """Start with nothing counted and nothing stopped.

        `calls_passed` is how many calls went on to a gateway: the runner's own count, which the
        gateway's log is held against.
        """
        self.stopped: RunStopped | None = None
        self.stopped_by = ""
        self.problems: list[str] = []
        self.calls_passed = 0
        self._clock = clock
        self._limits = limits
        self._model_calls = 0
        self._tool_calls = 0

    def enter(self, port: str) -> None:
        """Let an agent into a port, unless the run is stopped or the watchdog stops it now."""
        if self.stopped is not None:
            raise self._again(self.stopped)
        if port == "model":
            self._model_calls += 1
            if self._model_calls > self._limits.model_calls_max:
                raise self.stop("watchdog", "model calls beyond every budget", by="watchdog")
        elif port == "tool":
            self._tool_calls += 1
            if self._tool_calls > self._limits.tool_calls_max:
                raise self.stop("watchdog", "tool calls beyond every budget", by="watchdog")
        if self._clock.now_ms() > self._limits.deadline_ms:
            raise self.stop("watchdog", "time beyond the deadline", by="watchdog")

    def go_on(self) -> None:
        """Return only if the run was not stopped."""
        if self.stopped is not None:
            raise self._again(self.stopped)

    def stop(self, termination: str, detail: str, *, by: str) -> RunStopped:
        """Stop the run for good; the first stop counts. Return what to raise."""
        if self.stopped is None:
            self.stopped = RunStopped(termination, detail)
            self.stopped_by = by
        return self.stopped

    def problem(self, text: str) -> None:
        """Note a failure that is not the agent's: the run can no longer pass."""
        self.problems.append(text)

    def time_left(self, wanted_ms: int, *, hard: bool = False) -> int:
        """Return how long a port may take: what was wanted, cut at the watchdog's deadline.

        With `hard`, one millisecond more is allowed, so that waiting past the deadline is noticed.
        """
        left = self._limits.deadline_ms - self._clock.now_ms()
        return max(0, min(wanted_ms, max(0, left) + hard))

    @staticmethod
    def _again(stop: RunStopped) -> RunStopped:
        """Return the stop as a new exception, since the agent may still hold the last one."""
        return RunStopped(stop.termination, stop.detail)
