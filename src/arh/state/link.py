"""The thread on which a team's own source is connected and read, given up when it hangs.

A connection often belongs to the thread that made it, so one thread makes it and uses it. What runs
there is foreign code: what it raises becomes a value, and a thread that does not come back in time
is left behind with its connection. After any failure the next use connects anew.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar, final

from arh.errors import ArhError, RunStopped
from arh.foreign import ForeignFailure, call
from arh.records.external import StateSource

T = TypeVar("T")

CLOSE_MS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something could not be done: `unreachable` or `timeout`."""

    problem: str


@final
class Link:
    """The way to one source; no thread is started before it is used."""

    def __init__(self, connect: Callable[[], StateSource]) -> None:
        """Remember how to connect."""
        self._connect = connect
        self._thread: _Thread | None = None

    def use(self, work: Callable[[StateSource], T], limit_ms: int) -> T | Failure:
        """Return what the work makes of the connected source, within the time."""
        thread = self._on()
        return self._ran(thread, lambda: work(thread.connected(self._connect)), limit_ms)

    def run(self, work: Callable[[], T], limit_ms: int) -> T | Failure:
        """Return what the work returns on the source's thread, within the time."""
        return self._ran(self._on(), work, limit_ms)

    def close(self) -> None:
        """Close the source, as far as it comes back in time, and let the thread end."""
        self._give_up(hung=False)

    def _on(self) -> _Thread:
        if self._thread is None:
            self._thread = _Thread()
        return self._thread

    def _ran(self, thread: _Thread, work: Callable[[], T], limit_ms: int) -> T | Failure:
        done = thread.run(work, limit_ms)
        if isinstance(done, Failure):
            self._give_up(hung=done.problem == "timeout")
        return done

    def _give_up(self, *, hung: bool) -> None:
        """Leave the connection and its thread behind; one that hangs is not asked to close."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if not hung and thread.source is not None:
            thread.run(thread.source.close, CLOSE_MS_MAX)
        thread.end()


class _Thread:
    """A thread that does one piece of work after another, with the connection that it made."""

    def __init__(self) -> None:
        self.source: StateSource | None = None
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="arh-source", daemon=True).start()

    def connected(self, connect: Callable[[], StateSource]) -> StateSource:
        """Return the source, connected now if it was not."""
        if self.source is None:
            self.source = connect()
        return self.source

    def run(self, work: Callable[[], T], limit_ms: int) -> T | Failure:
        """Return what the work returns, or that it failed or did not come back."""
        done: queue.SimpleQueue[T | Failure] = queue.SimpleQueue()
        self._work.put(lambda: done.put(_ended(work)))
        try:
            return done.get(timeout=max(0, limit_ms) / 1000)
        except queue.Empty:
            return Failure("timeout")

    def end(self) -> None:
        """Let the thread end once it is idle."""
        self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _ended(work: Callable[[], T]) -> T | Failure:
    """Return how the work ended; it stops nothing of ours, whatever it raises."""
    try:
        ended = call("state_source", work)
    except (ArhError, RunStopped, KeyboardInterrupt):
        return Failure("unreachable")
    return Failure("unreachable") if isinstance(ended, ForeignFailure) else ended
