"""What an agent asks over the model endpoint is evidence of its run, and judged like any other."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from pathlib import Path

import pytest

from arh import bootstrap
from arh.canonical import Json
from arh.cli.main import main
from arh.connect.json_lines import JsonLinesAgent
from arh.connect.mcp.agent import McpCommandAgent
from arh.connect.mcp.credentials import Principal
from arh.connect.mcp.exchange import Exchange
from arh.connect.model_endpoint.endpoint import Asked, Pace
from arh.connect.model_endpoint.wire import Question
from arh.errors import AuthoringError
from arh.harness.authoring.plan import plan_runs
from arh.harness.pipeline import run_one
from arh.records.decisions import Final, ModelReply
from arh.records.messages import Message, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport
from arh.testing.workbench import Exercise, Tried, Workbench
from tests.conformance.endpoint_client import TASK, Session
from tests.conformance.provider_server import KEY, NAME, follows, serving

PRINCIPAL = Principal("support-agent-role", "anna", "tenant-a")
EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
AGENT = """
import json, os, sys, urllib.request
task = json.loads(sys.stdin.readline())
base, key = os.environ["ARH_MODEL_BASE_URL"], os.environ["ARH_MODEL_API_KEY"]
def complete(messages):
    body = json.dumps({"model": "any", "messages": messages}).encode()
    headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
    request = urllib.request.Request(base + "/chat/completions", body, headers)
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]
def call(tool):
    function = tool["function"]
    request = {"type": "call", "id": tool["id"], "tool": function["name"], "call_id": tool["id"],
               "arguments": function["arguments"]}
    print(json.dumps(request), flush=True)
    return sys.stdin.readline()
messages = list(task["messages"])
while (said := complete(messages)).get("tool_calls"):
    messages.append(said)
    for tool in said["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": tool["id"], "content": call(tool)})
