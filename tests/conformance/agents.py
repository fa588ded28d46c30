"""Agents for tests of what a run promises: they explore, mutate, raise, hang and lie."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar, cast

from arh.agent.loop import ReferenceAgent
from arh.canonical import Json
from arh.ports.sue import Session
from arh.records.decisions import ModelReply
from arh.records.messages import Message, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import AgentReport, Note, Task

T = TypeVar("T")
LEAVES = (type, types.ModuleType, str, bytes, int, float, type(None))
HIDING_PLACES = ("__self__", "__func__", "__wrapped__", "__closure__", "__defaults__", "__dict__")


def reachable(*roots: object) -> Iterator[object]:
    """Every object that attributes, containers, closures and bound methods lead to, each once.

    Classes and modules are not entered: whoever can import needs no path to them.
    """
    seen: dict[int, object] = {}
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one
        if not isinstance(one, LEAVES):
            waiting.extend(neighbours(one))


def neighbours(one: object) -> Iterator[object]:
    """What an object holds, by every way that Python code has."""
    if isinstance(one, Mapping):
        yield from (*one.keys(), *one.values())
    elif isinstance(one, (Sequence, set, frozenset)):
        yield from one
    if isinstance(one, types.CellType):
        yield one.cell_contents
    public = [name for name in dir(one) if not name.startswith("__")]
    for name in (*public, *HIDING_PLACES):
        with suppress(Exception):
            yield getattr(one, name)


@dataclasses.dataclass
class Acting:
    """An agent made of a function; it remembers what the function saw."""

    act: Callable[[Task, Session], AgentReport]

    def run(self, task: Task, session: Session) -> AgentReport:
        """Do what the function does."""
        return self.act(task, session)


class Explorer:
    """Works like the reference agent and walks over everything that it is handed."""

    def __init__(self) -> None:
        self.found: dict[str, type] = {}

    def run(self, task: Task, session: Session) -> AgentReport:
        """Work, looking at everything that comes in."""
        self.look(task, session)
        return ReferenceAgent().run(task, Watched(session, self.look))

    def look(self, *things: object) -> None:
        """Remember the types of everything that can be reached."""
        for one in reachable(*things):
            self.found[f"{type(one).__module__}.{type(one).__qualname__}"] = type(one)


class Vandal:
    """Works like the reference agent on copies, and ruins every original that it was handed."""

    def run(self, task: Task, session: Session) -> AgentReport:
        """Work, ruining everything that comes in as soon as it was copied."""
        own = copied(task)
        ruin(task)
        report = ReferenceAgent().run(own, Watched(session, ruin))
        deface(session)
        ruin(own)
        return report


class Watched:
    """A session that passes on copies and lets somebody at the originals."""

    def __init__(self, session: Session, original: Callable[[object], None]) -> None:
        self._session, self._original = session, original

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Ask the model."""
        given = copied(messages)
        reply = self._session.complete(
            given, timeout_ms=timeout_ms, output_tokens_max=output_tokens_max
        )
        self._original(given)
        return self._passed(reply)

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """Ask the gateway."""
        given = copied(request)
        outcome = self._session.call(given, timeout_ms=timeout_ms)
        self._original(given)
        return self._passed(outcome)

    def ask(self, message: str) -> Message | None:
        """Ask the user."""
        return self._passed(self._session.ask(message))

    def now_ms(self) -> int:
        """Return the run's time."""
        return self._session.now_ms()

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self._session.wait(ms)

    def note(self, note: Note) -> None:
        """Put a note on record."""
        given = copied(note)
        self._session.note(given)
        self._original(given)

    def _passed(self, thing: T) -> T:
        own = copied(thing)
        self._original(thing)
        return own


def copied(thing: T) -> T:
    """A copy of a record that shares nothing but text, bytes and numbers."""
    return cast("T", _copied(thing))


def _copied(thing: object) -> object:
    if isinstance(thing, Json):
        return Json.read(thing.data)
    if isinstance(thing, tuple):
        return tuple(map(_copied, thing))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        values = {f.name: _copied(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
        return type(thing)(**values)
    return thing


def ruin(thing: object) -> None:
    """Every field of every record below is overwritten, frozen or not."""
    for one in list(reachable(thing)):
        if isinstance(one, Json):
            object.__setattr__(one, "data", b'{"ruined":true}')
            with suppress(AttributeError):
                object.__delattr__(one, "_digest")
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            for field in dataclasses.fields(one):
                object.__setattr__(one, field.name, "ruined")


def deface(session: object) -> None:
    """Everything about the session that can be set is set, by every way of setting it."""
    for name in dir(session):
        for setter in (setattr, object.__setattr__):
            with suppress(AttributeError, TypeError):
                setter(session, name, None)
