"""The runner: whatever fails, the run ends, says whose failure it was, and the suite goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from arh import bootstrap
from arh.agent.loop import ReferenceAgent
from arh.canonical import JsonValue
from arh.errors import DependencyFailure, HarnessError, RunStopped
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.setup import to_fault_plans
from arh.harness.evidence.evidence import build_evidence
from arh.harness.evidence.evidence_store import EvidenceFolder, EvidenceWriter, verify
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import keep_all
from arh.harness.pipeline import Pipeline, judge_folder, run_one, run_suite
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.ports.control import Evaluator
from arh.ports.environment import Environment
from arh.ports.sue import Agent, Gateway, Model, Session
from arh.records.control.evidence import Evidence
from arh.records.control.plan import RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import EvaluationResult
from arh.records.decisions import ModelReply, ModelRequest
from arh.records.messages import Message, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.packs import WorkflowPack
from arh.records.setup import ActorSetup, RunSetup, SeedRecord
from arh.records.state import CommitEntry, Operation
from arh.records.tasks import AgentReport, Task
from arh.state.store import MemoryStore
from arh.testing.defects.exchange import exchanged
from arh.testing.defects.store import Reading, WithoutEntries, WrappedReader
from arh.testing.workbench import Tried, Workbench

GOLDEN = "golden-billing-incident-001"
TWO_ACTORS = "concurrency-one-case-two-actors-001"
ERRORS = [ValueError("x"), SystemExit(1), HarnessError("x"), KeyError("x"), RecursionError()]
ASKS: dict[str, JsonValue] = {
    "rules": [
        {"when": {"step": 0}, "then": {"kind": "ask_user", "message": "Which account?"}},
    ]
}


@pytest.fixture(scope="module")
def bench() -> Workbench:
    """The suite that comes with arh."""
    return Workbench.of()


@dataclass
class Raising:
    """A port, or any part of the system, that raises however it is asked."""

    error: BaseException

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raise as a model."""
        raise self.error

    def call(
        self, request: ToolRequest, *, timeout_ms: int, metadata_key: str | None = None
    ) -> ToolOutcome:
        """Raise as a gateway."""
        raise self.error


def with_model(bench: Workbench, model: Model) -> Tried:
    """The golden scenario with another model."""

    class Composer(bootstrap.Composer):
        def model(self, actor: ActorSetup, setup: RunSetup) -> Model:
            return model

    return bench.run(GOLDEN, composer=Composer)


def with_gateway(bench: Workbench, gateway: Gateway) -> Tried:
    """The golden scenario with another gateway."""

    class Composer(bootstrap.Composer):
        def gateways(self, *_arguments: object) -> dict[str, Gateway]:
            return {"agent": gateway}

    return bench.run(GOLDEN, composer=Composer)


