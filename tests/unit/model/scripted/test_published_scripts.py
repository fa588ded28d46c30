"""The published scripts drive the reference agent to the ends that they are known for.

The world is canned: what a run leaves behind in state is judged elsewhere, over the real gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arh.agent.loop import ReferenceAgent
from arh.canonical import Json, JsonValue, parse
from arh.model.scripted.model import ScriptedModel
from arh.model.scripted.scripts import Scripts, load_scripts
from arh.records.decisions import ModelReply, ModelRequest
from arh.records.envelope import read_envelope
from arh.records.messages import Message, ToolRequest
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import AgentReport, Budgets, ProgressLimits
from tests.unit.agent.fakes import GENEROUS, FakeSession, executed, failed, task

FOLDER = Path(__file__).resolve().parents[4] / "fixtures" / "support" / "model_scripts"
ROWS: dict[str, JsonValue] = {
    "A-1007": {"account_id": "A-1007", "status": "active", "region": "us-west"},
    "A-2222": {"account_id": "A-2222", "status": "active", "region": "us-east"},
}
INCIDENT: JsonValue = {"active": True, "id": "EVT-402", "status": "active"}
POLICY: JsonValue = {"proposed_action": "credit_review"}
World = Callable[[ToolRequest, int], ToolOutcome]


@pytest.fixture(scope="module", name="scripts")
def _scripts() -> Scripts:
    """The scripts of the support workflow."""
    return load_scripts(FOLDER)


class ScriptedSession(FakeSession):
    """A session whose decisions come from a scripted model."""

    def __init__(self, model: ScriptedModel, world: World) -> None:
        super().__init__(outcomes=world)
        self._model = model

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """The scripted reply."""
        self.asked.append(messages)
        return self._model.complete(ModelRequest(messages, (), timeout_ms, output_tokens_max))


def world(request: ToolRequest, _number: int) -> ToolOutcome:
    """Everything works, nobody may issue a credit, no article is found."""
    arguments = parse(request.arguments)
    assert isinstance(arguments, dict)
    mark = Mark(request.tool, request.arguments)
    match request.tool:
        case "get_account":
            return executed(ROWS[str(arguments["account_id"])], mark)
        case "check_incident_status":
            return executed(INCIDENT, mark)
        case "get_policy":
            return executed(POLICY, mark)
        case "create_ticket":
            return executed({"ticket_id": "TK-0001"}, mark)
        case "search_knowledge_base":
            return executed({"found": False, "results": []})
        case _:
            return failed("authorization_denied", status="rejected")


def failing(tool: str, times: int) -> World:
    """A world in which the first calls of one tool time out."""
    seen: list[str] = []

    def outcome(request: ToolRequest, number: int) -> ToolOutcome:
        seen.append(request.tool)
        late = request.tool == tool and seen.count(tool) <= times
        return failed("timeout") if late else world(request, number)

    return outcome


def crediting(request: ToolRequest, number: int) -> ToolOutcome:
    """A world in which credits are issued."""
    if request.tool == "issue_credit":
        return executed({"credit_id": "CR-0001"}, Mark("credit_issued"))
    return world(request, number)


def played(
    scripts: Scripts, name: str, outcomes: World = world, budgets: Budgets = GENEROUS
) -> tuple[AgentReport, list[str]]:
    """How the script's run ended, and the tools that it called."""
    session = ScriptedSession(ScriptedModel(scripts.get(f"scripted:{name}")), outcomes)
    report = ReferenceAgent().run(task(budgets, ProgressLimits()), session)
    return report, [request.tool for request in session.called]


READS = ["get_account", "check_incident_status"]


@pytest.mark.parametrize(
    ("name", "outcomes", "tools", "status"),
    [
        ("golden-001", world, [*READS, "get_policy", "create_ticket"], "completed"),
        ("negative-001", world, ["get_account", "get_policy", "create_ticket"], "completed"),
        (
            "multi-account",
            world,
            ["get_account", "get_account", "check_incident_status", "create_ticket"],
            "completed",
        ),
        (
            "four-distinct-reads",
            world,
            ["get_account", "get_policy", "check_incident_status", "search_knowledge_base"],
            "completed",
        ),
        ("recovery-faithful", failing("check_incident_status", 1), READS, "failed"),
        ("credit-attempt-blocked", world, ["issue_credit"], "blocked"),
        ("unsafe-credit", world, ["issue_credit"], "blocked"),
        ("unsafe-credit", crediting, ["issue_credit"], "completed"),
        ("after-commit-retry", world, ["create_ticket"], "completed"),
        ("after-commit-retry", failing("create_ticket", 1), ["create_ticket"] * 2, "completed"),
        ("after-commit-retry", failing("create_ticket", 9), ["create_ticket"] * 3, "partial"),
    ],
)
def test_a_script_takes_its_path_and_says_how_it_went(
    scripts: Scripts, name: str, outcomes: World, tools: list[str], status: str
) -> None:
    """The final answer is an envelope whose status fits what happened."""
    report, called = played(scripts, name, outcomes)

    assert (report.termination, called) == ("completed", tools)
    assert isinstance(report.response, Json)
    envelope = read_envelope(report.response)
    assert envelope is not None
    assert envelope.workflow_status == status


def test_the_lying_script_claims_a_confirmation_that_it_never_got(scripts: Scripts) -> None:
    """It goes on after the timeout and says so in prose."""
    report, called = played(scripts, "recovery-false-success", failing("check_incident_status", 1))

    assert (report.termination, called) == ("completed", [*READS, "create_ticket"])
    assert isinstance(report.response, str)
    assert "confirmed" in report.response


@pytest.mark.parametrize(
    ("name", "termination", "calls"),
    [
        ("loop-reads", "loop_exact", 3),
        ("oscillation", "loop_cycle", 4),
        ("stall-empty-search", "stall", 5),
    ],
)
def test_a_stuck_script_is_stopped_by_name(
    scripts: Scripts, name: str, termination: str, calls: int
) -> None:
    """With the limits as shipped."""
    report, called = played(scripts, name)

    assert (report.termination, len(called)) == (termination, calls)


def test_budgets_stop_the_control_scripts(scripts: Scripts) -> None:
    """Two steps for one, three calls for the other."""
    steps = Budgets(steps_max=2, tool_calls_max=10, deadline_ms=15_000)
    calls = Budgets(steps_max=8, tool_calls_max=3, deadline_ms=15_000)

    by_steps, two = played(scripts, "loop-reads", budgets=steps)
    by_calls, three = played(scripts, "four-distinct-reads", budgets=calls)

    assert (by_steps.termination, len(two)) == ("step_budget", 2)
    assert (by_calls.termination, len(three)) == ("tool_call_budget", 3)
