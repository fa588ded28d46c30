"""Executes one planned run and returns its evidence.

Seeds the state, arms the faults, lets agents act.

Step 3 of a scenario's path. A run ends in one of three ways: every agent reported, the run was
stopped (an invariant, the fixture, a watchdog), or an agent hung. Whatever happens, the last line
is written and the suite goes on: a failure of the agent is its own, a failure of ours is a problem
of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from arh import __version__
from arh.canonical import Json, JsonValue, line, parse
from arh.errors import ArhError, RunStopped
from arh.foreign import ForeignFailure, call
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import Data, Redact, RunRecorder
from arh.harness.evidence.states import captured, redacted_state, state_from
from arh.harness.running.composition import Composition, Work
from arh.harness.running.control import Control
from arh.harness.running.environment import RunEnvironment
from arh.harness.running.handed import handed_task, text_of
from arh.harness.running.schedule import Baton
from arh.harness.running.session import Ports, RunSession
from arh.harness.running.watchdog import AgentThread
from arh.harness.vocabulary.assertions import InvariantChecker
from arh.ports.control import Build
from arh.ports.sue import Agent, Telemetry
from arh.records.control.evidence import StateView
from arh.records.external import Observation, Point
from arh.records.packs import WorkflowPack
from arh.records.setup import ActorSetup
from arh.records.state import CommitEntry
from arh.records.tasks import AGENT_ENDS, AgentReport, Task
from arh.sim.clock import VirtualClock
from arh.sim.user import ScriptedUser

WALL_MS_MAX = 60_000
ANSWER_CHARS_MAX = 200_000
DETAIL_CHARS_MAX = 500


@dataclass(frozen=True, slots=True)
class Ending:
    """How an agent ended one task, in plain values."""

    termination: str
    answer: JsonValue = None
    structured: bool = False
    detail: str = ""


@dataclass(slots=True)
class Bench:
    """What the runs of one suite share; no run can change any of it.

    A run may take `wall_ms_max`, and `task_ms_max` more for each of its tasks, before it counts as
    hung.
    `clock` is `hybrid` where the agent is a process of its own: its virtual time moves by declared
    latencies alone, and wall limits stand apart.
    """

    build: Build
    pack: WorkflowPack
    plan_digest: str
    redact: Redact
    telemetry: Callable[[str], Telemetry] | None = None
    wall_ms_max: int = WALL_MS_MAX
    task_ms_max: int = 0
    clock: Literal["virtual", "hybrid"] = "virtual"
    thread: AgentThread = field(default_factory=AgentThread)
    states: dict[str, tuple[bytes, StateView]] = field(default_factory=dict)


def execute(composition: Composition, bench: Bench) -> RunOutput:
    """Run it to its end, whatever happens, and return all of its evidence."""
    run = _Run(composition, bench)
    run.begin()
    run.act()
    return run.end()


class _Run:
    """One run in progress."""

    def __init__(self, composition: Composition, bench: Bench) -> None:
        self.composition, self.bench, self.setup = composition, bench, composition.setup
        self.clock = VirtualClock()
        self.baton = _baton(composition)
        self.recorder = RunRecorder(
            self.setup.run_id,
            bench.plan_digest,
            self.clock,
            redact=bench.redact,
            acting=_always(self.setup.actors[0].actor) if self.baton is None else self.baton.acting,
        )
        self.control = Control(self.clock, composition.watchdog)
        self.environment = RunEnvironment(
            self.clock,
            composition.faults,
            self.recorder,
            _go_on if self.baton is None else self.baton.checkpoint,
            None if bench.telemetry is None else bench.telemetry(self.setup.run_id),
        )
        self.sue = bench.build(self.setup, self.environment)
        self.reader = self.sue.store.reader()
        self.invariants = InvariantChecker(
            composition.invariants,
            identities=composition.identities,
            amounts=composition.amounts,
        )
        self.commits = 0
        self.sources: dict[int, str] = {}
        self.read: dict[str, Observation] = {}
        self.blind = False  # a state that was not read at first violates nothing
        self.sessions: dict[str, RunSession] = {}
        self.ends: list[str] = []

    def begin(self) -> None:
        """Record the header and the seeded state, and check the invariants once."""
        self.recorder.record("run_started", "runner", self._header())
        self._observe("start", ())
        digest = self.reader.digest()
        if digest not in self.bench.states:
            state = redacted_state(self.bench.redact, captured(self.reader))
            self.bench.states[digest] = (line(state), state_from(state))
        self.initial, self.state = self.bench.states[digest]
        self.recorder.record("state_seeded", "runner", {"digest": digest})
        self.environment.arm()
        self._check_invariants("seeding")

    def act(self) -> None:
        """Let every actor work, within the wall watchdog's time."""
        tasks = sum(len(works) for _, works in self.composition.works)
        wall_ms_max = self.bench.wall_ms_max + self.bench.task_ms_max * tasks
        if self.baton is None:
            (actor,) = self.setup.actors
            finished = self.bench.thread.run(lambda: self._work(actor), wall_ms_max=wall_ms_max)
        else:
            jobs = {a.actor: self._job(a) for a in self.setup.actors}
            finished = self.baton.run(jobs, wall_ms_max=wall_ms_max)
        if not finished:
            self._hang()

    def end(self) -> RunOutput:
        """Settle what is left, look at the invariants once more and write the last line."""
        self._observe("end", ())
        before = self._position()
        self._settle()
        self._check_invariants("the end")
        self.environment.close()
        self.sue.close()
        self.recorder.record("run_ended", "runner", self._footer(before, self._position()))
        self.sessions.clear()  # they lead back to the run, whose memory is free once it returns
        return RunOutput(
            self.setup.run_id,
            tuple(self.recorder.lines),
            self.recorder.root,
            self.initial,
            self.state,
            self.composition.faults,
        )

    def _job(self, actor: ActorSetup) -> Callable[[], None]:
        return lambda: self._work(actor)

    def _work(self, actor: ActorSetup) -> None:
        works = dict(self.composition.works)[actor.actor]
        session = self.sessions[actor.actor] = self._session(actor, works)
        for work in works:
            if self.control.stopped is not None:
                return
            self._do(actor, work, session)

    def _do(self, actor: ActorSetup, work: Work, session: RunSession) -> None:
        session.hear(work.task.messages, generated=work.generated)
        ending = self._ending(self.sue.agent(actor.actor), work.task, session)
        if session.outage and self.control.stopped is None:
            detail = f"the live model did not answer: {session.outage}"
            self.control.stop("live_outage", detail, by="environment")
        if self.control.stopped is None:
            self._finish(work, ending)

    def _ending(self, agent: Agent, task: Task, session: RunSession) -> Ending:
        """Let the agent work, and return how it ended: whatever it raises is its own error."""
        view = session.open()
        try:
            ended = call("agent", lambda: believed(agent.run(handed_task(task), view)))
        except RunStopped as stop:
            self._abandoned(stop)
            return Ending("agent_error", detail=f"stopped as {stop.termination}")
        except (ArhError, KeyboardInterrupt) as error:
            return Ending("agent_error", detail=type(error).__name__)
        finally:
            session.close()
        if isinstance(ended, ForeignFailure):
            return Ending("agent_error", detail=ended.type_name)
        return ended

    def _abandoned(self, stop: RunStopped) -> None:
        """Take an agent's word for one stop only, that its process hung; any other is its error."""
        if stop.termination == "hung" and self.control.stopped is None and not self._given_up():
            self.control.stop("hung", "control was in the agent", by="wall")

    def _given_up(self) -> bool:
        """Tell whether the baton ended the run, because some other actor never came back."""
        return self.baton is not None and self.baton.stopped

    def _finish(self, work: Work, ending: Ending) -> None:
        self.ends.append(ending.termination)
        self.recorder.record(
            "agent_finished",
            "agent",
            {
                "task": work.task.task_id,
                "termination": ending.termination,
                "answer": ending.answer,
                "structured": ending.structured,
                "detail": ending.detail,
            },
        )

    def _session(self, actor: ActorSetup, works: tuple[Work, ...]) -> RunSession:
        turns = self.composition.turns
        ports = Ports(
            model=self.sue.model(actor.actor),
            gateway=self.sue.gateway(actor.actor),
            user=ScriptedUser([turn.model_dump() for turn in turns]) if turns else None,
            tools=works[0].task.tools if works else (),
        )
        return RunSession(
            ports=ports,
            clock=self.clock,
            recorder=self.recorder,
            control=self.control,
            checkpoint=self.environment.checkpoint,
            settled=self._settle,
        )

    def _settle(self) -> None:
        """Record what the logs gained: effects first, then attempts, then the invariants."""
        attempts = self.sue.attempts.drain()
        if attempts:
            self._observe("attempt", attempts)
        for entry in self.reader.changes_since(self.commits):
            self.commits += 1
            source = self.sources.get(entry.sequence, "store")
            self.recorder.record("state_changed", source, commit_data(entry))
        if not attempts:
            return
        where = {"state": self.reader.digest(), "projection": self.sue.projection()}
        for attempt in attempts:
            self.recorder.record("tool_call", "gateway", {**attempt, **where})
        self._check_invariants(str(attempts[-1]["call_id"]))

    def _observe(self, point: Point, attempts: Sequence[Data]) -> None:
        """Have the outside systems read, and put on record how that went."""
        for seen in self.sue.observe(point, attempts):
            self.sources.update(dict.fromkeys(seen.entries, seen.name))
            self.read[seen.name] = seen
            self.blind = self.blind or (point == "start" and not seen.met)
            self.recorder.record("state_read", seen.name, {"point": point, **observed_data(seen)})

    def _check_invariants(self, after: str) -> None:
        results = () if self.blind else self.invariants.check(self.reader)
        if not results:
            return
        data = [[r.name, r.holds, r.found] for r in results]
        self.recorder.record("invariant_checked", "runner", {"after": after, "results": data})
        broken = [r for r in results if r.holds is False]
        if broken:
            found = f"{broken[0].name}: {broken[0].found}"
            self.control.stop("invariant_violation", found, by="invariant")

    def _hang(self) -> None:
        ports = [session.in_port for session in self._hanging() if session.in_port]
        for port in ports:
            self.control.problem(f"the run hung inside the port `{port}`")
        self.control.stop(
            "hung", "control was in a port" if ports else "control was in the agent", by="wall"
        )

    def _hanging(self) -> list[RunSession]:
        """Return the sessions of the actors that did not come back."""
        given_up = self.sessions if self.baton is None else self.baton.given_up
        return [self.sessions[name] for name in given_up if name in self.sessions]

    def _header(self) -> Data:
        run, setup = self.composition.run, self.setup
        return {
            "run": setup.run_id,
            "scenario": run.located.scenario.id,
            "scenario_digest": run.located.digest,
            "location": run.located.location,
            "plan": self.bench.plan_digest,
            "workflow": setup.workflow,
            "seed": setup.seed,
            "trial": run.trial,
            "arh": __version__,
            "clock": self.bench.clock,
            "sue": dict(self.sue.identity()),
            "tools": {t.manifest.name: t.manifest.version for t in self.bench.pack.tools},
            "datasets": dict(self.composition.datasets),
            "actors": [
                {"actor": a.actor, "subject": a.context.subject, "tenant": a.context.tenant}
                for a in setup.actors
            ],
            "faults": len(self.composition.faults),
            "defect": setup.defect,
            **self._outside(),
        }

    def _outside(self) -> Data:
        """Return whose word counts for which tools, where that is not the store's."""
        external = self.bench.pack.external
        if not external:
            return {}
        return {
            "external": {
                source.name: {"collections": list(source.collections), "tools": list(source.tools)}
                for source in external
            }
        }

    def _position(self) -> tuple[int, str]:
        """Return how many commits the store says it holds, and the digest of its state."""
        return self.reader.sequence(), self.reader.digest()

    def _footer(self, before: tuple[int, str], after: tuple[int, str]) -> Data:
        stop = self.control.stopped
        termination = stop.termination if stop is not None else _joint(self.ends)
        data: Data = {
            "termination": termination,
            "stopped_by": self.control.stopped_by,
            "detail": stop.detail if stop is not None else "",
            "problems": list(self.control.problems),
            "state": after[1],
            "consistency": self._consistency(before, after),
            "calls": self.control.calls_passed,
            "commits": self.commits,
            "root": self.recorder.root,
        }
        if self.baton is not None:
            data["schedule"] = self.baton.trace()
            data["problems"] = [*self.control.problems, *_unfired(self.baton)]
        return data

    def _consistency(self, before: tuple[int, str], after: tuple[int, str]) -> Data:
        """Say whether the final state is one state: read twice alike, and all of it on record.

        A store that moves while nobody acts any more, or that holds other commits than were
        recorded, has no end state that could be judged.
        """
        met = before == after and after[0] == self.commits
        own: Data = {"source": "store", "revision": after[0], "reads": 2, "met": met}
        if self.read:
            own["external"] = [observed_data(seen) for seen in self.read.values()]
        return own