class TestForeignFailures:
    """Code that is not ours, raising at each of its places."""

    @pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
    def test_a_model_adapter_that_raises_is_an_unavailable_model(
        self, bench: Workbench, error: BaseException
    ) -> None:
        """The agent sees a dependency that fails; the run has a problem, and is never a pass."""
        tried = with_model(bench, Raising(error))

        evidence = tried.output.evidence
        assert evidence.termination == "dependency_unavailable"
        assert set(evidence.problems) == {f"model adapter failed: {type(error).__name__}"}
        assert tried.verdict.status != "pass"

    def test_a_model_that_answers_something_else_is_an_unavailable_model(
        self, bench: Workbench
    ) -> None:
        """A reply of another type is no decision."""

        class Chatty:
            def complete(self, request: ModelRequest) -> Any:  # noqa: ANN401 - the wrong type
                return "Sure!"

        tried = with_model(bench, Chatty())

        assert set(tried.output.evidence.problems) == {"model adapter failed: wrong_type"}

    def test_a_model_that_reports_a_failed_dependency_has_no_defect(self, bench: Workbench) -> None:
        """`DependencyFailure` is the port's word for a remote that failed, no problem of ours."""
        tried = with_model(bench, Raising(DependencyFailure("rate_limited", 10)))

        evidence = tried.output.evidence
        assert (evidence.termination, evidence.problems) == ("dependency_unavailable", ())
        assert {x.decision for x in evidence.exchanges} == {"unavailable"}

    @pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
    def test_a_gateway_that_raises_is_our_own_error(
        self, bench: Workbench, error: BaseException
    ) -> None:
        """The gateway is ours: the run stops as `harness_error`, an error and never a fail."""
        tried = with_gateway(bench, Raising(error))

        evidence = tried.output.evidence
        assert (evidence.termination, evidence.stopped_by) == ("harness_error", "gateway")
        assert evidence.stop_detail == f"the gateway failed: {type(error).__name__}"
        assert tried.verdict.status == "error"

    def test_a_gateway_that_answers_something_else_is_our_own_error(self, bench: Workbench) -> None:
        """An outcome of another type is never handed on."""

        class Silent:
            def call(self, *_arguments: object, **_options: object) -> Any:  # noqa: ANN401 - wrong
                return None

        tried = with_gateway(bench, Silent())

        assert tried.output.evidence.termination == "harness_error"
        assert tried.verdict.status == "error"

    def test_a_tool_that_raises_has_failed_and_the_run_goes_on(self, bench: Workbench) -> None:
        """A handler's exception is a tool error to its caller, without an effect."""

        def failing(*_arguments: object) -> Any:  # noqa: ANN401 - never returns
            raise ZeroDivisionError

        pack = bench.suite.pack
        tools = tuple(replace(tool, handler=failing) for tool in pack.tools)
        configuration = bootstrap.configure(
            replace(pack, tools=tools), bench.suite.configuration.scripts
        )
        suite = replace(bench.suite, configuration=configuration)

        def act(_task: Task, session: Session) -> AgentReport:
            request = ToolRequest("c", "get_account", '{"account_id":"A-1007"}')
            outcome = session.call(request, timeout_ms=1_000)
            return AgentReport("completed", f"It said {outcome.status} {outcome.reason}.")

        evidence = Workbench(suite).run(GOLDEN, agent=Acting(act)).output.evidence

        assert (evidence.termination, evidence.problems) == ("completed", ())
        assert evidence.finishes[0].answer == "It said error tool_error."
        assert evidence.commits == ()

    def test_a_user_without_an_answer_is_a_problem_and_not_the_agents(
        self, bench: Workbench
    ) -> None:
        """A simulated user that fails makes the run indeterminate."""

        def deaf(scenario: dict[str, Any]) -> None:
            scenario["stimulus"]["turns"] = [{"when": {"agent_contains": "order"}, "say": "7"}]

        tried = bench.run(GOLDEN, patch=deaf, script=ASKS)

        evidence = tried.output.evidence
        assert evidence.termination == "clarification_requested"
        assert evidence.problems == ("the simulated user failed",)

    @pytest.mark.parametrize("error", [*ERRORS, RunStopped("hung")], ids=lambda e: type(e).__name__)
    def test_an_evaluator_that_raises_is_an_error_of_the_run(
        self, bench: Workbench, error: BaseException
    ) -> None:
        """The others still judge, and the run is no pass."""
        evaluators = (Judging("outcome", error), *bench.suite.evaluators[1:])

        tried = bench.run(GOLDEN, evaluators=evaluators)

        statuses = {result.evaluator: result.status for result in tried.verdict.results}
        assert statuses["outcome"] == "error"
        assert statuses["trajectory"] == "pass"
        assert tried.verdict.status == "error"


@dataclass
class Acting:
    """An agent made of a function."""

    act: Any

    def run(self, task: Task, session: Session) -> AgentReport:
        """Do what the function does."""
        report: AgentReport = self.act(task, session)
        return report


