"""Workflow packs: found by entry point, loaded, checked once, and never skipped when broken."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from arh.canonical import Json
from arh.connect.process import PASSED_ON
from arh.errors import AuthoringError, Problem, closest, quoted
from arh.foreign import ForeignFailure, call
from arh.harness.authoring.patterns import check_pack
from arh.model.scripted.scripts import Scripts
from arh.records.execution import Tool
from arh.records.external import ExternalState
from arh.records.packs import ClaimPattern, CollectionSpec, WorkflowPack
from arh.records.tools import Effect, Milestone, ToolManifest
from arh.security.credentials import CredentialVault, assert_unexposed
from arh.security.policy import PolicySet, check_policy, read_policy
from arh.tools.registry import Registry

GROUP = "arh.workflows"

_ANY: Final = r"(?s:.*)"
_VERSION: Final = r"[0-9]{1,6}(\.[0-9]{1,6}){0,2}"
_PARTS: Final[Mapping[str, type]] = {
    "tools": Tool,
    "collections": CollectionSpec,
    "milestones": Milestone,
    "claims": ClaimPattern,
    "identifiers": str,
    "foreign_effects": str,
    "languages": str,
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """What of a pack is read and checked once, and shared by all runs: none of it ever changes."""

    pack: WorkflowPack
    registry: Registry
    policies: Mapping[str, PolicySet]
    scripts: Scripts
    vault: CredentialVault = field(default_factory=lambda: CredentialVault({}))
    addresses: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Installed:
    """One installed pack: where it comes from, and what it is, or what is wrong with it."""

    name: str
    source: str
    pack: WorkflowPack | None = None
    tools_digest: str = ""
    problem: AuthoringError | None = None


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
    addresses = service_addresses(pack, os.environ)
    states = state_addresses(pack, os.environ)
    return Configuration(pack, registry, policies, scripts, vault, addresses, states)


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


def service_addresses(pack: WorkflowPack, environment: Mapping[str, str]) -> dict[str, str]:
    """Return where each service of the pack is: as the environment says, else the pack itself.

    Raises:
        AuthoringError: A service has no address that could be used, or a tool no such service.
    """
    found = {
        service.name: environment.get(service_variable(service.name), service.url)
        for service in pack.services
    }
    problems = [*_of_addresses(found, pack.name), *_of_served(pack, found)]
    if problems:
        raise AuthoringError(*problems)
    return found


def _of_addresses(found: Mapping[str, str], file: str) -> Iterator[Problem]:
    if not found:
        return
    from arh.http_exchange import address

    for name, url in found.items():
        try:
            address(url)
        except ValueError as error:
            hint = f"set {service_variable(name)}, or the pack's own url"
            yield Problem(quoted(url), str(error), file, None, f"services.{name}", hint)


def _of_served(pack: WorkflowPack, found: Mapping[str, str]) -> Iterator[Problem]:
    for name, manifest in pack.manifests.items():
        named = manifest.service
        if named is None:
            continue
        at = f"tools.{name}.service"
        if named not in found:
            expected = "a service of the pack"
            yield Problem(quoted(named), expected, pack.name, None, at, closest(named, found))
        if manifest.effect is Effect.TRANSACTIONAL:
            hint = "its effect is not in our transaction: make it keyed_remote, remote or read"
            yield Problem("a transactional tool has no service", "", pack.name, None, at, hint)


def state_addresses(pack: WorkflowPack, environment: Mapping[str, str]) -> dict[str, str]:
    """Return where the state of each outside system is read.

    Raises:
        AuthoringError: A source names a collection or tool that it cannot stand for.
    """
    problems = [problem for source in pack.external for problem in _of_source(source, pack)]
    names = [name for source in pack.external for name in source.collections]
    problems += [
        Problem(quoted(name), "one source of a collection", pack.name, None, "external")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if problems:
        raise AuthoringError(*problems)
    return {
        source.name: environment.get(f"ARH_STATE_{source.name.upper()}", source.address)
        for source in pack.external
    }


def _of_source(source: ExternalState, pack: WorkflowPack) -> Iterator[Problem]:
    specs = {spec.name: spec for spec in pack.collections}
    at = f"external.{source.name}"
    for name in source.collections:
        spec = specs.get(name)
        if spec is None:
            hint = closest(name, specs)
            yield Problem(quoted(name), "a collection of the pack", pack.name, None, at, hint)
        elif spec.seeded and source.prepare is None:
            hint = "give the source a `prepare`, or the collection `seeded=False`"
            yield Problem(f"nothing brings seeds to {name}", "", pack.name, None, at, hint)
    for name in source.tools:
        manifest = pack.manifests.get(name)
        if manifest is None:
            hint = closest(name, pack.manifests)
            yield Problem(quoted(name), "a tool of the pack", pack.name, None, at, hint)
        elif manifest.effect not in {Effect.REMOTE, Effect.KEYED_REMOTE}:
            expected = "a tool of the class remote or keyed_remote"
            yield Problem(f"{name} is {manifest.effect}", expected, pack.name, None, at)


def service_variable(service: str) -> str:
    """Return the name of the environment variable that holds a service's address."""
    return f"ARH_SERVICE_{service.upper()}"


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
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def load_pack(name: str) -> WorkflowPack:
    """Load an installed workflow pack.

    Raises:
        AuthoringError: There is no such pack, or it does not load; a broken one is never skipped.
    """
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if not points:
        known = pack_names()
        hint = closest(name, known) or (
            f"installed: {', '.join(known)}; one in a folder is found after `pip install -e FOLDER`"
        )
        raise AuthoringError.of(f"no such workflow pack: {name}", hint=hint)
    if len(points) > 1:
        hint = f"uninstall all but one of {', '.join(sorted(map(_distribution, points)))}"
        raise AuthoringError.of(f"several packs of one name: {name}", hint=hint)
    return _loaded(points[0])


