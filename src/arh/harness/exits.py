"""The exit codes of every command, and the border where each end becomes one of them."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from arh.errors import AuthoringError, WriteFailure
from arh.harness.outlet import outlets

PASS: Final = 0
FAIL: Final = 1
USAGE: Final = 2
INCONCLUSIVE: Final = 3
CRASHED: Final = 4
INTERRUPTED: Final = 130
NO_VERDICT: Final = "arh failed; this is no verdict on the agent"
BY_DECISION: Final = {"pass": PASS, "fail": FAIL, "inconclusive": INCONCLUSIVE}

_ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)

Command = Callable[[Sequence[str]], int]


def guarded(command: Command, words: Sequence[str]) -> int:
    """Run a command to an exit code.

    What its user can mend is listed, a crash is never a verdict. What cannot be said decides
    nothing: a console that is full, closed or no longer read changes no exit code.
    """
    with outlets(), _ended_in_order():
        return _code(command, words)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Take it for an interrupt when the system, or a CI job that was cancelled, ends us.

    By default we would be gone at once, and leave agents at work and files of credentials behind. A
    second signal has that effect; what somebody else has set up is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _interrupted)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _interrupted(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def _code(command: Command, words: Sequence[str]) -> int:
    try:
        return command(words)
    except AuthoringError as error:
        sys.stderr.write(f"{error}\n")
        return USAGE
    except WriteFailure as failure:
        sys.stderr.write(f"{failure}\n{NO_VERDICT}\n")
        return CRASHED
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - a traceback's own exit code would read as `fail`
        return _crashed()


def _crashed() -> int:
    """Say what failed, secrets taken out; whatever becomes of saying it, the code is our own."""
    try:
        from arh.telemetry.logs import diagnostics  # noqa: PLC0415 - seldom needed

        diagnostics(sys.stderr).error(NO_VERDICT, exc_info=True)
    except Exception:  # noqa: BLE001 - a traceback's own exit code would read as `fail`
        traceback.print_exc()
        sys.stderr.write(f"{NO_VERDICT}\n")
    return CRASHED
