"""Strict reading of what authors write: policies and assertions, all mistakes at once.

A `Form` is one JSON object under inspection. It reads one field at a time, notes each mistake with
its path, and returns what stands for the field then, so that reading goes on. Null is absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Final, TypeGuard, final

from arh.canonical import SAFE_INTEGER, JsonValue
from arh.errors import AuthoringError, Problem, closest, quoted
from arh.traces.trace import shown_type

PROBLEMS_MAX: Final = 50
_EXTENSION: Final = "x-"


class PolicyRefused(AuthoringError, ValueError):  # noqa: N818 - the answer of a strict reader
    """A document is no policy, or no assertions, of schema version 1; says where and why."""


@final
class Form:
    """One object, the kind of document that it is of, its path there, and what is wrong so far."""

    __slots__ = ("data", "kind", "path", "problems")

    def __init__(self, kind: str, data: dict[str, JsonValue], path: str = "") -> None:
        """Begin with no mistakes."""
        self.kind = kind
        self.data = data
        self.path = path
        self.problems: list[Problem] = []

    def at(self, data: dict[str, JsonValue], path: str) -> Form:
        """Return the form of an object within; its mistakes are noted here too."""
        inner = Form(self.kind, data, path)
        inner.problems = self.problems
        return inner

    def within(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def note(self, field: str, said: str, hint: str = "") -> None:
        """Note a mistake at a path."""
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(Problem(said, field=field, hint=hint))

    def wrong(self, name: str, expected: str) -> None:
        """Note that a field has to be something else."""
        path = self.within(name)
        value = self.data.get(name)
        found = quoted(value) if isinstance(value, str) else shown_type(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found = str(value) if abs(value) <= SAFE_INTEGER else "a number beyond 2^53 - 1"
        self.note(path, f"{self.kind} {path} must be {expected}", f"found {found}")

    def only(self, *known: str) -> None:
        """Note every key that is not known: it is a typo, or a check that does not exist."""
        for name in self.data:
            if name not in known and not name.startswith(_EXTENSION):
                hint = closest(name, known) or f"known are {', '.join(known)}"
                self.note(self.within(name), f"unknown {self.kind} field {quoted(name)}", hint)

    def section(self, name: str) -> Form | None:
        """Return the form of an object; null is absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, dict):
            return self.at(value, self.within(name))
        path = self.within(name)
        self.note(path, f"{self.kind} field '{path}' must be an object", _found(value))
        return None

    def text(self, name: str) -> str | None:
        """Return a text."""
        value = self.data.get(name)
        if value is None or isinstance(value, str):
            return value
        self.wrong(name, "text")
        return None

    def flag(self, name: str) -> bool:
        """Return true or false; the text "false" is neither."""
        value = self.data.get(name)
        if isinstance(value, bool):
            return value
        if value is not None:
            self.wrong(name, "true or false")
        return False

    def whole(self, name: str, *, least: int) -> int | None:
        """Return an integer of at least `least`."""
        value = self.data.get(name)
        if value is None:
            return None
        if type(value) is int and least <= value <= SAFE_INTEGER:
            return value
        self.wrong(name, f"an integer >= {least}")
        return None

    def number(self, name: str, *, least: float | None = None) -> float | None:
        """Return a finite number."""
        value = self.data.get(name)
        if value is None:
            return None
        if _is_finite(value) and (least is None or value >= least):
            return value
        self.wrong(name, "a finite number" + ("" if least is None else f" >= {least:g}"))
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.data.get(name)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(str(item) for item in value)
        path = self.within(name)
        self.note(path, f"{self.kind} {path} must be a list of strings", _found(value))
        return ()

    def choice(self, name: str, words: Iterable[str]) -> str | None:
        """Return one of the words."""
        value = self.data.get(name)
        known = tuple(words)
        if value is None or value in known:
            return value if isinstance(value, str) else None
        self.wrong(name, " or ".join(known))
        return None

    def refuse(self, file: str = "") -> None:
        """Return only if there is no mistake.

        Raises:
            PolicyRefused: There is; all are said together.
        """
        if self.problems:
            raise PolicyRefused(
                *(
                    Problem(each.found, file=file, field=each.field, hint=each.hint)
                    for each in self.problems
                )
            )


def _found(value: object) -> str:
    return f"found {quoted(value) if isinstance(value, str) else shown_type(value)}"


def _is_finite(value: object) -> TypeGuard[int | float]:
    if type(value) is int:
        return abs(value) <= SAFE_INTEGER
    return type(value) is float and isfinite(value)
