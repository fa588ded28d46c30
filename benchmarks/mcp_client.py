"""A client that calls several MCP servers in turns, and writes how long each call took.

`python -m benchmarks.mcp_client` reads a JSON object of servers by name: `{"url", "token"}` or
`{"stdio": [words]}`. In a process of its own, as an agent is.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

CALLS = 200
WARM_UP = 20


async def connected(stack: AsyncExitStack, place: dict[str, Any]) -> Client:
    """Return a client of the server that is open as long as the stack."""
    if "stdio" in place:
        command, *words = place["stdio"]
        made = Client(StdioServerParameters(command=command, args=words))
    else:
        headers = {"Authorization": f"Bearer {place['token']}"}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
        made = Client(streamable_http_client(place["url"], http_client=http))
    return await stack.enter_async_context(made)


async def measured(places: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return for each server how long it took to be connected, and each call, in milliseconds."""
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        told: dict[str, dict[str, Any]] = {}
        for name, place in places.items():
            began = time.perf_counter_ns()
            clients[name] = await connected(stack, place)
            told[name] = {"connected_ms": (time.perf_counter_ns() - began) / 1e6, "calls_ms": []}
        for turn in range(WARM_UP + CALLS):
            for name, client in clients.items():
                began = time.perf_counter_ns()
                result = await client.call_tool("get_account", {"account_id": "A-1007"})
                took = (time.perf_counter_ns() - began) / 1e6
                if result.is_error:
                    raise RuntimeError(f"{name}: {result}")
                if turn >= WARM_UP:
                    told[name]["calls_ms"].append(took)
        return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(json.load(sys.stdin)))))
