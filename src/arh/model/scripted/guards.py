"""The guards of a script's rules: what they may ask of a situation, and which imply which.

A guard is a key and a condition. Keys: `step` (tool replies so far), `turn` (user
messages), `attempt` (replies in a row of the last tool with the last status), `called.<tool>`
(replies of that tool); `last_tool`, `last_status`, `last_reason`; `result.<path>` (the last call's
result); `user_contains`, `user_matches` (the user's last message), `any_result_contains`. A
condition is a value to be equal to, or one of `{"in": [...]}`, `{"gte": n}`, `{"exists": bool}`,
`{"contains": "text"}`. Texts that should be contained are found in any case of letters; a list of
them must all be there. Values are compared with their type: `true` is not 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from arh.canonical import JsonValue, encode
from arh.errors import HarnessError
from arh.model.scripted.situation import MISSING, Found, Situation, at_path
from arh.regex import Regex, searchable

COUNTS: Final = ("step", "turn", "attempt")
WORDS: Final = ("last_tool", "last_status", "last_reason")
TEXTS: Final = ("user_contains", "user_matches", "any_result_contains")
STATUSES: Final = ("executed", "rejected", "error")
KEYS: Final = (*COUNTS, *WORDS, *TEXTS, "result.<field>", "called.<tool>")


@dataclass(frozen=True, slots=True)
class Equals:
    """The value is this one."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class In:
    """The value is one of these."""

    values: tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The value is a number and not less than this one."""

    minimum: int | float


@dataclass(frozen=True, slots=True)
class Exists:
    """There is a value, or there is none."""

    exists: bool


@dataclass(frozen=True, slots=True)
class Contains:
    """The value, or its JSON text if it is not a string, holds this case-folded text."""

    text: str


@dataclass(frozen=True, slots=True)
class Matches:
    """The text matches this RE2 pattern somewhere."""

    pattern: str
    regex: Regex = field(compare=False, repr=False)


Condition = Equals | In | AtLeast | Exists | Contains | Matches


@dataclass(frozen=True, slots=True)
class Guard:
    """One condition on one thing: `source` as in the module's paragraph, `path` below it."""

    source: str
    path: tuple[str, ...]
    condition: Condition

    def test(self) -> Callable[[Situation], bool]:
        """Return the function that says whether a situation meets the guard."""
        condition, path, read = self.condition, self.path, _READERS.get(self.source)
        if isinstance(condition, Contains) and self.source == "any_result_contains":
            text = condition.text
            return lambda situation: situation.any_result_contains(text)
        if isinstance(condition, Equals) and self.source in _PLAIN:
            plain, value = _PLAIN[self.source], condition.value
            return lambda situation: plain(situation) == value
        if read is None:
            raise HarnessError(f"no guard reads `{self.source}`")
        return lambda situation: met(condition, read(situation, path))


def met(condition: Condition, value: Found) -> bool:
    """Return true if the value meets the condition; no value meets only its absence."""
    if isinstance(condition, Exists):
        return (value is not MISSING) == condition.exists
    if value is MISSING:
        return False
    match condition:
        case Equals(expected):
            return same(value, expected)
        case In(values):
            return any(same(value, expected) for expected in values)
        case AtLeast(minimum):
            return isinstance(value, int | float) and _number(value) and value >= minimum
        case Contains(text):
            return text in _text(value).casefold()
        case Matches(_, regex):
            return regex.search(searchable(_text(value))) is not None


def implies(one: Condition, other: Condition) -> bool:
    """Return true if whatever meets `one` meets `other`; false where that is not known."""
    match one, other:
        case Exists(a), Exists(b):
            return a == b
        case Exists(), _:
            return False
        case _, Exists(exists):
            return exists
        case Equals(value), _:
            return met(other, value)
        case In(values), _:
            return all(met(other, value) for value in values)
        case AtLeast(a), AtLeast(b):
            return a >= b
        case Contains(a), Contains(b):
            return b in a
        case _:
            return one == other


def covers(earlier: tuple[Guard, ...], later: tuple[Guard, ...]) -> bool:
    """Return true if the earlier rule matches wherever the later one does."""
    return all(
        any(
            (have.source, have.path) == (need.source, need.path)
            and implies(have.condition, need.condition)
            for have in later
        )
        for need in earlier
    )


def contradiction(guards: tuple[Guard, ...]) -> str:
    """Say why no situation can meet all the guards, or "" if nothing is known to forbid it."""
    needing = [g for g in guards if _needs_result(g)]
    if needing and _fails(guards, "last_status", "executed"):
        return "only an executed call has a result"
    calls = [g for g in guards if g.source in {*WORDS, "any_result_contains"} or _needs_result(g)]
    if calls and _is(guards, "step", 0):
        return "at step 0 there has been no call"
    for index, guard in enumerate(guards):
        if any(_excludes(guard, other) for other in guards[index + 1 :]):
            return f"two conditions on {guard.source} exclude each other"
    return ""


def same(one: JsonValue, other: JsonValue) -> bool:
    """Return true if the two JSON values are equal, types included."""
    if isinstance(one, list | dict) or isinstance(other, list | dict):
        return type(one) is type(other) and encode(one) == encode(other)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _needs_result(guard: Guard) -> bool:
    return guard.source == "result" and guard.condition != Exists(exists=False)


def _is(guards: tuple[Guard, ...], source: str, value: JsonValue) -> bool:
    """Return true if a guard pins the source to this value."""
    return any(g.source == source and implies(g.condition, Equals(value)) for g in guards)


def _fails(guards: tuple[Guard, ...], source: str, value: JsonValue) -> bool:
    """Return true if a guard on the source excludes this value."""
    return any(g.source == source and not met(g.condition, value) for g in guards)


def _excludes(one: Guard, other: Guard) -> bool:
    """Return true if both guards ask the same thing and pin it to different values."""
    if (one.source, one.path) != (other.source, other.path) or one.source in TEXTS:
        return False
    values = _values(one.condition)
    return bool(values) and not any(met(other.condition, value) for value in values)


def _values(condition: Condition) -> tuple[JsonValue, ...]:
    match condition:
        case Equals(value):
            return (value,)
        case In(values):
            return values
        case _:
            return ()


def _last(name: str) -> Callable[[Situation, tuple[str, ...]], Found]:
    return lambda situation, _: MISSING if situation.last is None else getattr(situation.last, name)


def _user(situation: Situation, _: tuple[str, ...]) -> Found:
    return situation.users[-1] if situation.users else MISSING


# What is always a count or a word (or not there) can be compared without looking at its type.
_PLAIN: Final[dict[str, Callable[[Situation], object]]] = {
    name: attrgetter(name) for name in (*COUNTS, *WORDS)
}
_READERS: Final[dict[str, Callable[[Situation, tuple[str, ...]], Found]]] = {
    "step": lambda situation, _: situation.step,
    "turn": lambda situation, _: situation.turn,
    "attempt": lambda situation, _: situation.attempt,
    "called": lambda situation, path: situation.called.get(path[0], 0),
    "last_tool": _last("tool"),
    "last_status": _last("status"),
    "last_reason": _last("reason"),
    "result": lambda situation, path: at_path(situation.result(), path),
    "user_contains": _user,
    "user_matches": _user,
}
