"""The simulated user: scripted turns that answer what the agent says.

A turn is `{"when": {...}, "say": text, "done": bool}`. Every guard in `when` must hold: `turn` (the
n-th answer wanted, counted from 1), `agent_contains` (a part of the agent's last visible message,
whatever its case), `agent_matches` (an RE2 pattern found in it). The first unused turn that matches
is said, and used. When all turns are used the user has hung up; when some are left and none
matches, the user itself has failed, which is never the agent's failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue
from arh.errors import AuthoringError, Problem, closest, quoted
from arh.ports.environment import UserReply
from arh.records.messages import Message
from arh.regex import Regex, compiled, problem, searchable

GUARDS: Final = ("turn", "agent_contains", "agent_matches")
_FIELDS: Final = ("when", "say", "done")


class ScriptedUser:
    """Implements `ports.environment.User` with scripted turns, each used once at most."""

    __slots__ = ("_asked", "_turns", "_used")

    def __init__(self, turns: Sequence[Mapping[str, JsonValue]]) -> None:
        """Read the turns.

        Raises:
            AuthoringError: A turn has an unknown field or guard, says nothing, or cannot match.
        """
        problems = check_turns(turns)
        if problems:
            raise AuthoringError(*problems)
        self._turns = tuple(map(_turn, turns))
        self._used: set[int] = set()
        self._asked = 0

    def reply(self, visible: tuple[Message, ...]) -> UserReply:
        """Answer the agent's last visible message."""
        self._asked += 1
        if len(self._used) == len(self._turns):
            return UserReply(done=True)
        said = _last_said(visible)
        for index, turn in enumerate(self._turns):
            if index not in self._used and turn.matches(self._asked, said):
                self._used.add(index)
                return _spoken(turn)
        return UserReply(error="no turn matches")


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn, its guards ready to be asked."""

    number: int | None
    contains: str | None
    pattern: Regex | None
    say: str | None
    done: bool

    def matches(self, asked: int, said: str) -> bool:
        """Return true if every guard holds for the `asked`-th answer to `said`."""
        return (
            (self.number is None or self.number == asked)
            and (self.contains is None or self.contains in said.casefold())
            and (self.pattern is None or self.pattern.search(searchable(said)) is not None)
        )


def check_turns(turns: Sequence[Mapping[str, JsonValue]]) -> tuple[Problem, ...]:
    """Return every authoring mistake in the turns, with its field."""
    return tuple(
        problem
        for index, turn in enumerate(turns)
        for problem in _problems(turn, f"turns[{index}]")
    )


def _problems(turn: Mapping[str, JsonValue], field: str) -> list[Problem]:
    problems = [
        Problem(f"unknown field {quoted(name)}", field=field, hint=closest(name, _FIELDS))
        for name in turn
        if name not in _FIELDS
    ]
    if not turn.get("say") and not turn.get("done"):
        problems.append(Problem("a turn says something or is `done`", field=field))
    when = turn.get("when") or {}
    if not isinstance(when, dict):
        return [
            *problems,
            Problem(str(when), expected="an object of guards", field=f"{field}.when"),
        ]
    for name, value in when.items():
        problems += _guard_problems(name, value, f"{field}.when.{name}")
    return problems


def _guard_problems(name: str, value: JsonValue, field: str) -> list[Problem]:
    if name not in GUARDS:
        return [Problem("an unknown guard", field=field, hint=closest(name, GUARDS))]
    if name == "turn":
        good = type(value) is int and value >= 1
        return [] if good else [Problem(str(value), expected="a count from 1", field=field)]
    if not isinstance(value, str) or not value:
        return [Problem(str(value), expected="a text that is not empty", field=field)]
    why = problem(value) if name == "agent_matches" else ""
    return [Problem(value, expected="an RE2 pattern", field=field, hint=why)] if why else []


def _turn(turn: Mapping[str, JsonValue]) -> _Turn:
    """Return a turn that was checked."""
    when = turn.get("when")
    guards = when if isinstance(when, dict) else {}
    number, contains, pattern = (guards.get(name) for name in GUARDS)
    say = turn.get("say")
    return _Turn(
        number=number if isinstance(number, int) else None,
        contains=contains.casefold() if isinstance(contains, str) else None,
        pattern=compiled(pattern) if isinstance(pattern, str) else None,
        say=say if isinstance(say, str) else None,
        done=turn.get("done") is True,
    )


def _last_said(visible: tuple[Message, ...]) -> str:
    """Return the content of the last assistant message that a user can see."""
    said = (m.content for m in reversed(visible) if m.role == "assistant" and m.content)
    return next(said, "")


def _spoken(turn: _Turn) -> UserReply:
    message = Message("user", turn.say) if turn.say else None
    return UserReply(message=message, done=turn.done)
