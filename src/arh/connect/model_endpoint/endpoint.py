"""The run's model behind a loopback endpoint, for an agent whose libraries know only a base URL.

`ModelEndpoint` stands between the agent's process and `session.complete`: what the process asks in
a provider's wire format becomes a question to the run's model, and its decision an answer in the
same format. So each request is evidence like every model call, and needs no network and no key of
any provider. It is open for one task, on loopback alone, with a credential of its own, and says
nothing but what a provider would.

A session belongs to one thread. So the threads of connections hand their questions over, in the
order in which they arrive, to the thread that serves the agent, which calls `Asked.settle`.
Whatever still waits when the task is over hears that the run has ended.

Time in the run is virtual. A client that was told to wait is told not to spend wall time on it;
when it asks again, the rest of the wait passes on the run's clock.
"""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from arh.connect.model_endpoint.http import Listener
from arh.connect.model_endpoint.wire import Answer, Fault, Question, turn_of
from arh.ports.sue import Session
from arh.records.tasks import Task

# Shaped like a provider's key, so that wherever it turned up it would be redacted as one.
KEY_PREFIX: Final = "sk-arh-"
_OVER: Final = Fault("over", "the run has ended")


@dataclass(slots=True)
class Pace:
    """How many questions a task asked, and until when it was told to wait."""

    asked: int = 0
    until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for the thread that may use the session."""

    question: Question
    pace: Pace
    settled: queue.SimpleQueue[Answer | Fault] = field(default_factory=queue.SimpleQueue)

    def settle(self, session: Session, task: Task) -> None:
        """Ask the run's model; the connection that waits is told what it decided.

        Raises:
            RunStopped: The run is over; then `ModelEndpoint.close` answers the connection.
        """
        self.settled.put(self._answer(session, task))

    def _answer(self, session: Session, task: Task) -> Answer | Fault:
        pace, question = self.pace, self.question
        if (owed_ms := pace.until_ms - session.now_ms()) > 0:
            session.wait(owed_ms)
        left = max(0, task.budgets.deadline_ms - session.now_ms())
        limit = question.output_tokens_max
        reply = session.complete(question.messages, timeout_ms=left, output_tokens_max=limit)
        pace.asked += 1
        turn = turn_of(reply.decision)
        if isinstance(turn, Fault):
            pace.until_ms = session.now_ms() + (turn.retry_after_ms or 0)
            return turn
        number = f"{task.task_id}-{pace.asked:04d}"
        return Answer(question, turn, reply.usage, number, session.now_ms())


class ModelEndpoint:
    """An open endpoint; `hand_over` takes each question to the thread that may settle it."""

    def __init__(self, hand_over: Callable[[Asked], None]) -> None:
        """Listen on a free port of loopback."""
        self._hand_over = hand_over
        self._pace = Pace()
        self._lock = threading.Lock()
        self._waiting: set[queue.SimpleQueue[Answer | Fault]] = set()
        self._closed = False
        self.key = KEY_PREFIX + secrets.token_urlsafe(24)
        self._listener = Listener(self._ask, self.key)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://{self._listener.host}"

    def environment(self) -> Mapping[str, str]:
        """Return the variables by which the agent's process and its libraries find the endpoint."""
        return {
            "ARH_MODEL_BASE_URL": f"{self.origin}/v1",
            "ARH_MODEL_API_KEY": self.key,
            "OPENAI_BASE_URL": f"{self.origin}/v1",
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self.origin,
            "ANTHROPIC_API_KEY": self.key,
            # That library would send what it traces, under this key, to its vendor.
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }

    def close(self) -> None:
        """Listen no more; every connection is over, and who still waits is told so."""
        with self._lock:
            self._closed = True
            waiting = tuple(self._waiting)
        for settled in waiting:
            settled.put(_OVER)
        self._listener.close()

    def _ask(self, question: Question) -> Answer | Fault:
        """Return the answer to a connection's question, once the run's thread has settled it."""
        asked = Asked(question, self._pace)
        with self._lock:
            if self._closed:
                return _OVER
            self._waiting.add(asked.settled)
        self._hand_over(asked)
        try:
            return asked.settled.get()
        finally:
            with self._lock:
                self._waiting.discard(asked.settled)
