"""Agents over MCP, as their authors would write them, judged as any other agent is."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from arh.canonical import Json
from arh.connect.mcp.agent import McpCommandAgent, require_mcp
from arh.connect.mcp.place import Place
from arh.errors import AuthoringError, RunStopped
from arh.records.tasks import AgentReport
from tests.conformance.mcp_live import ACCOUNT, PRINCIPAL, judged, live, request
from tests.unit.connect.test_json_lines import TASK, Session

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
NOW, BEFORE = "2026-07-28", "2025-11-25"

T = TypeVar("T")


def example(name: str, *words: str) -> McpCommandAgent:
    """Return an example as the agent under test."""
    command = shlex.join([sys.executable, str(EXAMPLES / name), *words])
    return McpCommandAgent(command, PRINCIPAL)


@pytest.mark.slow
def test_an_agent_over_mcp_passes_and_leaves_the_same_evidence_over_either_transport() -> None:
    """With one effect and a claim that is true; how it came to us changes no byte."""
    http = judged(example("mcp_agent.py"))
    stdio = judged(example("mcp_agent.py", "--stdio"))

    assert (http.verdict.status, http.rules) == ("pass", frozenset())
    assert http.output.lines == stdio.output.lines


@pytest.mark.slow
def test_an_agent_over_mcp_that_lies_is_caught() -> None:
    """It made the reads and claims the write: the state says otherwise."""
    tried = judged(example("mcp_cheating_agent.py"))

    assert tried.verdict.status == "fail"
    assert {"outcome.no_alternative_holds", "grounding.unfounded_claim"} <= tried.rules


@asynccontextmanager
async def over_http(place: Place, mode: str) -> AsyncIterator[Client]:
    """Yield a client of the protocol's own library, over HTTP."""
    headers = {"Authorization": f"Bearer {place.token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(place.url, http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(place: Place, mode: str) -> AsyncIterator[Client]:
    """Yield a client of the protocol's own library, over a stdio server that it starts."""
    command, *words = place.stdio
    async with Client(StdioServerParameters(command=command, args=words), mode=mode) as client:
        yield client


@pytest.mark.parametrize("connected", [over_http, over_stdio])
@pytest.mark.parametrize(("mode", "spoken"), [("auto", NOW), ("legacy", BEFORE)])
def test_both_versions_are_spoken_over_both_transports(
    connected: Callable[[Place, str], AsyncIterator[Client]], mode: str, spoken: str
) -> None:
    """The current protocol, and the one before it with its handshake."""

    async def work(place: Place) -> tuple[str, list[str], object]:
        async with connected(place, mode) as client:  # type: ignore[attr-defined]  # it is one
            tools = await client.list_tools()
            result = await client.call_tool("get_account", ACCOUNT)
            found = result.structured_content
            return client.protocol_version, [tool.name for tool in tools.tools], found

    with live() as run:
        version, names, found = within(work(run.place))

    assert version == spoken
    assert names[-1] == "arh_end_task"
    assert isinstance(found, dict)
    assert found["account_id"] == "A-1007"


def within(work: Coroutine[object, object, T]) -> T:
    """Run the work to its end."""

    async def limited() -> T:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(limited())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"mcp_method": "tools/call", "mcp_name": "get_account"}, 200),
        ({"mcp_method": "tools/list", "mcp_name": "get_account"}, 400),
        ({"mcp_method": "tools/call", "mcp_name": "get_policy"}, 400),
        ({"mcp_method": "tools/call"}, 400),
    ],
)
def test_headers_say_what_the_message_says(headers: dict[str, str], status: int) -> None:
    """In the current protocol they are there for whoever routes requests, and may not differ."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": NOW,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    params = {"name": "get_account", "arguments": ACCOUNT, "_meta": meta}
    with live() as run:
        answer = run.client.post(request("tools/call", params), mcp_protocol_version=NOW, **headers)

    assert answer.status == status
    assert len(run.calls()) == (1 if status == 200 else 0)


def ended(code: str, *, wall_ms_max: int = 20_000) -> AgentReport:
    """Run a Python program as the agent."""
    command = shlex.join([sys.executable, "-c", code])
    return McpCommandAgent(command, PRINCIPAL, wall_ms_max).run(TASK, Session())


@pytest.mark.parametrize(
    ("code", "report"),
    [
        ("print(' All done. ')", AgentReport("completed", "All done.")),
        ("print('thinking'); print('All done.')", AgentReport("completed", "thinking\nAll done.")),
        ("pass", AgentReport("completed", None)),
        (
            'print(\'log\'); print(\'{"type":"final","answer":{"message":"Hi"}}\')',
            AgentReport("completed", Json.of({"message": "Hi"})),
        ),
        (
            'print(\'{"type":"final","answer":"No.","termination":"safely_refused"}\')',
            AgentReport("safely_refused", "No."),
        ),
        ("print('{\"answer\":1}')", AgentReport("completed", '{"answer":1}')),
        (
            "print('All done.'); raise SystemExit(3)",
            AgentReport("agent_error", None, "the command ended with exit code 3"),
        ),
        (
            "print('x' * 5_000_000)",
            AgentReport("agent_error", None, "the answer is longer than any may be"),
        ),
    ],
)
def test_what_a_command_writes_is_its_answer(code: str, report: AgentReport) -> None:
    """All of it, unless its last line is a final message; and its exit code counts."""
    assert ended(code) == report


def test_a_command_is_told_its_task_and_where_to_call() -> None:
    """The task on its standard input, the rest in its environment, and no secret of ours."""
    code = (
        "import json,os,sys; task=json.load(sys.stdin);"
        "mine=sorted(n for n in os.environ if n.startswith('ARH'));"
        "conf=json.load(open(os.environ['ARH_MCP_CONFIG']))['mcpServers']['arh'];"
        "same=conf['url']==os.environ['ARH_MCP_URL'];"
        "key=conf['headers']['Authorization']=='Bearer '+os.environ['ARH_MCP_TOKEN'];"
        "print(json.dumps([task['task_id'],mine,same,key]))"
    )

    report = ended(code)

    assert json.loads(str(report.response)) == [
        "task-0001",
        ["ARH_MCP_CONFIG", "ARH_MCP_STDIO", "ARH_MCP_TOKEN", "ARH_MCP_URL"],
        True,
        True,
    ]


def test_a_command_that_takes_too_long_is_killed() -> None:
    """It ends as hung, not as an answer."""
    with pytest.raises(RunStopped, match="hung"):
        ended("import time; print('soon', flush=True); time.sleep(60)", wall_ms_max=300)


def test_nothing_is_imported_before_a_server_is_needed() -> None:
    """Commands start without the protocol's library, which takes a second, or is not there."""
    code = (
        "import sys; import arh.bootstrap, arh.cli.run, arh.cli.serve, arh.connect.mcp.agent;"
        "print([name for name in ('mcp', 'mcp_types', 'uvicorn', 'anyio') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    assert done.stdout.decode().strip() == "[]"


def test_without_the_library_nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what is missing and how to get it, before anything runs."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(AuthoringError, match=r"agentic-reliability-harness\[mcp\]"):
        require_mcp()
