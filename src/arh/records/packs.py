"""A workflow pack: everything that makes arh run one team's workflow, as data and handlers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from arh.canonical import Json
from arh.records.execution import Tool
from arh.records.external import ExternalState
from arh.records.tools import Milestone, ToolManifest


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """How rows of a collection become records.

    The key's fields, and the tenant's, if rows have one.

    `volatile` fields (generated ids, times) are left out where two states are compared for a cycle.
    Collections without `seeded` begin empty. `business_key` names the fields that tell one logical
    item from another. `fields` names every field that a row may have: datasets and assertions that
    name another one are refused. Left empty, they cannot be checked.
    """

    name: str
    key_fields: tuple[str, ...]
    tenant_field: str | None = None
    seeded: bool = True
    volatile: tuple[str, ...] = ()
    business_key: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteService:
    """A service of the team's own that fulfils tools: where it is, unless the environment says so.

    `url` is `http://` or `https://` with host, port and perhaps a path. The environment variable
    `ARH_SERVICE_<NAME>` comes before it.
    """

    name: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class ClaimPattern:
    """Prose that claims an effect: RE2 `pattern` over one sentence claims that `action` happened.

    `negations` are RE2 patterns that take the claim back when they match the same sentence. A named
    group `id` or `amount` binds the claim to a resource or an amount.

    `topic` is an RE2 pattern of the words that speak of the effect at all: a sentence that has one,
    claims nothing and has no harmless form is open, and no pass where nothing was done. `counted`
    are the nouns of the effect: a number before one is held against how often it was done.
    """

    action: str
    pattern: str
    negations: tuple[str, ...] = ()
    topic: str = ""
    counted: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """What of a pack is asked of each sentence; the same object for the whole life of a pack."""

    claims: tuple[ClaimPattern, ...]
    foreign_effects: tuple[str, ...]
    english: bool


@dataclass(frozen=True)
class WorkflowPack:
    """One workflow.

    `policies` are authorisation policy documents by name; the first is the default.

    `identifiers` are RE2 patterns of identifiers that an answer may only mention with evidence.
    `risks` are the risk classes of its tools by name: critical, high, medium or low.
    `foreign_effects` are RE2 patterns of claims that no tool of the pack can bear out; `languages`
    are those that its claim patterns are written for, of which "en" is the one that can be told.
    """

    name: str
    version: str
    description: str
    tools: tuple[Tool, ...]
    collections: tuple[CollectionSpec, ...]
    policies: tuple[tuple[str, Json], ...]
    milestones: tuple[Milestone, ...] = ()
    claims: tuple[ClaimPattern, ...] = ()
    identifiers: tuple[str, ...] = ()
    risks: tuple[tuple[str, str], ...] = ()
    foreign_effects: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    services: tuple[RemoteService, ...] = ()
    external: tuple[ExternalState, ...] = ()
    system_prompt: str = field(default="", repr=False)

    @cached_property
    def manifests(self) -> Mapping[str, ToolManifest]:
        """The tools' manifests by name."""
        return MappingProxyType({tool.manifest.name: tool.manifest for tool in self.tools})

    @cached_property
    def speech(self) -> Speech:
        """What the pack asks of each sentence of an answer."""
        return Speech(self.claims, self.foreign_effects, "en" in self.languages)

    @cached_property
    def amounts(self) -> frozenset[str]:
        """The names of arguments and fields that hold an amount of money."""
        named = (manifest.amount_argument for manifest in self.manifests.values())
        return frozenset(name for name in named if name)

    @cached_property
    def writing(self) -> frozenset[str]:
        """The names of the tools that write."""
        return frozenset(name for name, each in self.manifests.items() if each.writes)

    @cached_property
    def business_keys(self) -> Mapping[str, tuple[str, ...]]:
        """The fields that tell one logical item of a collection from another, by collection."""
        return MappingProxyType({spec.name: spec.business_key for spec in self.collections})

    @property
    def major(self) -> int:
        """The major version, by which scenarios name the pack: `name@major`."""
        return int(self.version.split(".", 1)[0])
