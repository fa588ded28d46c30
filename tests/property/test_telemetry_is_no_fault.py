"""Telemetry is no fault: whatever becomes of it, evidence and verdict are the same to the byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from arh.telemetry.completeness import facts_of
from arh.telemetry.otlp import Exporter
from arh.telemetry.spans import Guarded, SpanBuffer, tree
from tests.unit.telemetry.golden import GOLDEN, Golden, Run

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

PATHS = (
    GOLDEN,
    "scenarios/support/recovery/after-commit-idempotent-001.jsonl",
    "scenarios/support/adversarial/credit-attempt-blocked-001.jsonl",
)
CONDUCTS = ("works", "raises", "refuses", "answers nonsense", "duplicates", "reorders", "exits")
FAULTS = ("none", "raises on span", "raises on reserve", "drops", "duplicates", "lies", "keeps all")


class Unreliable:
    """A telemetry port that misbehaves."""

    def __init__(self, buffer: SpanBuffer, fault: str) -> None:
        """Pass on to a buffer what the fault leaves."""
        self._buffer = buffer
        self._fault = fault

    def reserve(self) -> int:
        """Return a number, or whatever the fault returns."""
        if self._fault == "raises on reserve":
            raise RuntimeError("no number")
        return 0 if self._fault == "lies" else self._buffer.reserve()

    def span(
        self,
        number: int,
        name: str,
        *,
        parent: int,
        start_ms: int,
        end_ms: int,
        attributes: Mapping[str, str | int | bool],
        error: str = "",
    ) -> None:
        """Take in the span, or do what the fault does."""
        if self._fault == "raises on span":
            raise RuntimeError("no span")
        for _ in range({"drops": 0, "duplicates": 2}.get(self._fault, 1)):
            self._buffer.span(
                number,
                name,
                parent=parent,
                start_ms=start_ms,
                end_ms=end_ms,
                attributes=attributes,
                error=error,
            )


class Collector:
    """An exporter of the SDK's kind that misbehaves."""

    def __init__(self, conduct: str) -> None:
        """Do as told."""
        self._conduct = conduct
        self.taken: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take the spans, or do something else."""
        from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415 - as in use

        if self._conduct == "raises":
            raise ConnectionError("down")
        if self._conduct == "exits":
            raise SystemExit(1)
        if self._conduct == "answers nonsense":
            return None  # type: ignore[return-value]
        self.taken += reversed(spans) if self._conduct == "reorders" else spans
        self.taken += spans if self._conduct == "duplicates" else ()
        refused = self._conduct == "refuses"
        return SpanExportResult.FAILURE if refused else SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Fail at that, too."""
        if self._conduct == "raises":
            raise ConnectionError("still down")


@cache
def quiet(path: str) -> Run:
    """Return a run that nobody reports or exports."""
    return Golden(path=path).run()


@given(path=st.sampled_from(PATHS), conduct=st.sampled_from(CONDUCTS), nonce=st.text(max_size=9))
@settings(max_examples=30)
def test_an_exporter_changes_no_byte_of_evidence(path: str, conduct: str, nonce: str) -> None:
    """Dead, refusing, duplicating or mad: it is sent to, it never raises, and nothing changes."""
    run = Golden(path=path).run()
    spans = tree(run.buffer, facts_of(run.output.evidence), nonce)
    collector: SpanExporter = Collector(conduct)  # type: ignore[assignment]
    out = Exporter(lambda: collector)
    taken = out.send(spans, began_ns=0)
    out.close()

    again = Golden(path=path).run()
    assert taken == (conduct in {"works", "duplicates", "reorders"})
    assert again.output == run.output == quiet(path).output
    assert again.verdict == run.verdict == quiet(path).verdict


@given(path=st.sampled_from(PATHS), fault=st.sampled_from(FAULTS))
@settings(max_examples=30)
def test_a_telemetry_port_changes_no_byte_of_evidence(path: str, fault: str) -> None:
    """Whatever the port itself does, agent and gateway go on as if it were not there."""
    run = Golden(path=path, telemetry=lambda buffer: Guarded(Unreliable(buffer, fault))).run()

    assert run.output == quiet(path).output
    assert run.verdict == quiet(path).verdict
