"""Traces of runs: collected while a run goes on, held against its evidence, kept and sent after it.

Telemetry is a view, never evidence: no verdict reads it, and a collector that is dead, slow or
repeats itself changes no byte of any run. What is missing from a trace is a warning on the trace.
Its identifiers and wall times lie in `telemetry.jsonl`, apart from everything that is digested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from arh.errors import AuthoringError
from arh.harness.evidence.output import RunOutput
from arh.harness.vocabulary.rules import conclude, finding
from arh.ports.sue import Telemetry
from arh.records.control.verdict import EvaluationResult, Fact, Finding
from arh.sim.clock import epoch_ns
from arh.telemetry.completeness import Completeness, check, facts_of
from arh.telemetry.otlp import Exporter
from arh.telemetry.spans import Guarded, SpanBuffer, lines, tree

EVALUATOR = "telemetry"
VERSION = "1.0"
NAMED_MAX = 20


class Tracing:
    """Collects one run's spans at a time."""

    def __init__(self, file: Path, *, nonce: str, exporter: Exporter | None = None) -> None:
        """Write to `file`, and send to a collector if there is an exporter.

        `nonce` tells this execution's trace identifiers from those of any other.
        """
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._file = file.open("wb")
        except OSError as error:
            found = f"spans cannot be written: {type(error).__name__}"
            raise AuthoringError.of(found, file=str(file), field="--out") from None
        self._nonce, self._exporter = nonce, exporter
        self._buffer, self._began_ns = SpanBuffer(), 0

    def port(self, run_id: str) -> Telemetry:
        """Begin a run and return where its system reports spans."""
        self._buffer, self._began_ns = SpanBuffer(run_id), epoch_ns()
        return Guarded(self._buffer)

    def judged(self, output: RunOutput) -> EvaluationResult:
        """Keep and send the run's trace, and return how it compares with the run's evidence."""
        spans = tree(self._buffer, facts_of(output.evidence), self._nonce)
        with suppress(OSError):  # a disk that is full takes no view, and no verdict reads one
            self._file.write(lines(spans, began_ns=self._began_ns))
        if self._exporter is not None:
            self._exporter.send(spans, began_ns=self._began_ns)
        return _result(check(output.evidence, spans))

    @property
    def unsent(self) -> int:
        """The spans that a collector should have had and did not take."""
        counts = None if self._exporter is None else self._exporter.counts
        return 0 if counts is None else counts.failed + counts.skipped

    def close(self) -> None:
        """Finish the file and say goodbye to the collector."""
        with suppress(OSError):
            self._file.close()
        if self._exporter is not None:
            self._exporter.close()


def _result(compared: Completeness) -> EvaluationResult:
    findings = tuple(_findings(compared))
    facts = (Fact(name, *counted) for name, counted in compared.facts().items())
    return EvaluationResult(
        evaluator=EVALUATOR,
        version=VERSION,
        status=conclude(findings, "pass"),
        summary=f"{compared.received} spans, {compared.expected} expected",
        findings=findings,
        facts=tuple(facts),
        checks=compared.expected,
    )


def _findings(compared: Completeness) -> Iterator[Finding]:
    for kind, detail in compared.missing[:NAMED_MAX]:
        yield finding("telemetry.span_missing", f"no span {kind} {detail}".rstrip())
    for kind, detail in compared.invented[:NAMED_MAX]:
        yield finding("telemetry.span_invented", f"span {kind} {detail} of nothing".rstrip())
    for span_id in compared.orphans[:NAMED_MAX]:
        yield finding("telemetry.span_orphaned", f"span {span_id} has no parent in its trace")
    for span_id in compared.duplicated[:NAMED_MAX]:
        yield finding("telemetry.span_duplicated", f"span {span_id} came more than once")
    if compared.disagreements:
        said = f"{compared.disagreements} of {compared.effects} effects told otherwise"
        yield finding("telemetry.trace_contradicts_store", said)
