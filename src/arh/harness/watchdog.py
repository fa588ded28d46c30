"""The wall watchdog: agents run in a thread of their own, which the runner stops waiting for.

It guards the harness, not the verdicts: real time decides nothing but the termination `hung`. A
thread that hangs is abandoned; the run's ports are closed to it, so that it can change nothing any
more.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

Job = Callable[[], None]


@dataclass(slots=True)
class _Errand:
    job: Job
    done: threading.Event


class AgentThread:
    """Runs one job after another in a thread that is kept for the next run."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._errands: queue.SimpleQueue[_Errand | None] | None = None

    def run(self, job: Job, *, wall_ms_max: int) -> bool:
        """Run the job and return true, or give its thread up after `wall_ms_max` and return false.

        The job must not raise: whatever the agent does is its affair.
        """
        if self._errands is None:
            self._errands = self._start()
        errand = _Errand(job, threading.Event())
        self._errands.put(errand)
        if errand.done.wait(wall_ms_max / 1000):
            return True
        self._errands = None
        return False

    def close(self) -> None:
        """Let the thread end once it is idle."""
        if self._errands is not None:
            self._errands.put(None)
            self._errands = None

    @staticmethod
    def _start() -> queue.SimpleQueue[_Errand | None]:
        errands: queue.SimpleQueue[_Errand | None] = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(errands,), name="arh-agent", daemon=True).start()
        return errands


def _serve(errands: queue.SimpleQueue[_Errand | None]) -> None:
    while (errand := errands.get()) is not None:
        try:
            errand.job()
        finally:
            errand.done.set()
