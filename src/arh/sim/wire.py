"""The proxy on the wire: a real server on loopback between a tool's client and the team's service.

It passes requests on as they come and replies as they are, until an order says what is to happen to
the next one: it hangs, cuts, fails, limits, delays, damages or doubles it. It is there only in runs
with a fault for one of the service's tools, serves one run, and knows nothing of scenarios. What it
could not do, because the service answered otherwise, it does not claim.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Final, final

from arh.canonical import Refused, parse
from arh.http_exchange import HttpFailure, HttpReply, HttpRequest, address, exchange
from arh.ports.sue import Endpoint
from arh.sim.wire_orders import WireOrder

UPSTREAM_MS_MAX: Final = 10_000
REQUEST_BYTES_MAX: Final = 1_000_000
HANG_S_MAX: Final = 60
CLIENT_S_MAX: Final = 10

_HERE: Final = "127.0.0.1"
_DIGITS_MAX: Final = 10
_POLL_S: Final = 0.01
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "content-length", "host", "keep-alive", "proxy-authenticate"),
        *("proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)


@final
class Wire:
    """The way to one service for one run."""

    def __init__(self, upstream: Endpoint) -> None:
        """Listen on a port of loopback, and hold another one on which nobody ever listens."""
        self._upstream = upstream
        self._order: WireOrder | None = None
        self._closed_door = socket.socket()
        self._closed_door.bind((_HERE, 0))
        self._server = _Server((_HERE, 0), type("Passing", (_Passing,), {"wire": self}))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="arh-wire", daemon=True
        )
        self._thread.start()

    def endpoint(self) -> str:
        """Return the address at which the service is reached now."""
        order = self._order
        port = self._server.server_address[1]
        if order is not None:
            order.asked = True
            if order.act == "refuse":
                port = self._closed_door.getsockname()[1]
                order.struck = True
        return f"http://{_HERE}:{port}{address(self._upstream()).path}"

    @contextmanager
    def under(self, order: WireOrder) -> Iterator[None]:
        """Let the order stand for the requests of one call."""
        self._order = order
        try:
            yield
        finally:
            self._order = None
            order.over.set()

    def order_for(self, method: str) -> WireOrder | None:
        """Return the order that the next request of this method is to meet, once."""
        order = self._order
        if order is None or order.used or (order.of_commit and method in _READING):
            return None
        order.used = True
        return order

    def forward(
        self, method: str, path: str, headers: list[tuple[str, str]], body: bytes | None
    ) -> HttpReply | None:
        """Return the service's reply to the request, `None` if there is none."""
        parts = address(self._upstream())
        url = f"{parts.scheme}://{parts.netloc}{path}"
        request = HttpRequest(method, url, tuple(headers), body)
        reply = exchange(request, timeout_ms=UPSTREAM_MS_MAX)
        return None if isinstance(reply, HttpFailure) else reply

    def close(self) -> None:
        """Stop listening."""
        if self._order is not None:
            self._order.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._closed_door.close()


class _Server(ThreadingTCPServer):
    """Not `HTTPServer`, which looks up the name of the machine, and may wait for that."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: that a client goes away is what faults are for."""