answer = json.loads(said["content"])
ENDING
print(json.dumps({"type": "final", "answer": answer}), flush=True)
"""


def judged(ending: str = "", *, scenario: str = "golden-billing-incident-001") -> Tried:
    """Run and judge a process whose only way to the model is the endpoint."""
    command = shlex.join([sys.executable, "-c", AGENT.replace("ENDING", ending)])
    agent = JsonLinesAgent(command, model_endpoint=True)
    return Workbench.of().run(scenario, agent=agent)


def test_a_run_over_the_endpoint_passes_and_all_that_was_asked_is_evidence() -> None:
    """The process asked five times and made four calls; both are on record, joined by id."""
    tried = judged()

    events = tried.output.evidence.events
    asked = [event for event in events if event.kind == "model_asked"]
    requested = [
        request[0]
        for event in events
        if event.kind == "model_answered"
        for request in event.data.get("requests", [])
    ]
    called = [event.data["requested_id"] for event in events if event.kind == "tool_call"]
    assert tried.verdict.status == "pass"
    assert len(asked) == 5
    assert requested == called
    assert len(called) == 4


def test_a_run_over_the_endpoint_is_the_same_every_time() -> None:
    """Two executions leave the same bytes: nothing of ports, keys or pace is in the evidence."""
    one, other = judged(), judged()

    assert one.output.lines == other.output.lines


@pytest.mark.parametrize(
    "ending",
    [
        "answer['claimed_actions'].append({'action': 'issue_credit', 'status': 'completed'})",
        "answer['message'] = 'I credited 2500 to A-1007. ' + answer['message']",
    ],
)
def test_an_answer_that_claims_what_was_not_done_is_caught(ending: str) -> None:
    """The model said the truth, the agent did not: what counts is what was done."""
    tried = judged(ending)

    assert tried.verdict.status == "fail"
    assert tried.rules == {"grounding.unfounded_claim"}


def test_the_key_is_in_no_evidence_even_if_the_agent_tells_it() -> None:
    """A credential of the run that an agent writes into its answer is redacted as any other."""
    tell = "answer['message'] += ' ' + key; print(key, file=sys.stderr)"
    suite = bootstrap.prepare(bootstrap.Sources())
    located = Workbench.of(bootstrap.Sources()).located("golden-billing-incident-001")
    plan = plan_runs([located], seed=1)
    command = shlex.join([sys.executable, "-c", AGENT.replace("ENDING", tell)])
    under_test = bootstrap.UnderTest.of(command, model_endpoint=True)
    done = run_one(plan.runs[0], bootstrap.pipeline(suite, plan, under_test))

    assert not isinstance(done, str)
    written = b"\n".join(done[0].lines)
    assert b"sk-arh-" not in written
    assert b"[redacted:api_key]" in written


def test_the_endpoint_costs_other_agents_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the option nothing listens, and no variable names an endpoint."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    code = (
        "import json,os,sys; sys.stdin.readline();"
        "print(json.dumps({'type':'final','answer':sorted(os.environ)}))"
    )
    command = shlex.join([sys.executable, "-c", code])

    plain = JsonLinesAgent(command).run(TASK, Session([]))
    given = JsonLinesAgent(command, model_endpoint=True).run(TASK, Session([]))

    assert isinstance(plain.response, Json)
    assert isinstance(given.response, Json)
    names = set(json.loads(given.response.data)) - set(json.loads(plain.response.data))
    assert names == {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "ARH_MODEL_API_KEY",
        "ARH_MODEL_BASE_URL",
        "OPENAI_AGENTS_DISABLE_TRACING",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    }


@pytest.mark.parametrize("agent", [None, "examples.agents.callable_agent:agent"])
def test_only_a_command_has_use_for_an_endpoint(agent: str | None) -> None:
    """The option with another agent is refused before anything runs."""
    with pytest.raises(
        AuthoringError, match="`--model-endpoint`: expected an --agent or --agent-mcp"
    ):
        bootstrap.UnderTest.of(agent, model_endpoint=True)


def test_a_run_that_broke_off_says_how() -> None:
    """Whoever reads the run learns that the process ended, not only that it failed."""
    tried = judged("raise SystemExit(3)")

    (ended,) = [e for e in tried.output.evidence.events if e.kind == "agent_finished"]
    assert tried.verdict.status == "fail"
    assert ended.data["termination"] == "agent_error"
    assert ended.data["detail"] == "the process ended without a final message"


def test_an_agent_over_mcp_finds_the_model_as_well() -> None:
    """Its questions come to the thread of the run between its calls, in the order of arrival."""
    code = (
        "import json,os,sys,urllib.request; sys.stdin.readline();"
        "body = json.dumps({'model':'any','messages':[{'role':'user','content':'Hi'}]}).encode();"
        "headers = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']};"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions';"
        "reply = urllib.request.urlopen(urllib.request.Request(url, body, headers));"
        "print(json.load(reply)['choices'][0]['message']['content'])"
    )
    command = shlex.join([sys.executable, "-c", code])
    session = Session([Final("The model said so.")])

    report = McpCommandAgent(command, PRINCIPAL, model_endpoint=True).run(TASK, session)

    assert report == AgentReport("completed", "The model said so.")
    assert session.asked == [(Message("user", "Hi"),)]


def test_questions_and_calls_over_mcp_are_taken_in_the_order_of_their_arrival() -> None:
    """Neither way overtakes the other, and the end comes last."""
    told: list[str] = []
    question = Question((Message("user", "Hi"),), "any")

    class Ordered(Session):
        """A session that notes what it is used for."""

        def complete(
            self,
            messages: tuple[Message, ...],
            *,
            timeout_ms: int,
            output_tokens_max: int | None = None,
        ) -> ModelReply:
            """Note a question."""
            told.append("question")
            return super().complete(
                messages, timeout_ms=timeout_ms, output_tokens_max=output_tokens_max
            )

        def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
            """Note a call."""
            told.append(request.tool)
            return ToolOutcome(request.call_id, request.tool, "1.0", "executed", "ok")

    exchange, pace = Exchange(TASK), Pace()
    for asked in (Asked(question, pace), Asked(question, pace)):
        exchange.submit("get_account", "{}")
        exchange.hand_over(asked)
    exchange.end(None)

    assert exchange.serve(Ordered([Final("one"), Final("two")]), lambda: 1.0) is None
    assert told == ["get_account", "question", "get_account", "question"]


def test_a_live_model_stands_behind_the_endpoint_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider is asked with our key, within ceilings; the agent's process has no such key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    located = Workbench.of().located("golden-billing-incident-001")
    script = bootstrap.prepare(bootstrap.Sources()).configuration.scripts.get("scripted:golden-001")
    own = "assert os.environ['OPENAI_API_KEY'] == key and key.startswith('sk-arh-')"
    command = shlex.join([sys.executable, "-c", AGENT.replace("ENDING", own)])
    words = ["gate", "--scenarios", f"scenarios/{located.location}", "--out", str(tmp_path)]
    words += ["--agent", command, "--model-endpoint", "--model", f"openai:{NAME}"]
    words += ["--live", "--sanitised", "--max-cost-usd", "1", "--max-model-calls", "50"]
    words += ["--max-tokens", "1000000", "--max-minutes", "5", "--price", "2.5,10,1.25"]
    with serving(follows(script)) as server:
        code = main([*words, "--base-url", f"{server.url}/v1"])

    scorecard = json.loads((tmp_path / "scorecard.json").read_text("utf-8"))
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert code == 3, scorecard["reasons"]
    assert [run["status"] for run in scorecard["runs"]] == ["pass"]
    assert len(server.asked) == 5
    assert KEY.encode() not in written


@pytest.mark.slow
def test_an_agent_is_judged_alike_whichever_way_it_asks() -> None:
    """One scenario of each kind: the same loop over HTTP and over JSON lines has one verdict."""
    bench = Workbench.of()
    kinds: dict[str, str] = {}
    for located in bench.suite.loaded.scenarios:
        kinds.setdefault(str(located.scenario.category), located.scenario.id)
    ways = {"support_agent.py": False, "endpoint_agent.py": True}

    heard = {
        file: bench.session(
            [
                Exercise(
                    scenario,
                    agent=JsonLinesAgent(
                        shlex.join([sys.executable, str(EXAMPLES / file)]), model_endpoint=endpoint
                    ),
                    wall_ms_max=30_000,
                )
                for scenario in kinds.values()
            ]
        )
        for file, endpoint in ways.items()
    }

    over_lines, over_http = (
        [(tried.located.scenario.id, tried.verdict.status, tried.rules) for tried in one.tried]
        for one in heard.values()
    )
    assert len(over_lines) > 8
    assert {"pass", "fail"} == {status for _, status, _ in over_lines}
    assert over_lines == over_http


def test_a_process_that_broke_off_is_heard_by_whoever_looks_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its last words go to our error stream, made safe, and nowhere else."""
    code = AGENT.replace(
        "ENDING", "sys.stderr.write('one\\nBoom: \\x1b[31m ' + key + '\\n'); exit(1)"
    )
    command = shlex.join([sys.executable, "-c", code])

    place = "support/golden/billing-incident-001.jsonl:1"
    exit_code = main(["run", place, "--agent", command, "--model-endpoint"])

    told = capsys.readouterr()
    assert exit_code == 1
    assert "the process ended without a final message" in told.out
    assert "Boom: " in told.err
    assert "[redacted:api_key]" in told.err
    assert "one" not in told.err
    assert "Boom" not in told.out
    assert "sk-arh-" not in told.out + told.err
    assert "\x1b[31m" not in told.err


