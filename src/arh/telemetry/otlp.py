"""Sends the spans of finished runs to a collector by OTLP, and counts what became of them.

HTTP is the default; gRPC costs a slow import. A collector that is down, slow or refuses costs at
most one timeout for each run and changes nothing but the counts: no evidence depends on it. The
libraries are imported when the first run is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from arh.foreign import ForeignFailure, call
from arh.telemetry import semconv
from arh.telemetry.spans import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

TIMEOUT_S: Final = 1
FAILURES_MAX: Final = 3
BATCH_SPANS: Final = 512

_MS: Final = 1_000_000


@dataclass(slots=True)
class Counts:
    """What became of the spans; `skipped` were not tried, because sending kept failing."""

    sent: int = 0
    failed: int = 0
    skipped: int = 0


class Exporter:
    """Sends spans through one of OpenTelemetry's own exporters."""

    def __init__(self, make: Callable[[], SpanExporter]) -> None:
        """Begin without a connection; `make` is called when there is something to send."""
        self._make = make
        self._exporter: SpanExporter | None = None
        self._failures = 0
        self.counts = Counts()

    def send(self, spans: Sequence[Span], *, began_ns: int) -> bool:
        """Send one run's spans and return whether all were taken; never raises.

        After `FAILURES_MAX` failures in a row nothing is tried any more.
        """
        done = True
        for start in range(0, len(spans), BATCH_SPANS):
            batch = spans[start : start + BATCH_SPANS]
            done = self._send(batch, began_ns) and done
        return done

    def close(self) -> None:
        """Shut the exporter down."""
        exporter = self._exporter
        if exporter is not None:
            with _quiet():
                call("exporter", exporter.shutdown)

    def _send(self, batch: Sequence[Span], began_ns: int) -> bool:
        if self._failures >= FAILURES_MAX:
            self.counts.skipped += len(batch)
            return False
        with _quiet():
            taken = call("exporter", lambda: self._exported(batch, began_ns))
        if isinstance(taken, ForeignFailure) or not taken:
            self._failures += 1
            self.counts.failed += len(batch)
            return False
        self._failures = 0
        self.counts.sent += len(batch)
        return True

    def _exported(self, batch: Sequence[Span], began_ns: int) -> bool:
        from opentelemetry.sdk.trace.export import SpanExportResult

        if self._exporter is None:
            self._exporter = self._make()
        result = self._exporter.export(list(readable(batch, began_ns=began_ns)))
        return result is SpanExportResult.SUCCESS


def exporter(
    endpoint: str, *, protocol: Literal["http", "grpc"] = "http", timeout_s: float = TIMEOUT_S
) -> Exporter:
    """Return an exporter to a collector.

    Args:
        endpoint: As in `http://127.0.0.1:4318`; for HTTP the path of traces is added if it is
            missing.
        protocol: `grpc` needs 125 ms more at the first run.
        timeout_s: How long one run may wait for the collector.
    """
    if protocol == "grpc":
        return Exporter(lambda: _grpc(endpoint, timeout_s))
    return Exporter(lambda: _http(traces_url(endpoint), timeout_s))


def traces_url(endpoint: str) -> str:
    """Return the address that traces are posted to."""
    base = endpoint.rstrip("/")
    return base if base.endswith("/v1/traces") else f"{base}/v1/traces"


def readable(spans: Iterable[Span], *, began_ns: int) -> Iterator[ReadableSpan]:
    """Yield the spans as the SDK's exporters take them."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(trace_id: str, span_id: str) -> SpanContext:
        flags = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)

    for span in spans:
        failed = bool(span.error)
        more = {semconv.ERROR_TYPE: span.error} if failed else {}
        yield ReadableSpan(
            name=span.kind,
            context=context(span.trace_id, span.span_id),
            parent=context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=_resource(),
            attributes={**span.attributes, **more},
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if failed else StatusCode.UNSET),
            start_time=began_ns + span.start_ms * _MS,
            end_time=began_ns + span.end_ms * _MS,
            instrumentation_scope=_scope(),
        )


@cache
def _resource():  # type: ignore[no-untyped-def]  # noqa: ANN202 - a type that is imported on use
    from opentelemetry.sdk.resources import Resource

    return Resource(dict(semconv.RESOURCE))


@cache
def _scope():  # type: ignore[no-untyped-def]  # noqa: ANN202 - a type that is imported on use
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    return InstrumentationScope("arh", semconv.SCHEMA_VERSION)


def _http(url: str, timeout_s: float) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=url, timeout=timeout_s)


def _grpc(endpoint: str, timeout_s: float) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    insecure = not endpoint.startswith("https://")
    return OTLPSpanExporter(endpoint=endpoint, insecure=insecure, timeout=timeout_s)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's own log of failures, which are counted, out of our output."""
    log = logging.getLogger("opentelemetry")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)
