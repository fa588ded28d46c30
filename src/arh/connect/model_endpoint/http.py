"""The HTTP of the model endpoint: a loopback listener that trusts nothing that it is sent.

A request must name the host that it was made to, come from no web page, carry the run's credential,
state the length of its body, and keep it within the limit. Then its dialect reads it. Everything
else is an error in the provider's own form. A stream is sent as a whole with its length: the
decision behind it is one event of the run, and never half there.

Writes are buffered and Nagle's algorithm is off, because small writes to a client that delays its
acknowledgements cost forty milliseconds each.
"""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Final

from arh.canonical import JsonValue, line
from arh.connect.model_endpoint.chat import ChatDialect
from arh.connect.model_endpoint.messages import MessagesDialect
from arh.connect.model_endpoint.responses import ResponsesDialect
from arh.connect.model_endpoint.wire import (
    BODY_BYTES_MAX,
    Answer,
    Dialect,
    Fault,
    Question,
    read_body,
)

LOOPBACK: Final = "127.0.0.1"
CONNECTIONS_MAX: Final = 32
IDLE_S_MAX: Final = 60
GRACE_S: Final = 1.0
# Clients that honour it spend no wall time on a wait that passes on the run's clock.
WALL_RETRY_MS: Final = 1

DIALECTS: Final[Mapping[str, Dialect]] = {
    "/chat/completions": ChatDialect(),
    "/responses": ResponsesDialect(),
    "/messages": MessagesDialect(),
}
_DEFAULT: Final = DIALECTS["/chat/completions"]
_NO_PATH: Final = Fault("not_found", "no such path")
_NO_METHOD: Final = HTTPStatus.NOT_IMPLEMENTED
_AGAIN: Final = frozenset({"rate_limited", "dependency_error", "timeout"})
Ask = Callable[[Question], Answer | Fault]


class Listener:
    """A bound port, the thread that accepts on it, and one thread for each connection."""

    def __init__(self, ask: Ask, key: str) -> None:
        """Listen on a free port."""
        self._ask = ask
        self._key = key.encode()
        self._socket = socket.create_server((LOOPBACK, 0), backlog=CONNECTIONS_MAX)
        self.port: int = self._socket.getsockname()[1]
        self.host = f"{LOOPBACK}:{self.port}"
        self._lock = threading.Lock()
        self._live: dict[socket.socket, threading.Thread] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Return once nothing listens, and connections are shut and their threads are over."""
        self._closing.set()
        with suppress(OSError):
            # On some systems nothing but a connection wakes a thread that waits for one.
            socket.create_connection((LOOPBACK, self.port), timeout=GRACE_S).close()
        self._thread.join(GRACE_S)
        self._socket.close()
        with self._lock:
            live = tuple(self._live.items())
        for connection, _ in live:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for _, thread in live:
            thread.join(GRACE_S)

    def authentic(self, presented: str) -> bool:
        """Return true if the text is the run's credential; how long it takes tells nothing."""
        return hmac.compare_digest(presented.encode(errors="replace"), self._key)

    def ask(self, question: Question) -> Answer | Fault:
        """Return what the run's model answers."""
        return self._ask(question)

    def _accept(self) -> None:
        # If nothing can be accepted any more, nobody shall wait to be.
        with self._socket, suppress(OSError):
            while not self._closing.is_set():
                connection, address = self._socket.accept()
                if self._closing.is_set() or len(self._live) >= CONNECTIONS_MAX:
                    connection.close()
                    continue
                serve = threading.Thread(target=self._serve, args=(connection, address))
                serve.daemon = True
                with self._lock:
                    self._live[connection] = serve
                serve.start()

    def _serve(self, connection: socket.socket, address: object) -> None:
        try:
            # A client that vanishes is its own affair: what it asked is on record all the same.
            with suppress(OSError, ValueError):
                _Handler(connection, address, self)
        finally:
            with self._lock:
                self._live.pop(connection, None)
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S_MAX
    wbufsize = 64 * 1024
    disable_nagle_algorithm = True

    def __init__(self, connection: socket.socket, address: object, listener: Listener) -> None:
        self._listener = listener
        super().__init__(connection, address, listener)  # type: ignore[arg-type]  # only passed on

    def do_POST(self) -> None:
        """Answer a request."""
        path = self.path.partition("?")[0]
        # A library adds the version to a base URL that has it already.
        dialect = DIALECTS.get(path.removeprefix("/v1").removeprefix("/v1"))
        refused = self._refused() or (_NO_PATH if dialect is None else None)
        body = refused or self._body()
        if isinstance(body, Fault):
            # What is left of the body, if anything, is not read: the connection cannot go on.
            self.close_connection = True
            self._fail(dialect or _DEFAULT, body)
        elif dialect is not None:
            self._answer(dialect, body)

    def version_string(self) -> str:
        """Say nothing of what serves this."""
        return "model"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay silent: the evidence is the record."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say in the provider's form what could not be read as HTTP; no text of the client's."""
        self.close_connection = True
        text = "only POST is supported" if code == _NO_METHOD else "this is no acceptable HTTP"
        _, body = _DEFAULT.fault(Fault("invalid", text))
        self._send(code, body)

    def _refused(self) -> Fault | None:
        """Return why this request is not even read."""
        host = self.headers.get("Host", "")
        if host not in (self._listener.host, f"localhost:{self._listener.port}"):
            return Fault("host", "the request was made to another host")
        if self.headers.get("Origin") is not None:
            return Fault("host", "requests of web pages are not answered")
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        presented = (bearer, self.headers.get("X-Api-Key", ""))
        if not any(self._listener.authentic(text) for text in presented if text):
            return Fault("unauthorized", "no valid API key was given")
        return None

    def _body(self) -> bytes | Fault:
        """Return the body, or why it is not read."""
        stated = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") is not None or not stated.isdecimal():
            return Fault("length", "the request must state its Content-Length")
        if self.headers.get("Content-Encoding", "identity") != "identity":
            return Fault("media", "the body must not be compressed")
        length = int(stated[:12])
        if length > BODY_BYTES_MAX:
            return Fault("too_large", f"the body is longer than {BODY_BYTES_MAX} bytes")
        data = self.rfile.read(length)
        return data if len(data) == length else Fault("length", "the body is cut short")

    def _answer(self, dialect: Dialect, body: bytes) -> None:
        value = read_body(body)
        question = value if isinstance(value, Fault) else dialect.read(value)
        answer = question if isinstance(question, Fault) else self._listener.ask(question)
        if isinstance(answer, Fault):
            self._fail(dialect, answer)
            return
        said = dialect.events(answer) if answer.question.stream else dialect.whole(answer)
        if isinstance(said, Fault):
            self._fail(dialect, said)
        elif isinstance(said, dict):
            self._send(200, said)
        else:
            self._write(200, "text/event-stream", b"".join(said), {"Cache-Control": "no-cache"})

    def _fail(self, dialect: Dialect, fault: Fault) -> None:
        status, body = dialect.fault(fault)
        headers = {}
        if fault.reason in _AGAIN:
            headers["Retry-After-Ms"] = str(WALL_RETRY_MS)
        if fault.retry_after_ms is not None:
            headers["Retry-After"] = str(-(-fault.retry_after_ms // 1000))
        self._send(status, body, headers)

    def _send(
        self, status: int, body: dict[str, JsonValue], headers: Mapping[str, str] | None = None
    ) -> None:
        self._write(status, "application/json", line(body), headers or {})

    def _write(self, status: int, kind: str, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        given = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
        if self.close_connection:
            given["Connection"] = "close"
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
