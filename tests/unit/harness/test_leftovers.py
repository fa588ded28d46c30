"""What a run was made of is free once the run is over, without a search for garbage.

Objects that lead back to themselves stay until the collector looks, so that runs push one another
out of the processor's caches: with three such rings a run cost a tenth more.
"""

from __future__ import annotations

import gc

import pytest

from arh.testing.workbench import Workbench


def leftovers(scenario_id: str) -> int:
    """Return how many objects only the collector can free after a run; an earlier one warms up."""
    bench = Workbench.own()
    bench.run(scenario_id)
    gc.collect()
    gc.disable()
    try:
        tried = bench.run(scenario_id)
        assert tried.verdict.termination
        del tried
        return gc.collect()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "scenario_id",
    [
        "golden-billing-incident-001",
        "recovery-after-commit-idempotent-001",
        "soak-fifty-tasks-001",
        "concurrency-account-limit-race-001",
    ],
)
def test_a_run_leaves_nothing_to_the_collector(scenario_id: str) -> None:
    """Whether it reads, writes, meets a fault or does task after task, it holds no ring."""
    assert leftovers(scenario_id) == 0


def test_a_ring_is_seen() -> None:
    """The measure itself finds an object that leads back to itself."""
    gc.collect()
    ring: list[object] = []
    ring.append(ring)
    del ring

    assert gc.collect() > 0
