"""An MCP server that does nothing: what the gateway over MCP is measured beside.

`python -m benchmarks.mcp_empty http` writes its address and serves; `stdio` serves its own input.
Of the same library, at the same low level, with the same answers in size.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

RESULT = {"account_id": "A-1007", "plan": "pro", "region": "us-west", "status": "active"}


async def list_tools(
    _context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """List one tool."""
    tool = types.Tool(name="get_account", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool])


async def call_tool(
    _context: ServerRequestContext[Any, Any], _params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Return the same, whatever was called."""
    content = types.TextContent(text=str(RESULT))
    return types.CallToolResult(content=[content], structured_content=RESULT)


def server() -> Server[Any]:
    """Return the server."""
    return Server(
        "empty",
        get_tool_input_schema=lambda _name: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def over_stdio() -> None:
    """Serve standard input and output."""
    made = server()
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


async def over_http() -> None:
    """Serve a free port of the loopback interface, and write which one it is."""
    manager = StreamableHTTPSessionManager(server(), json_response=True, stateless=True)
    # The protocol is named so that the loop sends without delay, as the gateway's does.
    with socket.socket(proto=socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(
            manager.handle_request,
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_level="critical",
            access_log=False,
        )
        async with manager.run():
            await uvicorn.Server(config).serve(sockets=[bound])


if __name__ == "__main__":
    asyncio.run(over_http() if sys.argv[1] == "http" else over_stdio())
