"""The tools of a pack, checked once and compiled once, as the gateway and its client know them.

A manifest that the gateway could not enforce to the letter is refused at load with every problem
named: an argument schema that lets undeclared properties through, a pattern that could take
exponential time, a reference to another document, a key or an amount that is no such thing. A
registry never changes, so all runs share one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from arh.canonical import Json, JsonValue, digest, encode
from arh.errors import AuthoringError
from arh.records.execution import Tool
from arh.records.messages import ToolSpec
from arh.records.outcomes import Mark
from arh.records.tools import Milestone, ToolManifest
from arh.schema import Schema, compiled
from arh.tools.manifests import faults_of, milestone_faults, unnamed_twice


class Step(NamedTuple):
    """A milestone, ready to be compared: `when` holds value and canonical bytes by field."""

    milestone: Milestone
    when: tuple[tuple[str, JsonValue, bytes], ...]


@dataclass(frozen=True, slots=True)
class Registered:
    """One tool with what every call of it needs; `tail` ends the bytes that an action digests."""

    tool: Tool
    manifest: ToolManifest
    writes: bool
    effect: str
    arguments: Schema
    result: Schema
    tail: bytes
    steps: tuple[Step, ...]


class Registry:
    """The tools of one configuration, by exact name."""

    def __init__(
        self, tools: Iterable[Tool], milestones: Iterable[Milestone] = (), *, source: str = ""
    ) -> None:
        """Check and compile the tools; `source` names the pack in messages.

        Raises:
            AuthoringError: A manifest or milestone is refused; all problems are listed.
        """
        listed, steps = tuple(tools), tuple(milestones)
        manifests = [tool.manifest for tool in listed]
        problems = [
            *unnamed_twice(manifests, source),
            *(fault for manifest in manifests for fault in faults_of(manifest, source)),
        ]
        if not problems:
            problems = milestone_faults(steps, manifests, source)
        if problems:
            raise AuthoringError(*problems)
        self._tools = {tool.manifest.name: _registered(tool, steps) for tool in listed}

    def get(self, name: str) -> Registered | None:
        """Return the tool of exactly this name, or `None`."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools, in the order of the pack."""
        return tuple(self._tools)

    def manifests(self) -> tuple[ToolManifest, ...]:
        """Return the manifests of all tools, in the order of the pack."""
        return tuple(entry.manifest for entry in self._tools.values())

    def specs(self, offered: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Return what a model sees of the tools on offer; a name without a tool is left out."""
        return tuple(self._tools[name].manifest.spec() for name in offered if name in self._tools)

    @cached_property
    def digest(self) -> str:
        """The digest of all manifests, whatever their order."""
        return digest(sorted(manifest_digest(manifest) for manifest in self.manifests()))

    def marks(
        self,
        entry: Registered,
        result: JsonValue,
        arguments: Mapping[str, JsonValue],
        *,
        first_commit: bool,
    ) -> tuple[Mark, ...]:
        """Return the milestones that an executed call satisfies.

        Args:
            entry: The tool.
            result: Its decoded result.
            arguments: The arguments that it ran with.
            first_commit: Whether this very call committed; without it a write satisfies none.
        """
        if not entry.steps or (entry.writes and not first_commit):
            return ()
        fields = result if isinstance(result, dict) else {}
        marks: tuple[Mark, ...] = ()
        for milestone, when in entry.steps:
            if not when or _holds(when, fields):
                target = _target(milestone, arguments, fields)
                marks += (Mark(milestone.id, target, milestone.justified),)
        return marks


def manifest_digest(manifest: ToolManifest) -> str:
    """Return the digest of everything that a manifest declares."""
    return digest(
        {
            "amount_argument": manifest.amount_argument,
            "credential": manifest.credential,
            "description": manifest.description,
            "effect": manifest.effect.value,
            "key_argument": manifest.key_argument,
            "name": manifest.name,
            "parameters": manifest.parameters.value(),
            "repeatable": manifest.repeatable,
            "resources": [[item.argument, item.collection] for item in manifest.resources],
            "result": manifest.result.value(),
            "sensitive_fields": list(manifest.sensitive_fields),
            "version": manifest.version,
            **({} if manifest.service is None else {"service": manifest.service}),
        }
    )


_PLAIN: Final = (str, int, bool, type(None))
_ARGUMENTS_HEAD: Final = b'{"arguments":'


def action_digest(entry: Registered, arguments: Json) -> str:
    """Return the SHA-256 over the canonical object of arguments, tool and version."""
    return hashlib.sha256(_ARGUMENTS_HEAD + arguments.data + entry.tail).hexdigest()


def _registered(tool: Tool, milestones: Iterable[Milestone]) -> Registered:
    """Compile one tool whose manifest holds."""
    manifest = tool.manifest
    tail = encode({"tool": manifest.name, "version": manifest.version})
    steps = tuple(_step(item) for item in milestones if item.tool == manifest.name)
    arguments, result = compiled(manifest.parameters), compiled(manifest.result)
    return Registered(
        tool,
        manifest,
        manifest.writes,
        manifest.effect.value,
        arguments,
        result,
        b"," + tail[1:],
        steps,
    )


def _step(milestone: Milestone) -> Step:
    when = milestone.when.value()
    fields = when if isinstance(when, dict) else {}
    return Step(milestone, tuple((name, value, encode(value)) for name, value in fields.items()))


def _holds(when: tuple[tuple[str, JsonValue, bytes], ...], fields: Mapping[str, JsonValue]) -> bool:
    """Return true if every field is there and has its value."""
    return all(name in fields and _equals(fields[name], value, data) for name, value, data in when)


def _equals(found: JsonValue, value: JsonValue, data: bytes) -> bool:
    """Return true if the two are one JSON value, whose canonical bytes are `data`."""
    if type(found) in _PLAIN:
        return type(found) is type(value) and found == value
    return encode(found) == data


def _target(
    milestone: Milestone, arguments: Mapping[str, JsonValue], result: Mapping[str, JsonValue]
) -> str:
    """Return what tells this step from others of the same milestone, as JSON values and bars."""
    values = [arguments.get(name) for name in milestone.per_arguments]
    values += [result.get(name) for name in milestone.per_result]
    return "|".join([encode(value).decode() for value in values])
