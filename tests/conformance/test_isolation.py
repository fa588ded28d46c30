"""What a run promises of its agent.

It is handed frozen data and a session, and nothing that it does to them or to itself changes what
is on record of anybody, ends the suite, or outlives a stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from arh import bootstrap
from arh.agent.loop import ReferenceAgent
from arh.canonical import Json, JsonValue
from arh.errors import AuthoringError, DependencyFailure, HarnessError, RunStopped
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import keep_all
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.harness.running.session import RunSession
from arh.ports.sue import Agent, Session
from arh.records.messages import Message, ToolRequest
from arh.records.tasks import AgentReport, Task
from arh.testing.workbench import Workbench
from tests.conformance.agents import Acting, Explorer, Vandal, reachable

GOLDEN = "golden-billing-incident-001"
NEVER: dict[str, JsonValue] = {
    "rules": [{"when": {"turn": 9}, "then": {"kind": "final_answer", "final_answer": "never"}}]
}
HANDED = {
    "arh.canonical.Json",
    "arh.harness.running.handed.SessionView",
    "arh.records.decisions.Calls",
    "arh.records.decisions.Final",
    "arh.records.decisions.ModelReply",
    "arh.records.decisions.Usage",
    "arh.records.messages.Message",
    "arh.records.messages.ToolReply",
    "arh.records.messages.ToolRequest",
    "arh.records.messages.ToolSpec",
    "arh.records.outcomes.Mark",
    "arh.records.outcomes.ToolOutcome",
    "arh.records.tasks.Budgets",
    "arh.records.tasks.ProgressLimits",
    "arh.records.tasks.Task",
}


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """The suite that comes with arh."""
    return Workbench.of()


def outputs(bench: Workbench, *agents: Agent) -> list[RunOutput]:
    """The golden scenario run once by each agent, one after another over everything shared."""
    located = bench.located(GOLDEN)
    (run,) = plan_runs((located,), seed=1).runs
    pack, catalogue = bench.suite.pack, bench.suite.catalogue
    waiting = iter(agents)
    composer = bootstrap.Composer(bench.suite.configuration, lambda _a, _t: next(waiting))
    shared = Bench(composer, pack, "plan", redact=keep_all)
    composition = compose(run, pack, catalogue)
    return [execute(composition, shared) for _ in agents]


class TestReach:
    """A walk over everything that an agent is handed."""

    def test_only_records_that_are_meant_for_it_are_found(self, bench: Workbench) -> None:
        """No scenario, expectation, gate, fault or port is behind any attribute or container."""
        explorer = Explorer()

        tried = bench.run(GOLDEN, agent=explorer)

        ours = {name for name in explorer.found if name.startswith("arh.")}
        assert tried.verdict.status == "pass"
        assert ours == HANDED

    def test_the_walk_would_find_them(self, bench: Workbench) -> None:
        """The same walk over the run's own session comes to the scenario and what it expects."""
        found: set[str] = set()

        def act(_task: Task, session: Session) -> AgentReport:
            behind = session._session()  # type: ignore[attr-defined]
            assert isinstance(behind, RunSession)
            found.update(type(one).__name__ for one in reachable(behind))
            return AgentReport("completed", "Done.")

        bench.run(GOLDEN, agent=Acting(act))

        assert {"Scenario", "Expectations", "RunRecorder", "Control", "PolicyGateway"} <= found

    def test_a_session_has_the_six_ways_out_and_no_other(self, bench: Workbench) -> None:
        """Nothing public on it writes evidence or moves the clock but the ports of an agent."""
        names: list[str] = []

        def act(_task: Task, session: Session) -> AgentReport:
            names.extend(name for name in dir(session) if not name.startswith("_"))
            return AgentReport("completed", "Done.")

        bench.run(GOLDEN, agent=Acting(act))

        assert names == ["ask", "call", "complete", "note", "now_ms", "wait"]


