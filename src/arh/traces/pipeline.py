"""Judges recordings by a policy: one after the other, each whatever became of the one before.

A recording that cannot be read, or has a trace with an id that is taken, is an input that could not
be judged: told, counted, and no pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from arh.errors import AuthoringError, Problem, quoted
from arh.traces.authoring.policy import Policy
from arh.traces.collecting import uncollected
from arh.traces.judging.facts import Compat
from arh.traces.judging.report import FAIL_UNDER
from arh.traces.judging.validator import validate_trace
from arh.traces.reading.detection import AUTO, BUILT_IN
from arh.traces.reading.inputs import Recorded
from arh.traces.reading.positions import BYTES_MAX, lines_at, placed
from arh.traces.reading.reader import Reader
from arh.traces.reading.source import read_with_lines
from arh.traces.rendering.run import Placed, TraceRun, Unjudged
from arh.traces.trace import Trace

REASONS_MAX: Final = 16

Read = tuple[Trace, int | None]
Lines = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a trace stands: the recording, its line, the lines of its steps."""

    uri: str
    line: int | None
    lines: Lines


@dataclass(frozen=True, slots=True)
class Judge:
    """How recordings are judged.

    `form` is a format's name or `auto`. `readers` are asked first, `more` only if all of them
    decline: it returns those that other packages bring. `is_placed` asks for the lines of steps.
    """

    policy: Policy
    form: str = AUTO
    fail_under: float = FAIL_UNDER
    compat: Compat | None = None
    readers: Sequence[Reader] = BUILT_IN
    more: Callable[[], Sequence[Reader]] | None = None
    is_placed: bool = False

    def run(self, recordings: Sequence[Recorded]) -> TraceRun:
        """Return the reports on all traces, and what could not be judged."""
        taken: dict[str, str] = {}
        reports: list[Placed] = []
        unjudged: list[Unjudged] = []
        with uncollected():
            for recorded in recordings:
                for found in self._judged(recorded, taken):
                    if isinstance(found, Placed):
                        reports.append(found)
                    else:
                        unjudged.append(found)
        return TraceRun(tuple(reports), tuple(unjudged))

    def _judged(self, recorded: Recorded, taken: dict[str, str]) -> Iterator[Placed | Unjudged]:
        bad: list[Problem] = []
        try:
            data = recorded.read()
            traces = read(
                data, recorded.uri, form=self.form, readers=self.readers, more=self.more, bad=bad
            )
        except AuthoringError as error:
            yield refused(error, recorded.uri)
            return
        yield from _by_line(bad, recorded.uri)
        if not traces:
            yield Unjudged(recorded.uri, "there is no trace in it")
        lines = self._lines(data, traces)
        del data  # a long recording is not held twice
        for trace, line in traces:
            place = recorded.uri if line is None else f"{recorded.uri}:{line}"
            if trace.trace_id in taken:  # two recordings may have one name, in two folders
                reason = f"the trace_id {quoted(trace.trace_id)} is that of {taken[trace.trace_id]}"
                yield Unjudged(recorded.uri, reason, line)
            else:
                taken[trace.trace_id] = place
                yield self._report(trace, Source(recorded.uri, line, lines))

    def _report(self, trace: Trace, source: Source) -> Placed | Unjudged:
        try:
            report = validate_trace(trace, self.policy, self.fail_under, compat=self.compat)
        except AuthoringError as error:
            return refused(error, source.uri)
        report = replace(report, source_path=source.uri)
        return Placed(report, source.uri, source.line, source.lines)

    def _lines(self, data: bytes, traces: Sequence[Read]) -> Lines:
        """Return the first line of each step of a document in the canonical format."""
        if not self.is_placed or len(traces) != 1 or len(data) > BYTES_MAX:
            return ()
        (trace, line) = traces[0]
        if line is not None:
            return ()
        known = lines_at({f"steps[{step.ordinal}]" for step in trace.steps}, data)
        steps = ((step.anchor, known.get(f"steps[{step.ordinal}]")) for step in trace.steps)
        return tuple((anchor, at) for anchor, at in steps if at is not None)


def read(
    data: bytes,
    uri: str,
    *,
    form: str,
    readers: Sequence[Reader] = BUILT_IN,
    more: Callable[[], Sequence[Reader]] | None = None,
    bad: list[Problem] | None = None,
) -> tuple[Read, ...]:
    """Return the traces of a recording with their lines; other packages' readers are asked last.

    What is wrong with single lines is added to `bad`, if there is one.

    Raises:
        AuthoringError: Nobody reads it; a mistake names its line where that can be told.
    """
    try:
        return read_with_lines(data, uri, form=form, readers=readers, bad=bad)
    except AuthoringError as error:
        others = [] if more is None else list(more())
        if len(others) <= len(readers):
            raise placed(error, data, uri) from None
    return read_with_lines(data, uri, form=form, readers=others, bad=bad)


def _by_line(problems: Sequence[Problem], uri: str) -> Iterator[Unjudged]:
    """Yield each line that is no recording, with all that is wrong with it."""
    for _, wrong in groupby(problems, key=lambda problem: problem.line):
        yield refused(AuthoringError(*wrong), uri)


def refused(error: AuthoringError, uri: str) -> Unjudged:
    """Return why a recording could not be judged, in one text of bounded length."""
    shown = error.problems[:REASONS_MAX]
    more = len(error.problems) - len(shown)
    texts = [str(replace(problem, file="", line=None)) for problem in shown]
    line = next((problem.line for problem in error.problems if problem.line is not None), None)
    at = "" if line is None else f"line {line}: "
    rest = f"; and {more} more" if more > 0 else ""
    return Unjudged(uri, f"{at}{'; '.join(texts)}{rest}", line)
