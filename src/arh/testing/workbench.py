"""A workbench for tests of a suite: run one scenario with any one part of it exchanged.

Everything else stays as it is deployed: the same loader, runner, gateway, store and evaluators.
What is exchanged is an argument, so that a test names exactly the defect that it plants. A planted
defect is stamped into the evidence as `defect`; no option of any command reaches this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arh import bootstrap
from arh.canonical import JsonValue, encode, line
from arh.decision.baseline import Baseline
from arh.decision.gates import decide
from arh.decision.metrics import compute
from arh.errors import AuthoringError
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.roots import own_root
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import keep_all
from arh.harness.judging.judge import judge
from arh.harness.null_agent import passes_idle
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.model.scripted.reader import read_script
from arh.model.scripted.scripts import Scripts
from arh.ports.control import Evaluator
from arh.ports.sue import Agent
from arh.records.control.gate import GateDecision, Profile
from arh.records.control.metric import MetricValue
from arh.records.control.plan import Located, PlannedRun, RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.scorecard import About
from arh.records.control.verdict import ScenarioVerdict

Patch = Callable[[dict[str, Any]], object]
Compose = Callable[[bootstrap.Configuration, bootstrap.AgentFactory], bootstrap.Composer]
SEED = 1
AS_OF = "2026-11-29"
WALL_MS_MAX = 5_000


@dataclass(frozen=True, slots=True)
class Tried:
    """One run on the workbench: what it left and how it was judged."""

    located: Located
    output: RunOutput
    verdict: ScenarioVerdict

    @property
    def rules(self) -> frozenset[str]:
        """The rules of every finding, expected ones left out."""
        return frozenset(f.rule for r in self.verdict.results for f in r.findings)


@dataclass(frozen=True, slots=True)
class Exercise:
    """One scenario to be run, with what is given in place of the deployed part.

    `patch` changes the scenario's JSON value in place before it is read, `script` is a model
    script's JSON value whatever its `config_id`, `composer` makes the composer, as a subclass that
    exchanges a control does, `evaluators` judge instead of the suite's own, `defect` is the name
    that the evidence is stamped with, and `wall_ms_max` how long a hung agent is waited for. With
    `idle` an agent that does nothing is tried on the scenario as well.
    """

    scenario_id: str
    patch: Patch | None = None
    script: Mapping[str, JsonValue] | None = None
    agent: Agent | None = None
    composer: Compose | None = None
    evaluators: Sequence[Evaluator] | None = None
    defect: str = ""
    wall_ms_max: int = WALL_MS_MAX
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """Several runs of one plan, as a gate sees them; `scenarios` is what was loaded for it."""

    plan: RunPlan
    tried: tuple[Tried, ...]
    scenarios: tuple[Located, ...]

    @property
    def verdicts(self) -> tuple[ScenarioVerdict, ...]:
        """The verdicts in plan order."""
        return tuple(tried.verdict for tried in self.tried)


@dataclass(frozen=True, slots=True)
class Workbench:
    """A suite to try things on."""

    suite: bootstrap.Suite

    @classmethod
    def of(cls, sources: bootstrap.Sources = bootstrap.Sources()) -> Workbench:  # noqa: B008 - frozen
        """Return the workbench of a suite; by default the one that comes with arh."""
        return cls(bootstrap.prepare(sources))

    @classmethod
    def own(cls) -> Workbench:
        """Return the workbench of the suite that comes with arh, wherever it is started."""
        paths = {name: str(own_root(name).path) for name in ("scenarios", "datasets", "fixtures")}
        return cls.of(bootstrap.Sources(**paths))

    def located(self, scenario_id: str) -> Located:
        """Return a scenario of the suite.

        Raises:
            KeyError: There is none of this id.
        """
        for located in self.suite.loaded.scenarios:
            if located.scenario.id == scenario_id:
                return located
        raise KeyError(scenario_id)

    def run(
        self,
        scenario_id: str,
        *,
        patch: Patch | None = None,
        script: Mapping[str, JsonValue] | None = None,
        agent: Agent | None = None,
        composer: Compose | None = None,
        evaluators: Sequence[Evaluator] | None = None,
        defect: str = "",
    ) -> Tried:
        """Run one scenario with what is given in place of the deployed part; see `Exercise`."""
        return self.tried(
            Exercise(
                scenario_id,
                patch=patch,
                script=script,
                agent=agent,
                composer=composer,
                evaluators=evaluators,
                defect=defect,
            )
        )

    def tried(self, exercise: Exercise) -> Tried:
        """Run one exercise."""
        (tried,) = self.session((exercise,)).tried
        return tried

    def session(self, exercises: Sequence[Exercise]) -> Session:
        """Run several exercises under one plan; no two of them may be of one scenario."""
        located = tuple(patched(self.located(each.scenario_id), each.patch) for each in exercises)
        plan = plan_runs(located, seed=SEED)
        tried = tuple(
            self._tried(run, each, plan) for run, each in zip(plan.runs, exercises, strict=True)
        )
        return Session(plan, tried, located)

    def measure(
        self, session: Session, verdicts: Sequence[ScenarioVerdict] | None = None
    ) -> tuple[MetricValue, ...]:
        """Return every metric of a session, or of other verdicts on its plan."""
        judged = session.verdicts if verdicts is None else verdicts
        return compute(judged, session.scenarios, session.plan, self.suite.pack)

    def decide(
        self,
        session: Session,
        profile: Profile,
        *,
        verdicts: Sequence[ScenarioVerdict] | None = None,
        baseline: Baseline | None = None,
        recorded: int | None = None,
    ) -> GateDecision:
        """Return what a profile decides about a session.

        Args:
            session: The runs, of which each is taken to be on record.
            profile: The gates.
            verdicts: What came back, in place of what the runs really left.
            baseline: What regression gates compare with.
            recorded: How many runs are on record, in place of all of them.
        """
        judged = session.verdicts if verdicts is None else verdicts
        about = self.about(session)
        if recorded is not None:
            about = replace(about, runs_recorded=recorded)
        metrics = self.measure(session, judged)
        return decide(profile, metrics, judged, session.plan, baseline, about=about)

    def about(self, session: Session) -> About:
        """Return what a scorecard says of a session, every run of it on record."""
        suite, plan = self.suite, session.plan
        about = bootstrap.about(suite, plan, bootstrap.UnderTest(), as_of=AS_OF, partial=False)
        return replace(about, runs_recorded=len(plan.runs))

    def _tried(self, run: PlannedRun, exercise: Exercise, plan: RunPlan) -> Tried:
        composition = compose(run, self.suite.pack, self.suite.catalogue)
        stamped = replace(composition.setup, defect=exercise.defect)
        output = execute(replace(composition, setup=stamped), self._bench(run, exercise, plan))
        judges = self.suite.evaluators if exercise.evaluators is None else exercise.evaluators
        verdict = judge(run.located, output.evidence, judges, self.suite.pack)
        if exercise.idle:
            bench_of = bootstrap.idle_bench(self.suite, plan)
            passes = passes_idle(run, bench_of, self.suite.catalogue, judges)
            verdict = replace(verdict, idle_passes=passes)
        return Tried(run.located, output, verdict)

    def _bench(self, run: PlannedRun, exercise: Exercise, plan: RunPlan) -> Bench:
        configuration = self.suite.configuration
        if exercise.script is not None:
            name = run.located.scenario.reproducibility.model_configuration
            scripts = exchanged(configuration.scripts, name, exercise.script)
            configuration = replace(configuration, scripts=scripts)
        agent = exercise.agent
        factory = bootstrap.reference_agent if agent is None else _always(agent)
        make = bootstrap.Composer if exercise.composer is None else exercise.composer
        composer = make(configuration, factory)
        wall_ms_max = exercise.wall_ms_max
        pack = self.suite.pack
        return Bench(composer, pack, plan.digest, redact=keep_all, wall_ms_max=wall_ms_max)


def patched(located: Located, patch: Patch | None) -> Located:
    """Return a scenario with its JSON value changed.

    It is read again as strictly as from a file.
    """
    if patch is None:
        return located
    value = located.scenario.model_dump(mode="json", exclude_unset=True)
    patch(value)
    return replace(located, scenario=Scenario.model_validate_json(encode(value)))


def exchanged(scripts: Scripts, config_id: str, value: Mapping[str, JsonValue]) -> Scripts:
    """Return the scripts with one of them exchanged.

    Raises:
        AuthoringError: The given script is wrong.
    """
    read = read_script(line({**value, "config_id": config_id}), file="given")
    if isinstance(read, tuple):
        raise AuthoringError(*read)
    return Scripts({**scripts.by_id, config_id: read})


def _always(agent: Agent) -> bootstrap.AgentFactory:
    return lambda _actor, _telemetry: agent
