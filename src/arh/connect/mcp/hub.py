"""The one server of a process: a loop in a thread of its own, which only the loopback can reach.

It listens twice: for streamable HTTP, and for the bridges of clients that speak over a pipe
(`bridge`). Each task opens a place at it: an address and a credential of its own, behind which
is a server that knows this one task. Nothing is shared between places but the loop.

Every message passes the border before the protocol library sees it (`border`, `messages`).
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Coroutine
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from arh.canonical import line
from arh.connect.mcp import bridge
from arh.connect.mcp.border import DOUBTS, UNCOVERED, Border, Refusal, too_large, uncovered
from arh.connect.mcp.credentials import Credential, Credentials, Principal
from arh.connect.mcp.exchange import Exchange
from arh.connect.mcp.http import Receive, Scope, Send, handed_on, send_refusal, whole_body
from arh.connect.mcp.lines import LineConnection, Read
from arh.connect.mcp.messages import BODY_BYTES_MAX, INVALID_REQUEST, Faulty, Taken, take
from arh.connect.mcp.place import Place, client_config, private
from arh.connect.mcp.server import server_of

CONNECTIONS_MAX: Final = 64
START_S_MAX: Final = 30
CLOSE_S_MAX: Final = 5
DRAIN_S_MAX: Final = 2
HELLO_S_MAX: Final = 5
SCHEMES: Final = ("http",)


class Hub:
    """Serves the places of this process."""

    def __init__(self) -> None:
        """Start the loop and both listeners.

        Raises:
            TimeoutError: They do not start.
        """
        self.credentials = Credentials()
        self._places: dict[str, Place] = {}
        self.listeners = self._http, self._link = _listener(), _listener()
        self.link_port = _port(self._link)
        self.border = Border(self.credentials, _port(self._http))
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._quiet()
        atexit.register(self._forget)
        threading.Thread(target=self._serve, name="arh-mcp", daemon=True).start()
        if not self._ready.wait(START_S_MAX):
            raise TimeoutError("the server does not start")

    def open(
        self, exchange: Exchange, principal: Principal, *, life_ms: float, ends: bool = False
    ) -> Place:
        """Return a fresh place for a task, served until it is closed."""
        run = secrets.token_urlsafe(12)
        url = self.border.resource(f"/runs/{run}/mcp")
        token = self.credentials.issue(principal, run=run, audience=url, life_ms=life_ms)
        folder = Path(tempfile.mkdtemp(prefix="arh-mcp-"))
        server = server_of(exchange, ends=ends)
        link = private(folder / "link.json", {"port": self.link_port, "token": token})
        words = (sys.executable, "-IS", bridge.__file__, str(link))
        config = private(folder / "mcp.json", client_config(url, token))
        manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            # The text of arguments within a text may be longer than the arguments were.
            max_request_body_size=4 * BODY_BYTES_MAX,
        )
        place = Place(run, url, token, folder, words, config, server, manager)
        self._run_soon(self._enter(place))
        return place

    def close(self, place: Place) -> None:
        """Let nobody in any more; who still waits for an answer may get it, and is then cut off."""
        self.credentials.revoke(place.run)
        shutil.rmtree(place.folder, ignore_errors=True)
        self._run_soon(self._leave(place))

    def _forget(self) -> None:
        """Leave no file of a place behind when the process ends while it is open."""
        for place in tuple(self._places.values()):
            shutil.rmtree(place.folder, ignore_errors=True)

    def serve_lines(self, place: Place, reader: int, writer: int) -> None:
        """Serve a place over two open files, such as our standard ones, until the input ends.

        Raises:
            OSError: They cannot be read and written without waiting.
            ValueError: They cannot be, because they are files of a disk.
        """
        work = self._over_files(place, reader, writer)
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _run_soon(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(CLOSE_S_MAX)

    async def _enter(self, place: Place) -> None:
        entered = asyncio.Event()
        self._tasks.add(task := asyncio.create_task(place.serve(entered)))
        task.add_done_callback(self._tasks.discard)
        await entered.wait()
        self._places[place.run] = place

    async def _leave(self, place: Place) -> None:
        self._places.pop(place.run, None)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S_MAX):
                await place.under_way.none.wait()
        place.leave.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(place.left.wait(), DRAIN_S_MAX)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())

    async def _listen(self) -> None:
        config = uvicorn.Config(
            self._app,
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS_MAX,
        )
        links = await asyncio.start_server(
            self._linked_client, sock=self._link, limit=BODY_BYTES_MAX + 1
        )
        server = uvicorn.Server(config)
        self._loop.call_later(0, self._ready.set)
        async with links:
            await server.serve(sockets=[self._http])

    @staticmethod
    def _quiet() -> None:
        """Keep what clients bring about out of our standard error: they are not to be trusted."""
        for name in ("mcp", "uvicorn"):
            logger = logging.getLogger(name)
            logger.addHandler(logging.NullHandler())
            logger.propagate = False

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request, or hand it on to the place that it may enter."""
        if scope["type"] not in SCHEMES:
            return
        known = self.border.admit(scope["method"], scope["path"], scope["headers"])
        if isinstance(known, Refusal):
            await send_refusal(known, send)
            return
        body = await whole_body(receive)
        taken = too_large() if body is None else self.border.read(body, known)
        place = self._places.get(known.run)
        if isinstance(taken, Refusal) or place is None:
            gone = Refusal(404, b"")
            await send_refusal(taken if isinstance(taken, Refusal) else gone, send)
            return
        await handed_on(place, scope, line(taken.message), receive, send)

    async def _linked_client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one bridge, if its first line is a credential."""
        try:
            said = await asyncio.wait_for(reader.readline(), HELLO_S_MAX)
            token = said.strip().decode("latin-1")
            known = self.credentials.check(token)
            place = self._places.get(known.run) if isinstance(known, Credential) else None
            if place is not None:
                writer.write(b"+")
                await LineConnection(place, self._reader(token), reader, writer).serve()
        except* (OSError, ValueError, TimeoutError):
            pass
        finally:
            writer.close()

    def _reader(self, token: str) -> Read:
        """Return what reads each line of a connection, as long as its credential is good."""

        def read(said: bytes) -> Taken | Faulty:
            known = self.credentials.check(token)
            if not isinstance(known, Credential):
                return Faulty(INVALID_REQUEST, DOUBTS[known])
            taken = take(said)
            if isinstance(taken, Taken) and uncovered(taken, known):
                return Faulty(INVALID_REQUEST, UNCOVERED)
            return taken

        return read

    async def _over_files(self, place: Place, reader: int, writer: int) -> None:
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReader(limit=BODY_BYTES_MAX + 1)
        protocol = asyncio.StreamReaderProtocol(lines)
        source, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(reader, "rb"))
        unread = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        sink, flow = await loop.connect_write_pipe(lambda: unread, os.fdopen(writer, "wb"))
        try:
            out = asyncio.StreamWriter(sink, flow, None, loop)
            await LineConnection(place, self._reader(place.token), lines, out).serve()
            out.close()
            await out.wait_closed()
        finally:
            source.close()
            sink.close()


@cache
def shared_hub() -> Hub:
    """Return the server of this process, started when it is first needed."""
    return Hub()


def _listener() -> socket.socket:
    """Return a socket at a free port of the loopback interface, and of no other.

    It names its protocol, because only then does the loop send what it has without delay: waiting
    for more to send costs some calls 40 ms.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.bind(("127.0.0.1", 0))
    return made


def _port(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port
