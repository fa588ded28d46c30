"""The proxy on the wire: what it passes on is what was sent, and an order is met by one request."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from arh.http_exchange import HttpFailure, HttpReply, HttpRequest, exchange
from arh.sim.wire import REQUEST_BYTES_MAX, Wire
from arh.sim.wire_orders import WireOrder
from tests.conformance.desk import Desk, serving

JSON = (("Content-Type", "application/json"), ("Idempotency-Key", "k 1"))


@pytest.fixture
def desk() -> Desk:
    """Return a desk without defects."""
    return Desk()


@pytest.fixture
def wire(desk: Desk) -> Iterator[Wire]:
    """Return a proxy before the desk."""
    with serving(desk) as url:
        wire = Wire(lambda: url)
        yield wire
        wire.close()


def sent(wire: Wire, method: str = "POST", path: str = "/tickets", size: int = 0) -> object:
    """Return what comes back for a request through the proxy."""
    body = b'{"account_id":"A-1"}' + b" " * size if method == "POST" else None
    request = HttpRequest(method, wire.endpoint() + path, JSON, body)
    return exchange(request, timeout_ms=2000)


def test_without_an_order_it_is_not_there(desk: Desk, wire: Wire) -> None:
    """Method, path, headers and body arrive, and status, headers and body come back."""
    reply = sent(wire)
    missing = sent(wire, "GET", "/tickets/by-key/other?a=1%20b")

    assert isinstance(reply, HttpReply)
    assert (reply.status, reply.body) == (201, b'{"ticket_id": "D-001", "revision": 1}')
    assert ("Content-Type", "application/json") in reply.headers
    assert isinstance(missing, HttpReply)
    assert missing.status == 404
    assert [(method, path) for method, path, _ in desk.seen] == [
        ("POST", "/tickets"),
        ("GET", "/tickets/by-key/other?a=1%20b"),
    ]
    assert desk.seen[0][2]["Idempotency-Key"] == "k 1"


def test_one_request_meets_an_order(desk: Desk, wire: Wire) -> None:
    """The first request that fits is struck; the ones after it, and after the call, are not."""
    order = WireOrder("limit", retry_after_ms=1500)
    with wire.under(order):
        struck, next_one = sent(wire), sent(wire)
    after = sent(wire)

    assert isinstance(struck, HttpReply)
    assert (struck.status, struck.retry_after_ms) == (429, 2000)
    assert isinstance(next_one, HttpReply)
    assert isinstance(after, HttpReply)
    assert (next_one.status, after.status, order.struck) == (201, 201, True)
    assert len(desk.seen) == 2


def test_an_order_about_a_commit_waits_for_one(desk: Desk, wire: Wire) -> None:
    """A look-up on the way does not use the order up, and a refusal has no success to lose."""
    order = WireOrder("cut", forwards=True, of_commit=True)
    desk.tickets.append({"ticket_id": "D-000", "key": "k"})
    with wire.under(order):
        looked_up = sent(wire, "GET", "/tickets/by-key/k")
        cut = sent(wire)

    assert isinstance(looked_up, HttpReply)
    assert cut == HttpFailure("broken", sent=True)
    assert len(desk.tickets) == 2


def test_a_refusal_is_passed_on(desk: Desk, wire: Wire) -> None:
    """What the service refuses goes through as it is, and nothing is claimed to have happened."""
    desk.wants = "somebody else"
    order = WireOrder("cut", forwards=True, of_commit=True)
    with wire.under(order):
        refused = sent(wire)

    assert isinstance(refused, HttpReply)
    assert (refused.status, order.struck) == (401, False)


def test_a_closed_door_is_a_refused_connection(wire: Wire) -> None:
    """Under the order the address leads nowhere, and leads to the service again afterwards."""
    order = WireOrder("refuse")
    with wire.under(order):
        refused = sent(wire)
    after = sent(wire)

    assert refused == HttpFailure("unreachable", sent=False)
    assert isinstance(after, HttpReply)
    assert order.struck


def test_no_part_of_a_request_is_passed_on(desk: Desk, wire: Wire) -> None:
    """A body that is too large, or of no stated length, is refused whole."""
    large = sent(wire, size=REQUEST_BYTES_MAX)
    head = b"POST /tickets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunked = head + b"2\r\n{}\r\n0\r\n\r\n"

    assert isinstance(large, HttpReply | HttpFailure)
    assert b" 411 " in _raw(wire, chunked)
    assert desk.seen == []


@pytest.mark.parametrize("data", [b"", b"\r\n", b"nonsense\r\n\r\n", b"\x00\xff\r\n\r\n"])
def test_what_is_no_request_reaches_nobody(desk: Desk, wire: Wire, data: bytes) -> None:
    """Garbage is answered by the proxy or not at all, and the next request is served."""
    _raw(wire, data)

    assert isinstance(sent(wire), HttpReply)
    assert len(desk.seen) == 1


def test_a_service_that_is_gone_cuts_the_connection() -> None:
    """Where the service does not answer there is nothing to pass on."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        wire = Wire(lambda: f"http://127.0.0.1:{port}")
        reply = sent(wire)
        wire.close()

    assert reply == HttpFailure("broken", sent=True)


def _raw(wire: Wire, data: bytes) -> bytes:
    """Return what comes back for bytes that no client would send."""
    parts = urlsplit(wire.endpoint())
    with socket.create_connection((parts.hostname, parts.port), timeout=2) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while part := client.recv(4096):
                received += part
        except ConnectionResetError:
            return received
        return received
