"""The canonical format, trace schema version 1: an object with a list of `steps`."""

from __future__ import annotations

from arh.canonical import JsonValue
from arh.traces.canonical_form import restored
from arh.traces.trace import Trace


class ArhTrace:
    """Reads the format `arh`."""

    name = "arh"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no trace, or `None`."""
        if isinstance(document, dict) and isinstance(document.get("steps"), list):
            return None
        return "it is no object with a list of `steps`"

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the trace; the document's steps are taken out of it.

        Raises:
            TraceRefused: A field has another type than the schema says.
        """
        return (restored(Trace.from_dict(document, consumed=True)),)
