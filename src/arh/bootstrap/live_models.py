"""Live models and recordings of them, as a user chooses them with `--model`.

A model of another kind is found by the entry point group `arh.models`: a function of
`ModelSettings` that returns an `arh.ports.sue.Model`. It takes every call in the user's name, so it
is metered, recorded and judged as those that come with arh are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import Json, digest
from arh.model.live.budget import LiveBudget, MeteredModel
from arh.model.live.canonical_request import canonical_request
from arh.model.live.cassette import Recorder, RecordingModel, Redact, ReplayModel, Tape
from arh.model.live.replies import CONDUCT
from arh.model.scripted.scripts import Scripts
from arh.ports.sue import Model
from arh.records.decisions import ModelReply, ModelRequest, Served
from arh.records.messages import ToolSpec
from arh.records.models import ModelSettings

LIVE_MODE: Final = "B"
REPLAY_MODE: Final = "B replayed"
NAMES_MAX: Final = 5
Make = Callable[[], Model]


class Witness:
    """Remembers who answered, over all runs: models and fingerprints as servers say them."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str]] = set()

    def saw(self, served: Served | None) -> None:
        """Take note of one reply."""
        if served is not None and served.model:
            with self._lock:
                self._seen.add((served.model, served.fingerprint))

    def notes(self, asked: str) -> tuple[str, ...]:
        """Say who answered, whether it is who was asked, and whether it stayed the same."""
        models = sorted({model for model, _ in self._seen})
        prints = sorted({f"{model} {mark}".strip() for model, mark in self._seen})
        if not models:
            return ("the server does not say which model answered",)
        said = f"the server says that {', '.join(prints[:NAMES_MAX])} answered"
        others = [model for model in models if not _is_it(model, asked)]
        odd = (f"{asked} was asked, and {', '.join(others[:NAMES_MAX])} answered",)
        changed = ("the model that answers changed while the suite ran",)
        return (said, *(odd if others else ()), *(changed if len(self._seen) > 1 else ()))


class WitnessedModel:
    """A live model whose replies a witness sees: implements `arh.ports.sue.Model`."""

    def __init__(self, inner: Model, witness: Witness) -> None:
        """Stand before the model."""
        self._inner, self._witness = inner, witness

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply, seen."""
        reply = self._inner.complete(request)
        self._witness.saw(reply.served)
        return reply


def _is_it(served: str, asked: str) -> bool:
    """Return whether a server's name for a model can be that of the one asked for, dated."""
    return served == asked or served.startswith(f"{asked}-") or served.endswith(f"/{asked}")


@dataclass(slots=True)
class LiveModels:
    """Implements `arh.bootstrap.models.ModelsUnderTest` with one live model for all actors."""

    settings: ModelSettings
    make: Make
    options: Mapping[str, str]
    budget: LiveBudget | None = None
    recorder: Recorder | None = None
    redact: Redact | None = None
    conduct: tuple[ToolSpec, ...] = CONDUCT
    wall_s_max: int | None = None
    close: Callable[[], None] = lambda: None
    witness: Witness = field(default_factory=Witness)
    scripted: bool = field(default=False, init=False)
    mode: str = field(default=LIVE_MODE, init=False)

    @property
    def parameters(self) -> Json:
        """What goes to the model with every request."""
        return self.settings.parameters

    def model(self, configuration: str, scripts: Scripts, *, run: str = "") -> Model:
        """Return the model within its budget, recorded if that is wanted."""
        made: Model = WitnessedModel(self.make(), self.witness)
        if self.budget is not None:
            made = MeteredModel(
                made,
                self.budget,
                size=lambda request: len(canonical_request(request, self.settings).data),
                output_tokens_max=self.settings.output_tokens_max,
            )
        if self.recorder is None or self.redact is None:
            return made
        return RecordingModel(made, self.recorder, self.settings, run, self.redact)

    def name(self, configurations: Sequence[str]) -> str:
        """Return adapter and model, as they were asked for."""
        return self.settings.identity

    def digest(self, configurations: Sequence[str], scripts: Scripts) -> str:
        """Return the digest of whom we ask, and how."""
        return settings_digest(self.settings)

    def finish(self) -> tuple[str, ...]:
        """Close what is open, seal the recording; say what was spent, and who answered."""
        self.close()
        if self.recorder is not None:
            self.recorder.seal()
        spent = () if self.budget is None else (self.budget.summary(),)
        return (*spent, *self.witness.notes(self.settings.name))


@dataclass(slots=True)
class RecordedModels:
    """Implements `arh.bootstrap.models.ModelsUnderTest` with a recording: no key, no network."""

    tape: Tape
    settings: ModelSettings
    options: Mapping[str, str]
    conduct: tuple[ToolSpec, ...] = CONDUCT
    wall_s_max: int | None = field(default=None, init=False)
    scripted: bool = field(default=False, init=False)
    mode: str = field(default=REPLAY_MODE, init=False)

    @property
    def parameters(self) -> Json:
        """What went to the model with every request."""
        return self.settings.parameters

    def model(self, configuration: str, scripts: Scripts, *, run: str = "") -> Model:
        """Return a model that answers from the recording and from nothing else."""
        return ReplayModel(self.tape, run, self.settings)

    def name(self, configurations: Sequence[str]) -> str:
        """Return the model that was recorded."""
        return f"{self.settings.identity}, recorded"

    def digest(self, configurations: Sequence[str], scripts: Scripts) -> str:
        """Return the digest of the whole recording."""
        return self.tape.digest

    def finish(self) -> tuple[str, ...]:
        """Return that this was a replay."""
        return (f"the replies of {self.settings.identity} are those of a recording",)


def settings_digest(settings: ModelSettings) -> str:
    """Return the digest of whom we ask, and how; the prompt bundle has one of its own."""
    return digest(
        {
            "model": settings.identity,
            "base_url": settings.base_url,
            "parameters": settings.parameters.value(),
            "output_tokens_max": settings.output_tokens_max,
        }
    )
