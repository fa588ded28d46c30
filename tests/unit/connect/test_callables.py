"""A Python callable as the agent: found by name, fresh for each task, judged like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arh.canonical import Json
from arh.cli.main import main
from arh.connect.callables import CallableAgent, is_callable_name, load_callable, reported
from arh.errors import AuthoringError
from arh.ports.sue import Session
from arh.records.messages import Message
from arh.records.tasks import AgentReport, Budgets, Task
from arh.sim.clock import wall_ms
from arh.testing.workbench import Exercise, Tried, Workbench

EXAMPLES = "examples.agents.callable_agent"
GOLDEN = "golden-billing-incident-001"
SCENARIO = "scenarios/support/golden/billing-incident-001.jsonl:1"
TASK = Task(
    task_id="task-0001",
    actor="anna",
    messages=(Message("user", "Account A-1007 was charged twice."),),
    tools=(),
    budgets=Budgets(steps_max=4, tool_calls_max=4, deadline_ms=10_000),
)


class NoSession:
    """Stands for a session that nobody uses."""


def run(target: object) -> AgentReport:
    """Let what the name stands for work on a task."""
    session: Session = NoSession()  # type: ignore[assignment]
    return CallableAgent(target).run(TASK, session)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a module of an unused name into the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    written: list[str] = []

    def write(code: str) -> str:
        name = f"written_agent_{abs(hash(tmp_path))}_{len(written)}"
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        written.append(name)
        return name

    return write


@pytest.mark.parametrize("text", ["package.module:function", "agent:Agent", "a:B.c", "_a:_b"])
def test_a_dotted_name_with_a_colon_is_a_callable(text: str) -> None:
    """A module and what is in it, and nothing else."""
    assert is_callable_name(text)


@pytest.mark.parametrize(
    "text",
    ["python agent.py", "agent", "./agent:x", "a:b --c", "C:\\agent.exe", "a:", ":b", "a:b\n"],
)
def test_anything_else_is_a_command(text: str) -> None:
    """No command that could be started is mistaken for a callable."""
    assert not is_callable_name(text)


def tried(name: str) -> Tried:
    """Run the golden scenario with a callable of the examples."""
    return Workbench.own().run(GOLDEN, agent=load_callable(f"{EXAMPLES}:{name}"))


def test_the_example_passes() -> None:
    """A class that works through its session is judged as the reference agent is."""
    assert tried("SupportAgent").verdict.status == "pass"


def test_its_lying_twin_fails() -> None:
    """A function that only claims the work is caught by the state."""
    lying = tried("claims_all_is_done")

    assert lying.verdict.status == "fail"
    assert "outcome.no_alternative_holds" in lying.rules


def test_a_class_is_made_anew_for_each_task() -> None:
    """What one task left in the agent is not there in the next."""

    class Counting:
        def __init__(self) -> None:
            self.tasks = 0

        def run(self, _task: Task, _session: Session) -> str:
            self.tasks += 1
            return str(self.tasks)

    assert [run(Counting).response, run(Counting).response] == ["1", "1"]


def test_an_object_is_reset_before_each_task() -> None:
    """An object that keeps something between tasks has the chance to drop it."""

    class Remembering:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def reset(self) -> None:
            self.seen.clear()

        def run(self, task: Task, _session: Session) -> str:
            self.seen.append(task.task_id)
            return ",".join(self.seen)

    agent = Remembering()

    assert [run(agent).response, run(agent).response] == ["task-0001", "task-0001"]


def test_a_coroutine_is_run_to_its_end() -> None:
    """Most frameworks are asynchronous; the answer counts when it is there."""

    async def agent(task: Task, _session: Session) -> str:
        return f"done with {task.task_id}"

    assert run(agent) == AgentReport("completed", "done with task-0001")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Done.", AgentReport("completed", "Done.")),
        (None, AgentReport("completed", None)),
        ({"message": "m"}, AgentReport("completed", Json.of({"message": "m"}))),
        (AgentReport("safely_refused", "No."), AgentReport("safely_refused", "No.")),
        (Json.of({"message": "m"}), AgentReport("completed", Json.of({"message": "m"}))),
    ],
)
def test_an_answer_is_taken_as_it_is(answer: object, expected: AgentReport) -> None:
    """Text and objects are final answers; a report is what it says."""
    assert reported(answer) == expected


@pytest.mark.parametrize("answer", [42, b"Done.", ["Done."], object()])
def test_an_answer_that_is_neither_text_nor_object_is_an_error(answer: object) -> None:
    """Nobody guesses what it means."""
    assert reported(answer).termination == "agent_error"


def test_a_callable_is_found_in_the_working_folder(module: Callable[[str], str]) -> None:
    """The console script finds what `python -m` would find."""
    name = module("def agent(task, session):\n    return 'found'\n")

    assert load_callable(f"{name}:agent").run(TASK, NoSession()) == AgentReport(  # type: ignore[arg-type]
        "completed", "found"
    )


@pytest.mark.parametrize(
    ("code", "named", "message"),
    [
        ("", "agent", "does not load: AttributeError"),
        ("raise SystemExit(0)", "agent", "does not load: SystemExit"),
        ("agent = 1", "agent", "function\\(task, session\\)"),
        ("class agent: pass", "agent", "a class with a method `run`"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(
    module: Callable[[str], str], code: str, named: str, message: str
) -> None:
    """A module that does not import, a name that is not there, a thing that cannot be called."""
    name = module(code)

    with pytest.raises(AuthoringError, match=message):
        load_callable(f"{name}:{named}")


def test_a_missing_module_says_how_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the module and the command that shows why."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(AuthoringError, match="ModuleNotFoundError") as refusal:
        load_callable("no_such_module_of_ours:agent")

    said = str(refusal.value)
    assert said == (
        "`--agent`: no_such_module_of_ours:agent does not load: ModuleNotFoundError; "
        'python -c "import no_such_module_of_ours; no_such_module_of_ours.agent" shows why'
    )


@pytest.mark.parametrize("raised", ["raise ValueError('x')", "raise SystemExit(3)", "1/0"])
def test_what_a_callable_raises_is_its_own_error(module: Callable[[str], str], raised: str) -> None:
    """The suite goes on, and the run is the agent's failure."""
    name = module(f"def agent(task, session):\n    {raised}\n")

    verdict = Workbench.own().run(GOLDEN, agent=load_callable(f"{name}:agent")).verdict

    assert verdict.status == "fail"


def test_a_callable_that_hangs_is_given_up(module: Callable[[str], str]) -> None:
    """Its thread is left behind, and its session is shut."""
    name = module("import threading\ndef agent(task, session):\n    threading.Event().wait()\n")
    agent = load_callable(f"{name}:agent")

    hung = Workbench.own().tried(Exercise(GOLDEN, agent=agent, wall_ms_max=200))

    assert hung.verdict.status == "fail"
    assert hung.output.evidence.termination == "hung"


def test_its_limit_is_the_one_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing else ends it, so the run has no time of its own on top of that."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    written = "import threading\ndef agent(task, session):\n    threading.Event().wait()\n"
    (tmp_path / "never_comes_back.py").write_text(written, encoding="utf-8")
    began = wall_ms()

    code = main(["run", SCENARIO, "--agent", "never_comes_back:agent", "--agent-seconds", "1"])

    assert (code, "hung" in capfd.readouterr().out) == (1, True)
    assert wall_ms() - began < 30_000
