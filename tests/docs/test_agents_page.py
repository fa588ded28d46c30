"""The protocol page says what the protocol does: its examples are read and answered by the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import jiter
from markdown_it import MarkdownIt

from arh.canonical import Json
from arh.connect import wire
from arh.connect.json_lines import LINE_BYTES_MAX
from arh.connect.process import PASSED_ON
from arh.ports.sue import Session
from arh.records.decisions import Calls, Decision, ModelReply, Usage
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AGENT_ENDS, Budgets, Note, Task

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text("utf-8")
TASK = Task(
    task_id="task-0001",
    actor="agent",
    messages=(Message("user", "Account A-1007 was charged twice."),),
    tools=(ToolSpec("get_account", "1.1", "Read an account.", Json.of({"type": "object"})),),
    budgets=Budgets(steps_max=8, tool_calls_max=10, deadline_ms=15_000),
    system_prompt="You are a support agent.",
)


class Answering:
    """A session that gives the answers of the page's examples."""

    def __init__(self) -> None:
        self.time_ms = 0

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Ask for a call."""
        request = ToolRequest("req-0001", "get_account", '{"account_id":"A-1007"}')
        return ModelReply(Calls((request,)), Usage(120, 9))

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Say that it was done."""
        result = Json.of({"account_id": "A-1007", "plan": "pro"})
        return ToolOutcome(request.call_id, request.tool, "1.1", "executed", "ok", result)

    def ask(self, message: str) -> Message | None:
        """Answer."""
        return Message("user", "The one of March.")

    def now_ms(self) -> int:
        """Return the time."""
        return self.time_ms

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.time_ms += ms

    def note(self, note: Note) -> None:
        """No process gets here."""
        raise AssertionError(note)


def messages() -> list[dict[str, Any]]:
    """Every example message of the page, in order."""
    blocks = [token for token in MarkdownIt().parse(PAGE) if token.type == "fence"]
    lines = [x for b in blocks if b.info == "jsonl" for x in b.content.splitlines()]
    return [jiter.from_json(text.encode()) for text in lines]


def test_the_task_is_what_an_agent_is_sent() -> None:
    """The example is the message that this very task makes."""
    assert messages()[0] == wire.task_message(TASK)


def test_each_request_is_answered_as_the_page_says() -> None:
    """Request and answer follow one another on the page, and in the code."""
    session: Session = Answering()
    rest = messages()[1:]
    pairs = [(one, rest[at + 1]) for at, one in enumerate(rest[:-1]) if at % 2 == 0]

    assert [wire.answered(asked, session, TASK) for asked, _ in pairs] == [
        answered for _, answered in pairs
    ]


def test_the_final_message_ends_a_task() -> None:
    """Its answer is the report's, and its termination completed where it names none."""
    report = wire.final_report(messages()[-1])

    assert (report.termination, report.response) == (
        "completed",
        "I read account A-1007 and changed nothing.",
    )


def test_every_decision_termination_and_limit_is_on_the_page() -> None:
    """Nothing that an agent can meet or may say is left out."""
    words = {
        "ask_user" if kind.__name__ == "AskUser" else kind.__name__.lower()
        for kind in get_args(Decision)
    }
    named = {f"`{word}`" for word in words.union(AGENT_ENDS)}

    assert {word for word in named if word not in PAGE} == set()
    assert f"{LINE_BYTES_MAX // 2**20} MiB" in PAGE
    assert {name for name in ("PATH", "HOME") if f"`{name}`" not in PAGE} == set()
    assert set(PASSED_ON) == {
        "HOME",
        "LANG",
        "LC_ALL",
        "PATH",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "TMPDIR",
    }
