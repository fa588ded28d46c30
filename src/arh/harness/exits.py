"""The exit codes of every command, and the border where each end becomes one of them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Final

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

Command = Callable[[Sequence[str]], int]


def guarded(command: Command, words: Sequence[str]) -> int:
    """Run a command to an exit code.

    What its user can mend is listed, a crash is never a verdict. What cannot be said decides
    nothing: a console that is full, closed or no longer read changes no exit code.
    """
    with outlets():
        return _code(command, words)


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
