"""Formats of recorded transcripts that other packages bring; a broken one is never skipped."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

from arh.errors import AuthoringError, safe
from arh.foreign import ForeignFailure, call
from arh.traces.reading.detection import all_readers
from arh.traces.reading.reader import ENTRY_POINT_GROUP, Reader


def trace_readers() -> tuple[Reader, ...]:
    """Return every reader: those of arh, then those of installed packages by name.

    Raises:
        AuthoringError: One does not load, is no reader, or has the name of another.
    """
    return all_readers(_foreign())


def _foreign() -> Iterator[Reader]:
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    yield from (_loaded(point) for point in points)


def _loaded(point: EntryPoint) -> Reader:
    made: object = call("trace format", lambda: point.load()())  # noqa: PLW0108 - loading may raise
    if isinstance(made, ForeignFailure):
        raise AuthoringError.of(
            f"trace format {safe(point.name)} does not load: {made.type_name}",
            hint="repair or remove the package that brings it",
        )
    if not isinstance(made, Reader):
        raise AuthoringError.of(
            f"trace format {safe(point.name)} is no reader",
            hint="its entry point must return an object with `name`, `declines` and `read`",
        )
    return made
