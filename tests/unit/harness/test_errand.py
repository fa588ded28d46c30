"""A job of a thread runs to its end, and whoever waits hears how."""

from __future__ import annotations

import pytest

from arh.errors import RunStopped
from arh.harness.running.errand import run_to_end


def test_a_job_that_returns_ended_in_nothing() -> None:
    """The waiting side hears once, after the job."""
    heard: list[object] = []

    run_to_end(lambda: heard.append("worked"), heard.append)

    assert heard == ["worked", None]


@pytest.mark.parametrize(
    "error", [ValueError(), RunStopped("hung"), KeyboardInterrupt(), SystemExit(), GeneratorExit()]
)
def test_whatever_a_job_raises_is_handed_over(error: BaseException) -> None:
    """No exception leaves the thread, and none is lost."""
    heard: list[object] = []

    def breaks() -> None:
        raise error

    run_to_end(breaks, heard.append)

    assert heard == [error]


def test_what_the_waiting_side_raises_is_not_swallowed() -> None:
    """A defect of ours in the hand-over shows."""

    def refuses(_error: BaseException | None) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_to_end(lambda: None, refuses)
