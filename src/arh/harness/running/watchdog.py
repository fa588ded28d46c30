"""The wall watchdog: agents run in a thread of their own, which the runner stops waiting for.

It guards the harness, not the verdicts: real time decides nothing but the termination `hung`. A
thread that hangs is abandoned; the run's ports are closed to it, so that it can change nothing any
more.
"""

from __future__ import annotations

import queue
import threading

from arh.harness.running.errand import Job, run_to_end


class _Errand:
    """One job, whether it is over, and what it raised."""

    __slots__ = ("done", "error", "job")

    def __init__(self, job: Job) -> None:
        self.job = job
        # A queue for one token: to make an event and wait for it takes 5 us more, of 17.
        self.done: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.error: BaseException | None = None

    def end(self, error: BaseException | None) -> None:
        self.error = error
        self.done.put(None)


class AgentThread:
    """Runs one job after another in a thread that is kept for the next run."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._errands: queue.SimpleQueue[_Errand | None] | None = None

    def run(self, job: Job, *, wall_ms_max: int) -> bool:
        """Run the job and return true, or give its thread up after `wall_ms_max` and return false.

        Raises:
            BaseException: What the job raised: our own defect, since what an agent does is a value.
        """
        if self._errands is None:
            self._errands = self._start()
        errand = _Errand(job)
        self._errands.put(errand)
        try:
            errand.done.get(timeout=wall_ms_max / 1000)
        except queue.Empty:
            self._errands = None
            return False
        if errand.error is not None:
            raise errand.error
        return True

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
        run_to_end(errand.job, errand.end)
