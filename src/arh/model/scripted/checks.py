"""Checks of single JSON values in a script file; a value that fails is reported and left out."""

from __future__ import annotations

from collections.abc import Sequence

from arh.canonical import JsonValue, encode
from arh.errors import Problem, closest

COUNT_MAX = 10_000_000


class Checks:
    """The problems of one file so far."""

    def __init__(self, file: str) -> None:
        """Begin without problems."""
        self.file = file
        self.problems: list[Problem] = []

    def fault(self, field: str, found: JsonValue, expected: str, hint: str = "") -> None:
        """Report what stands at the field although something else should."""
        text = found if isinstance(found, str) else encode(found).decode()
        self.problems.append(Problem(text or '""', expected, self.file, None, field, hint))

    def say(self, field: str, sentence: str, hint: str = "") -> None:
        """Report a mistake that is no wrong value."""
        self.problems.append(Problem(sentence, "", self.file, None, field, hint))

    def keys(
        self,
        field: str,
        value: dict[str, JsonValue],
        *,
        required: Sequence[str] = (),
        optional: Sequence[str] = (),
    ) -> bool:
        """Return true if the object has all required keys and no unknown ones."""
        known = (*required, *optional)
        unknown = [key for key in value if key not in known]
        missing = [key for key in required if key not in value]
        for key in unknown:
            self.fault(_below(field, key), key, f"one of {', '.join(known)}", closest(key, known))
        for key in missing:
            self.say(_below(field, key), "missing", "add it")
        return not (unknown or missing)

    def items(self, field: str, value: JsonValue) -> list[JsonValue]:
        """Return the non-empty list that the value should be, or an empty one."""
        if isinstance(value, list) and value:
            return value
        self.fault(field, value, "a list with at least one item")
        return []

    def object(self, field: str, value: JsonValue) -> dict[str, JsonValue] | None:
        """Return the object that the value should be."""
        if isinstance(value, dict):
            return value
        self.fault(field, value, "an object")
        return None

    def text(self, field: str, value: JsonValue, *, empty: bool = False) -> str:
        """Return the string that the value should be, or "" if it is none."""
        if isinstance(value, str) and (value or empty):
            return value
        self.fault(field, value, "a string" if empty else "a string that is not empty")
        return ""

    def count(self, field: str, value: JsonValue) -> int | None:
        """Return the whole number from 0 up that the value should be."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_MAX:
            return value
        self.fault(field, value, f"a whole number from 0 to {COUNT_MAX}")
        return None


def _below(field: str, key: str) -> str:
    return f"{field}.{key}" if field else key