@dataclass
class Judging:
    """An evaluator that raises."""

    id: str
    error: BaseException
    version: str = "1"
    needs: tuple[str, ...] = ()

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Raise."""
        raise self.error


class TestHanging:
    """Whatever does not come back is given up, and blamed on whoever had control."""

    @pytest.fixture
    def forever(self) -> Iterator[threading.Event]:
        """Something to wait for until the test is over."""
        event = threading.Event()
        yield event
        event.set()

    def test_an_agent_that_hangs_fails_and_the_next_run_works(
        self, bench: Workbench, forever: threading.Event
    ) -> None:
        """Control was in the agent: the run is its failure."""
        waiting: Agent = Acting(lambda _task, _session: forever.wait())

        hung, after = hurried(bench, GOLDEN, [waiting, ReferenceAgent()])

        evidence = hung.evidence
        assert (evidence.termination, evidence.problems) == ("hung", ())
        assert (evidence.stopped_by, evidence.stop_detail) == ("wall", "control was in the agent")
        assert after.evidence.termination == "completed"

    def test_a_port_that_hangs_is_our_own_error(
        self, bench: Workbench, forever: threading.Event
    ) -> None:
        """Control was in a port: nothing of it is the agent's."""

        class Hanging:
            def complete(self, request: ModelRequest) -> ModelReply:
                forever.wait()
                raise AssertionError

        class Composer(bootstrap.Composer):
            def model(self, actor: ActorSetup, setup: RunSetup) -> Model:
                return Hanging()

        (hung,) = hurried(bench, GOLDEN, [ReferenceAgent()], composer=Composer)

        assert hung.evidence.termination == "hung"
        assert hung.evidence.problems == ("the run hung inside the port `model`",)

    def test_an_agent_that_wakes_up_late_finds_its_run_stopped(
        self, bench: Workbench, forever: threading.Event
    ) -> None:
        """What it does then reaches nothing and is on record nowhere."""
        found: list[str] = []
        woken = threading.Event()

        def act(_task: Task, session: Session) -> AgentReport:
            forever.wait()
            try:
                session.call(ToolRequest("c", "get_account", "{}"), timeout_ms=1)
            except RunStopped as stop:
                found.append(stop.termination)
            woken.set()
            return AgentReport("completed", "Done.")

        (hung,) = hurried(bench, GOLDEN, [Acting(act)])
        lines = hung.lines
        forever.set()
        woken.wait(10)

        assert found == ["hung"]
        assert hung.lines == lines

    def test_an_agent_has_its_time_for_each_task(
        self, bench: Workbench, forever: threading.Event
    ) -> None:
        """What a process may take for a task is never cut by what a run may take."""

        def slow(_task: Task, _session: Session) -> AgentReport:
            forever.wait(0.01)
            return AgentReport("completed", "Done.")

        (run,) = plan_runs((bench.located(GOLDEN),), seed=1).runs
        composition = compose(run, bench.suite.pack, bench.suite.catalogue)
        composer = bootstrap.Composer(bench.suite.configuration, lambda _a, _t: Acting(slow))
        ended = [
            execute(
                composition,
                Bench(
                    composer,
                    bench.suite.pack,
                    "plan",
                    redact=keep_all,
                    wall_ms_max=0,
                    task_ms_max=task_ms_max,
                ),
            ).evidence.termination
            for task_ms_max in (0, 10_000)
        ]

        assert ended == ["hung", "completed"]

    def test_of_several_actors_the_one_that_hangs_is_blamed(
        self, bench: Workbench, forever: threading.Event
    ) -> None:
        """An actor that waits for its turn inside a port hangs nowhere: the other one does."""
        waiting: Agent = Acting(lambda _task, _session: forever.wait())

        (hung,) = hurried(bench, TWO_ACTORS, [ReferenceAgent(), waiting])

        assert (hung.evidence.termination, hung.evidence.problems) == ("hung", ())
        assert hung.evidence.stop_detail == "control was in the agent"


class TestSchedules:
    """The interleaving that a scenario asks for is the one that is run, or the run is in doubt."""

    @pytest.mark.parametrize(
        ("nth", "problems"),
        [(1, ()), (99, ("the schedule's step first gateway 99 -> second never came",))],
    )
    def test_a_step_that_never_came_is_a_problem(
        self, bench: Workbench, nth: int, problems: tuple[str, ...]
    ) -> None:
        """Another interleaving was run than the one that was asked for."""
        first, second = (a.actor for a in bench.located(TWO_ACTORS).scenario.stimulus.actors)

        def scheduled(scenario: dict[str, Any]) -> None:
            step = {"actor": first, "point": "gateway", "nth": nth, "to": second}
            scenario["controls"]["schedule"] = {"kind": "explicit", "steps": [step]}

        tried = bench.run(TWO_ACTORS, patch=scheduled)

        said = tuple(p.replace("first", first).replace("second", second) for p in problems)
        assert tried.output.evidence.problems == said
        assert (tried.verdict.status == "pass") == (nth == 1)


