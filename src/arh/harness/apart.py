"""Runs a command in a process of its own, so that an agent inside it cannot say that it passed.

An agent that is a Python callable shares its process with whatever judges it. If it ends that
process, there is nobody left to decide, and the exit code is the agent's: `os._exit(0)` would read
as a pass. So the process that the user started only waits, and takes an exit code of 0 for a pass
if the command has confirmed it. That keeps off what ends the process, not what forges: an agent
that is not trusted is named as a command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from typing import Final

from arh.harness.exits import CRASHED, NO_VERDICT, PASS

CONFIRMED: Final = b"pass"
OPTION: Final = "--confirm-to"
CAN_INHERIT: Final = sys.platform != "win32"


def add_confirmation(parser: ArgumentParser) -> None:
    """Let the waiting process say where a pass is confirmed; no user needs to know."""
    parser.add_argument(OPTION, type=int, dest="confirm_to", help=SUPPRESS)


def apart(words: Sequence[str]) -> int:
    """Return the exit code of `python WORDS`; a pass that was not confirmed is a crash."""
    read, write = os.pipe()
    command = [sys.executable, *words, OPTION, str(write)]
    with os.fdopen(read, "rb") as confirmation:
        try:
            process = subprocess.Popen(command, pass_fds=(write,))  # noqa: S603 - ourselves again
        finally:
            os.close(write)
        code = _waited(process)
        os.set_blocking(confirmation.fileno(), False)
        confirmed = confirmation.read() == CONFIRMED
    if code < 0 or (code == PASS and not confirmed):
        sys.stderr.write(f"the process ended before the command had decided\n{NO_VERDICT}\n")
        return CRASHED
    return code


def confirm(to: int | None, code: int) -> int:
    """Return the exit code; if it is a pass, tell whoever waits for it."""
    if to is not None and code == PASS:
        os.write(to, CONFIRMED)
        os.close(to)
    return code


def _waited(process: subprocess.Popen[bytes]) -> int:
    """Return how the process ended; an interrupt of ours is passed on."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
