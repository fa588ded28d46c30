"""A foreign agent's process: started afresh for each task, bounded in wall time, killed at the end.

What every kind of agent in a process of its own shares, whatever it speaks. The process leads a
group of its own, sees a few variables of the environment and those that it is given, and is killed
with whatever it started: when its task is over, when it takes too long, when the harness ends. Wall
time is read here to stop what never comes back, and decides nothing else.
"""

from __future__ import annotations

import atexit
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Final

from arh.connect.strays import adopts, children, kill_strays
from arh.errors import AuthoringError
from arh.sim.clock import wall_ms

STDERR_BYTES_MAX: Final = 64 * 1024
HEAD_BYTES: Final = 256
_BREAKS: Final = dict.fromkeys(map(ord, "\t\r\n"))
GRACE_MS: Final = 1_000
ROOM_MS: Final = 50
PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP")

_LIVE: Final[set[subprocess.Popen[bytes]]] = set()
_STARTING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Launch:
    """How a process is started, and how long it may take.

    `command` is split as a shell would split it, and no shell runs it. `passed_on` names further
    variables of ours that the process may see, `given` are variables of its own, unless they
    are passed on. With `told`, that and nothing else is its standard input, whether it reads it or
    not.
    """

    command: str
    wall_ms_max: int
    passed_on: Sequence[str] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    told: bytes | None = None


def _nothing() -> None:
    """Do nothing."""


class AgentProcess:
    """One process at work on one task."""

    def __init__(self, launch: Launch, read: Callable[[IO[bytes]], None]) -> None:
        """Start it; `read` reads its standard output to the end, in a thread of its own."""
        self._ends_at = wall_ms() + launch.wall_ms_max
        self.late = False
        with _STARTING:
            adopts()
            self._before = children()
            self._process = _start(launch)
            _LIVE.add(self._process)
        if self._process.stdin is not None and sys.platform != "win32":
            os.set_blocking(self._process.stdin.fileno(), False)
        self._timer = threading.Timer(launch.wall_ms_max / 1000, self._expire)
        self._timer.daemon = True
        self._timer.start()
        self.complaints = bytearray()
        self._readers = (
            in_background(read, self._process.stdout),
            in_background(keep, self._process.stderr, self.complaints, STDERR_BYTES_MAX),
        )

    def write(self, data: bytes) -> None:
        """Write to its standard input, for as long as it may take.

        That it no longer reads is noticed when it is read from.
        """
        stdin, left = self._process.stdin, memoryview(data)
        with suppress(OSError):
            while stdin is not None and left and not self.late:
                left = left[_taken(stdin.fileno(), left) :]

    def end_input(self) -> None:
        """Close its standard input."""
        if self._process.stdin is not None:
            _closed(self._process.stdin)

    def left_s(self) -> float:
        """Return how many seconds it may be waited for: its time, and a little for killing it."""
        return (max(0.0, self._ends_at - wall_ms()) + GRACE_MS) / 1000

    def exit_code(self) -> int | None:
        """Return how it ended by itself, `None` if it does not end within the grace."""
        try:
            return self._process.wait(GRACE_MS / 1000)
        except subprocess.TimeoutExpired:
            return None

    def close(
        self, release: Callable[[], object] = _nothing, shut: Callable[[], object] = _nothing
    ) -> None:
        """End the process, everything in its group, and what escaped from it, if it is found.

        `release` makes room for a reader that may be waiting to hand over what nobody wants any
        more; `shut` closes what only this process used, once it is gone.
        """
        self._timer.cancel()
        self.end_input()
        self.exit_code()
        _kill(self._process)
        shut()
        with _STARTING:
            _LIVE.discard(self._process)
            kill_strays({*self._before, *(process.pid for process in _LIVE)})
        for reader in self._readers:
            _wait_for(reader, release)

    def last_words(self) -> str:
        """Return the last line of what it wrote to its error stream, once it is closed."""
        lines = self.complaints.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""

    def _expire(self) -> None:
        """Kill the process when its time is up, also while nobody can write to it any more."""
        self.late = True
        _kill(self._process)


def check_command(command: str, option: str = "--agent") -> None:
    """Refuse a command that cannot be started, before anything runs.

    Raises:
        AuthoringError: It is empty, cannot be split, or names no executable that could start.
    """
    from shutil import which

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AuthoringError.of(command, expected=f"a command ({error})", field=option) from None
    path = which(words[0]) if words else None
    if path is None:
        found = words[0] if words else ""
        raise AuthoringError.of(found, expected="an executable", field=option)
    if wrong := _unstartable(path):
        raise AuthoringError.of(words[0], expected="an executable", field=option, hint=wrong)


def _unstartable(path: str) -> str:
    """Return why the system could not start a script, or nothing: programs are not looked into."""
    if sys.platform == "win32":
        return ""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as the system found it
            head = file.read(HEAD_BYTES)
    except OSError:
        return ""
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n", 1)[0].split()
        missing = not words or not os.path.exists(words[0])  # noqa: PTH110 - bytes
        return "the interpreter in its first line is not there" if missing else ""
    is_text = bool(head) and head.isascii() and head.decode().translate(_BREAKS).isprintable()
    return "it is text without an interpreter in its first line (#!)" if is_text else ""


def in_background(work: Callable[..., None], *arguments: object) -> threading.Thread:
    """Run the work in a thread that keeps nobody from ending."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def keep(stream: IO[bytes], kept: bytearray, bytes_max: int) -> None:
    """Drain a stream to its end and keep the first of it."""
    with stream, suppress(OSError, ValueError):
        while block := stream.read(4096):
            kept.extend(block[: max(0, bytes_max - len(kept))])


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    names = {*PASSED_ON, *launch.passed_on}
    environment = {name: value for name, value in os.environ.items() if name in names}
    with tempfile.TemporaryFile() as told:
        # A file: a pipe would have to be written while the process does something else.
        told.write(launch.told or b"")
        told.seek(0)
        return subprocess.Popen(  # noqa: S603 - the user's own command, split, without a shell
            shlex.split(launch.command),
            stdin=subprocess.PIPE if launch.told is None else told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**launch.given, **environment},
            start_new_session=sys.platform != "win32",
        )


def _taken(pipe: int, data: memoryview) -> int:
    """Return how many bytes a pipe took, none if it had no room for a while.

    It may never have any, even once the process is killed: what that left behind can hold the other
    end, and need not read.
    """
    try:
        return os.write(pipe, data)
    except BlockingIOError:
        room = select.poll()
        room.register(pipe, select.POLLOUT)
        room.poll(ROOM_MS)
        return 0


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


def _wait_for(reader: threading.Thread, release: Callable[[], object]) -> None:
    ends_at = wall_ms() + GRACE_MS
    while reader.is_alive() and wall_ms() < ends_at:
        release()
        reader.join(0.005)


def _closed(stream: IO[bytes]) -> None:
    with suppress(OSError):
        stream.close()
