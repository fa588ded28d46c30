"""The gateway as an MCP server: what is listed, what a call returns, and what the task is.

Over the protocol library's low-level server, which leaves names, schemas and results to us. It
decides nothing: a call goes to the run's exchange with its arguments as text, and comes back as the
gateway's outcome. The message has passed the border (`messages`) before it gets here.

This module imports the library, which takes a second: it is imported when a server is needed.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from arh import __version__
from arh.canonical import Json, JsonValue, Refused, line, parse
from arh.connect import wire
from arh.connect.mcp.exchange import CHANGED, Exchange
from arh.connect.mcp.messages import END_TOOL, INVALID_PARAMS, KEY_META, MANIFEST_META
from arh.records.messages import ToolSpec
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AGENT_ENDS

TASK_URI: Final = "arh://task"
TASK_PROMPT: Final = "task"
ENDED: Final = "the task is over"

Context: TypeAlias = ServerRequestContext[Any, Any]
McpServer: TypeAlias = Server[Any]


def server_of(exchange: Exchange, *, ends: bool) -> McpServer:
    """Return the server of one task; with `ends`, a tool of its own takes the final answer."""
    handlers = _Handlers(exchange, ends=ends)
    return Server(
        "arh",
        version=__version__,
        instructions=exchange.task.system_prompt or None,
        get_tool_input_schema=lambda _name: None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    """What answers the requests of one task's clients."""

    def __init__(self, exchange: Exchange, *, ends: bool) -> None:
        self._exchange = exchange
        self._ends = ends

    async def list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List what is on offer, with the digest that a client may hold us to."""
        if not self._exchange.unchanged():
            raise MCPError(code=INVALID_PARAMS, message=CHANGED)
        tools = [_tool(spec) for spec in self._exchange.task.tools]
        own = [_end_tool()] if self._ends else []
        return types.ListToolsResult(
            tools=[*tools, *own], meta={MANIFEST_META: self._exchange.pinned}
        )

    async def call_tool(
        self, _context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Have the run's thread make the call, and return what its caller may know of it."""
        carried = params.arguments or {}
        text, key = str(carried.get("text", "{}")), carried.get(KEY_META)
        if self._ends and params.name == END_TOOL:
            return self._end(text)
        agreed = carried.get(MANIFEST_META)
        answer = await asyncio.wrap_future(
            self._exchange.submit(params.name, text, key, agreed),
        )
        return _refused(answer) if isinstance(answer, str) else result_of(answer)

    async def list_prompts(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """List the one prompt that there is."""
        about = "What the user asked for"
        return types.ListPromptsResult(prompts=[types.Prompt(name=TASK_PROMPT, description=about)])

    async def get_prompt(
        self, _context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Return the conversation so far."""
        if params.name != TASK_PROMPT:
            raise MCPError(code=INVALID_PARAMS, message="there is no such prompt")
        messages = [
            types.PromptMessage(
                role="assistant" if each.role == "assistant" else "user",
                content=types.TextContent(text=each.content),
            )
            for each in self._exchange.task.messages
        ]
        return types.GetPromptResult(messages=messages)

    async def list_resources(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the one resource that there is."""
        one = types.Resource(name=TASK_PROMPT, uri=TASK_URI, mime_type="application/json")
        return types.ListResourcesResult(resources=[one])

    async def read_resource(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the whole task, as agents over JSON lines get it."""
        if str(params.uri) != TASK_URI:
            raise MCPError(code=INVALID_PARAMS, message="there is no such resource")
        text = line(wire.task_message(self._exchange.task)).decode()
        content = types.TextResourceContents(uri=TASK_URI, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])

    def _end(self, text: str) -> types.CallToolResult:
        """Take the final answer, once."""
        try:
            given = parse(text)
        except Refused as refusal:
            return _refused(f"the arguments are no strict JSON: {refusal.reason}")
        if not isinstance(given, dict) or not given.keys() <= {"answer", "termination"}:
            return _refused("the arguments are `answer` and, where it applies, `termination`")
        if given.get("termination", "completed") not in AGENT_ENDS:
            return _refused("`termination` is none that an agent may name")
        self._exchange.end(wire.final_report(given))
        return types.CallToolResult(content=[types.TextContent(text=ENDED)])


def result_of(outcome: ToolOutcome) -> types.CallToolResult:
    """Return an outcome as a client sees it: the result itself, or why there is none."""
    told: dict[str, JsonValue] = {"status": outcome.status, "reason": outcome.reason}
    if outcome.retry_after_ms is not None:
        told["retry_after_ms"] = outcome.retry_after_ms
    if outcome.status != "executed" or outcome.result is None:
        text, structured = line(told).decode(), None
    else:
        text, structured = outcome.result.data.decode(), _structured(outcome.result)
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=structured,
        is_error=outcome.status != "executed",
        meta={f"arh/{name}": value for name, value in told.items()},
    )


def _structured(result: Json) -> dict[str, JsonValue] | None:
    value = result.value()
    return value if isinstance(value, dict) else None


def _refused(reason: str) -> types.CallToolResult:
    """Return the result of a call that was not made."""
    text = line({"status": "rejected", "reason": reason}).decode()
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _tool(spec: ToolSpec) -> types.Tool:
    schema = spec.parameters.value()
    return types.Tool(
        name=spec.name,
        description=spec.description,
        input_schema=schema if isinstance(schema, dict) else {"type": "object"},
        meta={"arh/version": spec.version},
    )


def _end_tool() -> types.Tool:
    return types.Tool(
        name=END_TOOL,
        description="Ends the task with the final answer to the user. Call it once, at the end.",
        input_schema={
            "type": "object",
            "properties": {
                "answer": {"description": "text, or an object of the response envelope"},
                "termination": {"enum": list(AGENT_ENDS), "default": "completed"},
            },
            "required": ["answer"],
            "additionalProperties": False,
        },
    )
