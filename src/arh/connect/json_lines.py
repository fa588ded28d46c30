"""Any executable as the agent under test, over JSON lines on its standard input and output.

Each task starts a fresh process of its own group. The agent is told its task, asks for completions
and calls, and ends with a final answer; the harness answers every request with its `id`. Nothing
else is sent either way: no expectation, no credential of ours, no way into the state but calls. It
is killed, with whatever it started, when it ends, breaks the protocol, or takes more wall time than
it may. Time in the run is virtual: how fast the process thinks decides nothing.

The process is not shut in. It starts in the caller's working folder, where an agent's own package
and files are, with the caller's rights: whatever the caller can read, scenarios with their
expectations included, it can read. Another folder would hide nothing from it, since paths lead
everywhere; to keep files from an agent is the job of a container.

The protocol is described in docs/agents.md.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final, NoReturn

from arh.canonical import JsonValue, Refused, line, parse
from arh.connect import wire
from arh.connect.process import AgentProcess, Launch
from arh.errors import RunStopped
from arh.ports.sue import Session
from arh.records.tasks import AgentReport, Task

if TYPE_CHECKING:
    from arh.connect.model_endpoint.endpoint import Asked, ModelEndpoint

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
LINES_MAX: Final = 8

Message = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class JsonLinesAgent:
    """Implements `arh.ports.sue.Agent` with one process a task.

    `command` is split as a shell would split it, and no shell runs it. `environment` names further
    variables of ours that the process may see. With `model_endpoint`, the run's model is there for
    its libraries as well, over HTTP on loopback. `told` hears the last words on its error stream of
    a process that ended in error: they are for whoever looks on, and no evidence.
    """

    command: str
    wall_ms_max: int = 30_000
    environment: Sequence[str] = field(default_factory=tuple)
    model_endpoint: bool = False
    told: Callable[[str], None] | None = None

    def run(self, task: Task, session: Session) -> AgentReport:
        """Let the process work on the task; a broken protocol ends as `agent_error`."""
        conversation = _Conversation(self, session)
        try:
            conversation.send(wire.task_message(task))
            report = conversation.serve(task)
        finally:
            conversation.close()
        if self.told is not None and report.termination == "agent_error":
            self.told(conversation.last_words())
        return report


class _Conversation:
    """One process and its lines."""

    def __init__(self, agent: JsonLinesAgent, session: Session) -> None:
        self._session = session
        self._inbox: queue.SimpleQueue[bytes | Asked] = queue.SimpleQueue()
        self._room = threading.Semaphore(LINES_MAX)
        self._endpoint = _opened(self._inbox.put) if agent.model_endpoint else None
        given = {} if self._endpoint is None else self._endpoint.environment()
        launch = Launch(agent.command, agent.wall_ms_max, agent.environment, given)
        try:
            self._process = AgentProcess(launch, self._read)
        except OSError:
            self._shut()
            raise

    def send(self, message: Message) -> None:
        """Write one line; a process that no longer reads is noticed when it is read from."""
        self._process.write(line(message) + b"\n")

    def serve(self, task: Task) -> AgentReport:
        """Answer the process until its final message."""
        while True:
            message = self._receive()
            if isinstance(message, str):
                return AgentReport("agent_error", None, message)
            if not isinstance(message, dict):
                message.settle(self._session, task)
                continue
            if message["type"] == "final":
                return wire.final_report(message)
            answer = wire.answered(message, self._session, task)
            if isinstance(answer, str):
                return AgentReport("agent_error", None, answer)
            self.send(answer)

    def close(self) -> None:
        """End the process and whatever it started."""
        self._process.close(self._room.release, self._shut)

    def last_words(self) -> str:
        """Return the last line of its error stream, once it is closed."""
        return self._process.last_words()

    def _shut(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()

    def _read(self, stream: IO[bytes]) -> None:
        _read_lines(stream, self._inbox, self._room)

    def _receive(self) -> Message | Asked | str:
        """Return the next message or question to the model, or what is wrong with it."""
        try:
            written = self._inbox.get(timeout=self._process.left_s())
        except queue.Empty:
            self._hung()
        if self._process.late:
            self._hung()
        if not isinstance(written, bytes):
            return written
        self._room.release()
        if not written:
            return "the process ended without a final message"
        if len(written) > LINE_BYTES_MAX:
            return "a line is longer than the protocol allows"
        try:
            message = parse(written)
        except Refused as refusal:
            return f"a line is no JSON: {refusal.reason}"
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            return "a line is no object with a `type`"
        return message

    def _hung(self) -> NoReturn:
        raise RunStopped("hung", "the agent's process took too long")


def _opened(hand_over: Callable[[Asked], None]) -> ModelEndpoint:
    """Return an open endpoint; what it needs is imported by those who use it."""
    from arh.connect.model_endpoint.endpoint import ModelEndpoint

    return ModelEndpoint(hand_over)


def _read_lines(
    stream: IO[bytes], inbox: queue.SimpleQueue[bytes | Asked], room: threading.Semaphore
) -> None:
    """Queue every line, cut beyond the limit; an empty one is the end.

    A process that writes without waiting for answers has to wait once there is no more room.
    """
    with stream, suppress(OSError, ValueError):
        while written := stream.readline(LINE_BYTES_MAX + 2):
            room.acquire()
            inbox.put(written)
    inbox.put(b"")
