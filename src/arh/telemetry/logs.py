"""Diagnostics of the commands: JSON lines where a machine reads them, plain lines for a person.

Nothing is configured for the whole process: a command makes its logger and hands it on. Every entry
passes through the same redaction of names and shapes as evidence does. Entries go to the error
stream, never into reports or evidence. The library is imported when a logger is made.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol, TextIO, cast

from arh.foreign import ForeignFailure, call
from arh.telemetry.correlation import RunMemory
from arh.telemetry.scrubbing import Scrubber

_PLAIN = (str, int, float, bool, dict, list, tuple, type(None))

Entry = MutableMapping[str, Any]


class Logger(Protocol):
    """What commands log through; values are any JSON, and what is not is shown by its type."""

    def debug(self, event: str, **values: object) -> None:
        """Say what only a developer wants to know."""
        ...

    def info(self, event: str, **values: object) -> None:
        """Say what is going on."""
        ...

    def warning(self, event: str, **values: object) -> None:
        """Say what may be wrong."""
        ...

    def error(self, event: str, **values: object) -> None:
        """Say what is wrong."""
        ...

    def bind(self, **values: object) -> Logger:
        """Return a logger that adds these values to each of its entries."""
        ...


def logger(
    stream: TextIO, *, as_json: bool, level: str = "warning", stamped: bool = True
) -> Logger:
    """Return a logger that writes to a stream.

    Args:
        stream: Where entries go.
        as_json: JSON lines, as in CI, instead of lines for a person.
        level: The least that is written: debug, info, warning or error.
        stamped: Whether entries carry the wall time.
    """
    import structlog

    least = logging.getLevelNamesMapping()[level.upper()]
    processors = [
        structlog.processors.add_log_level,
        *([structlog.processors.TimeStamper(fmt="iso", utc=True)] if stamped else []),
        structlog.processors.format_exc_info,
        Redaction(),
        _renderer(as_json=as_json),
    ]
    made = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(least),
        context_class=dict,
        cache_logger_on_first_use=False,
    )
    return cast("Logger", made)


def diagnostics(stream: TextIO) -> Logger:
    """Return a command's logger: warnings and worse, JSON lines where a CI system reads them."""
    return logger(stream, as_json=bool(os.environ.get("CI")))


class Redaction:
    """The processor that takes secrets out of an entry; what it cannot read is dropped."""

    def __init__(self) -> None:
        """Begin knowing no names."""
        self._scrubber = Scrubber()

    def __call__(self, _logger: object, _method: str, entry: Entry) -> Mapping[str, Any]:
        """Return the entry without secrets."""
        done = call("redactor", lambda: self._redacted(entry))
        if isinstance(done, ForeignFailure):
            kept = {name: entry[name] for name in ("level", "timestamp") if name in entry}
            return {**kept, "event": "an entry could not be redacted", "redaction_failed": True}
        return done

    def _redacted(self, entry: Entry) -> Mapping[str, Any]:
        data = {name: _shown(value) for name, value in entry.items()}
        return self._scrubber.scrubbed(data, RunMemory())


def _shown(value: object) -> object:
    """Return a JSON value as it is, and anything else as the name of its type."""
    return value if isinstance(value, _PLAIN) else f"<{type(value).__name__}>"


def _renderer(*, as_json: bool) -> Any:  # noqa: ANN401 - either of two classes of the library
    import structlog

    if as_json:
        return structlog.processors.JSONRenderer(sort_keys=True)
    return structlog.dev.ConsoleRenderer(colors=False)
