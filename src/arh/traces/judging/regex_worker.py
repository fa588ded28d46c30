"""Runs patterns that need backtracking, in a process of its own that cannot outlive its limits.

Only a policy that says `trusted_patterns` gets here, and only with patterns that RE2 cannot run.
The process reads one JSON request a line and answers with one; it has a bound on its processor
time and memory and is killed when an answer takes too long. No answer is `None`, which fails the
trace: text that was not scanned is not known to be safe.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Final, final

from arh.traces.authoring import patterns

if TYPE_CHECKING:
    import subprocess

ANSWER_SECONDS_MAX: Final = 5.0
RESTARTS_MAX: Final = 2

_SCRIPT: Final = Path(__file__).with_name("regex_process.py")


@final
class Worker:
    """The process, started when the first pattern needs it; use it in a `with` block."""

    __slots__ = ("_ended", "_process")

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runs(self, pattern: str) -> bool:
        """Return whether the pattern is one for this process."""
        return _needs_backtracking(pattern)

    def matches(self, pattern: str, text: str) -> bool | None:
        """Return whether the whole text matches, or `None` when no answer came."""
        answer = self._asked({"use": "full", "pattern": pattern, "text": text})
        return None if answer is None else bool(answer)

    def searches(self, pattern: str, text: str) -> tuple[int, int] | bool | None:
        """Return where the pattern is first found in any case, `False`, or `None` as above."""
        answer = self._asked({"use": "search", "pattern": pattern, "text": text})
        if isinstance(answer, list):
            return int(answer[0]), int(answer[1])
        return None if answer is None else False

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _asked(self, request: dict[str, str]) -> Any:  # noqa: ANN401 - a JSON value
        """Return the answer of the process, or `None` when it gave none; then it is ended."""
        if self._ended > RESTARTS_MAX:
            return None
        if self._process is None:
            self._process = _started()
        line = _exchanged(self._process, json.dumps(request).encode() + b"\n")
        if not line:
            self._ended += 1
            self.close()
            return None
        return json.loads(line)


def _started() -> subprocess.Popen[bytes]:
    import subprocess

    return subprocess.Popen(  # noqa: S603 - our own script, with this interpreter
        [sys.executable, "-I", str(_SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _exchanged(process: subprocess.Popen[bytes], request: bytes) -> bytes:
    """Return the line that answers a request, or nothing when the process ends before it."""
    if process.stdin is None or process.stdout is None:
        return b""
    watch = Timer(ANSWER_SECONDS_MAX, process.kill)
    watch.start()
    try:
        process.stdin.write(request)
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return b""
    finally:
        watch.cancel()


@lru_cache(maxsize=patterns.CACHED_MAX)
def _needs_backtracking(pattern: str) -> bool:
    return bool(patterns.linear_problem(pattern, full=False))
