"""What `--model` and its companions choose: a live model, or a recording of one, ready to be asked.

A live model sends data away and costs money. So it takes a flag of its own, a ceiling for calls,
tokens, money and minutes, a price, and the user's word that the data may be sent; without any of
them nothing runs. Keys come from the environment and from nowhere else.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from arh.bootstrap.live_models import LiveModels, RecordedModels
from arh.bootstrap.model_problems import (
    LOOPBACK,
    NEEDED,
    live_problems,
    local_problems,
    option_named,
    read_parameters,
    tool_name_problems,
)
from arh.bootstrap.models import ModelsUnderTest
from arh.bootstrap.prompt import prompt_bundle
from arh.bootstrap.suite import Suite
from arh.errors import AuthoringError, Problem, closest
from arh.foreign import ForeignFailure, call
from arh.model.live.anthropic_messages import MessagesProvider
from arh.model.live.budget import UNLIMITED, Ceilings, LiveBudget
from arh.model.live.cassette import Recorder, Redact, Tape
from arh.model.live.local import OUTPUT_TOKENS, LocalProvider, LocalServer, file_name
from arh.model.live.model import Line, LiveModel
from arh.model.live.openai_chat import ChatProvider
from arh.model.live.openai_responses import ResponsesProvider
from arh.model.live.price import FREE
from arh.model.live.providers import Endpoint, Provider
from arh.model.live.replies import CONDUCT
from arh.ports.sue import Model
from arh.records.models import OUTPUT_TOKENS_MAX, ModelSettings
from arh.records.prompts import tools_digest
from arh.telemetry.redaction import Redactor

GROUP: Final = "arh.models"
FREE_MINUTES: Final = 24 * 60
WALL_S_MAX: Final = 24 * 60 * 60
SCRIPTED: Final = "scripted"
CASSETTE: Final = "cassette"
LOCAL: Final = "local"
LOCAL_PYTHON: Final = "ARH_LOCAL_PYTHON"
PROVIDERS: Final[dict[str, type[Provider]]] = {
    "openai": ChatProvider,
    "openai-responses": ResponsesProvider,
    "anthropic": MessagesProvider,
}
REDACTION_KEY: Final = "ARH_REDACTION_KEY"
KEY: Final = re.compile(r"[!-~]{8,1024}")
_FLAGS: Final = ("live", "sanitised", "trust_environment")
_REPEATED: Final = (
    *("model", "base_url", "max_model_calls", "max_tokens", "max_minutes"),
    *("max_output_tokens", "parameters"),
)
_ONLY_LIVE: Final = (*NEEDED, "base_url", "parameters", "record", "trust_environment")


def chosen_models(chosen: argparse.Namespace, suite: Suite, agent: str) -> ModelsUnderTest | None:
    """Return the models that the options name, ready to be asked; `None` for the scripted ones.

    Raises:
        AuthoringError: They cannot be, or must not be; everything is listed, nothing was sent.
    """
    adapter, _, name = (chosen.model or SCRIPTED).partition(":")
    if adapter == SCRIPTED and not name:
        _refuse_live_options(chosen, "with a live model")
        return None
    if adapter == LOCAL:
        return _local(chosen, Path(name), suite, agent)
    if adapter == CASSETTE:
        _refuse_live_options(chosen, "with a live model, not with a recording")
        return _recorded(name, suite, agent)
    return _live(chosen, adapter, name, suite, agent)


def _refuse_live_options(chosen: argparse.Namespace, where: str) -> None:
    given = [name for name in _ONLY_LIVE if getattr(chosen, name)]
    problems = [Problem(f"this option goes {where}", field=option_named(name)) for name in given]
    if problems:
        raise AuthoringError(*problems)


# --- recordings ----------------------------------------------------------------------------------


def _recorded(folder: str, suite: Suite, agent: str) -> RecordedModels:
    tape = Tape.load(Path(folder))
    header = tape.header
    models = RecordedModels(tape, header.settings, {"model": f"{CASSETTE}:{folder}"})
    now = {
        "workflow": _workflow(suite),
        "tools": _tools(suite),
        "bundle": prompt_bundle(suite.pack, agent, models).digest,
    }
    words = {"tools": "tool manifest", "bundle": "prompt bundle"}
    stale = [
        Problem(
            f"the {words.get(name, name)} changed since this was recorded",
            file=folder,
            field=name,
            hint="record anew",
        )
        for name, value in now.items()
        if getattr(header, name) != value
    ]
    if stale:
        raise AuthoringError(*stale)
    return models


def _workflow(suite: Suite) -> str:
    return f"{suite.pack.name}@{suite.pack.version}"


def _tools(suite: Suite) -> str:
    return tools_digest(tuple(tool.manifest.spec() for tool in suite.pack.tools))


# --- live models ---------------------------------------------------------------------------------


def _live(
    chosen: argparse.Namespace, adapter: str, name: str, suite: Suite, agent: str
) -> LiveModels:
    point = None if adapter in PROVIDERS else _entry_point(adapter)
    parameters, problems = read_parameters(chosen.parameters)
    problems += live_problems(chosen, adapter, name)
    problems += [] if point is not None else tool_name_problems(suite)
    if problems:
        raise AuthoringError(*problems)
    settings = ModelSettings(
        adapter,
        name,
        chosen.base_url or "",
        parameters,
        chosen.max_output_tokens or OUTPUT_TOKENS_MAX,
    )
    ceilings = Ceilings(
        chosen.max_cost_usd, chosen.max_model_calls, chosen.max_tokens, chosen.max_minutes
    )
    conduct = CONDUCT if point is None else ()
    budget = LiveBudget(ceilings, chosen.price)
    models = LiveModels(settings, _nobody, _options(chosen), budget, conduct=conduct)
    models.wall_s_max = min(chosen.max_minutes * 60, WALL_S_MAX)
    bundle = prompt_bundle(suite.pack, agent, models).digest
    models.settings = replace(settings, bundle=bundle)
    if point is None:
        line = _line(models.settings, trust_environment=chosen.trust_environment)
        models.make, models.close = lambda: LiveModel(line), line.provider.close
    else:
        models.make = _foreign(models.settings, point)
    _record(chosen, models, suite)
    return models


def _local(chosen: argparse.Namespace, path: Path, suite: Suite, agent: str) -> LiveModels:
    """Return a model of this machine: nothing is sent away and nothing costs money."""
    parameters, problems = read_parameters(chosen.parameters)
    problems += [*tool_name_problems(suite), *local_problems(chosen)]
    if problems:
        raise AuthoringError(*problems)
    tokens = chosen.max_output_tokens or OUTPUT_TOKENS
    settings = ModelSettings(LOCAL, file_name(path), "", parameters, tokens)
    models = LiveModels(settings, _nobody, {"model": f"{LOCAL}:{path}"}, _free(chosen))
    models.wall_s_max = min((chosen.max_minutes or FREE_MINUTES) * 60, WALL_S_MAX)
    bundle = prompt_bundle(suite.pack, agent, models).digest
    models.settings = replace(settings, bundle=bundle)
    server = LocalServer(path, python=os.environ.get(LOCAL_PYTHON, ""))
    provider = LocalProvider(Endpoint(f"{server.address}/v1"), server)
    line = Line(provider, models.settings)
    models.make, models.close = lambda: LiveModel(line), provider.close
    _record(chosen, models, suite)
    return models


def _free(chosen: argparse.Namespace) -> LiveBudget:
    """Return the ceilings of what costs nothing: those that were named, else none that matter."""
    ceilings = Ceilings(
        chosen.max_cost_usd or Fraction(0),
        chosen.max_model_calls or UNLIMITED,
        chosen.max_tokens or UNLIMITED,
        chosen.max_minutes or FREE_MINUTES,
    )
    return LiveBudget(ceilings, chosen.price or FREE)


def _record(chosen: argparse.Namespace, models: LiveModels, suite: Suite) -> None:
    """Let the models be recorded, if that is wanted."""
    if chosen.record:
        named = {"tools": _tools(suite), "workflow": _workflow(suite)}
        models.recorder = Recorder(Path(chosen.record), models.settings, named)
        models.redact = _redact(suite)


def _nobody() -> Model:
    raise AuthoringError.of("no model was made yet", field="--model")


def _line(settings: ModelSettings, *, trust_environment: bool) -> Line:
    """Return the one line to a provider, over which the models of all actors ask."""
    kind = PROVIDERS[settings.adapter]
    key = _key(kind.key_variable, settings.base_url)
    return Line(kind(Endpoint(settings.base_url, key, trust_environment)), settings, key)


def _foreign(settings: ModelSettings, point: EntryPoint) -> Callable[[], Model]:
    factory: object = call("model adapter", lambda: point.load())  # noqa: PLW0108 - loading may raise
    if isinstance(factory, ForeignFailure) or not callable(factory):
        found = factory.type_name if isinstance(factory, ForeignFailure) else "no function"
        hint = "its entry point must be a function of ModelSettings"
        raise AuthoringError.of(f"model adapter {point.name} does not load: {found}", hint=hint)
    making = factory

    def make() -> Model:
        made: object = call("model adapter", lambda: making(settings))
        if isinstance(made, ForeignFailure) or not callable(getattr(made, "complete", None)):
            found = made.type_name if isinstance(made, ForeignFailure) else "no model"
            raise AuthoringError.of(f"model adapter {point.name} makes no model: {found}")
        model: Model = made  # type: ignore[assignment]  # it has the one method, and is foreign
        return model

    make()
    return make


def _entry_point(adapter: str) -> EntryPoint:
    points = [point for point in entry_points(group=GROUP) if point.name == adapter]
    if len(points) == 1:
        return points[0]
    if points:
        raise AuthoringError.of(f"several model adapters are called {adapter}", field="--model")
    known = (SCRIPTED, CASSETTE, LOCAL, *PROVIDERS, *(p.name for p in entry_points(group=GROUP)))
    raise AuthoringError.of(
        adapter,
        expected=f"one of {', '.join(known)}",
        field="--model",
        hint=closest(adapter, known),
    )


def _redact(suite: Suite) -> Redact:
    return Redactor(suite.pack, key=os.environ.get(REDACTION_KEY, "").encode())


def _options(chosen: argparse.Namespace) -> dict[str, str]:
    """Return the options that ask the same model again; recording again is left to the user."""
    given = {name: str(getattr(chosen, name)) for name in _REPEATED if getattr(chosen, name)}
    given |= dict.fromkeys((name for name in _FLAGS if getattr(chosen, name)), "")
    given["max_cost_usd"] = _decimal(chosen.max_cost_usd)
    prices = (chosen.price.input, chosen.price.output, chosen.price.cached)
    given["price"] = ",".join(map(_decimal, prices))
    return {name.replace("_", "-"): value for name, value in given.items()}


def _decimal(value: Fraction) -> str:
    return f"{float(value):.9f}".rstrip("0").rstrip(".")


def _key(variable: str, base_url: str) -> str:
    """Return the provider's key.

    Raises:
        AuthoringError: There is none, though it is needed, or it cannot be one.
    """
    key = os.environ.get(variable, "").strip()
    if not key and base_url and urlsplit(base_url).hostname in LOOPBACK:
        return ""
    if not key:
        raise AuthoringError.of(f"{variable} is not set", field="--model")
    if not KEY.fullmatch(key):
        raise AuthoringError.of(f"{variable} holds no key", field="--model")
    return key
