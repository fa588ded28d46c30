"""Where the server's loop and a run's own thread meet: calls in the order in which they arrived.

The core of arh is synchronous, a run belongs to one thread, and a server has a loop of its own. So
the loop only leaves a call here, with the number of its arrival, and waits for a future; the run's
thread takes one after the other and makes it. A call that was given up before its turn (its client
is gone) is never made. One that is being made is finished, whoever still listens: it is committed
or it is not, the gateway's log says which, and a second try under the same key gets its result.

What is on offer is pinned when the task begins. If it is not the same any more, nothing is listed
and nothing is called.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from arh.canonical import encode
from arh.errors import RunStopped
from arh.ports.sue import Session
from arh.records.messages import ToolRequest, ToolSpec
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport, Task

if TYPE_CHECKING:
    from arh.connect.model_endpoint.endpoint import Asked

UNDER_WAY_MAX: Final = 64

OVER: Final = "the run is over"
CROWDED: Final = "too many calls are under way"
CHANGED: Final = "the tools on offer are not those that were agreed upon"

Answer = ToolOutcome | str


@dataclass(frozen=True, slots=True)
class Arrival:
    """One call as it arrived."""

    request: ToolRequest
    answer: Future[Answer] = field(default_factory=Future)


class Exchange:
    """The calls of one task, from any number of connections, and its end."""

    def __init__(self, task: Task) -> None:
        """Pin what is on offer."""
        self.task = task
        self.pinned = manifest_digest(task.tools)
        self.over = False
        self._arrivals: queue.SimpleQueue[Arrival | Asked | AgentReport | None]
        self._arrivals = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._arrived = 0
        self._under_way: set[Future[Answer]] = set()

    def unchanged(self, agreed: str | None = None) -> bool:
        """Return whether what is on offer is what was pinned, and what the client agreed to."""
        same = manifest_digest(self.task.tools) == self.pinned
        return same and agreed in {None, self.pinned}

    def submit(
        self, tool: str, arguments: str, key: str | None = None, agreed: str | None = None
    ) -> Future[Answer]:
        """Return the future answer to a call: an outcome, or why it was not even made."""
        if not self.unchanged(agreed):
            return _answered(CHANGED)
        with self._lock:
            if self.over:
                return _answered(OVER)
            if len(self._under_way) >= UNDER_WAY_MAX:
                return _answered(CROWDED)
            self._arrived += 1
            request = ToolRequest(f"mcp-{self._arrived:04d}", tool, arguments, key)
            arrival = Arrival(request)
            self._under_way.add(arrival.answer)
            arrival.answer.add_done_callback(self._under_way.discard)
            self._arrivals.put(arrival)
            return arrival.answer

    def hand_over(self, asked: Asked) -> None:
        """Leave a question to the run's model among the calls, to be settled in its turn."""
        self._arrivals.put(asked)

    def end(self, report: AgentReport | None) -> None:
        """End the task after the calls that came before; `None` leaves it to the run to say how."""
        self._arrivals.put(report)

    def serve(self, session: Session, left_s: Callable[[], float]) -> AgentReport | None:
        """Make the calls as they arrive, in this thread, until the end; return what ended it.

        Raises:
            RunStopped: The run was stopped, or nothing came for as long as it may be waited for.
        """
        try:
            while True:
                arrived = self._next(left_s())
                if arrived is None or isinstance(arrived, AgentReport):
                    return arrived
                if not isinstance(arrived, Arrival):
                    arrived.settle(session, self.task)
                elif arrived.answer.set_running_or_notify_cancel():
                    self._make(arrived, session)
        finally:
            self.close()

    def close(self) -> None:
        """Let nobody wait any longer, and nobody come any more."""
        with self._lock:
            self.over = True
            waiting = tuple(self._under_way)
        for answer in waiting:
            with suppress(InvalidStateError):
                answer.set_result(OVER)

    def _next(self, seconds: float) -> Arrival | Asked | AgentReport | None:
        try:
            return self._arrivals.get(timeout=seconds)
        except queue.Empty:
            raise RunStopped("hung", "the agent took too long") from None

    def _make(self, arrived: Arrival, session: Session) -> None:
        left = max(0, self.task.budgets.deadline_ms - session.now_ms())
        outcome = session.call(arrived.request, timeout_ms=left)
        arrived.answer.set_result(outcome)


def manifest_digest(tools: tuple[ToolSpec, ...]) -> str:
    """Return the digest of what a client is told of tools: names, versions, texts, schemas."""
    parts = hashlib.sha256()
    for tool in tools:
        parts.update(encode([tool.name, tool.version, tool.description]))
        parts.update(tool.parameters.data)
    return parts.hexdigest()


def _answered(reason: str) -> Future[Answer]:
    future: Future[Answer] = Future()
    future.set_result(reason)
    return future
