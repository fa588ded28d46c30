"""What a format of recorded transcripts is: something that says whether a document is its own.

Formats are one file each in `arh.traces.formats`, do not know one another, and more come through
the entry-point group `arh.trace_formats`. A reader never guesses: what it cannot map becomes a
note of the trace, and a document that is not its format is declined with the reason, which the
user sees when no reader takes it.
"""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from arh.canonical import JsonValue
from arh.traces.trace import Trace

ENTRY_POINT_GROUP: Final = "arh.trace_formats"


@runtime_checkable
class Reader(Protocol):
    """Reads the documents of one format."""

    name: str

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is not in this format, or `None` when it is."""
        ...

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the traces of a document that was not declined.

        `source` is the name of the file, for identifiers and messages.

        Raises:
            TraceRefused: The document is of the format, but no valid trace can be read from it.
        """
        ...
