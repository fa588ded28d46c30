"""Each framework's agent, unchanged, is run and judged like any other, and caught when it lies."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from arh.canonical import Json, JsonValue
from arh.connect.json_lines import JsonLinesAgent
from arh.connect.mcp.agent import McpCommandAgent
from arh.connect.mcp.credentials import Principal
from arh.connect.model_endpoint import http
from arh.connect.model_endpoint.wire import Dialect, Fault, Question
from arh.ports.sue import Agent
from arh.records.decisions import Calls, Decision, Final, Refusal, Truncated
from arh.records.messages import ToolRequest
from arh.testing.workbench import Exercise, Tried, Workbench
from tests.conformance.endpoint_client import TASK, Session
from tools.frameworks import FRAMEWORKS, OBSERVED, Framework

GOLDEN = "golden-billing-incident-001"
LOST_REPLY = "recovery-after-commit-idempotent-001"
RATE_LIMITED = "recovery-model-rate-limited-001"
BLOCKED = "guardrail-credit-attempt-blocked-001"
DOWN = "recovery-model-down-001"
FORMS_FILE = Path(__file__).with_name("forms.py")
LYING = Path(__file__).with_name("lying.py")
WALL_MS_MAX = 60_000
PRINCIPAL = Principal("support-agent-role", "support-agent", "tenant-a")

each_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda one: one.name)


@each_framework
def test_it_passes_the_golden_scenario_and_all_of_it_is_observed(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it asked and what it called is on record; nothing reached the model another way."""
    asked: list[str] = []
    told = {path: _Told(one, path, asked) for path, one in http.DIALECTS.items()}
    monkeypatch.setattr(http, "DIALECTS", told)

    tried = run(framework, GOLDEN)

    questions, calls = events(tried, "model_asked"), events(tried, "tool_call")
    requested = [
        request[0]
        for answer in events(tried, "model_answered")
        for request in answer.get("requests", [])
    ]
    joined = [call for call in calls if call["requested_id"] in requested]
    roles = {message["role"] for one in questions for message in one["new_messages"]}
    tokens = [answer["input_tokens"] for answer in events(tried, "model_answered")]
    assert tried.verdict.status == "pass"
    assert (len(questions), len(calls)) == (5, 4)
    assert len(set(asked)) == 1
    assert roles == {"system", "user", "assistant", "tool"}
    assert tokens == sorted(tokens)
    golden = f"{tried.verdict.status}: asked {len(questions)}, called {len(calls)}"
    observe(
        framework,
        {
            "asks over": asked[0],
            "golden scenario": golden,
            "calls joined to questions by id": f"{len(joined)} of {len(calls)}",
        },
    )


@each_framework
def test_a_lost_reply_is_repeated_under_its_key_and_done_once(framework: Framework) -> None:
    """The fault reaches the model through the framework, and the store holds one ticket."""
    tried = run(framework, LOST_REPLY)

    beliefs = [call["commit_belief"] for call in events(tried, "tool_call")]
    assert tried.verdict.status == "pass"
    assert beliefs == ["unknown", "replayed"]
    observe(framework, {"reply lost after the commit": f"{tried.verdict.status}: done once"})


@each_framework
def test_a_rate_limit_is_waited_for_in_the_runs_time(framework: Framework) -> None:
    """Its own library repeats the question, and the wait has passed on the run's clock."""
    tried = run(framework, RATE_LIMITED)

    answers = events(tried, "model_answered")
    assert tried.verdict.status == "pass"
    assert [answer["decision"] for answer in answers].count("unavailable") == 1
    observe(framework, {"model answers 429": f"{tried.verdict.status}: asked again by itself"})


@each_framework
def test_a_model_that_is_down_is_seen_as_what_it_does_to_the_framework(
    framework: Framework,
) -> None:
    """None of these agents catches its library's error: the process ends, which is its failure."""
    tried = run(framework, DOWN)

    count = len(events(tried, "model_asked"))
    assert tried.verdict.status == "fail"
    assert not events(tried, "tool_call")
    assert events(tried, "agent_finished")[0]["answer"] is None
    end = f"{tried.verdict.status}: gave up after {count} questions, said nothing"
    observe(framework, {"model stays down": end})


@each_framework
def test_a_credit_without_authority_is_refused_and_reported_as_refused(
    framework: Framework,
) -> None:
    """The gateway refuses; the framework shows the model the refusal, and the answer says so."""
    tried = run(framework, BLOCKED)

    (call,) = events(tried, "tool_call")
    assert (call["tool"], call["status"]) == ("issue_credit", "rejected")
    assert tried.verdict.status == "pass"
    observe(framework, {"credit without authority": f"{tried.verdict.status}: {call['reason']}"})


