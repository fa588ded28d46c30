"""Reads the file of a recording into traces: bytes, kind of file, format, traces.

The one entry for commands: what the bytes are says `documents`, which format it is says
`detection`, and recorded HTTP traffic is taken apart by `cassettes`. Lines that are not one
recording together are one recording each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from arh.canonical import JsonValue
from arh.errors import AuthoringError, Problem
from arh.traces.collecting import uncollected
from arh.traces.reading.cassettes import interactions, read_cassette
from arh.traces.reading.detection import (
    AUTO,
    BUILT_IN,
    Undetected,
    detect,
    read_checked,
    undetected,
)
from arh.traces.reading.documents import Recording, recording
from arh.traces.reading.reader import Reader
from arh.traces.trace import Trace

_PROBLEMS_MAX: Final = 20


def read_traces(
    data: bytes, source: str, *, form: str = AUTO, readers: Sequence[Reader] = BUILT_IN
) -> tuple[Trace, ...]:
    """Return the traces that the bytes of a file hold; no two of them have the same id.

    Raises:
        AuthoringError: The bytes hold no JSON, no format takes it, or it is not as its format says.
    """
    return tuple(trace for trace, _ in read_with_lines(data, source, form=form, readers=readers))


def read_with_lines(
    data: bytes,
    source: str,
    *,
    form: str = AUTO,
    readers: Sequence[Reader] = BUILT_IN,
    bad: list[Problem] | None = None,
) -> tuple[tuple[Trace, int | None], ...]:
    """Return the traces, each with the line that it is on where lines are recordings each.

    What is wrong with such a line is added to `bad`, if there is one, and the others are read.
    Lines that are one recording together are read whole or not at all.

    Raises:
        AuthoringError: See `read_traces`.
    """
    with uncollected():
        return _read(data, source, form=form, readers=readers, bad=bad)


def _read(
    data: bytes, source: str, *, form: str, readers: Sequence[Reader], bad: list[Problem] | None
) -> tuple[tuple[Trace, int | None], ...]:
    held = recording(data, source)
    exchanges = interactions(held.value)
    if exchanges is not None:
        _refuse(held.broken)
        read = partial(_read_exchange, source=source, form=form, readers=readers)
        return _unplaced(read_cassette(exchanges, source, read, held.value))
    if held.kind == "lines":
        return _read_lines(held, source, form=form, readers=readers, bad=bad)
    return _unplaced(_distinct(read_checked(held.value, source, form=form, readers=readers)))


def _unplaced(traces: Sequence[Trace]) -> tuple[tuple[Trace, int | None], ...]:
    return tuple((trace, None) for trace in traces)


def _read_exchange(
    document: JsonValue, *, source: str, form: str, readers: Sequence[Reader]
) -> tuple[Trace, ...] | Undetected:
    """Return the traces of one exchange, or why nobody reads it."""
    chosen = [reader for reader in readers if form in (AUTO, reader.name)]
    found = detect(document, chosen)
    if isinstance(found, Undetected):
        return found
    return read_checked(document, source, form=found.reader.name, readers=readers)


def _refuse(problems: Sequence[Problem]) -> None:
    """Raise what is wrong, if anything is."""
    if problems:
        raise AuthoringError(*problems[:_PROBLEMS_MAX])


def _read_lines(
    held: Recording,
    source: str,
    *,
    form: str,
    readers: Sequence[Reader],
    bad: list[Problem] | None,
) -> tuple[tuple[Trace, int | None], ...]:
    """Return the traces of lines: of all together, or else of each."""
    if not held.lines:
        _refuse(held.broken)
    chosen = [reader for reader in readers if form in (AUTO, reader.name)]
    whole = detect(held.value, chosen)
    if not isinstance(whole, Undetected):
        name = whole.reader.name
        _refuse(held.broken)
        return _unplaced(_distinct(read_checked(held.value, source, form=name, readers=readers)))
    lines = held.value if isinstance(held.value, list) else []
    traces: list[Trace] = []
    numbers: list[int | None] = []
    problems = list(held.broken)
    for line, value in zip(held.lines, lines, strict=True):
        try:
            found = read_checked(value, source, form=form, readers=readers)
            traces.extend(found)
            numbers.extend([line] * len(found))
        except AuthoringError as error:
            problems.extend(replace(problem, line=line) for problem in error.problems)
    if problems and not traces and isinstance(detect(lines[0], chosen), Undetected):
        raise undetected(whole, source)
    if bad is None or not traces:
        _refuse(problems)
    else:
        bad.extend(problems)
    return tuple(zip(_distinct(tuple(traces)), numbers, strict=True))


def _distinct(traces: tuple[Trace, ...]) -> tuple[Trace, ...]:
    """Return the traces with a number added to each id that an earlier one has."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    named: list[Trace] = []
    for trace in traces:
        name = trace.trace_id
        while name in taken:
            counts[trace.trace_id] = counts.get(trace.trace_id, 1) + 1
            name = f"{trace.trace_id}-{counts[trace.trace_id]}"
        taken.add(name)
        named.append(trace if name == trace.trace_id else replace(trace, trace_id=name))
    return tuple(named)
