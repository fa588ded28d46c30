"""A Python callable as the agent under test, in our own process.

It is named as `package.module:name`. A class is made anew for each task; an object that works on
several is told by `reset()`, if it has that, before each. What is called with task and session
answers with an `AgentReport`, or with a text, an object of the response envelope or `None`, which
ends as `completed`. A coroutine is run to its end in the thread that the session belongs to.

It gets frozen data and a session, as every agent does, and its wall time is limited. But it shares
our process: what its modules keep between two tasks is kept, a thread of it that hangs is left
behind and not killed, and what searches the interpreter finds the run. Whoever does not trust the
agent starts it as a command. docs/agents.md says so to users.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from arh.canonical import Json
from arh.errors import AuthoringError
from arh.foreign import ForeignFailure, call
from arh.ports.sue import Session
from arh.records.tasks import AgentReport, Task

NAMED: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
EXPECTED: Final = "a callable `function(task, session)`, or a class or object with `run`"

Work = Callable[[Task, Session], object]


@dataclass(frozen=True, slots=True)
class CallableAgent:
    """Implements `arh.ports.sue.Agent` over whatever the name stands for."""

    target: object

    def run(self, task: Task, session: Session) -> AgentReport:
        """Let it work on the task."""
        return reported(_finished(_work(self.target)(task, session)))


def is_callable_name(text: str) -> bool:
    """Tell whether a text names a Python callable and not a command."""
    return NAMED.fullmatch(text) is not None


def load_callable(name: str) -> CallableAgent:
    """Return the agent behind `package.module:name`, found as Python would from this folder.

    Raises:
        AuthoringError: There is no such thing, it does not import, or it cannot work on a task.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module, _, path = name.partition(":")
    found = call("agent", lambda: _named(module, path))
    if isinstance(found, ForeignFailure):
        raise AuthoringError.of(
            f"{name} does not load: {found.type_name}",
            field="--agent",
            hint=f'python -c "import {module}; {module}.{path}" shows why',
        )
    if not (callable(found) or callable(getattr(found, "run", None))):
        raise AuthoringError.of(name, field="--agent", expected=EXPECTED)
    if isinstance(found, type) and not callable(getattr(found, "run", None)):
        raise AuthoringError.of(name, field="--agent", expected="a class with a method `run`")
    return CallableAgent(found)


def reported(answer: object) -> AgentReport:
    """Return how the callable ended; a kind of answer that nobody could judge is its error."""
    if isinstance(answer, AgentReport):
        return answer
    if answer is None or isinstance(answer, str | Json):
        return AgentReport("completed", answer)
    if isinstance(answer, Mapping):
        return AgentReport("completed", Json.of(dict(answer)))
    return AgentReport("agent_error", None, "the callable answered with no text and no object")


def _named(module: str, path: str) -> object:
    found: object = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _work(target: object) -> Work:
    """Return what takes task and session: fresh where that can be had."""
    if isinstance(target, type):
        return cast("Work", target().run)
    reset = getattr(target, "reset", None)
    if callable(reset):
        reset()
    run = getattr(target, "run", None)
    return cast("Work", run if callable(run) else target)


def _finished(answer: object) -> object:
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: object) -> object:
    return await answer if inspect.isawaitable(answer) else answer
