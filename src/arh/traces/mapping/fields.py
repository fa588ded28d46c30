"""One JSON object that is being read: what is not taken from it, with the right type, is noted.

This is how readers keep everything without listing everything. A reader takes the fields that it
maps; `done` sorts the rest: bookkeeping that the reader names goes to the trace's recording, plain
numbers and truth values as well, empty values carry nothing, and all else becomes one note.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.texts import texts
from arh.traces.mapping.usage import count_of
from arh.traces.trace import JsonObject

_NOTHING: Final[frozenset[str]] = frozenset()


class Fields:
    """The fields of one object, each taken at most once."""

    __slots__ = ("_left", "assembly", "at")

    def __init__(self, assembly: Assembly, value: JsonObject, at: str) -> None:
        """Begin with all fields left."""
        self.assembly = assembly
        self.at = at
        self._left = dict(value)

    def text(self, name: str) -> str | None:
        """Take a text; of any other type it is left."""
        value = self._left.get(name)
        if type(value) is str:
            del self._left[name]
            return value
        return None

    def ended(self, name: str, cut: AbstractSet[str]) -> None:
        """Take and keep the reason why a reply ended; one of `cut` is a note at its last step."""
        reason = self.text(name)
        if reason:
            self.assembly.recorded(self.at, name, reason)
        if reason in cut:
            detail = f"the reply ended early: {reason}"
            self.assembly.note("truncated", self.at, detail, step=self.assembly.last())

    def identifier(self, name: str) -> str | None:
        """Take a text that is not empty, or a whole number as text."""
        value = self._left.get(name)
        if type(value) is int:
            del self._left[name]
            return str(value)
        return self.text(name) or None

    def object(self, name: str) -> JsonObject | None:
        """Take an object; of any other type it is left."""
        value = self._left.get(name)
        if type(value) is dict:
            del self._left[name]
            return value
        return None

    def items(self, name: str) -> list[JsonValue] | None:
        """Take a list; of any other type it is left."""
        value = self._left.get(name)
        if type(value) is list:
            del self._left[name]
            return value
        return None

    def flag(self, name: str) -> bool | None:
        """Take true or false; of any other type it is left."""
        value = self._left.get(name)
        if type(value) is bool:
            del self._left[name]
            return value
        return None

    def whole(self, name: str) -> int | None:
        """Take a whole number; of any other type it is left."""
        value = self._left.get(name)
        if type(value) is int:
            del self._left[name]
            return value
        return None

    def number(self, name: str) -> float | None:
        """Take a number; of any other type it is left."""
        value = self._left.get(name)
        if type(value) is int or type(value) is float:
            del self._left[name]
            return value
        return None

    def count(self, name: str) -> int | None:
        """Take a count of tokens; what is none is noted, and null is not recorded."""
        value = self._left.pop(name, None)
        if value is None:
            return None
        count = count_of(value)
        if count is None:
            at = f"{self.at}.{name}"
            self.assembly.note("usage_not_a_number", at, content=texts(value))
        return count

    def peek(self, name: str) -> str:
        """Return a text and leave it; "" where there is none."""
        value = self._left.get(name)
        return value if isinstance(value, str) else ""

    def take(self, name: str) -> JsonValue:
        """Take whatever is there, null when nothing is."""
        return self._left.pop(name, None)

    def has(self, name: str) -> bool:
        """Say whether a field is there and left."""
        return name in self._left

    def rest(self) -> JsonObject:
        """Take everything that is left."""
        left, self._left = self._left, {}
        return left

    def done(self, known: AbstractSet[str] = _NOTHING, kind: str = "unmapped_field") -> None:
        """Keep what is left: as bookkeeping if `known` or no text, else as one note."""
        unmapped: JsonObject = {}
        for name, value in self._left.items():
            if value is None or (type(value) in _CONTAINERS and not value):
                continue
            if name in known or type(value) in _PLAIN:
                self.assembly.recorded(self.at, name, value)
            else:
                unmapped[name] = value
        self._left = {}
        if unmapped:
            names = ", ".join(list(unmapped)[:_NAMES_MAX])
            self.assembly.note(kind, self.at, names, content=texts(unmapped))


_CONTAINERS: Final = frozenset({dict, list, str})
_PLAIN: Final = frozenset({bool, float, int})
_NAMES_MAX: Final = 8
