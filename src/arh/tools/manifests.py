"""What a tool's manifest must be so that the gateway can enforce it: the checks at load.

Each check returns problems that name the tool and the field; none of them is a matter of taste.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from arh.canonical import Json, JsonValue
from arh.errors import Problem, closest
from arh.records.tools import Effect, Milestone, ToolManifest
from arh.schema import problem as schema_problem
from arh.tools.arguments import open_objects

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_VERSION: Final = re.compile(r"[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z.-]{1,32})?")


def faults_of(manifest: ToolManifest, source: str) -> list[Problem]:
    """Return everything that is wrong with one manifest."""
    faults = [
        *_naming(manifest),
        *_schemas(manifest),
        *_effects(manifest),
        *_key(manifest),
        *_amount(manifest),
        *_resources(manifest),
        *_sensitive(manifest),
    ]
    return [
        Problem(
            fault.found, fault.expected, source, None, f"{manifest.name}.{fault.field}", fault.hint
        )
        for fault in faults
    ]


def unnamed_twice(manifests: Iterable[ToolManifest], source: str) -> list[Problem]:
    """Return a problem for every name that two tools have."""
    seen: set[str] = set()
    problems = []
    for manifest in manifests:
        if manifest.name in seen:
            problems.append(Problem(manifest.name, "a name that no other tool has", source))
        seen.add(manifest.name)
    return problems


def milestone_faults(
    milestones: Sequence[Milestone], manifests: Iterable[ToolManifest], source: str
) -> list[Problem]:
    """Return what keeps a milestone from ever being satisfied, or from being told apart."""
    known = {manifest.name: manifest for manifest in manifests}
    problems: list[Problem] = []
    seen: set[str] = set()
    for milestone in milestones:
        field = f"milestones[{milestone.id}]"
        if milestone.id in seen:
            expected = "an id that no other milestone has"
            problems.append(Problem(milestone.id, expected, source, field=field))
        seen.add(milestone.id)
        manifest = known.get(milestone.tool)
        if manifest is None:
            hint = closest(milestone.tool, known)
            expected = "the name of a tool"
            problems.append(Problem(milestone.tool, expected, source, None, f"{field}.tool", hint))
        else:
            problems += _unknown_fields(milestone, manifest, source, field)
    return problems


def _unknown_fields(
    milestone: Milestone, manifest: ToolManifest, source: str, field: str
) -> Iterable[Problem]:
    """Return a problem for every field that the tool's schemas do not declare."""
    when = milestone.when.value()
    arguments, result = _properties(manifest.parameters), _properties(manifest.result)
    named = (
        ("per_arguments", milestone.per_arguments, arguments),
        ("per_result", milestone.per_result, result),
        ("when", tuple(when) if isinstance(when, dict) else (), result),
    )
    for part, names, declared in named:
        for name in names:
            if name in manifest.sensitive_fields:
                expected = "a field that is not sensitive"
                yield Problem(name, expected, source, None, f"{field}.{part}")
            if name not in declared:
                expected = f"a field that the schema of {manifest.name} declares"
                hint = closest(name, declared)
                yield Problem(name, expected, source, None, f"{field}.{part}", hint)


def _naming(manifest: ToolManifest) -> Iterable[Problem]:
    if not TOOL_NAME.fullmatch(manifest.name):
        yield Problem(manifest.name, "1 to 128 letters, digits, `_`, `.` and `-`", field="name")
    if not _VERSION.fullmatch(manifest.version):
        yield Problem(manifest.version, "a version as in 1.0", field="version")
    if manifest.credential == "":
        yield Problem("", "the name of a credential, or none", field="credential")


def _schemas(manifest: ToolManifest) -> Iterable[Problem]:
    """Refuse a schema that does not compile, and arguments that are not closed at every level."""
    for field, document in (("parameters", manifest.parameters), ("result", manifest.result)):
        why = schema_problem(document)
        if why:
            hint = "use draft 2020-12, local references, and patterns without look-around"
            yield Problem(f"a schema that cannot be used: {why}", field=field, hint=hint)
    parameters = manifest.parameters.value()
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        yield Problem("another schema", 'a schema with "type": "object"', field="parameters")
        return
    for path in open_objects(parameters, parameters):
        hint = 'state a type, and "additionalProperties": false for every object'
        yield Problem(f"`{path}` lets undeclared properties in", field="parameters", hint=hint)