def hurried(
    bench: Workbench,
    scenario_id: str,
    agents: Sequence[Agent],
    *,
    composer: type[bootstrap.Composer] = bootstrap.Composer,
) -> list[RunOutput]:
    """Runs with very little wall time, until the agents are used up: one for each actor."""
    located = bench.located(scenario_id)
    (run,) = plan_runs((located,), seed=1).runs
    waiting = list(agents)
    made = composer(bench.suite.configuration, lambda _a, _t: waiting.pop(0))
    shared = Bench(made, bench.suite.pack, "plan", redact=keep_all, wall_ms_max=600)
    composition = compose(run, bench.suite.pack, bench.suite.catalogue)
    outputs = []
    while waiting:
        outputs.append(execute(composition, shared))
    return outputs


def isolated(scenario: dict[str, Any]) -> None:
    """Nobody may touch another tenant's tickets."""
    scenario["expectations"]["invariants"] = [
        {"kind": "tenant_isolated", "collection": "tickets", "id": "no-foreign-row"}
    ]


class OtherTenant(WrappedReader):
    """Shows commit entries as if another tenant had acted, on rows of its own."""

    def changes_since(self, sequence: int) -> tuple[CommitEntry, ...]:
        """Return entries that are consistent in themselves."""
        return tuple(map(self._moved, super().changes_since(sequence)))

    def _moved(self, entry: CommitEntry) -> CommitEntry:
        changes = tuple(replace(change, tenant="tenant-z") for change in entry.changes)
        operation = replace(entry.operation, tenant="tenant-z")
        return replace(entry, operation=operation, changes=changes)


class Counting(WrappedReader):
    """Counts one more commit whenever it is asked."""

    asked = 0

    def sequence(self) -> int:
        """Return a number that grows."""
        self.asked += 1
        return super().sequence() + self.asked - 1


class Moving(Counting):
    """Shows another state from the second time on that its position is asked for."""

    def sequence(self) -> int:
        """Return the same number each time."""
        return super().sequence() - self.asked + 1

    def digest(self) -> str:
        """Return another digest later on."""
        return "0" * 64 if self.asked > 1 else super().digest()