def observed_data(seen: Observation) -> Data:
    """Return the JSON form of one reading of an outside system."""
    return {
        "source": seen.name,
        "met": seen.met,
        "attempts": seen.attempts,
        "revision": seen.revision,
        "watermark": seen.watermark,
        "deadline_ms": seen.deadline_ms,
        "problem": seen.problem,
        "entries": list(seen.entries),
    }


def commit_data(entry: CommitEntry) -> Data:
    """Return the JSON form of a commit entry; it is the store's own, whoever holds the baton."""
    op = entry.operation
    return {
        "actor": "",
        "sequence": entry.sequence,
        "operation_id": op.operation_id,
        "key": op.key,
        "tool": op.tool,
        "version": op.version,
        "argument_digest": op.argument_digest,
        "subject": op.subject,
        "acting": op.actor,
        "tenant": op.tenant,
        "call_id": op.call_id,
        "decision_id": op.decision_id,
        "approval_id": op.approval_id,
        "changes": [
            {
                "tenant": c.tenant,
                "collection": c.collection,
                "key": c.key,
                "revision_before": c.revision_before,
                "revision_after": c.revision_after,
                "digest_before": c.digest_before,
                "digest_after": c.digest_after,
                "value": None if c.value is None else c.value.value(),
            }
            for c in entry.changes
        ],
        "state_before": entry.state_before,
        "state_after": entry.state_after,
    }


