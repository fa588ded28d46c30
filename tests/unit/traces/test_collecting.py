"""The garbage collector rests while a recording is read, and is left as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from arh.traces.collecting import uncollected


@pytest.fixture
def collector() -> Iterator[None]:
    """Put the collector back as it was."""
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("is_on", [True, False])
def test_it_rests_and_is_as_before(is_on: bool) -> None:  # noqa: FBT001 - a table
    """Whether it was on or off, also within another pause."""
    (gc.enable if is_on else gc.disable)()

    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()

    assert gc.isenabled() is is_on


@pytest.mark.usefixtures("collector")
def test_it_goes_on_after_a_failure() -> None:
    """What raises within leaves no collector off."""
    gc.enable()

    with pytest.raises(ValueError, match="x"), uncollected():
        raise ValueError("x")

    assert gc.isenabled()
