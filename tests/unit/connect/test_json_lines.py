"""A foreign agent over JSON lines.

It works through the session alone, and is killed when it must be.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from arh.canonical import Json
from arh.connect.json_lines import JsonLinesAgent
from arh.connect.process import check_command
from arh.errors import AuthoringError, RunStopped
from arh.records.decisions import Calls, Final, ModelReply
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport, Budgets, Note, Task

EXAMPLES = Path(__file__).parents[3] / "examples" / "agents"
TASK = Task(
    task_id="task-0001",
    actor="anna",
    messages=(Message("user", "Account A-1007 was charged twice."),),
    tools=(ToolSpec("get_account", "1.1", "Read an account.", Json.of({"type": "object"})),),
    budgets=Budgets(steps_max=4, tool_calls_max=4, deadline_ms=10_000),
)


class Session:
    """A session that answers from a list and remembers what it was asked."""

    def __init__(self, *replies: ModelReply) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []
        self.called: list[ToolRequest] = []
        self.waited = 0

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Give the next reply."""
        assert timeout_ms <= TASK.budgets.deadline_ms
        assert output_tokens_max is None
        self.asked.append(messages)
        return self.replies.pop(0)

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Say that the call was executed."""
        assert timeout_ms <= TASK.budgets.deadline_ms
        self.called.append(request)
        return ToolOutcome(
            request.call_id, request.tool, "1.1", "executed", "ok", Json.of({"plan": "pro"})
        )

    def ask(self, message: str) -> Message | None:
        """Answer with the question."""
        return Message("user", f"you asked: {message}")

    def now_ms(self) -> int:
        """No time passes but by waiting."""
        return self.waited

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.waited += ms

    def note(self, note: Note) -> None:
        """No foreign agent gets here."""
        raise AssertionError(note)


def run(code: str, session: Session | None = None, *, wall_ms_max: int = 10_000) -> AgentReport:
    """Run a Python program as the agent."""
    command = shlex.join([sys.executable, "-c", code])
    agent = JsonLinesAgent(command, wall_ms_max=wall_ms_max)
    return agent.run(TASK, Session() if session is None else session)


def final(text: str) -> ModelReply:
    """Return a model's final answer."""
    return ModelReply(Final(text))


def test_an_agent_works_through_model_and_gateway() -> None:
    """The example agent asks the model, makes its call, and reports the answer."""
    request = ToolRequest("req-0001", "get_account", '{"account_id":"A-1007"}')
    session = Session(ModelReply(Calls((request,))), final("A-1007 is on the pro plan."))
    command = shlex.join([sys.executable, str(EXAMPLES / "support_agent.py")])

    report = JsonLinesAgent(command).run(TASK, session)

    assert report == AgentReport("completed", "A-1007 is on the pro plan.")
    assert session.called == [request]
    heard = session.asked[1][-1].reply
    assert heard is not None
    assert heard.result == Json.of({"plan": "pro"})


def test_it_is_told_its_task_and_nothing_else() -> None:
    """The first line holds conversation, tools and budgets.

    No expectation, no identity, no fault.
    """
    code = (
        "import json,sys; t=json.loads(sys.stdin.readline());"
        "print(json.dumps({'type':'final','answer':sorted(t)}), flush=True)"
    )

    report = run(code)

    assert report.response == Json.of(
        [
            "actor",
            "budgets",
            "messages",
            "protocol",
            "system_prompt",
            "task_id",
            "tools",
            "type",
        ]
    )


def test_it_may_ask_and_wait() -> None:
    """A question reaches the user, and waiting moves the run's time, not the machine's."""
    code = (
        "import json,sys; sys.stdin.readline()\n"
        "def ask(m):\n"
        "    print(json.dumps(m), flush=True); return json.loads(sys.stdin.readline())\n"
        "said = ask({'type':'ask','id':1,'message':'which one?'})\n"
        "then = ask({'type':'wait','id':2,'ms':60000})\n"
        "print(json.dumps({'type':'final','answer':[said,then]}), flush=True)"
    )

    report = run(code)

    assert report.response == Json.of(
        [
            {"type": "answer", "id": 1, "message": "you asked: which one?"},
            {"type": "waited", "id": 2, "now_ms": 60_000},
        ]
    )