class TestMutation:
    """An agent that overwrites whatever it can reach."""

    def test_it_changes_no_byte_of_its_own_evidence(self, bench: Workbench) -> None:
        """A vandal's run leaves exactly the lines that the honest agent's run leaves."""
        honest, vandal = outputs(bench, ReferenceAgent(), Vandal())

        assert vandal.lines == honest.lines

    def test_it_changes_no_byte_of_the_next_run(self, bench: Workbench) -> None:
        """Nothing that runs share was within its reach."""
        before, _, after = outputs(bench, ReferenceAgent(), Vandal(), ReferenceAgent())

        assert (after.lines, after.root) == (before.lines, before.root)

    def test_a_past_that_is_rewritten_in_place_is_not_what_the_model_saw(
        self, bench: Workbench
    ) -> None:
        """The model is shown the message that is on record, whatever became of the object."""

        def act(task: Task, session: Session) -> AgentReport:
            messages = (Message("system", task.system_prompt), *task.messages)
            session.complete(messages, timeout_ms=100)
            object.__setattr__(messages[-1], "content", "Forget it.")
            session.complete(messages, timeout_ms=100)
            return AgentReport("completed", "Done.")

        output = bench.run(GOLDEN, agent=Acting(act)).output

        first, second = output.evidence.exchanges
        assert b"Forget it." not in b"".join(output.lines)
        assert (first.requests, second.requests) == (first.requests, first.requests)

    def test_a_name_with_a_will_of_its_own_is_read_as_its_text(self, bench: Workbench) -> None:
        """A tool's name that equals every name runs nothing but the tool that it spells."""

        class Chameleon(str):
            __slots__ = ()

            def __eq__(self, other: object) -> bool:
                return True

            def __hash__(self) -> int:
                return hash("get_account")

        def act(_task: Task, session: Session) -> AgentReport:
            request = ToolRequest("c1", Chameleon("issue_credit"), "{}")
            session.call(request, timeout_ms=100)
            return AgentReport("completed", "Done.")

        (call,) = bench.run(GOLDEN, agent=Acting(act)).output.evidence.calls

        assert (call.tool, call.status) == ("issue_credit", "rejected")


def raising(error: BaseException) -> Agent:
    """An agent that raises at once."""

    def act(_task: Task, _session: Session) -> AgentReport:
        raise error

    return Acting(act)


def reporting(report: object) -> Agent:
    """An agent that hands this back."""
    return Acting(lambda _task, _session: report)  # type: ignore[arg-type, return-value]


def tampered(data: bytes) -> Json:
    """A Json whose bytes were exchanged."""
    made = Json.of({})
    object.__setattr__(made, "data", data)
    return made


def made(kind: Callable[..., object], *parts: object) -> object:
    """A record of parts that no type checker would let pass."""
    return kind(*parts)


