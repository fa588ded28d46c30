"""A secret that is put in anywhere comes out nowhere: every sink against every place and shape.

A sink is added to `SINKS` when it exists; a canary that one of them shows fails the test by name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from arh.ports.sue import Session
from arh.records.messages import ToolRequest
from arh.records.tasks import AgentReport, ProgressStopped, Task
from arh.telemetry.completeness import facts_of
from arh.telemetry.logs import logger
from arh.telemetry.spans import lines, tree
from tests.unit.telemetry.golden import Golden, Run, unredacted
from tests.unit.telemetry.shapes import CANARIES, ENCODINGS, traces_of

NAME_SHAPES = ("api_key", "aws_key", "github_token", "gitlab_token", "slack_token", "jwt")
CREDIT = "scenarios/support/golden/approved-credit-001.jsonl"


@dataclass
class Leaky:
    """An agent that puts a text wherever an agent can put one."""

    text: str

    def run(self, task: Task, session: Session) -> AgentReport:
        """Call with the text in every part of a request, and end with it in every part."""
        ticket = {"account_id": "A-1007", "category": "other", "idempotency_key": "k-0001"}
        asked: tuple[object, ...] = (
            {**ticket, "summary": self.text, "proposed_action": "none"},
            {**ticket, "summary": {"deep": [self.text]}},
            {**ticket, "summary": "x", "proposed_action": "none", "extra": self.text},
            {"account_id": self.text},
            {self.text: "x"},
        )
        for arguments in asked:
            request = ToolRequest("req", "create_ticket", json.dumps(arguments))
            session.call(request, timeout_ms=1000)
        for request in (
            ToolRequest("req", "create_ticket", "{" + self.text),
            ToolRequest("req", self.text, "{}"),
            ToolRequest(self.text, "create_ticket", "{}"),
        ):
            session.call(request, timeout_ms=1000)
        session.ask(self.text)
        session.note(ProgressStopped(self.text, self.text, stops=False))
        return AgentReport("completed", self.text, self.text)


def evidence(run: Run) -> str:
    """The lines of evidence."""
    return run.text


def spans(run: Run) -> str:
    """The lines of `telemetry.jsonl`, which are what a collector gets."""
    return lines(tree(run.buffer, facts_of(run.output.evidence), "n"), began_ns=0).decode()


def json_logs(run: Run) -> str:
    """A JSON log of everything that the unredacted run would have held."""
    return logged(run, as_json=True)


def console_logs(run: Run) -> str:
    """The same for a person."""
    return logged(run, as_json=False)


def logged(run: Run, *, as_json: bool) -> str:
    """Return what a command's log shows of a run's verdict and raw texts."""
    stream = io.StringIO()
    log = logger(stream, as_json=as_json, level="debug", stamped=False)
    log.warning(run.verdict.path or "run", reasons=list(run.verdict.reasons), text=run.text)
    return stream.getvalue()


# Scorecard, console, Markdown and JUnit belong here as soon as they render a verdict.
SINKS: tuple[Callable[[Run], str], ...] = (evidence, spans, json_logs, console_logs)


def leaky(text: str) -> Golden:
    """Return a run of an agent that leaks a text, heard from the user as well."""

    def said(value: dict[str, Any]) -> None:
        value["stimulus"]["messages"][0]["content"] = f"My key is {text}"

    return Golden(scenario=said, agent=Leaky(text))


@pytest.mark.parametrize("shape", CANARIES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_sink_shows_what_an_agent_or_a_user_says(shape: str, encoding: str) -> None:
    """Arguments, nested, undeclared, unreadable; tool, ids, question, answer, detail, message."""
    run = leaky(ENCODINGS[encoding](CANARIES[shape])).run()

    found = {sink.__name__: traces_of(CANARIES[shape], sink(run)) for sink in SINKS}
    assert found == {sink.__name__: [] for sink in SINKS}


def test_the_canaries_are_really_there() -> None:
    """Without redaction the same run shows them: the test above cannot pass for want of a leak."""
    run = leaky(CANARIES["api_key"])
    run.redact = unredacted

    assert run.run().text.count(CANARIES["api_key"]) >= 12


@pytest.mark.parametrize("shape", CANARIES)
def test_no_sink_shows_what_a_tool_answers(shape: str) -> None:
    """A secret in a stored article stays out of the result and of the message to the model."""

    class Searching:
        def run(self, task: Task, session: Session) -> AgentReport:
            request = ToolRequest("r", "search_knowledge_base", '{"query":"canary"}')
            session.call(request, timeout_ms=1000)
            return AgentReport("completed", "done")

    def seeded(value: dict[str, Any]) -> None:
        row = {"doc_id": "KB-9", "title": "canary", "body": f"canary: {CANARIES[shape]}"}
        value["runtime"]["changes"] = [{"collection": "knowledge_base", "row": row}]

    run = Golden(scenario=seeded, agent=Searching()).run()

    assert run.events("tool_call")[0]["result"]["found"] is True
    assert {sink.__name__: traces_of(CANARIES[shape], sink(run)) for sink in SINKS} == {
        sink.__name__: [] for sink in SINKS
    }


@pytest.mark.parametrize("shape", NAME_SHAPES)
def test_no_sink_shows_a_secret_that_was_taken_for_a_name(shape: str) -> None:
    """The acting agent, the approver and the approval may be called as they like."""
    canary = CANARIES[shape]

    def named(value: dict[str, Any]) -> None:
        trusted = value["trusted_environment"]
        trusted["principal"]["agent"] = canary
        trusted["approvals"][0].update(approval_id=canary, approver=canary[:-1] + "K")

    run = Golden(path=CREDIT, scenario=named).run()

    assert run.output.evidence.commits
    assert {sink.__name__: traces_of(canary, sink(run)) for sink in SINKS} == {
        sink.__name__: [] for sink in SINKS
    }