class TestStops:
    """What stops a run, and what can be accepted afterwards."""

    @pytest.mark.parametrize("role", ["acceptance", "negative_control", "positive_control"])
    def test_a_fixture_mismatch_is_an_error_whatever_the_scenario_accepts(
        self, bench: Workbench, role: str
    ) -> None:
        """A script without a rule for the situation has no opinion, and nobody may use it."""

        def lenient(scenario: dict[str, Any]) -> None:
            scenario["role"] = role

        silent: dict[str, JsonValue] = {
            "rules": [{"when": {"step": 7}, "then": {"kind": "final_answer", "final_answer": "!"}}]
        }

        tried = bench.run(GOLDEN, patch=lenient, script=silent)

        assert tried.verdict.termination == "fixture_mismatch"
        assert tried.verdict.status == "error"
        assert tried.verdict.reasons[0].startswith("fixture_mismatch: scripted:golden-001: no rule")

    def test_an_invariant_that_breaks_stops_the_run_on_record(self, bench: Workbench) -> None:
        """It is checked after the very attempt that broke it, and nothing happens after that."""

        def strict(scenario: dict[str, Any]) -> None:
            scenario["expectations"]["invariants"] = [
                {"kind": "absent", "collection": "tickets", "id": "no-ticket"}
            ]

        tried = bench.run(GOLDEN, patch=strict)

        evidence = tried.output.evidence
        assert (evidence.termination, evidence.stopped_by) == ("invariant_violation", "invariant")
        assert evidence.stop_detail.startswith("no-ticket: ")
        assert [c.tool for c in evidence.calls][-1] == "create_ticket"
        assert [e.kind for e in evidence.events][-3:] == [
            "tool_call",
            "invariant_checked",
            "run_ended",
        ]
        assert tried.verdict.status == "fail"

    def test_an_invariant_is_judged_live_by_whom_the_scenario_trusts(
        self, bench: Workbench
    ) -> None:
        """A commit entry that lies about its tenant is believed neither by stop nor by verdict."""
        tried = bench.run(
            GOLDEN,
            patch=isolated,
            composer=exchanged(truth=lambda store: Reading(store, OtherTenant)),
        )

        evidence = tried.output.evidence
        assert (evidence.termination, evidence.stopped_by) == ("invariant_violation", "invariant")
        assert evidence.stop_detail.startswith("no-foreign-row: ")
        assert bench.run(GOLDEN, patch=isolated).output.evidence.termination == "completed"

    def test_an_invariant_that_breaks_after_the_last_attempt_is_seen(
        self, bench: Workbench
    ) -> None:
        """A state that moves without an attempt is looked at before the last line is written."""

        def edited(_task: Task, _session: Session) -> AgentReport:
            behind = Operation(
                "op", "key", "create_ticket", "1.1", "", "robot", "robot", "tenant-a"
            )
            tx = stores[0].transaction(behind)
            tx.put("tickets", "TK-0666", {})
            tx.commit()
            return AgentReport("completed", "Done.")

        stores: list[MemoryStore] = []

        class Composer(bootstrap.Composer):
            def seeded_store(self, seeds: Sequence[SeedRecord], env: Environment) -> MemoryStore:
                stores.append(super().seeded_store(seeds, env))
                return stores[-1]

        def strict(scenario: dict[str, Any]) -> None:
            scenario["expectations"]["invariants"] = [
                {"kind": "absent", "collection": "tickets", "id": "no-ticket"}
            ]

        evidence = bench.run(
            GOLDEN, patch=strict, agent=Acting(edited), composer=Composer
        ).output.evidence

        assert evidence.stop_detail.startswith("no-ticket: ")
        assert evidence.invariants[-1].after == "the end"

    @pytest.mark.parametrize("reader", [Moving, Counting, WithoutEntries])
    def test_an_end_state_that_does_not_hold_still_is_a_gap(
        self, bench: Workbench, reader: type[WrappedReader]
    ) -> None:
        """It is read twice and held against the commits on record; no such run can pass."""
        tried = bench.run(GOLDEN, composer=exchanged(truth=lambda store: Reading(store, reader)))

        found = [d.message for d in tried.output.evidence.discrepancies if d.kind == "gap"]
        assert [text for text in found if text.startswith("the store moved")] != []
        assert tried.verdict.status != "pass"

    def test_a_run_whose_only_flaw_is_an_unsteady_end_state_is_indeterminate(
        self, bench: Workbench
    ) -> None:
        """A gap is doubt about the evidence, no failure of the agent."""
        tried = bench.run(GOLDEN, composer=exchanged(truth=lambda store: Reading(store, Counting)))

        assert tried.verdict.status == "indeterminate"

    def test_the_watchdog_comes_after_every_budget(self, bench: Workbench) -> None:
        """The supervisor stops first; an agent without one is stopped by the watchdog."""

        def endless(_task: Task, session: Session) -> AgentReport:
            while True:
                session.call(ToolRequest("c", "get_account", "{}"), timeout_ms=1)

        def short(scenario: dict[str, Any]) -> None:
            scenario["controls"]["runtime_budgets"]["max_tool_calls"] = 2

        supervised = bench.run(GOLDEN, patch=short)
        unsupervised = bench.run(GOLDEN, patch=short, agent=Acting(endless))

        budget, watchdog = supervised.output.evidence, unsupervised.output.evidence
        assert (budget.termination, budget.stopped_by) == ("tool_call_budget", "")
        assert (watchdog.termination, watchdog.stopped_by) == ("watchdog", "watchdog")
        made = [c for c in budget.calls if not c.refused_by_budget]
        assert len(watchdog.calls) > len(made)

    def test_waiting_beyond_the_deadline_is_stopped(self, bench: Workbench) -> None:
        """An agent cannot sleep its way past the deadline."""

        def sleepy(_task: Task, session: Session) -> AgentReport:
            session.wait(10**9)
            session.wait(1)
            return AgentReport("completed", "Good morning.")

        evidence = bench.run(GOLDEN, agent=Acting(sleepy)).output.evidence

        assert (evidence.termination, evidence.stop_detail) == (
            "watchdog",
            "time beyond the deadline",
        )


