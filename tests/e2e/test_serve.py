"""`arh serve`, as users type it: an agent that is started elsewhere is judged like any other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from tests.conformance.mcp_live import ACCOUNT, TICKET, Client, call_body, request

ROOT = Path(__file__).parents[2]
GOLDEN = "scenarios/support/golden/billing-incident-001.jsonl"
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_account", ACCOUNT),
    ("check_incident_status", {"service": "billing", "region": "us-west"}),
    ("get_policy", {"topic": "billing_remediation"}),
)
ANSWER = {
    "workflow_status": "completed",
    "disposition": "credit_review",
    "message": "Incident EVT-402 is active. I opened ticket TK-0001 for A-1007.",
    "claimed_actions": [
        {"action": "create_ticket", "resource_id": "TK-0001", "status": "completed"}
    ],
    "evidence_refs": ["EVT-402", "TK-0001"],
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def serve(*words: str) -> subprocess.Popen[bytes]:
    """Type the command."""
    command = [sys.executable, "-m", "arh", "serve", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)


def announced(errors: IO[bytes] | None) -> dict[str, str]:
    """Return the variables that the command announces."""
    assert errors is not None
    lines = [errors.readline().decode().strip() for _ in range(3)]
    assert re.fullmatch(r"arh: task-0001 of \S+ is served until it is ended", lines[0])
    return dict(each.split("=", 1) for each in lines[1:])


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Return the exit code of a command, what it wrote, and its complaints."""
    output, errors = process.communicate(timeout=30)
    return process.returncode, output.decode(), errors.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("tools", "code"), [([("create_ticket", TICKET)], 0), ([], 1)])
def test_an_agent_elsewhere_is_served_and_judged(
    tools: list[tuple[str, dict[str, Any]]], code: int, tmp_path: Path
) -> None:
    """It finds the server where the command says, and the same lines and codes come of it."""
    config = tmp_path / "mcp.json"
    config.write_text("{}", "utf-8")
    process = serve("--scenario", f"{GOLDEN}:1", "--config", str(config))
    told = announced(process.stderr)
    (server,) = json.loads(config.read_text("utf-8"))["mcpServers"].values()
    client = Client(told["ARH_MCP_URL"], server["headers"]["Authorization"].split()[1])
    for tool, arguments in (*READS, *tools):
        assert client.call(tool, arguments).result["isError"] is False
    ended = client.call("arh_end_task", {"answer": ANSWER})
    exit_code, output, errors = finished(process)

    assert told["ARH_MCP_CONFIG"] == str(config)
    assert str(client.token) not in errors
    assert config.stat().st_mode & 0o777 == 0o600
    assert server["url"] == client.url
    assert ended.result["content"][0]["text"] == "the task is over"
    assert exit_code == code
    assert f"verdict  {'pass' if code == 0 else 'fail'}" in output


@pytest.mark.slow
@pytest.mark.parametrize("ends", [True, False])
def test_a_client_may_start_it_as_its_stdio_server(*, ends: bool) -> None:
    """Its output is the protocol's alone; who leaves without an answer gave none."""
    calls = [*READS, ("create_ticket", TICKET)]
    calls += [("arh_end_task", {"answer": ANSWER})] if ends else []
    lines = [
        request("initialize", HELLO),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        *(
            call_body(*call).replace(b'"id": 1', f'"id": {number}'.encode())
            for number, call in enumerate(calls, 2)
        ),
    ]
    process = serve("--stdio", "--scenario", f"{GOLDEN}:1")
    assert process.stdin is not None
    assert process.stdout is not None
    answers = {}
    for line in lines:
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        if b"notifications" not in line:
            answer = json.loads(process.stdout.readline())
            answers[answer["id"]] = answer["result"]
    exit_code, rest, errors = finished(process)

    assert answers[5]["structuredContent"] == {"ticket_id": "TK-0001"}
    assert rest == ""
    assert exit_code == (0 if ends else 1)
    assert "verdict  " in errors
    assert ("the agent left without ending its task" in errors) is not ends


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scenario", "scenarios/support/golden"], "name one as FILE:LINE"),
        ([], "the following arguments are required: --scenario"),
        (["--scenario", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_what_cannot_be_served_exits_2(words: list[str], said: str) -> None:
    """It is said what is wrong, and nothing was served."""
    exit_code, output, errors = finished(serve(*words))

    assert (exit_code, output) == (2, "")
    assert said in errors
