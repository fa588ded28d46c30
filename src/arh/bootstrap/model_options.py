"""What `--model` and its companions choose: a live model, or a recording of one, ready to be asked.

A live model sends data away and costs money. So it takes a flag of its own, a ceiling for calls,
tokens, money and minutes, a price, and the user's word that the data may be sent; without any of
them nothing runs. Keys come from the environment and from nowhere else.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from arh.bootstrap.live_models import LiveModels, RecordedModels
from arh.bootstrap.models import ModelsUnderTest
from arh.bootstrap.prompt import prompt_bundle
from arh.bootstrap.suite import Suite
from arh.canonical import EMPTY, Json, Refused
from arh.errors import AuthoringError, Problem, closest, quoted
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
from arh.telemetry.secrets import is_secret_name, scrub

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
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
REDACTION_KEY: Final = "ARH_REDACTION_KEY"
# What a request says by itself, and what its answer could not be read with.
RESERVED: Final = frozenset(
    {"model", "messages", "input", "tools", "system", "instructions", "stream_options", "n"}
    | {"max_tokens", "max_completion_tokens", "max_output_tokens", "cache_control", "thinking"}
    | {"store", "previous_response_id", "background"}
)
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEY: Final = re.compile(r"[!-~]{8,1024}")
NAME: Final = re.compile(r"[!-~]{1,200}")
_LIVE: Final = {
    "live": "--live, since a live model is asked",
    "sanitised": "--sanitised: your word that the data may be sent to the provider",
    "max_cost_usd": "--max-cost-usd N",
    "max_model_calls": "--max-model-calls N",
    "max_tokens": "--max-tokens N",
    "max_minutes": "--max-minutes N",
    "price": "--price INPUT,OUTPUT[,CACHED]: US dollars for a million tokens",
}
_FLAGS: Final = ("live", "sanitised", "trust_environment")
_REPEATED: Final = (
    *("model", "base_url", "max_model_calls", "max_tokens", "max_minutes"),
    *("max_output_tokens", "parameters"),
)
_ONLY_LIVE: Final = (*_LIVE, "base_url", "parameters", "record", "trust_environment")


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
    problems = [Problem(f"this option goes {where}", field=_option(name)) for name in given]
    if problems:
        raise AuthoringError(*problems)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


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
    parameters, problems = _parameters(chosen.parameters)
    problems += [*_missing(chosen), *_naming(adapter, name), *_addresses(chosen.base_url)]
    problems += _secretive(chosen)
    if point is None:
        problems += _tool_names(suite)
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
    parameters, problems = _parameters(chosen.parameters)
    problems += [*_tool_names(suite), *_secretive(chosen)]
    if chosen.base_url:
        problems.append(Problem("a local model has no address", field="--base-url"))
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


# --- what is wrong with the options --------------------------------------------------------------


def _missing(chosen: argparse.Namespace) -> list[Problem]:
    """Return a problem for each thing that a live model does not run without."""
    return [
        Problem(f"a live model needs {need}", field="--model")
        for name, need in _LIVE.items()
        if getattr(chosen, name) in (None, False)
    ]


def _naming(adapter: str, name: str) -> Iterator[Problem]:
    if not NAME.fullmatch(name):
        yield Problem(name, f"{adapter}:NAME with the exact name of a model", field="--model")


def _addresses(base_url: str | None) -> Iterator[Problem]:
    """Yield what is wrong with an address: a key goes over TLS, or stays on this machine."""
    if not base_url:
        return
    try:
        address = urlsplit(base_url)
        host, port_fine = address.hostname, (address.port or 1) > 0
    except ValueError:
        address, host, port_fine = urlsplit(""), None, False
    if not host or not port_fine or address.scheme not in ("http", "https"):
        yield Problem("an address begins with https:// and a host", field="--base-url")
    elif address.username or address.password or address.query or address.fragment:
        yield Problem("an address holds no user, key, query or fragment", field="--base-url")
    elif address.scheme == "http" and host not in LOOPBACK:
        hint = "http:// is for 127.0.0.1 only"
        yield Problem("an address elsewhere begins with https://", field="--base-url", hint=hint)


def _secretive(chosen: argparse.Namespace) -> Iterator[Problem]:
    """Yield the options that hold a secret: they stand in reports and recordings as they are."""
    for name in ("model", "base_url", "parameters"):
        text = getattr(chosen, name) or ""
        if scrub(text) != text:
            hint = "keys come from the environment"
            yield Problem("this looks like a secret", field=_option(name), hint=hint)


def _parameters(text: str | None) -> tuple[Json, list[Problem]]:
    if not text:
        return EMPTY, []
    try:
        made = Json.read(text, size_max=64 * 1024)
    except Refused as refusal:
        return EMPTY, [Problem(f"this is no strict JSON: {refusal}", field="--parameters")]
    value = made.value()
    if not isinstance(value, dict):
        return EMPTY, [Problem(text, "a JSON object", field="--parameters")]
    problems = [
        Problem(f"{quoted(name)} is not for you to set", field="--parameters")
        for name in value
        if name in RESERVED or is_secret_name(name)
    ]
    if not isinstance(value.get("stream", True), bool):
        problems.append(Problem("`stream` is true or false", field="--parameters"))
    return made, problems


def _tool_names(suite: Suite) -> Iterator[Problem]:
    """Yield the tools that no provider takes by their names, or that hide one of ours."""
    ours = {tool.name for tool in CONDUCT}
    for tool in suite.pack.tools:
        name = tool.manifest.name
        if not TOOL_NAME.fullmatch(name):
            yield Problem(name, "a tool name of letters, digits, _ and -", file=suite.pack.name)
        elif name in ours:
            hint = "a live model asks and declines by tools of these names"
            yield Problem(name, "another tool name", file=suite.pack.name, hint=hint)