def installed_packs() -> Iterator[Installed]:
    """Yield every installed workflow pack; one that is broken says so and hides no other."""
    points = entry_points(group=GROUP)
    for name in pack_names():
        source = ", ".join(sorted(_distribution(each) for each in points if each.name == name))
        try:
            pack = load_pack(name)
            check_pack(pack)
            digest = Registry(pack.tools, pack.milestones, source=name).digest
        except AuthoringError as error:
            yield Installed(name, source, problem=error)
        else:
            yield Installed(name, source, pack, digest)


def _distribution(point: EntryPoint) -> str:
    """Return name and version of what the pack was installed with, as far as it says them."""
    named = call("distribution", lambda: point.dist and f"{point.dist.name} {point.dist.version}")
    return named if isinstance(named, str) else "?"


def _loaded(point: EntryPoint) -> WorkflowPack:
    made: object = call("workflow pack", lambda: point.load()())  # noqa: PLW0108 - loading may raise
    named = f"workflow pack {point.name} ({_distribution(point)})"
    if isinstance(made, ForeignFailure):
        module, _, function = point.value.partition(":")
        shows = f'python -c "import {module}; {module}.{function}()"'
        hint = f"{shows} shows why; it must be a function that returns a WorkflowPack"
        raise AuthoringError.of(f"{named} does not load: {made.type_name}", hint=hint)
    if not isinstance(made, WorkflowPack):
        hint = f"`{point.value}` must return one"
        raise AuthoringError.of(f"{named} is not a WorkflowPack", hint=hint)
    problems = tuple(_misshapen(made, point.name))
    if problems:
        raise AuthoringError(*problems)
    return made


def _misshapen(pack: WorkflowPack, name: str) -> Iterator[Problem]:
    """Yield every field of a pack that is not what its annotation says."""
    for part, kind in _PARTS.items():
        value = getattr(pack, part)
        if not isinstance(value, tuple) or not all(isinstance(each, kind) for each in value):
            expected = f"a tuple of {kind.__name__}"
            yield Problem(type(value).__name__, expected, name, field=part)
    for part, pattern, expected in (
        ("name", re.escape(name), f"the name of its entry point, {name}"),
        ("version", _VERSION, "a version as in 1.0"),
        ("description", _ANY, "a text"),
        ("system_prompt", _ANY, "a text"),
    ):
        text: object = getattr(pack, part)
        if not isinstance(text, str):
            yield Problem(type(text).__name__, expected, name, field=part)
        elif not re.fullmatch(pattern, text):
            yield Problem(text, expected, name, field=part)
    if not pack.policies:
        yield Problem("", "at least one policy: what none grants is denied", name, field="policies")
    if not _are_pairs(pack.policies, Json):
        yield Problem("something else", "pairs of a name and a Json", name, field="policies")
    if not _are_pairs(pack.risks, str):
        yield Problem("something else", "pairs of a tool and a risk", name, field="risks")


def _are_pairs(given: object, kind: type) -> bool:
    """Return true if it is a tuple of pairs of a text and something of this kind."""
    pairs = given if isinstance(given, tuple) else (None,)
    return all(
        isinstance(pair, tuple)
        and len(pair) == len(("name", "value"))
        and isinstance(pair[0], str)
        and isinstance(pair[1], kind)
        for pair in pairs
    )
