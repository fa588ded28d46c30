"""The recorder of one run: every event becomes bytes the moment it happens.

What is recorded cannot change afterwards: the event is redacted, written as one line and chained
over the written bytes. Each line carries its own chain value, so that the first altered line can be
named. The genesis of the chain binds it to its run and plan: lines of another run never fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol

from arh.canonical import Json, line
from arh.ports.sue import Clock

ENVELOPE = ("seq", "kind", "source", "at_ms", "actor")
CHAIN_FIELD = b',"chain":"'
CHAIN_TAIL = len(CHAIN_FIELD) + 64 + len(b'"}')

Data = dict[str, object]


class Redact(Protocol):
    """Returns what of an event, its envelope included, may be persisted.

    What lies beside the events has kinds of its own: `initial_state`, and `authored` for scenarios.
    """

    def __call__(self, kind: str, data: Data, /) -> Data:
        """Return a redacted copy; the input is left alone."""
        ...


def keep_all(_kind: str, data: Data) -> Data:
    """Redact nothing."""
    return data


def genesis(run_id: str, plan_digest: str) -> str:
    """Return the chain value before a run's first line."""
    return hashlib.sha256(f"arh:evidence:1:{plan_digest}:{run_id}".encode()).hexdigest()


def chained(previous: str, body: bytes) -> str:
    """Return the chain value after a line's body (the line without its chain field)."""
    return hashlib.sha256(previous.encode() + body).hexdigest()


class RunRecorder:
    """Collects the chained lines of one run."""

    def __init__(
        self,
        run_id: str,
        plan_digest: str,
        clock: Clock,
        *,
        redact: Redact,
        acting: Callable[[], str] = str,
    ) -> None:
        """Begin a chain; `acting` tells which actor holds the baton."""
        self.run_id = run_id
        self.lines: list[bytes] = []
        self.root = genesis(run_id, plan_digest)
        self._clock = clock
        self._redact = redact
        self._acting = acting

    def record(self, kind: str, source: str, data: Data) -> int:
        """Append one event as it is now and return its sequence number, 1 first."""
        seq = len(self.lines) + 1
        event: Data = {
            "seq": seq,
            "kind": kind,
            "source": source,
            "at_ms": self._clock.now_ms(),
            "actor": self._acting(),
            **data,
        }
        body = line(self._redact(kind, event))
        root = self.root = chained(self.root, body)
        self.lines.append(b'%b%b%b"}' % (body[:-1], CHAIN_FIELD, root.encode()))
        return seq


def unchained(written: bytes) -> tuple[bytes, str]:
    """Split a written line into its body and its chain value.

    `("", "")` if it has no chain field.
    """
    body, field = written[:-CHAIN_TAIL], written[-CHAIN_TAIL:]
    if not field.startswith(CHAIN_FIELD) or not field.endswith(b'"}'):
        return b"", ""
    return body + b"}", field[len(CHAIN_FIELD) : -2].decode("ascii", "replace")


def plain(value: object) -> object:
    """Return a JSON value as plain data: a `Json` decoded afresh, anything else as it is."""
    return value.value() if isinstance(value, Json) else value
