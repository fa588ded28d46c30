"""One task's place at the server: its address, its credential, and who is being answered there."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from arh.connect.mcp.server import McpServer


class UnderWay:
    """The requests that were not answered yet."""

    def __init__(self) -> None:
        """Begin with none."""
        self.count = 0
        self.none = asyncio.Event()
        self.none.set()

    def begin(self) -> None:
        """Count one more."""
        self.count += 1
        self.none.clear()

    def end(self) -> None:
        """Count one less."""
        self.count -= 1
        if self.count == 0:
            self.none.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one for as long as it takes."""
        self.begin()
        try:
            yield
        finally:
            self.end()


@dataclass(slots=True)
class Place:
    """One task's place at the server.

    `stdio` is the command, in words, of a stdio server that leads to the same place, `config` the
    file that tells usual clients of it.
    """

    run: str
    url: str
    token: str
    folder: Path
    stdio: tuple[str, ...]
    config: Path
    server: McpServer
    manager: StreamableHTTPSessionManager
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: UnderWay = field(default_factory=UnderWay)

    async def serve(self, entered: asyncio.Event) -> None:
        """Keep the HTTP side up until the place is left."""
        try:
            async with self.manager.run():
                entered.set()
                await self.leave.wait()
        finally:
            self.left.set()


def client_config(url: str, token: str) -> dict[str, object]:
    """Return what usual clients read of a server: its address and the header to send along."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {"arh": {"type": "http", "url": url, "headers": headers}}}


def private(path: Path, data: Mapping[str, object]) -> Path:
    """Write JSON to a file that only this user can read, and return its path."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        # One that was there before keeps its mode when it is opened.
        path.chmod(0o600)
        file.write(json.dumps(data).encode() + b"\n")
    return path
