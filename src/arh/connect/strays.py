"""Finds the processes that an agent left behind: what it started and then let go of.

A process that forks twice and begins a session of its own leaves the group that is killed with it.
Where the system lets us (Linux), such orphans become children of ours, and are killed when the task
is over. This is the best that can be done from outside and no wall: a process can outrun it, and
what must not be able to reach anything belongs in a container.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

PR_SET_CHILD_SUBREAPER: Final = 36
ROUNDS_MAX: Final = 10
_PROC: Final = Path("/proc")


@cache
def adopts() -> bool:
    """Let orphans of our descendants become children of ours; return whether they do."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def children() -> frozenset[int]:
    """Return our children that lead a session of another process than ours."""
    if not adopts():
        return frozenset()
    own, session = os.getpid(), os.getsid(0)
    return frozenset(
        pid for pid, parent, of in _processes() if parent == own and of not in (session, 0)
    )


def kill_strays(known: Collection[int]) -> int:
    """Kill every child of another session that is not known, with all that it started.

    A kill can set free what the killed one had started, so it is done until nothing is found. A
    child is waited for, so that it does not stay behind as a dead one. Return how many there were.
    """
    killed = 0
    for _ in range(ROUNDS_MAX):
        strays = children() - frozenset(known)
        if not strays:
            break
        for pid in _with_descendants(strays):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in strays:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        killed += len(strays)
    return killed


def _with_descendants(roots: Collection[int]) -> frozenset[int]:
    below: dict[int, list[int]] = {}
    for pid, parent, _ in _processes():
        below.setdefault(parent, []).append(pid)
    found, left = set(roots), list(roots)
    while left:
        fresh = [pid for pid in below.get(left.pop(), []) if pid not in found]
        found.update(fresh)
        left += fresh
    return frozenset(found)


def _processes() -> Iterator[tuple[int, int, int]]:
    """Yield every process with its parent and its session."""
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                # The name, in parentheses, may hold anything: what follows the last one is plain.
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                yield int(entry.name), int(fields[1]), int(fields[3])
