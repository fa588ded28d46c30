"""Time: the virtual clock of a run, and what is asked of the machine's own time.

A run's time moves only when something in the run says that time passes, so a slow machine changes
no verdict. Each run has a clock of its own: nothing that happened in another run can expire its
approvals. The machine's time is read in this file alone, for progress, reports and measurements;
it never enters evidence.
"""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

from arh.errors import HarnessError


class VirtualClock:
    """Implements `ports.environment.SteeredClock`: time that never runs back."""

    __slots__ = ("_now_ms",)

    def __init__(self, start_ms: int = 0) -> None:
        """Set the time at which the run begins."""
        if start_ms < 0:
            raise HarnessError(f"a clock starts at 0 or later, not at {start_ms}")
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """Return milliseconds since the run began."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass.

        Raises:
            HarnessError: The step is negative or no integer; the time is left as it was.
        """
        if type(ms) is not int or ms < 0:
            raise HarnessError(f"time advances by whole milliseconds, 0 or more, not by {ms!r}")
        self._now_ms += ms


def wall_ms() -> float:
    """Return monotonic milliseconds of this machine, from an arbitrary start."""
    return time.perf_counter_ns() / 1e6


def pause(ms: int) -> None:
    """Return after `ms` milliseconds of this machine's time: for what lies outside of every run."""
    time.sleep(ms / 1000)


def epoch_ns() -> int:
    """Return nanoseconds since 1970 by this machine's clock: for telemetry, nothing else."""
    return time.time_ns()


def today() -> date:
    """Return the day of this machine's clock: the default of a decision's date, nothing else."""
    return datetime.now(UTC).date()
