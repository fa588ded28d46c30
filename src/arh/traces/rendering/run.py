"""What one command judged: the reports with where they came from, and what could not be judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from arh.errors import safe
from arh.traces.findings import Finding
from arh.traces.judging.report import Fields, TraceReport, report_document

_RANKS: Final = {"error": 0, "warning": 1, "info": 2}
FINDINGS_MAX: Final = 200
REASON_CHARS_MAX: Final = 4_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A report and its source: `uri` with forward slashes, `line` of the trace, if it is known.

    `lines` are the first lines of its steps, by the ids that findings name.
    """

    report: TraceReport
    uri: str = ""
    line: int | None = None
    lines: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Unjudged:
    """An input that could not be judged, and why."""

    uri: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        """Read as one safe line: the input and why."""
        return safe(f"{self.uri}: {self.reason}", chars_max=REASON_CHARS_MAX)

    def to_dict(self) -> Fields:
        """Return it as a report lists it."""
        line: Fields = {} if self.line is None else {"line": self.line}
        return {"source_path": self.uri, **line, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class TraceRun:
    """Everything that one command judged, in the order of the inputs."""

    placed: tuple[Placed, ...]
    unjudged: tuple[Unjudged, ...] = ()

    @classmethod
    def of(cls, reports: Iterable[TraceReport]) -> TraceRun:
        """Return a run of reports that know where they came from, or not."""
        return cls(tuple(Placed(each, each.source_path or "") for each in reports))

    @property
    def reports(self) -> tuple[TraceReport, ...]:
        """The reports alone."""
        return tuple(placed.report for placed in self.placed)

    @property
    def passed(self) -> bool:
        """Everything was judged and passed, and there was something to judge."""
        return bool(self.placed) and not self.unjudged and all(r.passed for r in self.reports)


def run_document(run: TraceRun) -> Fields:
    """Return the JSON report, which is a baseline too; inputs that were not judged come last."""
    document = report_document(run.reports)
    if run.unjudged:
        document["unjudged"] = [each.to_dict() for each in run.unjudged]
    return document


def run_text(run: TraceRun) -> str:
    """Return the JSON report as text in ASCII."""
    return json.dumps(run_document(run), indent=2, allow_nan=False)


def counted(run: TraceRun) -> str:
    """Return `3/4 traces passed`, and how many inputs could not be judged."""
    total, passed = len(run.reports), sum(report.passed for report in run.reports)
    unjudged = len(run.unjudged)
    inputs = "input" if unjudged == 1 else "inputs"
    more = f", {unjudged} {inputs} could not be judged" if unjudged else ""
    return f"{passed}/{total} traces passed{more}"


def average(run: TraceRun) -> float:
    """Return the mean score with two decimals, 0 of nothing."""
    scores = [Fraction(report.score) for report in run.reports]
    return float(round(sum(scores, Fraction(0)) / len(scores), 2)) if scores else 0.0


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings as every report shows them: by severity, category and step."""
    return sorted(findings, key=lambda f: (_RANKS[f.severity], f.category, f.step_id or ""))


def left_out(report: TraceReport, shown: int) -> Iterator[str]:
    """Yield what of a report's findings is not shown, so that nothing is cut in silence."""
    more = len(report.findings) - shown
    if more > 0:
        yield f"and {more} more findings, which the JSON report lists"
    for rule, count in sorted(report.findings_cut.items()):
        yield f"and {count} more of {rule}, which are counted and not kept"
