"""The system under evaluation of one run: everything concrete, wrapped by the run's environment."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from arh.agent.loop import ReferenceAgent
from arh.bootstrap.models import ModelsUnderTest, ScriptedModels
from arh.bootstrap.packs import Configuration
from arh.bootstrap.prompt import prompt_bundle
from arh.ports.control import AttemptSource, SystemUnderEvaluation
from arh.ports.environment import Environment
from arh.ports.sue import Agent, DecisionPoint, Endpoint, Gateway, Model, Store, Telemetry
from arh.records.external import Observation, Point
from arh.records.setup import ActorSetup, RunSetup, SeedRecord
from arh.security.approvals import GrantStore
from arh.security.decision_point import PolicyDecisionPoint
from arh.security.policy import PolicySet
from arh.sim.clock import pause, wall_ms
from arh.state.external import Mirrors, Wall
from arh.state.snapshot import Projection
from arh.state.store import MemoryStore
from arh.tools.attempts import AttemptLog
from arh.tools.client import TransactionalClient
from arh.tools.gateway import Dependencies, PolicyGateway
from arh.tools.services import Services

FORGED = "forged"
WALL = Wall(wall_ms, pause)


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
    mirrors: Mirrors = field(default_factory=Mirrors)

    def observe(
        self, point: Point, attempts: Sequence[Mapping[str, object]]
    ) -> tuple[Observation, ...]:
        """Return how the reading of each outside system went, its changes entered."""
        return self.mirrors.observe(point, attempts)

    def close(self) -> None:
        """Let go of outside systems."""
        self.mirrors.close()

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
    models: ModelsUnderTest = field(default_factory=ScriptedModels)
    described: dict[tuple[str, ...], dict[str, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __call__(self, setup: RunSetup, env: Environment) -> SystemUnderEvaluation:
        """Return a fresh system that shares nothing mutable with any other run."""
        mirrors = self.mirrors()
        store = self.seeded_store(mirrors.start(setup.seeds), env)
        mirrors.enter_into(store)
        attempts = AttemptLog()
        return ComposedSystem(
            store=store,
            attempts=attempts,
            agents={a.actor: self.agent(a, env.telemetry) for a in setup.actors},
            models={a.actor: env.wrap_model(self.model(a, setup), a.actor) for a in setup.actors},
            gateways=self.gateways(setup, env, store, attempts),
            projected=Projection(store.reader(), self.configuration.pack.collections),
            described=self.identity(setup),
            mirrors=mirrors,
        )

    def seeded_store(self, seeds: Sequence[SeedRecord], env: Environment) -> MemoryStore:
        """Return a store that holds the seeds and declares every collection of the pack."""
        store = MemoryStore(env.clock)
        store.seed(seeds, [spec.name for spec in self.configuration.pack.collections])
        return store

    def mirrors(self) -> Mirrors:
        """Return what reads the systems of the team's own for this run."""
        configuration = self.configuration
        if not configuration.pack.external:
            return Mirrors()
        return Mirrors.of(configuration.pack, configuration.states, WALL)

    def model(self, actor: ActorSetup, setup: RunSetup) -> Model:
        """Return the model of an actor: the one that its configuration names, or the user's."""
        scripts, run = self.configuration.scripts, f"{setup.run_id}/{actor.actor}"
        return self.models.model(actor.model_configuration, scripts, run=run)

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
        client = TransactionalClient(
            faulty, env.clock, env.ids, checkpoint=env.checkpoint, services=self.services(env)
        )
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

    def services(self, env: Environment) -> Services:
        """Return the services behind tools, each behind its fault proxy."""
        addresses, manifests = self.configuration.addresses, self.configuration.pack.manifests
        endpoints = {
            name: env.wrap_endpoint(
                _always(url), [tool for tool, m in manifests.items() if m.service == name]
            )
            for name, url in addresses.items()
        }
        return Services(endpoints, self.configuration.vault)

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
            "model": self.models.name(models),
            "model_digest": self.models.digest(models, self.configuration.scripts),
            "prompt_digest": prompt_bundle(pack, self.agent_id, self.models).digest,
            "tools_digest": self.configuration.registry.digest,
            "policy": self.policy(setup).name,
            "policy_digest": self.policy(setup).digest,
            "workflow": f"{pack.name}@{pack.version}",
        }


def _always(url: str) -> Endpoint:
    return lambda: url


def _signing_key(setup: RunSetup) -> bytes:
    """Return the approval service's key for one run: no other run's grants are authentic in it."""
    return hashlib.sha256(f"arh:approvals:{setup.run_id}:{setup.seed}".encode()).digest()


def _forged(setup: RunSetup) -> list[str]:
    return [grant.approval_id for grant in setup.grants if grant.signature == FORGED]
