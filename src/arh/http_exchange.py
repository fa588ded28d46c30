"""One bounded HTTP exchange: a request goes out, a whole reply comes back, or it is said why not.

Used where arh talks to a team's own service: tools call it through here, and so do readers of its
state. The time holds for the exchange as a whole, from connecting to the last byte, so that a
server which drips its reply gains nothing; sizes are bounded, redirects are not followed, bodies
are asked for as they are. How an exchange failed says above all whether the request can have
arrived: only a connection that never came about is certain not to have carried it.
"""

from __future__ import annotations

import io
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from typing import Final, Literal, TypeAlias, cast, final
from urllib.parse import SplitResult, urlsplit

SIZE_MAX: Final = 1_000_000
RETRY_AFTER_S_MAX: Final = 86_400

_CHUNK: Final = 65_536
_SECONDS: Final = re.compile(r"[0-9]{1,6}")
_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request; `headers` may hold a credential and are never shown."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole reply, whatever its status."""

    status: int
    body: bytes
    retry_after_ms: int | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """No whole reply: nobody there, too slow, cut off, or nothing that is HTTP within the bounds.

    `sent` is false only if no byte of the request can have arrived.
    """

    kind: Literal["unreachable", "timeout", "broken", "malformed"]
    sent: bool


HttpResult: TypeAlias = HttpReply | HttpFailure


def exchange(request: HttpRequest, *, timeout_ms: int, size_max: int = SIZE_MAX) -> HttpResult:
    """Return the reply to a request, or how the exchange failed within its time.

    Raises:
        ValueError: The request itself is wrong: its address, path or headers.
    """
    deadline = _Deadline(timeout_ms)
    target = address(request.url)
    try:
        connection = _connected(target, deadline)
    except TimeoutError:
        return HttpFailure("timeout", sent=False)
    except OSError:
        return HttpFailure("unreachable", sent=False)
    try:
        return _over(connection, request, target, deadline, size_max)
    except TimeoutError:
        return HttpFailure("timeout", sent=True)
    except (OSError, IncompleteRead):  # before HTTPException: a disconnection is both
        return HttpFailure("broken", sent=True)
    except HTTPException:
        return HttpFailure("malformed", sent=True)
    finally:
        connection.close()


def address(url: str) -> SplitResult:
    """Return the parts of an address of a service.

    Raises:
        ValueError: It is no `http` or `https` address, or says more than host, port and path.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("expected an address http://host:port/path or https://host:port/path")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("an address holds no user, password or fragment")
    _ = parts.port  # raises if it is no port
    return parts


@final
class _Deadline:
    """When an exchange must be over."""

    __slots__ = ("_at",)

    def __init__(self, timeout_ms: int) -> None:
        self._at = time.monotonic() + max(0, timeout_ms) / _MS

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TimeoutError: There are none.
        """
        left = self._at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


@final
class _Timed:
    """A connected socket of which every reading and writing ends by the deadline."""

    def __init__(self, inner: socket.socket, deadline: _Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._deadline.left())
        self._inner.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Source(self._inner, self._deadline))

    def close(self) -> None:
        self._inner.close()


@final
class _Source(io.RawIOBase):
    """What comes in on a socket, each part of it within the time that is left for all."""

    def __init__(self, inner: socket.socket, deadline: _Deadline) -> None:
        super().__init__()
        self._inner = inner
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        self._inner.settimeout(self._deadline.left())
        return self._inner.recv_into(cast("bytearray", buffer))


def _connected(target: SplitResult, deadline: _Deadline) -> HTTPConnection:
    """Return an open connection.

    Raises:
        OSError: There is none, and nothing is left open.
    """
    kind: Callable[..., HTTPConnection]
    kind = HTTPSConnection if target.scheme == "https" else HTTPConnection
    connection = kind(target.hostname or "", target.port, timeout=deadline.left())
    try:
        connection.connect()
    except OSError:
        connection.close()
        raise
    return connection


def _over(
    connection: HTTPConnection,
    request: HttpRequest,
    target: SplitResult,
    deadline: _Deadline,
    size_max: int,
) -> HttpResult:
    """Send the request over an open connection and read the reply to its end."""
    connection.sock = _Timed(connection.sock, deadline)
    path = f"{target.path or '/'}{'?' if target.query else ''}{target.query}"
    connection.putrequest(request.method, path, skip_accept_encoding=True)
    for name, value in (("Accept-Encoding", "identity"), *request.headers):
        connection.putheader(name, value)
    if request.body is not None:
        connection.putheader("Content-Length", str(len(request.body)))
    connection.endheaders(request.body)
    try:
        return _reply(connection.getresponse(), size_max)
    except ValueError:  # the library takes a number of the server's to be one, as a chunk's size
        return HttpFailure("malformed", sent=True)


def _reply(response: HTTPResponse, size_max: int) -> HttpResult:
    """Return the reply, unless its body is too large, cut short or packed."""
    if response.getheader("Content-Encoding", "identity") != "identity":
        return HttpFailure("malformed", sent=True)
    parts: list[bytes] = []
    left = size_max + 1
    while left and (part := response.read(min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    if not left:
        return HttpFailure("malformed", sent=True)
    if response.length not in (None, 0):
        return HttpFailure("broken", sent=True)
    body, headers = b"".join(parts), tuple(response.getheaders())
    return HttpReply(response.status, body, _retry_after(response), headers)


def _retry_after(response: HTTPResponse) -> int | None:
    """Return what `Retry-After` says in milliseconds; a date, or nonsense, says nothing."""
    text = response.getheader("Retry-After", "").strip()
    if not _SECONDS.fullmatch(text):
        return None
    return min(int(text), RETRY_AFTER_S_MAX) * _MS
