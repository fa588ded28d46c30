"""Zone 3's own ports: the composed system it runs, and what it judges with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from arh.ports.environment import Environment
from arh.ports.sue import Agent, Gateway, Model, Store
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import EvaluationResult
from arh.records.external import Observation, Point
from arh.records.packs import WorkflowPack
from arh.records.setup import RunSetup


class AttemptSource(Protocol):
    """The gateway's attempt log, as the runner reads it: the JSON form of each finished attempt."""

    def drain(self) -> tuple[dict[str, object], ...]:
        """Return the attempts finished since the last call, in order."""
        ...


class SystemUnderEvaluation(Protocol):
    """One composed system for one run.

    `store` is the unfaulted handle, for seeding and snapshots.
    """

    store: Store
    attempts: AttemptSource

    def agent(self, actor: str) -> Agent:
        """Return the agent of an actor."""
        ...

    def model(self, actor: str) -> Model:
        """Return the model of an actor, behind its fault proxy."""
        ...

    def gateway(self, actor: str) -> Gateway:
        """Return the gateway bound to an actor's trusted identity."""
        ...

    def observe(
        self, point: Point, attempts: Sequence[Mapping[str, object]]
    ) -> tuple[Observation, ...]:
        """Read the outside systems whose state is judged, and enter what changed into the store.

        At the start, say how they were read when the system was composed.
        """
        ...

    def close(self) -> None:
        """Let go of everything outside."""
        ...

    def projection(self) -> str:
        """Return the digest of the business state without its volatile fields."""
        ...

    def identity(self) -> Mapping[str, str]:
        """Return the digests that identify the configuration.

        Agent, model, prompt, tools, policy.
        """
        ...


Build = Callable[[RunSetup, Environment], SystemUnderEvaluation]


class Evaluator(Protocol):
    """Judges one run's evidence against its scenario: pure, and blind to every other evaluator."""

    @property
    def id(self) -> str:
        """The name that criteria and findings use."""
        ...

    @property
    def version(self) -> str:
        """Changes with every change of what the evaluator would find."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """The parts of the evidence without which it cannot judge, by their names in `Evidence`.

        Without one of them it cannot praise either: the judge makes its result indeterminate.
        """
        ...

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Return the verdict with its findings; evidence that cannot be read is indeterminate."""
        ...
