"""Workflow packs: found by entry point, loaded, checked once, and never skipped when broken."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from arh.connect.process import PASSED_ON
from arh.errors import AuthoringError, Problem, closest, quoted
from arh.foreign import ForeignFailure, call
from arh.harness.authoring.patterns import check_pack
from arh.model.scripts import Scripts
from arh.records.packs import WorkflowPack
from arh.records.tools import Effect, ToolManifest
from arh.security.credentials import CredentialVault, assert_unexposed
from arh.security.policy import PolicySet, check_policy, read_policy
from arh.tools.registry import Registry

GROUP = "arh.workflows"


@dataclass(frozen=True, slots=True)
class Configuration:
    """What of a pack is read and checked once, and shared by all runs: none of it ever changes."""

    pack: WorkflowPack
    registry: Registry
    policies: Mapping[str, PolicySet]
    scripts: Scripts
    vault: CredentialVault = field(default_factory=lambda: CredentialVault({}))
    addresses: Mapping[str, str] = field(default_factory=dict)


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
    return Configuration(pack, registry, policies, scripts, vault, addresses)


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
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def load_pack(name: str) -> WorkflowPack:
    """Load an installed workflow pack.

    Raises:
        AuthoringError: There is no such pack, or it does not load; a broken one is never skipped.
    """
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if len(points) != 1:
        found = "no such workflow pack" if not points else "several packs of one name"
        raise AuthoringError.of(f"{found}: {name}", hint=closest(name, pack_names()))
    return _loaded(points[0])


def _loaded(point: EntryPoint) -> WorkflowPack:
    made: object = call("workflow pack", lambda: point.load()())  # noqa: PLW0108 - loading may raise
    if isinstance(made, ForeignFailure):
        raise AuthoringError.of(
            f"workflow pack {point.name} does not load: {made.type_name}",
            hint="its entry point must return a WorkflowPack",
        )
    if not isinstance(made, WorkflowPack):
        raise AuthoringError.of(f"workflow pack {point.name} is not a WorkflowPack")
    return made
