"""One exchange with a server that speaks no HTTP that could be trusted: always a value, in time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from arh.http_exchange import HttpFailure, HttpReply, HttpRequest, exchange

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def answering(raw: bytes) -> Iterator[str]:
    """Yield the address of a server that answers one request with these bytes, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                # To close with a part of the request unread would be a reset, and no end.
                while connection.recv(65_536):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        thread.join(5)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (CHUNKED + b"-5\r\nabc\r\n", "malformed"),
        (CHUNKED + b"zz\r\nabc\r\n", "broken"),
        (CHUNKED + b"5\r\nab", "broken"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "broken"),
        (b"HTTP/1.1 99999 OK\r\n\r\n", "malformed"),
        (b"{}", "malformed"),
    ],
)
def test_numbers_that_cannot_be_are_no_reply(raw: bytes, kind: str) -> None:
    """The request may have arrived all the same, so its effect is not known."""
    with answering(raw) as url:
        result = exchange(HttpRequest("POST", url, body=b"{}"), timeout_ms=2_000)

    assert isinstance(result, HttpFailure)
    assert (kind, True) == (result.kind, result.sent)


def test_a_body_in_chunks_is_a_reply() -> None:
    """The correct twin."""
    with answering(CHUNKED + b"2\r\n{}\r\n0\r\n\r\n") as url:
        result = exchange(HttpRequest("GET", url), timeout_ms=2_000)

    assert isinstance(result, HttpReply)
    assert (result.status, result.body) == (200, b"{}")
