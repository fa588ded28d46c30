"""A workflow pack on a bench: its scenarios run as they are deployed, and runs made otherwise.

The pack's own suite is read as the gate reads it. Each planned run is made once and kept; a check
makes further ones with something exchanged: the agent, the composer, or the composition itself.
Nothing is written anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from arh import bootstrap
from arh.canonical import JsonValue
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import Redact, keep_all
from arh.harness.evidence.written_scenarios import judged_by
from arh.harness.judging.judge import judge
from arh.harness.null_agent import BenchOf, passes_idle
from arh.harness.running.composition import Composition, compose
from arh.harness.running.control import WatchdogLimits
from arh.harness.running.runner import Bench, execute
from arh.harness.running.watchdog import AgentThread
from arh.ports.control import Build, SystemUnderEvaluation
from arh.ports.environment import Environment
from arh.ports.sue import Agent, Session
from arh.records.control.evidence import CallEvidence, StateView
from arh.records.control.plan import PlannedRun, RunPlan
from arh.records.control.verdict import ScenarioVerdict
from arh.records.identity import SecurityContext
from arh.records.messages import ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.packs import WorkflowPack
from arh.records.setup import RunSetup
from arh.records.tasks import AgentReport, Task
from arh.telemetry.redaction import Redactor
from arh.testing.workbench import Compose

STRANGER = "tenant-of-a-stranger"
TIMEOUT_MS = 5_000
WALL_MS_MAX = 10_000
# Once code of the pack has kept a run for so long, the others are not waited for like that.
WALL_MS_MAX_AFTER = 500
PROBE_LIMITS = WatchdogLimits(10_000, 10_000, 100_000_000)

Change = Callable[[Composition], Composition]
Request = tuple[str, Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: what was planned, what it left, how it was judged, and the system that it had."""

    run: PlannedRun
    output: RunOutput
    verdict: ScenarioVerdict
    system: SystemUnderEvaluation

    @property
    def id(self) -> str:
        """The scenario's id."""
        return self.run.located.scenario.id


@dataclass(frozen=True)
class PackBench:
    """A pack's suite, and what is deployed with it: by default all that comes with arh.

    With `redacted`, runs are judged as the gate judges them, by what may be persisted of them.
    `elsewhere` makes the runs in another process and returns the root of each one's evidence.
    `hung` are the runs that never came back.
    """

    suite: bootstrap.Suite
    under_test: bootstrap.UnderTest = field(default_factory=bootstrap.UnderTest)
    composer: Compose | None = None
    redacted: bool = False
    elsewhere: Callable[[bootstrap.Suite], Mapping[str, str] | None] | None = None
    states: dict[str, tuple[bytes, StateView]] = field(default_factory=dict, repr=False)
    thread: AgentThread = field(default_factory=AgentThread, repr=False)
    hung: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, workflow: str, *, root: Path | None = None) -> Self:
        """Return the bench of an installed pack, its folders in `root` or the working folder.

        Raises:
            AuthoringError: The pack does not load, or anything authored is wrong.
        """
        named = {} if root is None else folders(root)
        suite = bootstrap.prepare(bootstrap.Sources(workflow=workflow, **named))
        return cls(suite, elsewhere=bootstrap.roots_elsewhere)

    @property
    def pack(self) -> WorkflowPack:
        """The pack."""
        return self.suite.pack

    @cached_property
    def plan(self) -> RunPlan:
        """What the gate would run."""
        return plan_runs(self.suite.loaded.scenarios, seed=bootstrap.SEED)

    @cached_property
    def runs(self) -> tuple[Ran, ...]:
        """Every planned run, as it is deployed."""
        return tuple(self.ran(run) for run in self.plan.runs)

    @cached_property
    def agents(self) -> bootstrap.AgentFactory:
        """What makes the agent under test."""
        return self.under_test.agent.factory()

    def accepted(self) -> tuple[Ran, ...]:
        """Return the runs of acceptance scenarios."""
        return tuple(one for one in self.runs if one.verdict.role == "acceptance")

    def ran(
        self,
        run: PlannedRun,
        *,
        agent: Agent | None = None,
        composer: Compose | None = None,
        change: Change | None = None,
        redact: Redact | None = None,
    ) -> Ran:
        """Run one scenario, with what is given in place of the deployed part, and judge it."""
        made: list[SystemUnderEvaluation] = []
        bench = self._bench(agent, composer, made, redact or self._redact)
        composition = compose(run, self.pack, self.suite.catalogue)
        composition = composition if change is None else change(composition)
        output = execute(composition, bench)
        if output.evidence.termination == "hung":
            self.hung.append(run.run_id)
        kept = judged_by(run, bench.redact)
        verdict = judge(kept.located, output.evidence, self.suite.evaluators, self.pack)
        return Ran(run, output, verdict, made[-1])

    def passes_idle(self, run: PlannedRun) -> bool:
        """Return whether an agent that does nothing passes the run's scenario."""
        return passes_idle(run, self._idle_of, self.suite.catalogue, self.suite.evaluators)

    @cached_property
    def _redact(self) -> Redact:
        return Redactor(self.pack) if self.redacted else keep_all

    @cached_property
    def _idle_of(self) -> BenchOf:
        return bootstrap.idle_bench(self.suite, self.plan)

    def _bench(
        self,
        agent: Agent | None,
        composer: Compose | None,
        made: list[SystemUnderEvaluation],
        redact: Redact,
    ) -> Bench:
        factory = self.agents if agent is None else _always(agent)
        make = composer or self.composer or bootstrap.Composer
        build = _keeping(make(self.suite.configuration, factory), made)
        bench = Bench(build, self.pack, self.plan.digest, redact=redact)
        bench.wall_ms_max = WALL_MS_MAX_AFTER if self.hung else WALL_MS_MAX
        wall_s_max = self.under_test.agent.wall_s_max
        if agent is None and wall_s_max is not None:
            bench.clock, bench.task_ms_max = "hybrid", wall_s_max * 1000
        bench.thread = self.thread
        if redact is self._redact:
            bench.states = self.states
        return bench


