"""CPU time of calls that are measured side by side, and rows of the table that comes of it.

Times are of the process's CPU, with the garbage collector on. A machine that does other work makes
a batch dearer and never cheaper, so the best of several batches counts, and batches of what is
compared alternate.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

BATCHES = 9
BATCH_S = 0.05

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, and the most that it may be; without a limit it informs."""

    name: str
    value: float
    limit: float | None = None
    unit: str = ""
    note: str = ""

    @property
    def met(self) -> bool:
        """True unless the figure is over its limit."""
        return self.limit is None or self.value <= self.limit


def cheapest(works: Mapping[str, Callable[[], object]], batches: int = BATCHES) -> dict[str, float]:
    """Return the CPU microseconds of one call of each work, by name."""
    counts = {name: _count(work) for name, work in works.items()}
    best = dict.fromkeys(works, float("inf"))
    for _ in range(batches):
        for name, work in works.items():
            best[name] = min(best[name], _batch(work, counts[name]))
    return best


def cpu_us(work: Callable[[], T]) -> tuple[float, T]:
    """Return what one call cost in CPU microseconds, and what it returned."""
    gc.collect()
    began = time.process_time_ns()
    done = work()
    return (time.process_time_ns() - began) / 1000, done


def _batch(work: Callable[[], object], count: int) -> float:
    gc.collect()
    began = time.process_time_ns()
    for _ in range(count):
        work()
    return (time.process_time_ns() - began) / count / 1000


def _count(work: Callable[[], object]) -> int:
    """Return how many calls fill a batch; the calls before the last are its warm-up."""
    count = 1
    while (once := _batch(work, count)) * count < BATCH_S * 1e6 / 4:
        count *= 2
    return max(1, round(BATCH_S * 1e6 / once))
