"""Controls with something wrong with them, in place of the deployed ones.

A composer is asked for the whole system of a run; the ones made here exchange one part on its way:
the model, the decision point, the approvals, the tool client, the store as the gateway sees it, a
stage of the gateway, the attempt log, or the store that evidence is read from. All else is as it is
deployed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from arh import bootstrap
from arh.errors import HarnessError
from arh.ports.control import AttemptSource, SystemUnderEvaluation
from arh.ports.environment import Checkpoint, Environment, SteeredClock
from arh.ports.sue import (
    ApprovalService,
    DecisionPoint,
    Endpoint,
    Ids,
    Model,
    Store,
    Telemetry,
    ToolClient,
)
from arh.records.identity import SecurityContext
from arh.records.setup import RunSetup
from arh.testing.workbench import Compose
from arh.tools.gateway import Dependencies, PolicyGateway
from arh.tools.stages import Stage

T = TypeVar("T")
Change = Callable[[T], T]
STAGES = (
    "gateway",
    "resolve",
    "parse",
    "validate",
    "identify",
    "locate",
    "authorise",
    "decided",
    "look_up",
    "require_records",
    "approve",
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What to put in the place of what; `None` leaves a part as it is deployed."""

    model: Change[Model] | None = None
    decisions: Change[DecisionPoint] | None = None
    approvals: Change[ApprovalService] | None = None
    tools: Change[ToolClient] | None = None
    store: Change[Store] | None = None
    truth: Change[Store] | None = None
    attempts: Change[AttemptSource] | None = None
    stage: tuple[str, Callable[[Stage, Dependencies, SecurityContext], Stage]] | None = None
    policy: str = ""


def exchanged(**parts: object) -> Compose:
    """Return what makes a composer that exchanges these parts of an `Exchange`."""
    exchange = replace(Exchange(), **parts)  # type: ignore[arg-type]  # its fields, by name
    return lambda configuration, agent: ExchangingComposer(configuration, agent, exchange=exchange)


@dataclass(frozen=True, slots=True)
class ExchangingComposer(bootstrap.Composer):
    """A composer that exchanges parts of the system on its way."""

    exchange: Exchange = Exchange()

    def __call__(self, setup: RunSetup, env: Environment) -> SystemUnderEvaluation:
        """Return the system with its parts exchanged."""
        change = self.exchange
        if change.policy:
            setup = replace(setup, policy=change.policy)
        made = bootstrap.Composer.__call__(self, setup, ExchangingEnvironment(env, change))
        system = _composed(made)
        if change.stage is not None:
            for gateway in system.gateways.values():
                _exchange_stage(gateway, *change.stage)
        store, attempts = system.store, system.attempts
        return replace(
            system,
            store=store if change.truth is None else change.truth(store),
            attempts=attempts if change.attempts is None else change.attempts(attempts),
        )


def _composed(made: SystemUnderEvaluation) -> bootstrap.ComposedSystem:
    if not isinstance(made, bootstrap.ComposedSystem):
        raise HarnessError("the composer makes another kind of system: adapt the seeded defects")
    return made


def _exchange_stage(
    gateway: object, name: str, change: Callable[[Stage, Dependencies, SecurityContext], Stage]
) -> None:
    """Put another stage in the place of one of a gateway's."""
    stages = list(found(gateway, "_stages", tuple))
    if not isinstance(gateway, PolicyGateway) or len(stages) != len(STAGES):
        raise HarnessError("the gateway has other stages than the seeded defects know")
    at = STAGES.index(name)
    on = found(gateway, "_on", Dependencies)
    stages[at] = change(stages[at], on, found(gateway, "_context", SecurityContext))
    planted(gateway, _stages=tuple(stages))


def found(thing: object, name: str, kind: type[T]) -> T:
    """Return what lies behind a name inside of a thing, if it is of that kind."""
    value = getattr(thing, name, None)
    if not isinstance(value, kind):
        raise HarnessError(f"{type(thing).__name__} has no `{name}` any more")
    return value


def planted(thing: object, **values: object) -> None:
    """Put values behind names that are there already."""
    for name, value in values.items():
        found(thing, name, object)
        setattr(thing, name, value)


def skipped(_stage: Stage, _on: Dependencies, _context: SecurityContext) -> Stage:
    """Return a stage that lets everything go on."""
    return lambda _current: None


class ExchangingEnvironment:
    """Implements `arh.ports.environment.Environment`: the real one, with parts exchanged first."""

    def __init__(self, env: Environment, change: Exchange) -> None:
        """Stand before an environment."""
        self._env = env
        self._change = change

    @property
    def clock(self) -> SteeredClock:
        """The run's own clock."""
        return self._env.clock

    @property
    def ids(self) -> Ids:
        """The run's own identifiers."""
        return self._env.ids

    @property
    def telemetry(self) -> Telemetry | None:
        """Where spans go, if anybody listens."""
        return self._env.telemetry

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the baton may change hands."""
        return self._env.checkpoint

    def wrap_model(self, model: Model, actor: str) -> Model:
        """Return the exchanged model behind its fault proxy."""
        change = self._change.model
        return self._env.wrap_model(model if change is None else change(model), actor)

    def wrap_tools(self, client: ToolClient) -> ToolClient:
        """Return the exchanged tool client behind its fault proxy."""
        change = self._change.tools
        return self._env.wrap_tools(client if change is None else change(client))

    def wrap_store(self, store: Store) -> Store:
        """Return the exchanged store behind its fault proxy."""
        change = self._change.store
        return self._env.wrap_store(store if change is None else change(store))

    def wrap_decisions(self, point: DecisionPoint) -> DecisionPoint:
        """Return the exchanged decision point behind its fault proxy."""
        change = self._change.decisions
        return self._env.wrap_decisions(point if change is None else change(point))

    def wrap_approvals(self, service: ApprovalService) -> ApprovalService:
        """Return the exchanged approval service behind its fault proxy."""
        change = self._change.approvals
        return self._env.wrap_approvals(service if change is None else change(service))

    def wrap_endpoint(self, endpoint: Endpoint, tools: Collection[str]) -> Endpoint:
        """Return the way to a service behind its fault proxy."""
        return self._env.wrap_endpoint(endpoint, tools)