class _Passing(BaseHTTPRequestHandler):
    """Handles one connection: one request, then it is closed."""

    wire: Wire
    timeout = CLIENT_S_MAX
    wbufsize = 65_536
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        """Read one request and let the wire have it, whatever its method."""
        self.close_connection = True
        self.raw_requestline = self.rfile.readline(65_537)
        if not self.raw_requestline or not self.parse_request():
            return
        self._meet(self.wire.order_for(self.command))
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def _meet(self, order: WireOrder | None) -> None:
        """Pass the request on, or do with it what the order says."""
        headers = [(n, v) for n, v in self.headers.items() if n.lower() not in _HOP_BY_HOP]
        if "Transfer-Encoding" in self.headers or self._size() > REQUEST_BYTES_MAX:
            self._answer(HttpReply(411, b""))  # never pass on a part of what was sent
            return
        body = self.rfile.read(self._size()) if "Content-Length" in self.headers else None
        if order is None:
            self._answer(self.wire.forward(self.command, self.path, headers, body))
            return
        if order.act == "slow" and not order.forwards:
            order.over.wait(order.wait_ms / 1000)
        reply = None
        if order.forwards or order.act == "slow":
            reply = self.wire.forward(self.command, self.path, headers, body)
            if not _can_lose(reply, order):
                self._answer(reply)
                return
        if order.act == "twice":
            reply = self.wire.forward(self.command, self.path, headers, body)
        self._act(order, reply)

    def _act(self, order: WireOrder, reply: HttpReply | None) -> None:
        """Do what the order says to the client, now that the service has had its part of it."""
        match order.act:
            case "hang":
                order.struck = True
                order.over.wait(HANG_S_MAX)
            case "cut" | "refuse":
                order.struck = True
                self._reset()
            case "fail":
                order.struck = True
                self._answer(HttpReply(503, b""))
            case "limit":
                order.struck = True
                self._answer(HttpReply(429, b"", order.retry_after_ms))
            case "slow":
                order.struck = True
                order.over.wait(order.wait_ms / 1000 if order.forwards else 0)
                self._answer(reply)
            case "malformed":
                self._answer(_malformed(reply, order))
            case "partial":
                self._answer(_partial(reply, order))
            case "twice":
                order.struck = reply is not None
                self._answer(reply)

    def _answer(self, reply: HttpReply | None) -> None:
        """Send a reply; without one the connection is cut."""
        if reply is None:
            self._reset()
            return
        self.send_response_only(reply.status)
        kept = [(n, v) for n, v in reply.headers if n.lower() not in _HOP_BY_HOP]
        if reply.retry_after_ms is not None and not reply.headers:
            kept.append(("Retry-After", str(-(-reply.retry_after_ms // 1000))))
        for name, value in (*kept, ("Content-Length", str(len(reply.body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def _size(self) -> int:
        """Return how long the body of the request is said to be."""
        size = self.headers.get("Content-Length", "0")
        return int(size) if size.isdecimal() and len(size) < _DIGITS_MAX else REQUEST_BYTES_MAX + 1

    def _reset(self) -> None:
        """Break the connection off."""
        now = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
        self.connection.close()


def _can_lose(reply: HttpReply | None, order: WireOrder) -> bool:
    """Return whether there is an answer to lose: of a write, the word of its success."""
    if reply is None:
        return False
    needs_success = order.of_commit or order.act in {"malformed", "partial"}
    return not needs_success or 200 <= reply.status < 300  # noqa: PLR2004 - success, in HTTP


def _malformed(reply: HttpReply | None, order: WireOrder) -> HttpReply | None:
    """Return the reply with a body that is none."""
    if reply is None:
        return None
    cut = reply.body[: max(1, len(reply.body) * 2 // 3)] or b'{"o'
    body = cut if order.raw is None else order.raw.encode("utf-8", "surrogatepass")
    order.struck, order.size = True, len(body)
    return HttpReply(reply.status, body, reply.retry_after_ms, reply.headers)


def _partial(reply: HttpReply | None, order: WireOrder) -> HttpReply | None:
    """Return the reply with only the fields of its body that are kept, if it has others."""
    value = _object(reply)
    removed = sorted(value.keys() - order.keep)
    if reply is None or not removed:
        return reply
    order.struck, order.removed = True, removed
    left = {name: each for name, each in value.items() if name in order.keep}
    body = json.dumps(left).encode()
    return HttpReply(reply.status, body, reply.retry_after_ms, reply.headers)


def _object(reply: HttpReply | None) -> dict[str, object]:
    try:
        value = parse(b"" if reply is None else reply.body)
    except Refused:
        return {}
    return dict(value) if isinstance(value, dict) else {}
