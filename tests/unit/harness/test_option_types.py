"""Options that are numbers are bounded before anything runs."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from arh.harness.exits import USAGE
from arh.harness.option_types import seconds, seed
from arh.harness.release_gate import main


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("9007199254740991", 2**53 - 1)])
def test_the_bounds_themselves_are_seeds(text: str, number: int) -> None:
    """The smallest and the largest."""
    assert seed(text) == number


@pytest.mark.parametrize(
    "text", ["-1", "9007199254740992", "9" * 23, "9" * 5000, "", "1.0", "1_0", "\uff11", "x"]
)
def test_what_cannot_be_written_down_exactly_is_no_seed(text: str) -> None:
    """Beyond the bounds, or no plain number at all."""
    with pytest.raises(ArgumentTypeError, match="whole number from 0 to 9007199254740991"):
        seed(text)


@pytest.mark.parametrize("text", ["0", "86401", "9" * 30])
def test_a_wall_time_is_a_day_at_most(text: str) -> None:
    """And no less than a second."""
    with pytest.raises(ArgumentTypeError, match="from 1 to 86400"):
        seconds(text)


def test_the_gate_refuses_a_seed_as_a_mistake_of_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing has run by then."""
    with pytest.raises(SystemExit) as ended:
        main(["--seed", "9" * 23])

    assert ended.value.code == USAGE
    assert "expected a whole number" in capsys.readouterr().err
