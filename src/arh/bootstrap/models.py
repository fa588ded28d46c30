"""The model under test: what stands behind an actor's model port, and how evidence names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arh.canonical import digest
from arh.model.scripted import ScriptedModel
from arh.model.scripts import Scripts
from arh.ports.sue import Model


class ModelsUnderTest(Protocol):
    """Makes the model of each run and says what it is."""

    def model(self, configuration: str, scripts: Scripts) -> Model:
        """Return a fresh model for an actor whose scenario names this configuration."""
        ...

    def name(self, configurations: Sequence[str]) -> str:
        """Return what evidence and scorecard call the models of these configurations."""
        ...

    def digest(self, configurations: Sequence[str], scripts: Scripts) -> str:
        """Return the digest of all that decides how these models answer."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedModels:
    """The scripts that the scenarios name: `reproducibility.model_configuration`."""

    def model(self, configuration: str, scripts: Scripts) -> Model:
        """Return a scripted model."""
        return ScriptedModel(scripts.get(configuration))

    def name(self, configurations: Sequence[str]) -> str:
        """Return the script's name, or how many there are."""
        return configurations[0] if len(configurations) == 1 else f"{len(configurations)} scripts"

    def digest(self, configurations: Sequence[str], scripts: Scripts) -> str:
        """Return the digest of the scripts' own digests."""
        return digest([scripts.digest(name) for name in configurations])
