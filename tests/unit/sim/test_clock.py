"""A run's time moves when it is told to, and never back."""

from __future__ import annotations

import pytest

from arh.errors import HarnessError
from arh.sim.clock import VirtualClock, wall_ms


def test_time_moves_by_what_passes() -> None:
    """Two steps add up."""
    clock = VirtualClock()

    clock.advance(30)
    clock.advance(0)
    clock.advance(12)

    assert clock.now_ms() == 42


@pytest.mark.parametrize("ms", [-1, 1.5, True, None, "3"])
def test_time_never_moves_back_or_by_anything_but_whole_milliseconds(ms: object) -> None:
    """A refused step leaves the time as it was."""
    clock = VirtualClock(5)

    with pytest.raises(HarnessError, match="whole milliseconds"):
        clock.advance(ms)  # type: ignore[arg-type]
    assert clock.now_ms() == 5


def test_a_clock_does_not_start_before_its_run() -> None:
    """There is no negative time."""
    with pytest.raises(HarnessError, match="0 or later"):
        VirtualClock(-1)


def test_two_clocks_share_nothing() -> None:
    """The time of one run is none of another's business."""
    one, other = VirtualClock(), VirtualClock()

    one.advance(99)

    assert other.now_ms() == 0


def test_the_machines_own_time_does_not_run_back() -> None:
    """For reports and measurements, readings only grow."""
    assert wall_ms() <= wall_ms()