class TestSuite:
    """Runs in a row, on disk."""

    def pipeline(self, bench: Workbench, plan: RunPlan, **changed: Any) -> Pipeline:  # noqa: ANN401 - any field
        """What the suite is run with, some of it exchanged."""
        suite = bench.suite
        composer = changed.pop("composer", bootstrap.Composer)(suite.configuration)
        shared = Bench(composer, suite.pack, plan.digest, redact=keep_all)
        return replace(Pipeline(shared, suite.catalogue, suite.evaluators), **changed)

    def test_evidence_read_back_is_the_evidence_that_was_judged(
        self, bench: Workbench, tmp_path: Path
    ) -> None:
        """For every scenario of the suite, what lies on disk reads as what was in memory."""
        plan = plan_runs(bench.suite.loaded.scenarios, seed=1)
        pipeline, writer = (
            self.pipeline(bench, plan),
            EvidenceWriter(tmp_path, plan, redact=keep_all),
        )
        live = [made for run in plan.runs if not isinstance(made := run_one(run, pipeline), str)]
        for output, _ in live:
            writer.add(output)
        writer.close({})

        folder = EvidenceFolder(tmp_path)
        evidence = [
            build_evidence(x.run_id, x.lines, x.initial, faults=to_fault_plans(r.located.scenario))
            for x, r in zip(folder.runs(), plan.runs, strict=True)
        ]

        assert verify(tmp_path) == ()
        assert evidence == [output.evidence for output, _ in live]
        judged = judge_folder(folder, bench.suite.evaluators, bench.suite.pack)
        assert list(judged) == [verdict for _, verdict in live]

    def test_a_run_that_fails_in_our_own_code_is_an_error_and_the_rest_go_on(
        self, bench: Workbench, tmp_path: Path
    ) -> None:
        """It has a verdict and no evidence, and the folder says that something is missing."""

        class Broken(bootstrap.Composer):
            def model(self, actor: ActorSetup, setup: RunSetup) -> Model:
                if actor.model_configuration == "scripted:golden-001":
                    raise HarnessError("a defect of ours")
                return super().model(actor, setup)

        others = [x for x in bench.suite.loaded.scenarios if x.scenario.category == "golden"]
        plan = plan_runs(others, seed=1)
        writer = EvidenceWriter(tmp_path / "e", plan, redact=keep_all)

        verdicts = run_suite(plan, self.pipeline(bench, plan, composer=Broken), writer)
        writer.close({})

        by_id = {verdict.scenario_id: verdict for verdict in verdicts}
        failed = by_id.pop(GOLDEN)
        assert (failed.status, failed.termination) == ("error", "harness_error")
        assert failed.reasons == ("the harness failed: HarnessError",)
        assert {verdict.status for verdict in by_id.values()} == {"pass"}
        assert any("runs planned" in problem for problem in verify(tmp_path / "e"))

    def test_an_evaluator_that_answers_nonsense_ends_no_suite(
        self, bench: Workbench, tmp_path: Path
    ) -> None:
        """Not even one whose result breaks the judge itself."""

        class Nonsense:
            id, version = "outcome", "1"
            needs: tuple[str, ...] = ()

            def evaluate(
                self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
            ) -> EvaluationResult:
                """Answer with fields of the wrong kind."""
                return EvaluationResult("outcome", "1", "great", "!", (None,))  # type: ignore[arg-type]

        nonsense: Evaluator = Nonsense()
        plan = plan_runs((bench.located(GOLDEN),), seed=1)
        writer = EvidenceWriter(tmp_path / "e", plan, redact=keep_all)

        (verdict,) = run_suite(plan, self.pipeline(bench, plan, evaluators=(nonsense,)), writer)
        writer.close({})

        assert verdict.status == "error"
        assert writer.written == 1


def test_a_message_of_the_user_is_handed_over_as_a_copy(bench: Workbench) -> None:
    """What an agent does to the answer changes nothing of what was said."""
    answers: list[Message | None] = []

    def act(_task: Task, session: Session) -> AgentReport:
        answers.append(session.ask("Which account?"))
        return AgentReport("completed", "Done.")

    def talkative(scenario: dict[str, Any]) -> None:
        scenario["stimulus"]["turns"] = [{"when": {}, "say": "A-1007"}]

    tried = bench.run(GOLDEN, patch=talkative, agent=Acting(act))

    assert answers == [Message("user", "A-1007")]
    assert [turn.text for turn in tried.output.evidence.user_turns][-1] == "A-1007"
