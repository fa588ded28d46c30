"""The composition root.

The one place that names concrete classes, loads packs, reads the environment.

It joins the zones: a workflow pack and its scripts become a system under evaluation for each run,
all dependencies wrapped by the run's environment. Nothing else may import both zone 1 and zone 3.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from arh import __version__
from arh.agent.loop import ReferenceAgent
from arh.canonical import digest
from arh.connect.json_lines import PASSED_ON, JsonLinesAgent, check_command
from arh.errors import AuthoringError, Problem, closest
from arh.foreign import ForeignFailure, call
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.patterns import check_pack
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.roots import Root, find_root
from arh.harness.authoring.scenario_loader import LoadedSuite, load_scenarios
from arh.harness.evaluators.fault_handling import FaultHandlingEvaluator
from arh.harness.evaluators.grounding import GroundingEvaluator
from arh.harness.evaluators.guardrails import GuardrailsEvaluator
from arh.harness.evaluators.non_progress import NonProgressEvaluator
from arh.harness.evaluators.outcome import OutcomeEvaluator
from arh.harness.evaluators.response import ResponseEvaluator
from arh.harness.evaluators.trajectory import TrajectoryEvaluator
from arh.harness.evidence.recorder import keep_all
from arh.harness.null_agent import BenchOf
from arh.harness.pipeline import Pipeline, tried_idle
from arh.harness.running.runner import Bench
from arh.harness.running.watchdog import AgentThread
from arh.harness.tracing import Tracing
from arh.harness.vocabulary.rules import RULES
from arh.model.scripted import ScriptedModel
from arh.model.scripts import Scripts, load_scripts
from arh.ports.control import AttemptSource, Evaluator, SystemUnderEvaluation
from arh.ports.environment import Environment
from arh.ports.sue import Agent, DecisionPoint, Gateway, Model, Store, Telemetry
from arh.records.control.evidence import StateView
from arh.records.control.plan import Located, RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.scorecard import About
from arh.records.packs import WorkflowPack
from arh.records.setup import ActorSetup, RunSetup
from arh.records.tools import ToolManifest
from arh.security.approvals import GrantStore
from arh.security.credentials import CredentialVault, assert_unexposed
from arh.security.decision_point import PolicyDecisionPoint
from arh.security.policy import PolicySet, check_policy, read_policy
from arh.sim.clock import epoch_ns
from arh.state.snapshot import Projection
from arh.state.store import MemoryStore
from arh.telemetry.commands import shown_command
from arh.telemetry.otlp import exporter
from arh.telemetry.redaction import Redactor
from arh.tools.attempts import AttemptLog
from arh.tools.client import TransactionalClient
from arh.tools.gateway import Dependencies, PolicyGateway
from arh.tools.registry import Registry

GROUP = "arh.workflows"
SEED = 20_260_101
WORKFLOW = "support"
OTLP_ENDPOINT = "ARH_OTLP_ENDPOINT"
REDACTION_KEY = "ARH_REDACTION_KEY"
FORGED = "forged"


@dataclass(frozen=True, slots=True)
class Configuration:
    """What of a pack is read and checked once, and shared by all runs: none of it ever changes."""

    pack: WorkflowPack
    registry: Registry
    policies: Mapping[str, PolicySet]
    scripts: Scripts


@dataclass(slots=True)
class ComposedSystem:
    """Implements `arh.ports.control.SystemUnderEvaluation` for one run."""

    store: Store
    attempts: AttemptSource
    agents: Mapping[str, Agent]
    models: Mapping[str, Model]
    gateways: Mapping[str, Gateway]
    projected: Projection
    described: Mapping[str, str]

    def agent(self, actor: str) -> Agent:
        """Return the agent of an actor."""
        return self.agents[actor]

    def model(self, actor: str) -> Model:
        """Return the model of an actor, behind its fault proxy."""
        return self.models[actor]

    def gateway(self, actor: str) -> Gateway:
        """Return the gateway bound to an actor's identity."""
        return self.gateways[actor]

    def projection(self) -> str:
        """Return the digest of the business state without its volatile fields."""
        return self.projected.digest()

    def identity(self) -> Mapping[str, str]:
        """Return what identifies the configuration that ran."""
        return self.described


