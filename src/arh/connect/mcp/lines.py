"""One connection that speaks MCP in lines: a bridge's, or our own standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from arh.canonical import line
from arh.connect.mcp.messages import INVALID_REQUEST, Faulty, Taken
from arh.connect.mcp.place import Place

Read: TypeAlias = Callable[[bytes], Taken | Faulty]


class LineConnection:
    """Serves one client of a place until its input ends or the place is left."""

    def __init__(
        self, place: Place, read: Read, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Join a place and a connection; `read` takes each line, or says what answers it."""
        self._place = place
        self._read = read
        self._reader = reader
        self._writer = writer
        self._asked: set[int | str] = set()

    async def serve(self) -> None:
        """Pass messages to the place's server and its answers back."""
        into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
        server, group = self._place.server, anyio.create_task_group()
        try:
            with into, incoming, outgoing, out_of:
                async with group:
                    group.start_soon(self._take, into)
                    group.start_soon(self._answer, out_of)
                    group.start_soon(self._until_left, group.cancel_scope)
                    await server.run(incoming, outgoing, server.create_initialization_options())
                    group.cancel_scope.cancel()
        finally:
            for _ in self._asked:
                self._place.under_way.end()

    async def _take(self, into: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with into:
            while said := await _next_line(self._reader):
                taken = self._read(said)
                message = taken if isinstance(taken, Faulty) else _message(taken)
                if isinstance(message, Faulty):
                    self._writer.write(line(message.answer()) + b"\n")
                    continue
                if isinstance(message, types.JSONRPCRequest) and message.id not in self._asked:
                    self._asked.add(message.id)
                    self._place.under_way.begin()
                await into.send(SessionMessage(message))

    async def _answer(self, out_of: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for each in out_of:
            data = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            self._writer.write(data.encode() + b"\n")
            await self._writer.drain()
            if getattr(each.message, "id", None) in self._asked:
                self._asked.discard(getattr(each.message, "id", ""))
                self._place.under_way.end()

    async def _until_left(self, scope: anyio.CancelScope) -> None:
        await self._place.leave.wait()
        scope.cancel()


async def _next_line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line that says anything, nothing at the end or after one that is too long."""
    with suppress(ValueError, OSError):
        while said := await reader.readline():
            if said.strip():
                return said
    return b""


def _message(taken: Taken) -> types.JSONRPCMessage | Faulty:
    """Return the message as the library knows it, or the error if it knows no such thing."""
    try:
        return types.jsonrpc_message_adapter.validate_python(taken.message, by_name=False)
    except ValueError:
        return Faulty(INVALID_REQUEST, "no message of the protocol")
