"""A ticket desk as a team runs one: a real HTTP service on loopback, with the defects of real ones.

It files tickets, once for each key, and shows its state with a revision. What it does wrong is
switched on by a test: it may answer and not file, file and answer late, forget keys, show a state
that lags behind, or send what is no reply at all.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

CREDENTIAL = "desk-credential-5d41"


@dataclass
class Desk:
    """The state of the desk, and its defects."""

    tickets: list[dict[str, Any]] = field(default_factory=list)
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    lies: bool = False
    ignores_keys: bool = False
    lag: int = 0
    wants: str = ""
    trouble: str = ""
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def file(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        """Return the ticket of the key, filed now if there is none."""
        with self.lock:
            known = next((t for t in self.tickets if key and t["key"] == key), None)
            if known is not None and not self.ignores_keys:
                return known
            number = f"D-{len(self.tickets) + 1:03d}"
            ticket = {"ticket_id": number, "key": key, **body}
            if not self.lies:
                self.tickets.append(ticket)
            return ticket

    def revision(self) -> int:
        """Return how many tickets there are."""
        return len(self.tickets)

    def state(self) -> dict[str, Any]:
        """Return the state as it is shown, which may lag behind."""
        shown = self.tickets[: max(0, len(self.tickets) - self.lag)]
        return {"revision": len(shown), "watermark": len(self.tickets), "tickets": shown}


class DeskHandler(BaseHTTPRequestHandler):
    """Answers requests; buffered writes and no delay, which cost 40 ms a call."""

    wbufsize = 65536
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"
    desk: Desk

    def do_GET(self) -> None:
        """Show the state, or the ticket of a key."""
        self._note()
        if self._troubled():
            return
        if self.path == "/state":
            self._send(200, self.desk.state())
            return
        key = self.path.rpartition("/")[2]
        found = [t for t in self.desk.tickets if t["key"] == key]
        self._send(200, found[0]) if found else self._send(404, {"error": "no such ticket"})

    def do_POST(self) -> None:
        """File a ticket, or begin anew."""
        self._note()
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size) or b"{}")
        if self.path == "/reset":
            self.desk.tickets[:] = body["tickets"]
            self._send(200, {})
            return
        if self._troubled():
            return
        if body.get("account_id") == "closed":
            self._send(409, {"error": "the account is closed"})
            return
        ticket = self.desk.file(body, self.headers.get("Idempotency-Key", ""))
        if self.desk.trouble == "late":
            self.desk.released.wait(5)
            self.close_connection = True
            return
        answer = {"ticket_id": ticket["ticket_id"], "revision": self.desk.revision()}
        if self.desk.trouble == "echo":
            answer["note"] = self.headers.get("Authorization", "")
        self._send(201, answer)

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def _note(self) -> None:
        self.desk.seen.append((self.command, self.path, dict(self.headers)))

    def _troubled(self) -> bool:
        """Return true if the request was met by trouble, before anything was done."""
        if self.desk.wants and self.headers.get("Authorization") != f"Bearer {self.desk.wants}":
            self._send(401, {"error": "not let in"})
            return True
        act = getattr(self, f"_{self.desk.trouble}", None)
        if act is not None:
            act()
            self.close_connection = True
        return act is not None

    def _hang(self) -> None:
        self.desk.released.wait(5)

    def _cut(self) -> None:
        self.connection.close()

    def _cut_body(self) -> None:
        self._raw(b"HTTP/1.1 201 Created\r\nContent-Length: 50\r\n\r\n{")

    def _drip(self) -> None:
        for byte in b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}":
            if self.desk.released.wait(0.02):
                return
            self._raw(bytes([byte]))

    def _garbage(self) -> None:
        self._raw(b"what do you want\r\n\r\n")

    def _no_json(self) -> None:
        self._text(201, b"<html>created</html>")

    def _twice(self) -> None:
        self._text(201, b'{"ticket_id":"D-001","ticket_id":"D-002"}')

    def _large(self) -> None:
        self._text(201, b'"' + b"x" * 1_100_000 + b'"')

    def _packed(self) -> None:
        self._text(201, b"xx", "Content-Encoding: gzip\r\n")

    def _redirect(self) -> None:
        self._text(307, b"", "Location: /elsewhere\r\n")

    def _limited(self) -> None:
        self._text(429, b"", "Retry-After: 2\r\n")

    def _broken(self) -> None:
        self._text(500, b"{}")

    def _forbidden(self) -> None:
        self._text(403, b"{}")

    def _text(self, status: int, body: bytes, extra: str = "") -> None:
        head = f"HTTP/1.1 {status} x\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
        self._raw(head.encode() + body)

    def _raw(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            self.desk.released.set()

    def _send(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _Server(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that has gone is what these tests are about."""


@contextmanager
def serving(desk: Desk) -> Iterator[str]:
    """Serve the desk on a port of its own and return the address."""
    handler = type("Handler", (DeskHandler,), {"desk": desk})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            desk.released.set()
            server.shutdown()
            thread.join()
