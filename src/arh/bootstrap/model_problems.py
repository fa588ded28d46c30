"""What is wrong with the options of a live model: each mistake as a problem, all of them at once.

Nothing is sent and nothing is made here. What a user forgot, what would show a secret, and what no
provider takes is found before a model is.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from arh.bootstrap.suite import Suite
from arh.canonical import EMPTY, Json, Refused
from arh.errors import Problem, quoted
from arh.model.live.replies import CONDUCT
from arh.telemetry.secrets import is_secret_name, scrub

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
# What a request says by itself, and what its answer could not be read with.
RESERVED: Final = frozenset(
    {"model", "messages", "input", "tools", "system", "instructions", "stream_options", "n"}
    | {"max_tokens", "max_completion_tokens", "max_output_tokens", "cache_control", "thinking"}
    | {"store", "previous_response_id", "background"}
)
TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAME: Final = re.compile(r"[!-~]{1,200}")
NEEDED: Final = {
    "live": "--live, since a live model is asked",
    "sanitised": "--sanitised: your word that the data may be sent to the provider",
    "max_cost_usd": "--max-cost-usd N",
    "max_model_calls": "--max-model-calls N",
    "max_tokens": "--max-tokens N",
    "max_minutes": "--max-minutes N",
    "price": "--price INPUT,OUTPUT[,CACHED]: US dollars for a million tokens",
}


def live_problems(chosen: argparse.Namespace, adapter: str, name: str) -> Iterator[Problem]:
    """Yield whatever keeps a live model from being asked."""
    yield from _missing(chosen)
    yield from _naming(adapter, name)
    yield from _addresses(chosen.base_url)
    yield from _secretive(chosen)


def local_problems(chosen: argparse.Namespace) -> Iterator[Problem]:
    """Yield whatever keeps a model of this machine from being asked."""
    yield from _secretive(chosen)
    if chosen.base_url:
        yield Problem("a local model has no address", field="--base-url")


def _missing(chosen: argparse.Namespace) -> Iterator[Problem]:
    """Yield a problem for each thing that a live model does not run without."""
    for name, need in NEEDED.items():
        if (
            given := getattr(chosen, name)
        ) is None or given is False:  # nothing to spend is a ceiling
            yield Problem(f"a live model needs {need}", field="--model")


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
            yield Problem("this looks like a secret", field=option_named(name), hint=hint)


def read_parameters(text: str | None) -> tuple[Json, list[Problem]]:
    """Return the parameters that go with each request, and what is wrong with them."""
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


def tool_name_problems(suite: Suite) -> Iterator[Problem]:
    """Yield the tools that no provider takes by their names, or that hide one of ours."""
    ours = {tool.name for tool in CONDUCT}
    for tool in suite.pack.tools:
        name = tool.manifest.name
        if not TOOL_NAME.fullmatch(name):
            yield Problem(name, "a tool name of letters, digits, _ and -", file=suite.pack.name)
        elif name in ours:
            hint = "a live model asks and declines by tools of these names"
            yield Problem(name, "another tool name", file=suite.pack.name, hint=hint)


def option_named(name: str) -> str:
    """Return an option as a user writes it."""
    return "--" + name.replace("_", "-")
