"""The model under test: what stands behind an actor's model port, and how evidence names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from arh.canonical import EMPTY, Json, digest
from arh.model.scripted.model import ScriptedModel
from arh.model.scripted.scripts import Scripts
from arh.ports.sue import Model
from arh.records.messages import ToolSpec


class ModelsUnderTest(Protocol):
    """Makes the model of each run and says what it is."""

    @property
    def scripted(self) -> bool:
        """Whether the scripts that the scenarios name answer."""
        ...

    @property
    def mode(self) -> str:
        """The measurement mode of runs with these models."""
        ...

    @property
    def parameters(self) -> Json:
        """What goes to the model with every request: a JSON object."""
        ...

    @property
    def conduct(self) -> tuple[ToolSpec, ...]:
        """The tools that a model asks the user and declines with, beside the workflow's."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """The options, without dashes, that choose the same models again; no secret is in them."""
        ...

    @property
    def wall_s_max(self) -> int | None:
        """Wall seconds that a task's calls may take; `None` if their time is the run's own."""
        ...

    def model(self, configuration: str, scripts: Scripts, *, run: str = "") -> Model:
        """Return a fresh model for an actor whose scenario names this configuration.

        `run` names the run and the actor.
        """
        ...

    def name(self, configurations: Sequence[str]) -> str:
        """Return what evidence and scorecard call the models of these configurations."""
        ...

    def digest(self, configurations: Sequence[str], scripts: Scripts) -> str:
        """Return the digest of all that decides how these models answer."""
        ...

    def finish(self) -> tuple[str, ...]:
        """Close what is open after the last run; return what a reader of the report should know."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedModels:
    """The scripts that the scenarios name: `reproducibility.model_configuration`."""

    scripted: bool = field(default=True, init=False)
    mode: str = field(default="A1", init=False)
    parameters: Json = field(default=EMPTY, init=False)
    conduct: tuple[ToolSpec, ...] = field(default=(), init=False)
    options: Mapping[str, str] = field(default_factory=dict, init=False)
    wall_s_max: int | None = field(default=None, init=False)

    def model(self, configuration: str, scripts: Scripts, *, run: str = "") -> Model:
        """Return a scripted model."""
        return ScriptedModel(scripts.get(configuration))

    def name(self, configurations: Sequence[str]) -> str:
        """Return the script's name, or how many there are."""
        return configurations[0] if len(configurations) == 1 else f"{len(configurations)} scripts"

    def digest(self, configurations: Sequence[str], scripts: Scripts) -> str:
        """Return the digest of the scripts' own digests."""
        return digest([scripts.digest(name) for name in configurations])

    def finish(self) -> tuple[str, ...]:
        """Return nothing: there is nothing to close, and nothing to say."""
        return ()