def _effects(manifest: ToolManifest) -> Iterable[Problem]:
    """Refuse combinations that mean nothing."""
    if manifest.effect not in tuple(Effect):
        known = ", ".join(Effect)
        yield Problem(str(manifest.effect), f"one of {known}", field="effect")
        return
    if not manifest.writes:
        for field in ("key_argument", "amount_argument"):
            if getattr(manifest, field) is not None:
                yield Problem("a read has none", field=field)
        if manifest.repeatable:
            yield Problem("a read can always be repeated", field="repeatable", hint="leave it out")
    elif manifest.repeatable and manifest.key_argument is not None:
        hint = "a tool with a key argument is repeated with another key"
        yield Problem("a tool is repeatable or has a key argument", field="repeatable", hint=hint)


def _key(manifest: ToolManifest) -> Iterable[Problem]:
    name = manifest.key_argument
    if name is None or _states(manifest, name, "string", required=True):
        return
    yield Problem(name, "a required string property of the parameters", field="key_argument")


def _amount(manifest: ToolManifest) -> Iterable[Problem]:
    name = manifest.amount_argument
    if name is None:
        return
    minimum = _property(manifest, name).get("minimum")
    positive = type(minimum) is int and minimum >= 1
    if not (positive and _states(manifest, name, "integer", required=True)):
        expected = "a required integer property with a minimum of at least 1 minor unit"
        yield Problem(name, expected, field="amount_argument")


def _resources(manifest: ToolManifest) -> Iterable[Problem]:
    for resource in manifest.resources:
        if not _states(manifest, resource.argument, "string"):
            expected = "a string property of the parameters"
            yield Problem(resource.argument, expected, field="resources")
        if not resource.collection or resource.collection.startswith("_"):
            expected = "a collection of business records"
            yield Problem(resource.collection, expected, field="resources")


def _sensitive(manifest: ToolManifest) -> Iterable[Problem]:
    """Refuse a sensitive field that no schema declares, or that is bound to be on record."""
    declared = {*_all_properties(manifest.parameters.value())}
    declared.update(_all_properties(manifest.result.value()))
    recorded = {manifest.key_argument, *(item.argument for item in manifest.resources)}
    for name in manifest.sensitive_fields:
        if name not in declared:
            expected = "a property of the parameters or of the result"
            yield Problem(name, expected, field="sensitive_fields", hint=closest(name, declared))
        elif name in recorded:
            expected = "a field that is neither the key nor names a record"
            yield Problem(name, expected, field="sensitive_fields")


def _states(manifest: ToolManifest, name: str, kind: str, *, required: bool = False) -> bool:
    """Return true if the parameters have a (required) property of exactly this type."""
    parameters = manifest.parameters.value()
    needed = parameters.get("required", []) if isinstance(parameters, dict) else []
    present = not required or (isinstance(needed, list) and name in needed)
    return present and _property(manifest, name).get("type") == kind


def _property(manifest: ToolManifest, name: str) -> Mapping[str, JsonValue]:
    """Return the schema of one parameter, empty if there is none."""
    found = _properties(manifest.parameters).get(name)
    return found if isinstance(found, dict) else {}


def _properties(schema: Json) -> Mapping[str, JsonValue]:
    """Return the properties that a schema declares at its top."""
    value = schema.value()
    declared = value.get("properties") if isinstance(value, dict) else None
    return declared if isinstance(declared, dict) else {}


def _all_properties(schema: JsonValue) -> Iterable[str]:
    """Return the names of the properties that a schema declares at any depth."""
    if isinstance(schema, list):
        for item in schema:
            yield from _all_properties(item)
    elif isinstance(schema, dict):
        declared = schema.get("properties")
        if isinstance(declared, dict):
            yield from declared
        for item in schema.values():
            yield from _all_properties(item)