@each_framework
def test_a_ticket_that_it_only_claims_is_caught(framework: Framework) -> None:
    """A tool of the agent that makes its result up convinces framework and model, not the state."""
    tried = run(framework, GOLDEN, lie="result")

    assert tried.verdict.status == "fail"
    assert {"outcome.no_alternative_holds", "grounding.unfounded_claim"} <= tried.rules
    observe(framework, {"makes a ticket up": "fail: `outcome.no_alternative_holds`"})


@each_framework
def test_a_credit_that_its_answer_boasts_of_is_caught(framework: Framework) -> None:
    """Whatever the model said: an answer that claims a refused credit is a false claim."""
    tried = run(framework, BLOCKED, lie="answer")

    assert tried.verdict.status == "fail"
    assert "grounding.unfounded_claim" in tried.rules
    observe(framework, {"claims the refused credit": "fail: `grounding.unfounded_claim`"})


FORMS = 6
READ = ToolRequest("req-0001", "get_account", '{"account_id":"A-1007"}')
CALL = [["req-0001", "get_account", {"account_id": "A-1007"}]]


def test_the_vendors_own_libraries_accept_every_form_strictly() -> None:
    """Whole and streamed, each kind of decision has exactly the types that the vendors declare."""
    decisions: list[tuple[Decision, tuple[str, str, str], str, list[object]]] = [
        (Final("All is well."), ("stop", "completed", "end_turn"), "All is well.", []),
        (Calls((READ,)), ("tool_calls", "completed", "tool_use"), "", [*CALL]),
        (Calls((READ,), "I look."), ("tool_calls", "completed", "tool_use"), "I look.", [*CALL]),
        (Refusal("I will not."), ("stop", "completed", "refusal"), "I will not.", []),
        (Truncated(), ("length", "incomplete", "max_tokens"), "", []),
    ]
    session = Session([decision for decision, *_ in decisions for _ in range(FORMS)])
    interpreter = next(f.interpreter for f in FRAMEWORKS if f.lock == "libraries")
    typed = shlex.join([str(interpreter), str(FORMS_FILE), str(len(decisions))])

    report = JsonLinesAgent(typed, wall_ms_max=WALL_MS_MAX, model_endpoint=True).run(TASK, session)

    assert isinstance(report.response, Json), report.detail
    assert report.response.value() == [
        [[end, text, calls] for end in ends for _ in ("whole", "streamed")]
        for _, ends, text, calls in decisions
    ]


def run(framework: Framework, scenario: str, *, lie: str = "") -> Tried:
    """Run one scenario with a framework's agent, honest unless a lie is named."""
    command = [str(framework.interpreter)]
    command += [str(LYING), lie] if lie else []
    typed = shlex.join([*command, str(framework.agent)])
    agent: Agent = JsonLinesAgent(typed, wall_ms_max=WALL_MS_MAX, model_endpoint=True)
    if framework.over_mcp:
        agent = McpCommandAgent(typed, PRINCIPAL, WALL_MS_MAX, model_endpoint=True)
    return _bench().tried(Exercise(scenario, agent=agent, wall_ms_max=WALL_MS_MAX))


@cache
def _bench() -> Workbench:
    return Workbench.of()


def events(tried: Tried, kind: str) -> list[Mapping[str, Any]]:
    """Return the data of a run's events of one kind."""
    return [event.data for event in tried.output.evidence.events if event.kind == kind]


def observe(framework: Framework, cells: Mapping[str, str]) -> None:
    """Leave what was seen for the table; the file's name keeps rows in the order of the tests."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].partition("[")[0]
    place = ORDER.index(test)
    path = Path(os.environ[OBSERVED], f"{framework.name}.{place}.json")
    path.write_text(json.dumps(cells), "utf-8")


ORDER = [name for name in globals() if name.startswith("test_")]


class _Told:
    """Implements `Dialect`: the dialect that it wraps, and a note of each question to it."""

    def __init__(self, dialect: Dialect, path: str, asked: list[str]) -> None:
        self.whole, self.events, self.fault = dialect.whole, dialect.events, dialect.fault
        self._dialect, self._path, self._asked = dialect, path, asked

    def read(self, body: JsonValue) -> Question | Fault:
        """Return what the body asks."""
        question = self._dialect.read(body)
        streamed = isinstance(question, Question) and question.stream
        self._asked.append(f"`{self._path}`" + (", streamed" if streamed else ""))
        return question
