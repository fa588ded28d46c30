"""Argument texts in, values out, and whether a schema of arguments is closed at every level.

Texts are read strictly: no key twice, no integral float, no lone surrogate. Whether a value fits a
schema is for `arh.schema` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from arh.canonical import Json, JsonValue, Refused

ARGUMENTS_SIZE_MAX: Final = 2**20


def read_arguments(text: object) -> tuple[dict[str, JsonValue], Json] | str:
    """Return the arguments that a text states, as a value and frozen, or why there are none."""
    if type(text) is not str:
        return "not a text"
    try:
        frozen = Json.read(text, size_max=ARGUMENTS_SIZE_MAX, integral_floats=False)
    except Refused as refused:
        return refused.reason
    value = frozen.value()
    return (value, frozen) if isinstance(value, dict) else "not an object"


def open_objects(schema: JsonValue, root: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the paths at which a schema lets through an object with properties nobody declared.

    Conditions (`if`, `not`, `dependentSchemas`) only ever narrow what the levels around them allow,
    so they are not looked at.
    """
    return tuple(dict.fromkeys(_open(schema, root, "", frozenset())))


def _open(
    schema: JsonValue, root: Mapping[str, JsonValue], path: str, met: frozenset[str]
) -> Iterable[str]:
    """Return the open levels at and below `path`."""
    if schema is False:
        return ()
    if not isinstance(schema, dict):
        return (path or "/",)
    if "const" in schema or "enum" in schema:
        return ()
    if "type" in schema:
        return _open_typed(schema, root, path, met)
    return _open_untyped(schema, root, path, met)


def _open_typed(
    schema: Mapping[str, JsonValue],
    root: Mapping[str, JsonValue],
    path: str,
    met: frozenset[str],
) -> Iterable[str]:
    """Return the open levels of a schema that names its types."""
    stated = schema["type"]
    types = stated if isinstance(stated, list) else [stated]
    if "object" in types:
        if schema.get("additionalProperties") is not False:
            yield path or "/"
        for keyword in ("properties", "patternProperties"):
            inner = schema.get(keyword, {})
            for name, item in inner.items() if isinstance(inner, dict) else ():
                yield from _open(item, root, f"{path}/{keyword}/{name}", met)
    if "array" in types:
        yield from _open(schema.get("items", True), root, f"{path}/items", met)
        first = schema.get("prefixItems", [])
        for at, item in enumerate(first if isinstance(first, list) else ()):
            yield from _open(item, root, f"{path}/prefixItems/{at}", met)


def _open_untyped(
    schema: Mapping[str, JsonValue],
    root: Mapping[str, JsonValue],
    path: str,
    met: frozenset[str],
) -> Iterable[str]:
    """Return the open levels of a schema that names no type: closed only by what it refers to."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference in met:
            return ()
        return _open(_local(reference, root), root, f"{path}/$ref", met | {reference})
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list):
            found = (_open(b, root, f"{path}/{keyword}/{at}", met) for at, b in enumerate(branches))
            return tuple(level for levels in found for level in levels)
    branches = schema.get("allOf")
    if isinstance(branches, list):
        levels = [tuple(_open(b, root, f"{path}/allOf", met)) for b in branches]
        return min(levels, key=len, default=(path or "/",))
    return (path or "/",)


def _local(reference: str, root: Mapping[str, JsonValue]) -> JsonValue:
    """Return what a reference within the document points at; anything else is open."""
    if not reference.startswith("#"):
        return True
    found: JsonValue = dict(root)
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name, True) if isinstance(found, dict) else True
    return found
