"""A request's body: whole, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from arh.connect.mcp.http import whole_body
from arh.connect.mcp.messages import BODY_BYTES_MAX

HALF = BODY_BYTES_MAX // 2


def part(body: bytes, *, more: bool) -> dict[str, object]:
    """Return a part of a body as a server hands it over."""
    return {"type": "http.request", "body": body, "more_body": more}


GONE: dict[str, object] = {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([part(b"{}", more=False)], b"{}"),
        ([part(b"{", more=True), part(b"}", more=False)], b"{}"),
        ([part(b"{}", more=True), GONE], b""),
        ([GONE], b""),
        ([part(b" " * BODY_BYTES_MAX, more=False)], b" " * BODY_BYTES_MAX),
        ([part(b" " * HALF, more=True), part(b" " * (HALF + 1), more=True)], None),
    ],
)
def test_a_body_is_whole_or_nothing(
    messages: list[dict[str, object]], expected: bytes | None
) -> None:
    """One whose client left before its end is none, also if the part would read well."""
    left = iter(messages)

    async def receive() -> MutableMapping[str, Any]:
        return next(left)

    assert asyncio.run(whole_body(receive)) == expected
