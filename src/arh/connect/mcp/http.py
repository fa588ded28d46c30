"""One HTTP request on its way to the place that it may enter, and what refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from arh.connect.mcp.border import Refusal
from arh.connect.mcp.messages import BODY_BYTES_MAX
from arh.connect.mcp.place import Place

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


async def handed_on(place: Place, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Have the place answer the request; if its client is gone meanwhile, it is given up."""
    headers = [pair for pair in scope["headers"] if pair[0].lower() != b"content-length"]
    headers.append((b"content-length", str(len(body)).encode()))
    given = [{"type": "http.request", "body": body, "more_body": False}]
    gone = asyncio.Event()

    async def replay() -> Message:
        if given:
            return given.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    manager = place.manager
    work = asyncio.create_task(manager.handle_request({**scope, "headers": headers}, replay, send))
    watch = asyncio.create_task(_until_gone(receive))
    with place.under_way.one():
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            gone.set()
            if not work.done():
                work.cancel()
            with suppress(asyncio.CancelledError):
                await work
        finally:
            watch.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def whole_body(receive: Receive) -> bytes | None:
    """Return the whole body, `None` as soon as it is longer than any may be.

    Of a body that its client did not end there is nothing: a part of a message is none.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def send_refusal(refused: Refusal, send: Send) -> None:
    """Answer a request with its refusal, and nothing else of it."""
    headers = [(name.encode(), value.encode()) for name, value in refused.headers.items()]
    # What is left of the body is not read: the connection cannot be used again.
    headers += [(b"content-length", str(len(refused.body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": refused.body})