def folders(root: Path) -> dict[str, str]:
    """Return where a pack keeps its scenarios, datasets and fixtures: the folders that it has."""
    names = ("scenarios", "datasets", "fixtures")
    return {name: str(root / name) for name in names if (root / name).is_dir()}


@dataclass(slots=True)
class Prober:
    """An agent that makes its calls in its first task, and keeps what came of them."""

    requests: Sequence[Request]
    outcomes: list[ToolOutcome] = field(default_factory=list)
    began: bool = False

    def run(self, task: Task, session: Session) -> AgentReport:
        """Make the calls."""
        requests = () if self.began else self.requests
        self.began = True
        for number, (tool, arguments) in enumerate(requests, 1):
            request = ToolRequest(f"probe-{number}", tool, json.dumps(dict(arguments)))
            self.outcomes.append(session.call(request, timeout_ms=TIMEOUT_MS))
        return AgentReport("completed")


def unhindered(composition: Composition) -> Composition:
    """Return a composition in which nothing but the gateway and the tools stops a call."""
    return replace(composition, faults=(), invariants=(), watchdog=PROBE_LIMITS)


def as_somebody(change: Callable[[SecurityContext], SecurityContext]) -> Change:
    """Return what lets every actor of a composition act under another identity, unhindered."""

    def changed(composition: Composition) -> Composition:
        setup = composition.setup
        actors = tuple(replace(a, context=change(a.context)) for a in setup.actors)
        return replace(unhindered(composition), setup=replace(setup, actors=actors))

    return changed


def asked(call: CallEvidence) -> Request:
    """Return the request that a recorded call was."""
    return call.tool, call.arguments or {}


def _always(agent: Agent) -> bootstrap.AgentFactory:
    return lambda _actor, _telemetry: agent


def _keeping(composer: bootstrap.Composer, made: list[SystemUnderEvaluation]) -> Build:
    """Return what builds the system of a run and keeps it, so that its state can be looked at."""

    def build(setup: RunSetup, env: Environment) -> SystemUnderEvaluation:
        system = composer(setup, env)
        made.append(system)
        return system

    return build
