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

import atexit
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final, NoReturn

from arh.canonical import JsonValue, Refused, line, parse
from arh.connect import wire
from arh.connect.strays import adopts, children, kill_strays
from arh.errors import AuthoringError, RunStopped
from arh.ports.sue import Session
from arh.records.tasks import AgentReport, Task
from arh.sim.clock import wall_ms

if TYPE_CHECKING:
    from arh.connect.model_endpoint import Asked, ModelEndpoint

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
STDERR_BYTES_MAX: Final = 64 * 1024
LINES_MAX: Final = 8
GRACE_MS: Final = 1_000
PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP")

Message = dict[str, JsonValue]

_LIVE: Final[set[subprocess.Popen[bytes]]] = set()
_STARTING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class JsonLinesAgent:
    """Implements `arh.ports.sue.Agent` with one process a task.

    `command` is split as a shell would split it, and no shell runs it. `environment` names further
    variables of ours that the process may see. With `model_endpoint`, the run's model is there for
    its libraries as well, over HTTP on loopback.
    """

    command: str
    wall_ms_max: int = 30_000
    environment: Sequence[str] = field(default_factory=tuple)
    model_endpoint: bool = False

    def run(self, task: Task, session: Session) -> AgentReport:
        """Let the process work on the task; a broken protocol ends as `agent_error`."""
        conversation = _Conversation(self, session)
        try:
            conversation.send(wire.task_message(task))
            return conversation.serve(task)
        finally:
            conversation.close()


def check_command(command: str) -> None:
    """Refuse a command that cannot be started, before anything runs.

    Raises:
        AuthoringError: It is empty, cannot be split, or names no executable.
    """
    from shutil import which

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AuthoringError.of(command, expected=f"a command ({error})", field="--agent") from None
    if not words or which(words[0]) is None:
        found = words[0] if words else "nothing"
        raise AuthoringError.of(found, expected="an executable", field="--agent")


class _Conversation:
    """One process and its lines."""

    def __init__(self, agent: JsonLinesAgent, session: Session) -> None:
        self._session = session
        self._ends_at = wall_ms() + agent.wall_ms_max
        self._late = False
        self._inbox: queue.SimpleQueue[bytes | Asked] = queue.SimpleQueue()
        self._room = threading.Semaphore(LINES_MAX)
        self._endpoint = _opened(self._inbox.put) if agent.model_endpoint else None
        with _STARTING:
            adopts()
            self._before = children()
            try:
                self._process = _start(agent, self._endpoint)
            except OSError:
                self._shut()
                raise
            _LIVE.add(self._process)
        self._timer = threading.Timer(agent.wall_ms_max / 1000, self._expire)
        self._timer.daemon = True
        self._timer.start()
        self.complaints = bytearray()
        self._readers = (
            _in_background(_read_lines, self._process.stdout, self._inbox, self._room),
            _in_background(_keep, self._process.stderr, self.complaints),
        )

    def send(self, message: Message) -> None:
        """Write one line; a process that no longer reads is noticed when it is read from."""
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(line(message) + b"\n")
                stdin.flush()
        except OSError:
            return

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
        """End the process, everything in its group, and what escaped from it, if it is found."""
        self._timer.cancel()
        if self._process.stdin is not None:
            _closed(self._process.stdin)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_MS / 1000)
        _kill(self._process)
        self._shut()
        with _STARTING:
            _LIVE.discard(self._process)
            kill_strays({*self._before, *(process.pid for process in _LIVE)})
        for reader in self._readers:
            self._wait_for(reader)

    def _shut(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()

    def _receive(self) -> Message | Asked | str:
        """Return the next message or question to the model, or what is wrong with it."""
        try:
            left = max(0, self._ends_at - wall_ms()) + GRACE_MS
            written = self._inbox.get(timeout=left / 1000)
        except queue.Empty:
            self._hung()
        if self._late:
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

    def _expire(self) -> None:
        """Kill the process when its time is up, also while nobody can write to it any more."""
        self._late = True
        _kill(self._process)

    def _wait_for(self, reader: threading.Thread) -> None:
        """Let a reader end that may be waiting to hand over what nobody wants any more."""
        ends_at = wall_ms() + GRACE_MS
        while reader.is_alive() and wall_ms() < ends_at:
            self._room.release()
            reader.join(0.005)

    def _hung(self) -> NoReturn:
        raise RunStopped("hung", "the agent's process took too long")


def _opened(hand_over: Callable[[Asked], None]) -> ModelEndpoint:
    """Return an open endpoint; what it needs is imported by those who use it."""
    from arh.connect.model_endpoint import ModelEndpoint

    return ModelEndpoint(hand_over)


def _start(agent: JsonLinesAgent, endpoint: ModelEndpoint | None) -> subprocess.Popen[bytes]:
    names = {*PASSED_ON, *agent.environment}
    given = {} if endpoint is None else endpoint.environment()
    ours = {name: value for name, value in os.environ.items() if name in names}
    environment = {**given, **ours}
    return subprocess.Popen(  # noqa: S603 - the user's own command, split, without a shell
        shlex.split(agent.command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=sys.platform != "win32",
    )


@atexit.register
def _kill_all() -> None:
    """Leave no agent behind when the harness is interrupted while one is at work."""
    for process in tuple(_LIVE):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its group; one that is gone already is fine."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _in_background(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


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


def _keep(stream: IO[bytes], kept: bytearray) -> None:
    """Drain the process's complaints and keep the first of them."""
    with stream, suppress(OSError, ValueError):
        while block := stream.read(4096):
            kept.extend(block[: max(0, STDERR_BYTES_MAX - len(kept))])


def _closed(stream: IO[bytes]) -> None:
    with suppress(OSError):
        stream.close()