@pytest.mark.parametrize(
    ("written", "detail"),
    [
        ("not json", "a line is no JSON: not JSON"),
        ("[]", "a line is no object with a `type`"),
        ('{"type":"final","type":"final"}', "duplicate key"),
        ('{"type":"hello","id":1}', "a message has an unknown `type`"),
        ('{"type":"call","tool":"get_account","arguments":{}}', "a request has no `id`"),
        ('{"type":"call","id":1,"tool":7,"arguments":{}}', "`call` needs a `tool`"),
        ('{"type":"complete","id":1,"messages":[{"role":"root"}]}', "no known `role`"),
        ('{"type":"wait","id":1,"ms":-5}', "`wait` needs `ms`"),
        ("", "the process ended without a final message"),
    ],
)
def test_a_broken_protocol_is_the_agents_error(written: str, detail: str) -> None:
    """Nothing is guessed at: the run of the agent ends, with what was wrong."""
    code = f"import sys; sys.stdin.readline(); print({written!r}, end='\\n' if {written!r} else '')"

    report = run(code)

    assert report.termination == "agent_error"
    assert detail.split(":", maxsplit=1)[0] in report.detail


def test_a_line_beyond_the_limit_is_refused() -> None:
    """An endless line is cut off and refused; it is not collected."""
    code = "import sys; sys.stdin.readline(); sys.stdout.write('x' * 9_000_000)"

    assert run(code).detail == "a line is longer than the protocol allows"


def test_a_hung_agent_is_killed_with_its_children(tmp_path: Path) -> None:
    """The process group is gone once its time is up, and the run is stopped as hung."""
    note = tmp_path / "pid"
    code = (
        "import subprocess,sys,time; sys.stdin.readline();"
        "child = subprocess.Popen([sys.executable,'-c','import time; time.sleep(60)']);"
        f"open({str(note)!r},'w').write(str(child.pid)); time.sleep(60)"
    )

    with pytest.raises(RunStopped, match="hung"):
        run(code, wall_ms_max=1_500)

    assert gone(int(note.read_text()))


def test_an_agent_that_never_reads_is_killed_as_well() -> None:
    """Answers that nobody takes fill the pipe; the time that it may take ends that, too."""
    code = (
        "import sys\n"
        "sys.stdin.readline()\n"
        "while True:\n"
        '    print(\'{"type":"ask","id":1,"message":"\' + \'x\' * 9000 + \'"}\', flush=True)'
    )

    with pytest.raises(RunStopped, match="hung"):
        run(code, wall_ms_max=1_000)


def test_a_flood_of_lines_is_not_collected() -> None:
    """What an agent writes beyond the one line that is read waits in its pipe, not in memory."""
    code = "import sys; sys.stdin.readline()\nwhile True: sys.stdout.write('x' * 1_000_000 + '\\n')"
    tracemalloc.start()

    report = run(code)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.detail.startswith("a line is no JSON")
    assert peak < 64 * 2**20


def gone(pid: int) -> bool:
    """Return true once the process no longer runs; a zombie that waits to be reaped is gone too."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and ") Z " in status.read_text():
            return True
        time.sleep(0.02)
    return False


def test_the_process_sees_no_variable_that_it_was_not_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Credentials of the harness's own environment do not reach the agent."""
    monkeypatch.setenv("ARH_TEST_CREDENTIAL", "canary")
    code = (
        "import json,os,sys; sys.stdin.readline();"
        "print(json.dumps({'type':'final','answer':os.environ.get('ARH_TEST_CREDENTIAL','none')}))"
    )

    assert run(code).response == "none"


@pytest.mark.parametrize("command", ["", "   ", "no-such-program-here --flag", "python 'unclosed"])
def test_a_command_that_cannot_start_is_refused_before_anything_runs(command: str) -> None:
    """The user hears which option is wrong."""
    with pytest.raises(AuthoringError, match="--agent"):
        check_command(command)


@pytest.mark.skipif(sys.platform == "win32", reason="there a name's ending says what starts it")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("print('hi')\n", "without an interpreter"),
        ("#!/no/such/interpreter\n", "interpreter in its first line is not there"),
        ("#!\n", "interpreter in its first line is not there"),
        (f"#!{sys.executable}\n", ""),
    ],
)
def test_a_script_that_nothing_could_run_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """Otherwise each run would blame the agent; its twin with an interpreter is taken."""
    script = tmp_path / "agent"
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)

    if not says:
        check_command(str(script))
        return
    with pytest.raises(AuthoringError, match=says):
        check_command(str(script))
