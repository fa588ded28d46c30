"""A secret that is put in anywhere comes out nowhere: every sink against every place and shape.

A sink is added to `SINKS` when it exists; a canary that one of them shows fails the test by name.
"""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from arh import bootstrap
from arh.bootstrap.live_models import LiveModels
from arh.decision.gates import decide
from arh.decision.metrics import compute
from arh.decision.profile import LoadedProfile, load_profile
from arh.decision.scorecard import SuiteRun, build
from arh.harness.evidence.evidence_store import EvidenceWriter
from arh.harness.reports import scorecard_bytes
from arh.harness.vocabulary.rules import RULES
from arh.ports.sue import Session
from arh.records.control.scorecard import About, Scorecard
from arh.records.decisions import (
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    ModelRequest,
    Served,
    Usage,
)
from arh.records.messages import ToolRequest
from arh.records.models import ModelSettings
from arh.records.tasks import AgentReport, ProgressStopped, Task
from arh.render.console import Console
from arh.render.junit import junit
from arh.render.markdown import scorecard_page
from arh.render.pages import page
from arh.render.steps import run_lines, verdict_lines
from arh.telemetry.completeness import facts_of
from arh.telemetry.logs import logger
from arh.telemetry.spans import lines, tree
from tests.unit.telemetry.golden import ROOT, Golden, Run, unredacted
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


def folder(run: Run) -> str:
    """The whole folder of evidence: lines, initial state, scenarios, manifest."""
    with TemporaryDirectory() as temporary:
        writer = EvidenceWriter(Path(temporary), run.plan, redact=run.redact)
        writer.add(run.output)
        writer.close({"about": about(run).agent})
        files = sorted(path for path in Path(temporary).rglob("*") if path.is_file())
        return "\n".join(f"{path}\n{path.read_text()}" for path in files)


def scorecard_json(run: Run) -> str:
    """`scorecard.json`."""
    return scorecard_bytes(scorecard(run)).decode()


def scorecard_md(run: Run) -> str:
    """`scorecard.md`."""
    return scorecard_page(scorecard(run))


def junit_xml(run: Run) -> str:
    """`junit.xml`."""
    return junit(scorecard(run), (run.verdict,)).decode()


def run_page(run: Run) -> str:
    """The page of the run."""
    return page(run.verdict)


def console(run: Run) -> str:
    """What the gate tells on the console."""
    stream = io.StringIO()
    told = Console(stream, interactive=False)
    told.started(1)
    told.told(run.verdict)
    told.finished(scorecard(run))
    return stream.getvalue()


def steps(run: Run) -> str:
    """What `arh run` tells of the run, step by step."""
    return "\n".join((*run_lines(run.output.evidence.events), *verdict_lines(run.verdict)))


def about(run: Run) -> About:
    """What ran, as the gate says it."""
    told = bootstrap.about(run.suite, run.plan, run.under_test, as_of="2026-01-01", partial=False)
    return replace(told, runs_recorded=1)


def scorecard(run: Run) -> Scorecard:
    """The scorecard of a suite of this one run."""
    verdicts, pack, plan = (run.verdict,), run.suite.pack, run.plan
    metrics = compute(verdicts, [planned.located for planned in plan.runs], plan, pack)
    decision = decide(profile().profile, metrics, verdicts, plan, None, about=about(run))
    ran = SuiteRun(plan, verdicts, pack, frozenset(RULES))
    return build(about(run), profile(), decision, metrics, ran)


@cache
def profile() -> LoadedProfile:
    """The profile that the gate decides by."""
    return load_profile(ROOT / "profiles" / "conformance.yaml", rules=RULES)


SINKS: tuple[Callable[[Run], str], ...] = (
    evidence,
    spans,
    json_logs,
    console_logs,
    folder,
    scorecard_json,
    scorecard_md,
    junit_xml,
    run_page,
    console,
    steps,
)


def shown(run: Run, canary: str) -> dict[str, list[str]]:
    """The sinks that show a canary, each with how it is encoded there."""
    found = {sink.__name__: traces_of(canary, sink(run)) for sink in SINKS}
    return {name: traces for name, traces in found.items() if traces}


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

    assert shown(run, CANARIES[shape]) == {}


def test_the_canaries_are_really_there() -> None:
    """Without redaction the same run shows them: the tests here cannot pass for want of a leak."""
    golden = leaky(CANARIES["api_key"])
    golden.redact = unredacted
    run = golden.run()

    assert run.text.count(CANARIES["api_key"]) >= 12
    assert {"evidence", "folder", "steps", "console"} <= set(shown(run, CANARIES["api_key"]))


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
    assert shown(run, CANARIES[shape]) == {}
    (row,) = [row for row in run.output.state.rows("knowledge_base") or () if row.key == "KB-9"]
    assert row.value["title"] == "canary"


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
    assert shown(run, canary) == {}


@pytest.mark.parametrize("shape", CANARIES)
def test_no_sink_shows_what_a_live_model_or_its_server_says(shape: str) -> None:
    """Neither in a call, a text or an answer, nor in what the server says of itself."""
    canary = CANARIES[shape]
    served = Served(canary, canary, canary, 1, canary, metered=True)
    arguments = json.dumps({"account_id": canary})
    decisions: list[Decision] = [
        Calls((ToolRequest(canary, "get_account", arguments),), canary),
        Malformed(canary),
        Final(canary),
    ]

    class Saying:
        def complete(self, _request: ModelRequest) -> ModelReply:
            return ModelReply(decisions.pop(0), Usage(1, 1), 1, "openai:m", served)

    run = Golden(models=LiveModels(ModelSettings("openai", "m"), Saying, {})).run()

    assert decisions == []
    assert len(run.events("model_answered")) == 3
    assert shown(run, canary) == {}


@pytest.mark.parametrize("shape", CANARIES)
@pytest.mark.parametrize("option", ["", "--key ", "--header=", "--api-key="])
def test_no_sink_shows_what_stands_in_the_agents_command(shape: str, option: str) -> None:
    """Neither as the agent's name nor in the line that runs the scenario again."""
    canary = CANARIES[shape]
    command = f"agent {option}{shlex.quote(canary)}"
    run = Golden(command=command).run()

    assert run.under_test.agent.name != "reference"
    assert traces_of(canary, command)
    assert shown(run, canary) == {}


@pytest.mark.parametrize("shape", CANARIES)
def test_no_sink_shows_a_secret_that_an_author_expects(shape: str) -> None:
    """In a row, in prose, and in an expectation that fails and is quoted by a finding."""
    canary = CANARIES[shape]

    def authored(value: dict[str, Any]) -> None:
        row = {"doc_id": "KB-9", "title": "canary", "body": canary}
        value["description"] = f"It has {canary} in it."
        value["runtime"]["changes"] = [{"collection": "knowledge_base", "row": row}]
        value["expectations"]["acceptable_outcomes"] = [{"all_of": [expected(canary)]}]

    run = Golden(scenario=authored).run()

    assert run.verdict.status == "fail"
    assert shown(run, canary) == {}


def expected(text: str) -> dict[str, Any]:
    """A ticket with this summary, and nothing else, is acceptable."""
    return {"kind": "present", "collection": "tickets", "where": {"summary": text}}