def _baton(composition: Composition) -> Baton | None:
    if composition.schedule is None or len(composition.setup.actors) == 1:
        return None
    actors = tuple(actor.actor for actor in composition.setup.actors)
    return Baton.of(composition.schedule, actors, str(composition.setup.seed))


def _always(actor: str) -> Callable[[], str]:
    return lambda: actor


def _unfired(baton: Baton) -> list[str]:
    """Return a problem for each step of the schedule that never came: another one was run."""
    return [
        f"the schedule's step {step.actor} {step.point} {step.nth} -> {step.to} never came"
        for step in baton.unfired()
    ]


def _go_on(_point: str) -> None:
    """Return at once: there is nobody to hand over to."""


def believed(report: object) -> Ending:
    """Return a report as far as it can be believed, in plain values.

    Its termination is one that an agent may name, and its answer is whole: nobody judges a part.

    Raises:
        Exception: Whatever a report with a will of its own raises while it is read.
    """
    if not isinstance(report, AgentReport):
        return Ending("agent_error", detail="no report")
    answer, structured = _answer(report.response)
    termination = text_of(report.termination)
    if termination not in AGENT_ENDS:
        why = text_of(report.detail) if termination == "agent_error" else "unknown termination"
        return Ending("agent_error", answer, structured, why[:DETAIL_CHARS_MAX])
    return Ending(termination, answer, structured, text_of(report.detail)[:DETAIL_CHARS_MAX])


def _answer(response: str | Json | None) -> tuple[JsonValue, bool]:
    """Return the final answer, and whether it is structured."""
    if response is None:
        return None, False
    if isinstance(response, Json):
        return parse(bytes(response.data), size_max=ANSWER_CHARS_MAX), True
    text = text_of(response)
    if len(text) > ANSWER_CHARS_MAX:
        raise ValueError("an answer beyond every measure")
    return text, False


def _joint(ends: list[str]) -> str:
    """Return one termination for all tasks: the first that is not `completed`, if there is one."""
    if not ends:
        return "agent_error"
    return next((end for end in ends if end != "completed"), "completed")