class Thorny:
    """An object that raises however it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError


class TestFailure:
    """An agent that fails."""

    @pytest.mark.parametrize(
        "error",
        [
            ValueError("x"),
            SystemExit(0),
            KeyboardInterrupt(),
            GeneratorExit(),
            RecursionError(),
            MemoryError(),
            AuthoringError.of("mine"),
            HarnessError("mine"),
            DependencyFailure("timeout"),
            RunStopped("fixture_mismatch"),
            RunStopped("harness_error"),
            ExceptionGroup("several", [HarnessError("mine")]),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_whatever_it_raises_is_its_own_error(
        self, bench: Workbench, error: BaseException
    ) -> None:
        """The run ends as `agent_error`, nothing in it is ours, and the next run is as ever."""
        before, failed, after = outputs(bench, ReferenceAgent(), raising(error), ReferenceAgent())

        evidence = failed.evidence
        assert (evidence.termination, evidence.problems) == ("agent_error", ())
        assert after.lines == before.lines

    @pytest.mark.parametrize(
        "report",
        [
            None,
            "completed",
            AgentReport("passed", "Done."),
            AgentReport("fixture_mismatch", "Done."),
            AgentReport("harness_error", "Done."),
            AgentReport([], "Done."),  # type: ignore[arg-type]
            AgentReport(Thorny(), "Done."),  # type: ignore[arg-type]
            AgentReport("completed", Thorny()),  # type: ignore[arg-type]
            AgentReport("completed", "Done.", Thorny()),  # type: ignore[arg-type]
            AgentReport("completed", tampered(b"{")),
            AgentReport("completed", tampered(b'{"a":NaN}')),
            AgentReport("completed", tampered(b'{"a":1,"a":2}')),
            AgentReport("completed", "x" * 200_001),
        ],
        ids=range(13),
    )
    def test_whatever_it_reports_is_never_taken_on_trust(
        self, bench: Workbench, report: object
    ) -> None:
        """A report that is none, or names what no agent may name, ends as `agent_error`."""
        failed, after = outputs(bench, reporting(report), ReferenceAgent())

        evidence = failed.evidence
        assert (evidence.termination, evidence.problems) == ("agent_error", ())
        assert after.evidence.termination == "completed"

    def test_a_lone_surrogate_in_an_answer_is_its_escape(self, bench: Workbench) -> None:
        r"""What no UTF-8 can hold is written as `\ud800`, and the run is judged as any other."""
        tried = bench.run(GOLDEN, agent=reporting(AgentReport("completed", "Done. \ud800")))

        assert tried.output.evidence.finishes[0].answer == "Done. \\ud800"
        assert tried.verdict.status == "fail"

    @pytest.mark.parametrize(
        "misuse",
        [
            lambda s: s.call(None, timeout_ms=1),
            lambda s: s.call(made(ToolRequest, "c", 3, "{}"), timeout_ms=1),
            lambda s: s.call(made(ToolRequest, "c", "get_account", {}), timeout_ms=1),
            lambda s: s.call(ToolRequest("c", "get_account", "{}"), timeout_ms="soon"),
            lambda s: s.complete(("hello",), timeout_ms=1),
            lambda s: s.complete((made(Message, "root", "hello"),), timeout_ms=1),
            lambda s: s.complete((made(Message, "user", b"hello"),), timeout_ms=1),
            lambda s: s.complete(3, timeout_ms=1),
            lambda s: s.ask(None),
            lambda s: s.note("loop_exact"),
            lambda s: s.wait("long"),
        ],
        ids=range(11),
    )
    def test_a_misused_session_refuses_before_anything_is_on_record(
        self, bench: Workbench, misuse: Callable[[Any], object]
    ) -> None:
        """The misuse raises in the agent, leaves no event and no problem, and blames nobody."""
        caught: list[type] = []

        def act(_task: Task, session: Session) -> AgentReport:
            try:
                misuse(session)
            except (TypeError, ValueError) as error:
                caught.append(type(error))
            return AgentReport("completed", "Done.")

        evidence = bench.run(GOLDEN, agent=Acting(act)).output.evidence

        kinds = {event.kind for event in evidence.events}
        assert len(caught) == 1
        assert kinds.isdisjoint({"tool_call", "model_asked", "progress_stopped"})
        assert (evidence.termination, evidence.problems) == ("completed", ())


class TestStops:
    """A run that was stopped is over."""

    def test_an_agent_that_catches_everything_cannot_act_after_a_stop(
        self, bench: Workbench
    ) -> None:
        """After the fixture's mismatch every way out raises the stop, and nothing is recorded."""
        raised: list[str] = []

        def act(_task: Task, session: Session) -> AgentReport:
            ways: list[Callable[[], object]] = [
                lambda: session.complete((Message("user", "?"),), timeout_ms=1),
                lambda: session.call(ToolRequest("c", "get_account", "{}"), timeout_ms=1),
                lambda: session.ask("?"),
                lambda: session.wait(1),
                session.now_ms,
            ]
            for way in ways:
                try:
                    way()
                except BaseException as stop:  # noqa: BLE001 - what a stubborn agent does
                    raised.append(str(stop).partition(":")[0])
            return AgentReport("completed", "Done.")

        tried = bench.run(
            GOLDEN,
            agent=Acting(act),
            script={
                "rules": [
                    {"when": {"turn": 9}, "then": {"kind": "final_answer", "final_answer": "never"}}
                ]
            },
        )

        kinds = [event.kind for event in tried.output.evidence.events]
        assert raised == ["fixture_mismatch"] * 5
        assert kinds[-2:] == ["model_asked", "run_ended"]
        assert tried.verdict.status == "error"

    def test_a_session_is_over_when_the_agent_has_reported(self, bench: Workbench) -> None:
        """Whoever keeps a session learns nothing by it any more."""
        kept: list[Session] = []

        def act(_task: Task, session: Session) -> AgentReport:
            kept.append(session)
            return AgentReport("completed", "Done.")

        bench.run(GOLDEN, agent=Acting(act))

        with pytest.raises(RunStopped, match="the session is over"):
            kept[0].now_ms()

    def test_a_session_works_in_its_own_thread_only(self, bench: Workbench) -> None:
        """What a second thread does would be on record in an order that nobody chose."""
        raised: list[str] = []

        def act(_task: Task, session: Session) -> AgentReport:
            def other() -> None:
                with pytest.raises(RunStopped) as stop:
                    session.now_ms()
                raised.append(stop.value.detail)

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            return AgentReport("completed", "Done.")

        bench.run(GOLDEN, agent=Acting(act))

        assert raised == ["a session was used from another thread"]
