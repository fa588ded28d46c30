"""Argument texts in, checked values out: the only place that says whether a value fits a schema.

Texts are read strictly (no key twice, no integral float, no lone surrogate), schemas are compiled
offline and once, with a regular-expression engine that takes linear time. What does not fit is told
by place and keyword; values never enter a message, since they are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, final

from jsonschema_rs import Draft202012Validator, RegexOptions

from arh.canonical import Json, JsonValue, Refused

ARGUMENTS_SIZE_MAX: Final = 2**20
PROBLEMS_MAX: Final = 5
SCHEMAS_MAX: Final = 4096

_REGEX_SIZE_MAX: Final = 2**20
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NOTED_CHARS_MAX: Final = 64


class SchemaRefused(ValueError):  # noqa: N818 - the answer to an author's schema
    """The schema is not one that can be checked offline in linear time; says why."""


@final
class Schema:
    """A compiled JSON Schema (draft 2020-12)."""

    __slots__ = ("_validator",)

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Compile the document.

        Raises:
            SchemaRefused: It is no schema, refers to another document, or has a pattern that a
                linear engine cannot run.
        """
        if document.get("$schema", _DRAFT) != _DRAFT:
            raise SchemaRefused(f"`$schema` is not {_DRAFT}")
        options = RegexOptions(size_limit=_REGEX_SIZE_MAX, dfa_size_limit=_REGEX_SIZE_MAX)
        try:
            self._validator = Draft202012Validator(
                dict(document), offline=True, pattern_options=options
            )
        except ValueError as error:
            raise SchemaRefused(str(error).partition("\n")[0]) from None

    def fits(self, value: JsonValue) -> bool:
        """Return true if the value satisfies the schema."""
        return self._validator.is_valid(value)

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Return the first problems of a value as `/path keyword`, without any of its content."""
        errors = islice(self._validator.iter_errors(value), PROBLEMS_MAX)
        return tuple(f"{_pointer(error.instance_path)} {error.kind.name}" for error in errors)


@lru_cache(maxsize=SCHEMAS_MAX)
def compiled(document: Json) -> Schema:
    """Return the compiled schema of a document; equal documents share one.

    Raises:
        SchemaRefused: See `Schema`.
    """
    schema = document.value()
    if not isinstance(schema, dict):
        raise SchemaRefused("a schema is an object")
    return Schema(schema)


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


def _pointer(path: Iterable[str | int]) -> str:
    """Return a JSON pointer of bounded length, in printable ASCII."""
    pointer = "".join(f"/{step}" for step in path)[:_NOTED_CHARS_MAX] or "/"
    return pointer.encode("ascii", "backslashreplace").decode()
