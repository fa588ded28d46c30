"""The control of a run: a stop is final, and the watchdog comes after every budget."""

from __future__ import annotations

import pytest

from arh.errors import RunStopped
from arh.harness.running.control import Control, WatchdogLimits
from arh.sim.clock import VirtualClock

LIMITS = WatchdogLimits(model_calls_max=2, tool_calls_max=2, deadline_ms=1_000)


def test_a_stopped_run_lets_nobody_in() -> None:
    """After a stop every port raises the same stop, however often the agent tries."""
    control = Control(VirtualClock(), LIMITS)
    control.stop("invariant_violation", "a credit exists", by="invariant")

    for _ in range(3):
        with pytest.raises(RunStopped) as stop:
            control.enter("model")
        assert (stop.value.termination, stop.value.detail) == (
            "invariant_violation",
            "a credit exists",
        )


def test_the_first_stop_counts() -> None:
    """A later stop changes neither the termination nor who stopped the run."""
    control = Control(VirtualClock(), LIMITS)
    control.stop("fixture_mismatch", "no rule", by="environment")

    control.stop("watchdog", "late", by="watchdog")

    assert control.stopped is not None
    assert (control.stopped.termination, control.stopped_by) == ("fixture_mismatch", "environment")


@pytest.mark.parametrize("port", ["model", "tool"])
def test_the_watchdog_stops_at_the_first_call_beyond_its_count(port: str) -> None:
    """As many calls as the limit pass; the next one stops the run."""
    control = Control(VirtualClock(), LIMITS)
    for _ in range(2):
        control.enter(port)
        control.go_on()

    with pytest.raises(RunStopped, match="watchdog"):
        control.enter(port)


def test_the_watchdog_spares_the_deadline_itself() -> None:
    """At the deadline a port still opens; one millisecond later it does not."""
    clock = VirtualClock()
    control = Control(clock, LIMITS)
    clock.advance(1_000)
    control.enter("note")
    clock.advance(1)

    with pytest.raises(RunStopped, match="watchdog"):
        control.enter("note")


def test_a_port_never_gets_more_time_than_the_watchdog_has() -> None:
    """A wish beyond the deadline is cut; a hard wait may pass it by one millisecond, to be seen."""
    clock = VirtualClock()
    control = Control(clock, LIMITS)
    clock.advance(400)

    assert control.time_left(5_000) == 600
    assert control.time_left(5_000, hard=True) == 601
    assert control.time_left(10) == 10
