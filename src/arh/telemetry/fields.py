"""Which fields of a value a JSON Schema declares: the allow-list that redaction keeps by.

Read once for each tool. A name that the schema does not declare is not kept, except where the
schema leaves its object open. What a schema says in ways that are not followed here (a reference
that leads nowhere, nesting without end) declares nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue

DEPTH_MAX: Final = 16
SCHEMAS_MAX: Final = 4096

_UNIONS: Final = ("allOf", "anyOf", "oneOf")
_BRANCHES: Final = ("if", "then", "else")
_ITEMS: Final = ("items", "contains", "unevaluatedItems")

Schema = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Fields:
    """The names that an object (or each object of a list) may have, and theirs in turn.

    An `open` object may have others too.
    """

    names: Mapping[str, Fields] = field(default_factory=dict)
    open: bool = False

    def of(self, name: str) -> Fields | None:
        """Return what is declared below a name, or `None` if the name itself is not."""
        below = self.names.get(name)
        return ANYTHING if below is None and self.open else below


NOTHING: Final = Fields()
ANYTHING: Final = Fields(open=True)


def bounded(fields: Fields, known: Fields) -> Fields:
    """Return the fields with `known` ones in place of whatever an open object may have."""
    names = {name: bounded(below, known) for name, below in fields.names.items()}
    return Fields({**known.names, **names}) if fields.open else Fields(names)


def known(names: Iterable[str]) -> Fields:
    """Return fields of these names, at any depth."""
    below: dict[str, Fields] = {}
    found = Fields(below)
    below.update((name, found) for name in names)
    return found


def declared(schema: JsonValue, *, closed: bool) -> Fields:
    """Return the fields of a schema; with `closed`, an object is open only if it has a map."""
    return _Reader(schema, closed=closed).read(schema, 0)


class _Reader:
    """Reads one schema document."""

    def __init__(self, document: JsonValue, *, closed: bool) -> None:
        self._document = document
        self._closed = closed
        self._left = SCHEMAS_MAX

    def read(self, schema: JsonValue, depth: int) -> Fields:
        self._left -= 1
        if schema is True or schema == {}:
            return ANYTHING
        found = NOTHING
        if depth > DEPTH_MAX or self._left < 0 or not isinstance(schema, dict):
            return found
        for part in self._parts(schema, depth):
            own = Fields(dict(self._properties(part, depth)), self._is_open(part))
            for below in (own, *self._items(part, depth)):
                found = _both(found, below)
        return found

    def _parts(self, schema: Schema, depth: int) -> Iterator[Schema]:
        """Yield the schema and everything that it is made up of."""
        yield schema
        self._left -= 1
        if depth > DEPTH_MAX or self._left < 0:
            return
        several = [item for key in _UNIONS for item in _list(schema.get(key))]
        branches = [schema[key] for key in _BRANCHES if key in schema]
        for part in (*several, *branches, self._referred(schema.get("$ref"))):
            if isinstance(part, dict):
                yield from self._parts(part, depth + 1)

    def _properties(self, schema: Schema, depth: int) -> Iterator[tuple[str, Fields]]:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, below in properties.items():
                yield name, self.read(below, depth + 1)

    def _items(self, schema: Schema, depth: int) -> Iterator[Fields]:
        for part in (*(schema.get(key) for key in _ITEMS), *_list(schema.get("prefixItems"))):
            if part is not None:
                yield self.read(part, depth + 1)

    def _is_open(self, schema: Schema) -> bool:
        """Return whether names beside the declared ones may stand in such an object."""
        if isinstance(schema.get("additionalProperties"), dict) or "patternProperties" in schema:
            return True
        if self._closed or schema.get("type") not in (None, "object"):
            return False
        about_objects = schema.get("type") == "object" or "properties" in schema
        return about_objects and schema.get("additionalProperties") is not False

    def _referred(self, reference: JsonValue) -> JsonValue:
        """Return what a local reference points at."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: JsonValue = self._document
        for step in reference.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return found


def _both(one: Fields, other: Fields) -> Fields:
    """Return the fields that either declares."""
    if one is NOTHING or one == other:
        return other
    names = dict(one.names)
    for name, below in other.names.items():
        names[name] = _both(names.get(name, NOTHING), below)
    return Fields(names, one.open or other.open)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