AgentFactory = Callable[[ActorSetup, Telemetry | None], Agent]


def reference_agent(_actor: ActorSetup, telemetry: Telemetry | None) -> Agent:
    """Return the reference agent."""
    return ReferenceAgent(telemetry)


@dataclass(frozen=True, slots=True)
class Composer:
    """Builds the system under evaluation of one run: `arh.ports.control.Build`.

    `agent` makes the agent under test; `agent_id` names it in evidence.
    """

    configuration: Configuration
    agent: AgentFactory = reference_agent
    agent_id: str = "reference"
    described: dict[tuple[str, ...], dict[str, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __call__(self, setup: RunSetup, env: Environment) -> SystemUnderEvaluation:
        """Return a fresh system that shares nothing mutable with any other run."""
        store = self.seeded_store(setup, env)
        attempts = AttemptLog()
        return ComposedSystem(
            store=store,
            attempts=attempts,
            agents={a.actor: self.agent(a, env.telemetry) for a in setup.actors},
            models={a.actor: env.wrap_model(self.model(a), a.actor) for a in setup.actors},
            gateways=self.gateways(setup, env, store, attempts),
            projected=Projection(store.reader(), self.configuration.pack.collections),
            described=self.identity(setup),
        )

    def seeded_store(self, setup: RunSetup, env: Environment) -> MemoryStore:
        """Return a store that holds the run's seeds and declares every collection of the pack."""
        store = MemoryStore(env.clock)
        store.seed(setup.seeds, [spec.name for spec in self.configuration.pack.collections])
        return store

    def model(self, actor: ActorSetup) -> Model:
        """Return the model that the actor's configuration names."""
        return ScriptedModel(self.configuration.scripts.get(actor.model_configuration))

    def decision_point(self, setup: RunSetup) -> DecisionPoint:
        """Return the decision point over the run's policy."""
        return PolicyDecisionPoint(self.policy(setup))

    def policy(self, setup: RunSetup) -> PolicySet:
        """Return the run's policy; without a name it is the pack's first."""
        name = setup.policy or self.configuration.pack.policies[0][0]
        return self.configuration.policies[name]

    def gateways(
        self, setup: RunSetup, env: Environment, store: MemoryStore, attempts: AttemptLog
    ) -> dict[str, Gateway]:
        """Return one gateway for each actor, all over the same dependencies."""
        grants = GrantStore(setup.grants, _signing_key(setup), forged=_forged(setup))
        faulty = env.wrap_store(store)
        client = TransactionalClient(faulty, env.clock, env.ids, checkpoint=env.checkpoint)
        dependencies = Dependencies(
            point=env.wrap_decisions(self.decision_point(setup)),
            approvals=env.wrap_approvals(grants),
            verifier=grants,
            client=env.wrap_tools(client),
            reader=faulty.reader(),
            clock=env.clock,
            ids=env.ids,
            telemetry=env.telemetry,
            checkpoint=env.checkpoint,
        )
        registry = self.configuration.registry
        return {
            a.actor: PolicyGateway(registry, a.context, a.actor, a.tools, attempts, dependencies)
            for a in setup.actors
        }

    def identity(self, setup: RunSetup) -> dict[str, str]:
        """Return the digests of everything that makes up the configuration under test.

        They are worked out once for each policy and set of models.
        """
        models = sorted({actor.model_configuration for actor in setup.actors})
        key = (setup.policy, *models)
        if key not in self.described:
            self.described[key] = self._identity(setup, models)
        return self.described[key]

    def _identity(self, setup: RunSetup, models: Sequence[str]) -> dict[str, str]:
        pack = self.configuration.pack
        return {
            "agent": self.agent_id,
            "model": ",".join(models),
            "model_digest": digest([self.configuration.scripts.digest(name) for name in models]),
            "prompt_digest": hashlib.sha256(pack.system_prompt.encode()).hexdigest(),
            "tools_digest": self.configuration.registry.digest,
            "policy": self.policy(setup).name,
            "policy_digest": self.policy(setup).digest,
            "workflow": f"{pack.name}@{pack.version}",
        }


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a suite comes from: what the user named, else the working folder, else the packaged."""

    scenarios: str | None = None
    datasets: str | None = None
    fixtures: str | None = None
    workflow: str = WORKFLOW


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite that was read and checked as a whole, ready to be planned and run."""

    configuration: Configuration
    catalogue: DatasetCatalogue
    loaded: LoadedSuite
    roots: Mapping[str, Root]
    evaluators: tuple[Evaluator, ...]

    @property
    def pack(self) -> WorkflowPack:
        """The workflow that the scenarios are for."""
        return self.configuration.pack

    def reading(self, scenarios: Path) -> Suite:
        """Return the suite with the scenarios of a folder, a file, or one line (`FILE:LINE`).

        Raises:
            AuthoringError: Anything is wrong with any of them; everything is listed.
        """
        loaded = load_scenarios(
            scenarios,
            pack=self.pack,
            scripts=self.configuration.scripts.by_id,
            catalogue=self.catalogue,
            rules=RULES,
        )
        return replace(self, loaded=loaded)


def prepare(sources: Sources) -> Suite:
    """Read and check everything that a run needs; nothing has run when this raises.

    Raises:
        AuthoringError: Anything anywhere is wrong; everything is listed.
    """
    flags = {name: getattr(sources, name) for name in ("scenarios", "datasets", "fixtures")}
    roots = {name: find_root(name, flag) for name, flag in flags.items()}
    return ground(roots, sources.workflow).reading(roots["scenarios"].path)


def ground(roots: Mapping[str, Root], workflow: str) -> Suite:
    """Return a suite that has everything but its scenarios.

    Raises:
        AuthoringError: There is no such workflow, or a model script is wrong.
    """
    pack = load_pack(workflow)
    configuration = configure(pack, load_scripts(roots["fixtures"].path))
    catalogue = DatasetCatalogue(roots["datasets"].path, pack)
    return Suite(configuration, catalogue, LoadedSuite((), ""), roots, default_evaluators())


@dataclass(frozen=True, slots=True)
class UnderTest:
    """The agent under test: the reference agent, or a command that speaks JSON lines."""

    command: str | None = None
    wall_s_max: int = 30

    @property
    def name(self) -> str:
        """What evidence and scorecard call the agent."""
        return "reference" if self.shown is None else f"command: {self.shown}"

    @property
    def shown(self) -> str | None:
        """The command as it may be shown and written, its secrets taken out."""
        return None if self.command is None else shown_command(self.command)

    def check(self) -> None:
        """Refuse a command that cannot be started, before anything runs.

        Raises:
            AuthoringError: It cannot.
        """
        if self.command is not None:
            check_command(self.command)

    def factory(self) -> AgentFactory:
        """Return what makes the agent of each actor.

        Raises:
            AuthoringError: The command cannot be started.
        """
        if self.command is None:
            return reference_agent
        self.check()
        agent = JsonLinesAgent(self.command, wall_ms_max=self.wall_s_max * 1000)
        return lambda _actor, _telemetry: agent


def pipeline(
    suite: Suite, plan: RunPlan, under_test: UnderTest, *, tracing: Tracing | None = None
) -> Pipeline:
    """Return everything that the runs of a plan need; without `tracing` no span is collected."""
    composer = Composer(suite.configuration, under_test.factory(), under_test.name)
    redactor = Redactor(suite.pack, key=os.environ.get(REDACTION_KEY, "").encode())
    bench = Bench(composer, suite.pack, plan.digest, redact=redactor)
    if under_test.command is not None:
        bench.clock, bench.task_ms_max = "hybrid", under_test.wall_s_max * 1000
    if tracing is not None:
        bench.telemetry = tracing.port
    replay, idle = replayer(suite, plan, under_test), idle_bench(suite, plan)
    return Pipeline(bench, suite.catalogue, suite.evaluators, replay, tracing, idle)


def idle_bench(suite: Suite, plan: RunPlan) -> BenchOf:
    """Return what makes the bench of a plan with another agent, for runs that leave nothing."""
    states: dict[str, tuple[bytes, StateView]] = {}
    thread = AgentThread()

    def bench_of(agent: Agent) -> Bench:
        composer = Composer(suite.configuration, lambda _actor, _telemetry: agent, "null")
        bench = Bench(composer, suite.pack, plan.digest, redact=keep_all)
        bench.states, bench.thread = states, thread
        return bench

    return bench_of


def idle_of(suite: Suite) -> tuple[str, ...]:
    """Return the acceptance scenarios of a suite, by id, that an agent passes by doing nothing."""
    plan = plan_runs(suite.loaded.scenarios, seed=SEED)
    one = pipeline(suite, plan, UnderTest())
    found = {run.located.scenario.id for run in plan.runs if tried_idle(run, one)}
    return tuple(sorted(found))


def trace_to(folder: Path, *, wanted: bool) -> Tracing | None:
    """Return the tracing of a suite if it is wanted, or if the environment names a collector."""
    endpoint = os.environ.get(OTLP_ENDPOINT, "")
    if not wanted and not endpoint:
        return None
    sender = exporter(endpoint) if endpoint else None
    nonce = hashlib.sha256(f"{epoch_ns()}:{os.getpid()}".encode()).hexdigest()
    return Tracing(folder / "telemetry.jsonl", nonce=nonce, exporter=sender)


def replayer(suite: Suite, plan: RunPlan, under_test: UnderTest) -> Callable[[Located], str]:
    """Return what names the command that runs one scenario of a plan again, exactly alike."""
    named = {
        "datasets": _flagged(suite.roots["datasets"]),
        "fixtures": _flagged(suite.roots["fixtures"]),
        "workflow": suite.pack.name if suite.pack.name != WORKFLOW else None,
        "seed": str(plan.seed) if plan.seed != SEED else None,
        "agent": under_test.shown,
    }
    given = {name: value for name, value in named.items() if value is not None}
    options = "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items())
    root = suite.roots["scenarios"]
    folder = root.path if root.kind == "flag" and root.path.is_dir() else None

    def replay(located: Located) -> str:
        place = located.location if folder is None else f"{folder}/{located.location}"
        return f"arh run {shlex.quote(place)}{options}"

    return replay


def _flagged(root: Root) -> str | None:
    return str(root.path) if root.kind == "flag" else None


def about(
    suite: Suite, plan: RunPlan, under_test: UnderTest, *, as_of: str, partial: bool
) -> About:
    """Return what a scorecard says of the configuration that a plan is run with."""
    configuration, pack = suite.configuration, suite.pack
    scenarios = [run.located.scenario for run in plan.runs]
    models = sorted({name for scenario in scenarios for name in _models(scenario)})
    policies = sorted({name for scenario in scenarios for name in _policies(scenario, pack)})
    scripts, evaluators = configuration.scripts, suite.evaluators
    return About(
        arh=__version__,
        as_of=as_of,
        partial=partial,
        workflow=f"{pack.name}@{pack.version}",
        agent=under_test.name,
        model=models[0] if len(models) == 1 else f"{len(models)} scripts",
        model_digest=digest([scripts.digest(name) for name in models]),
        prompt_digest=hashlib.sha256(pack.system_prompt.encode()).hexdigest(),
        tools_digest=configuration.registry.digest,
        policy=", ".join(policies),
        policy_digest=digest([configuration.policies[name].digest for name in policies]),
        root=suite.roots["scenarios"].kind,
        scenarios_digest=suite.loaded.digest,
        datasets_digest=digest(dict(suite.catalogue.digests)),
        plan_digest=plan.digest,
        seed=plan.seed,
        evaluators=tuple((each.id, each.version) for each in evaluators),
        tools=tuple((t.manifest.name, t.manifest.version) for t in pack.tools),
    )


def _models(scenario: Scenario) -> Iterator[str]:
    default = scenario.reproducibility.model_configuration
    yield from (each.model_configuration or default for each in scenario.stimulus.actors)
    if not scenario.stimulus.actors:
        yield default


def _policies(scenario: Scenario, pack: WorkflowPack) -> Iterator[str]:
    named = scenario.trusted_environment.authorization_policy_refs
    yield named[0] if named else pack.policies[0][0]


def default_evaluators() -> tuple[Evaluator, ...]:
    """Return the evaluators of every run, in the order of reports."""
    return (
        OutcomeEvaluator(),
        TrajectoryEvaluator(),
        GuardrailsEvaluator(),
        ResponseEvaluator(),
        GroundingEvaluator(),
        FaultHandlingEvaluator(),
        NonProgressEvaluator(),
    )


def configure(pack: WorkflowPack, scripts: Scripts) -> Configuration:
    """Read and check a pack once: its patterns, manifests, schemas and policies.

    Raises:
        AuthoringError: The pack contradicts itself; all problems are listed.
    """
    check_pack(pack)
    registry = Registry(pack.tools, pack.milestones, source=pack.name)
    policies = {name: read_policy(doc, file=f"{pack.name}:{name}") for name, doc in pack.policies}
    manifests = [tool.manifest for tool in pack.tools]
    for name, policy in policies.items():
        check_policy(policy, manifests, file=f"{pack.name}:{name}")
    vault = credentials(manifests)
    assert_unexposed(vault, exposed_texts(pack, os.environ))
    return Configuration(pack, registry, policies, scripts)


def credentials(manifests: Iterable[ToolManifest]) -> CredentialVault:
    """Return the gateway's vault: what the tools declare, from our own environment.

    Raises:
        AuthoringError: A tool declares a credential that the environment does not hold.
    """
    names = sorted({m.credential for m in manifests if m.credential is not None})
    missing = [name for name in names if variable(name) not in os.environ]
    if missing:
        problems = (Problem(f"{variable(name)} is not set", field=name) for name in missing)
        raise AuthoringError(*problems)
    return CredentialVault({name: os.environ[variable(name)] for name in names})


def variable(credential: str) -> str:
    """Return the name of the environment variable that holds a tool's credential."""
    return f"ARH_CREDENTIAL_{credential.upper()}"


def exposed_texts(pack: WorkflowPack, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield every text that an agent or a model gets from the configuration or from us."""
    yield pack.system_prompt
    for tool in pack.tools:
        spec = tool.manifest.spec()
        yield f"{spec.name} {spec.description} {spec.parameters.data.decode()}"
    yield from (environment[name] for name in PASSED_ON if name in environment)


@lru_cache(maxsize=1)
def pack_names() -> tuple[str, ...]:
    """Return the names of all installed workflow packs, in order."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def load_pack(name: str) -> WorkflowPack:
    """Load an installed workflow pack.

    Raises:
        AuthoringError: There is no such pack, or it does not load; a broken one is never skipped.
    """
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if len(points) != 1:
        found = "no such workflow pack" if not points else "several packs of one name"
        raise AuthoringError.of(f"{found}: {name}", hint=closest(name, pack_names()))
    return _loaded(points[0])


def _loaded(point: EntryPoint) -> WorkflowPack:
    made: object = call("workflow pack", lambda: point.load()())  # noqa: PLW0108 - loading may raise
    if isinstance(made, ForeignFailure):
        raise AuthoringError.of(
            f"workflow pack {point.name} does not load: {made.type_name}",
            hint="its entry point must return a WorkflowPack",
        )
    if not isinstance(made, WorkflowPack):
        raise AuthoringError.of(f"workflow pack {point.name} is not a WorkflowPack")
    return made


def _signing_key(setup: RunSetup) -> bytes:
    """Return the approval service's key for one run: no other run's grants are authentic in it."""
    return hashlib.sha256(f"arh:approvals:{setup.run_id}:{setup.seed}".encode()).digest()


def _forged(setup: RunSetup) -> list[str]:
    return [grant.approval_id for grant in setup.grants if grant.signature == FORGED]