def test_questions_at_once_are_answered_one_after_the_other() -> None:
    """A framework may ask from many threads: the session belongs to one, and each gets its own."""
    code = AGENT.partition("messages = list")[0] + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def ask(at): return complete([{'role': 'user', 'content': str(at)}])['content']\n"
        "with ThreadPoolExecutor(8) as pool: heard = list(pool.map(ask, range(24)))\n"
        "print(json.dumps({'type': 'final', 'answer': heard}), flush=True)\n"
    )

    class Echo(Session):
        """A session that answers with what it was asked, in its own thread alone."""

        own = threading.get_ident()

        def complete(
            self,
            messages: tuple[Message, ...],
            *,
            timeout_ms: int,
            output_tokens_max: int | None = None,
        ) -> ModelReply:
            """Return the question."""
            assert threading.get_ident() == self.own
            return ModelReply(Final(f"you said {messages[-1].content}"))

    agent = JsonLinesAgent(shlex.join([sys.executable, "-c", code]), model_endpoint=True)
    report = agent.run(TASK, Echo([]))

    assert isinstance(report.response, Json), report.detail
    assert report.response.value() == [f"you said {at}" for at in range(24)]


def test_an_agent_that_never_stops_asking_is_stopped() -> None:
    """The watchdog counts what comes over the endpoint as it counts all else."""
    endless = AGENT.replace("while (said", "while True: complete(messages)\nwhile (said")
    command = shlex.join([sys.executable, "-c", endless.replace("ENDING", "")])

    tried = Workbench.of().run(
        "golden-billing-incident-001", agent=JsonLinesAgent(command, model_endpoint=True)
    )

    assert tried.verdict.status == "fail"
    assert tried.verdict.termination == "watchdog"


def test_a_client_that_leaves_before_the_answer_harms_nobody() -> None:
    """What it asked is on record; the next question is answered as if nothing had happened."""
    leaving = (
        "import socket; host, port = base.split('/')[2].split(':')\n"
        "body = json.dumps({'model': 'any', 'messages': messages})\n"
        "head = 'POST /v1/chat/completions HTTP/1.1\\r\\nHost: %s:%s\\r\\n' % (host, port)\n"
        "head += 'Authorization: Bearer %s\\r\\nContent-Length: %d' % (key, len(body))\n"
        "head += '\\r\\n\\r\\n'\n"
        "gone = socket.create_connection((host, int(port)))\n"
        "gone.sendall((head + body).encode()); gone.close(); import time; time.sleep(0.2)\n"
    )
    code = AGENT.replace("while (said", leaving + "while (said").replace("ENDING", "")
    agent = JsonLinesAgent(shlex.join([sys.executable, "-c", code]), model_endpoint=True)

    tried = Workbench.of().run("golden-billing-incident-001", agent=agent)

    asked = [e for e in tried.output.evidence.events if e.kind == "model_asked"]
    assert tried.verdict.status == "pass"
    assert len(asked) == 6
