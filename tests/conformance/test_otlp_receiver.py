"""Spans arrive at a real receiver of OTLP over HTTP, whole, typed and as one tree.

The receiver is a plain web server on this machine that decodes what it gets with OpenTelemetry's
own message types; it knows nothing of how arh makes spans.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from arh.telemetry import semconv
from arh.telemetry.completeness import check, facts_of
from arh.telemetry.otlp import FAILURES_MAX, Counts, Exporter, exporter, readable, traces_url
from arh.telemetry.spans import Span, tree
from tests.unit.telemetry.golden import Golden, Run

BEGAN_NS = 1_700_000_000_000_000_000


@dataclass
class Receiver:
    """What arrived.

    `answers` are the status codes to come, 200 when there are none; 0 is no answer until the end.
    """

    endpoint: str = ""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[Any]:
        """Every span that arrived."""
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def receiving(*answers: int) -> Iterator[Receiver]:
    """Run a receiver on a free port of this machine."""
    receiver = Receiver(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            status = receiver.answers.pop(0) if receiver.answers else 200
            if status == 0:
                receiver.ended.wait()
                self.close_connection = True
                return
            if status == 200:
                receiver.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(status)
            self.send_header("content-type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        receiver.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield receiver
        finally:
            receiver.ended.set()
            server.shutdown()
            thread.join()


@contextmanager
def sending(receiver: Receiver) -> Iterator[Exporter]:
    """Run an exporter to a receiver."""
    made = exporter(receiver.endpoint)
    try:
        yield made
    finally:
        made.close()


def golden() -> tuple[Run, tuple[Span, ...]]:
    """Return the golden run with its spans."""
    run = Golden().run()
    return run, tree(run.buffer, facts_of(run.output.evidence), "nonce")


def as_span(received: Any) -> Span:  # noqa: ANN401 - a generated message type
    """Return a received span in our own form; times as milliseconds of the run."""
    attributes = {
        item.key: getattr(item.value, item.value.WhichOneof("value"))
        for item in received.attributes
    }
    return Span(
        number=0,
        kind=received.name,
        parent=None,
        start_ms=(received.start_time_unix_nano - BEGAN_NS) // 1_000_000,
        end_ms=(received.end_time_unix_nano - BEGAN_NS) // 1_000_000,
        attributes=attributes,
        error=str(attributes.get(semconv.ERROR_TYPE, "")),
        trace_id=received.trace_id.hex(),
        span_id=received.span_id.hex(),
        parent_id=received.parent_span_id.hex(),
    )


def test_a_run_arrives_whole() -> None:
    """What is received is what the evidence says must be there: no span lost on any step."""
    run, spans = golden()
    with receiving() as receiver, sending(receiver) as out:
        taken = out.send(spans, began_ns=BEGAN_NS)

    arrived = [as_span(span) for span in receiver.spans]
    assert taken
    assert check(run.output.evidence, arrived).complete
    assert out.counts == Counts(sent=len(spans))


def test_a_span_arrives_as_it_was_sent() -> None:
    """Identifiers, parents, times, attributes with their types."""
    _, spans = golden()
    with receiving() as receiver, sending(receiver) as out:
        out.send(spans, began_ns=BEGAN_NS)

    arrived = {span.span_id: span for span in map(as_span, receiver.spans)}
    sent = {
        span.span_id: Span(
            0, span.kind, None, span.start_ms, span.end_ms, dict(span.attributes), span.error,
            span.trace_id, span.span_id, span.parent_id,
        )
        for span in spans
    }  # fmt: skip
    assert arrived == sent


def test_a_trace_says_which_names_it_uses() -> None:
    """Versions of schema, mapping and conventions come with the resource."""
    _, spans = golden()
    with receiving() as receiver, sending(receiver) as out:
        out.send(spans, began_ns=BEGAN_NS)

    resource = receiver.requests[0].resource_spans[0].resource
    told = {item.key: item.value.string_value for item in resource.attributes}
    assert semconv.RESOURCE.items() <= told.items()


def test_a_run_of_many_spans_arrives_in_batches() -> None:
    """No request grows without end."""
    _, spans = golden()
    with receiving() as receiver, sending(receiver) as out:
        out.send(spans * 40, began_ns=BEGAN_NS)

    assert len(receiver.spans) == out.counts.sent == 40 * len(spans)
    assert len(receiver.requests) == 3


def test_a_receiver_that_refuses_is_counted() -> None:
    """A lost batch is known, and the next one is tried again."""
    _, spans = golden()
    with receiving(400) as receiver, sending(receiver) as out:
        taken = [out.send(spans, began_ns=BEGAN_NS) for _ in range(2)]

    assert taken == [False, True]
    assert out.counts == Counts(sent=len(spans), failed=len(spans))


def test_a_receiver_that_is_not_there_is_given_up() -> None:
    """After some failures in a row nothing is tried any more, so that a suite is not held up."""
    _, spans = golden()
    with receiving() as receiver:
        gone = receiver.endpoint
    out = exporter(gone, timeout_s=0.2)
    taken = [out.send(spans, began_ns=BEGAN_NS) for _ in range(FAILURES_MAX + 2)]
    out.close()

    assert not any(taken)
    assert out.counts == Counts(failed=FAILURES_MAX * len(spans), skipped=2 * len(spans))


def test_a_receiver_that_does_not_answer_costs_one_timeout() -> None:
    """What was sent counts as failed, and the run goes on."""
    _, spans = golden()
    with receiving(0, 0, 0, 0, 0) as receiver:
        out = exporter(receiver.endpoint, timeout_s=0.1)
        taken = out.send(spans, began_ns=BEGAN_NS)
        out.close()

    assert not taken
    assert out.counts == Counts(failed=len(spans))


def test_a_run_arrives_by_grpc_as_well() -> None:
    """The same spans, where a collector speaks nothing else."""
    run, spans = golden()
    requests: list[ExportTraceServiceRequest] = []

    class Servicer(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> ExportTraceServiceResponse:  # noqa: ANN401, N802
            requests.append(request)
            return ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Servicer(), server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    out = exporter(f"http://127.0.0.1:{port}", protocol="grpc", timeout_s=5)
    taken = out.send(spans, began_ns=BEGAN_NS)
    out.close()
    server.stop(None).wait()

    assert taken
    assert check(
        run.output.evidence, [as_span(span) for span in Receiver(requests=requests).spans]
    ).complete


def test_an_error_is_an_error_and_a_denial_is_none() -> None:
    """The status that a backend colours red is there for failures only."""
    spans = [
        Span(1, "approval", 0, 0, 1, {}, error, "0" * 31 + "1", "0" * 15 + "2", "")
        for error in ("timeout", "")
    ]

    assert [span.status.status_code.name for span in readable(spans, began_ns=0)] == [
        "ERROR",
        "UNSET",
    ]


@pytest.mark.parametrize(
    "endpoint", ["http://h:1", "http://h:1/", "http://h:1/v1/traces", "http://h:1/v1/traces/"]
)
def test_the_path_of_traces_is_added_once(endpoint: str) -> None:
    """A collector's base address is enough."""
    assert traces_url(endpoint) == "http://h:1/v1/traces"
