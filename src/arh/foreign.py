"""The one border around code that is not ours: a model, decision point, handler, agent or plug-in.

`call` turns whatever such code raises into a value, `ForeignFailure`, and is the only place in the
product that catches everything. Three things are not the foreign code's doing and pass through: a
run stopped from outside, the user's interrupt, and an error that arh itself raised underneath (an
agent calls a gateway of ours). `SystemExit` is caught: foreign code does not decide that we exit.
Texts, reprs and paths of exceptions never enter the failure, because failures are digested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from arh.errors import ArhError, RunStopped

T = TypeVar("T")

TYPE_NAME_CHARS_MAX: Final = 60

_NOT_ITS_DOING: Final = (KeyboardInterrupt, RunStopped, ArhError)
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_]|^(?=[0-9]|$)")
_type_name: Final = type.__dict__["__name__"].__get__


@dataclass(frozen=True, slots=True)
class ForeignFailure:
    """Code behind `port` raised; only the name of the exception's type is kept, an identifier."""

    port: str
    type_name: str


def call(port: str, f: Callable[[], T]) -> T | ForeignFailure:
    """Return what `f` returns, or the failure that it ended in.

    Raises what is not the foreign code's doing, also when it arrives inside an exception group:
    `KeyboardInterrupt`, `RunStopped`, and the errors of arh.
    """
    try:
        return f()
    except _NOT_ITS_DOING:
        raise
    except BaseExceptionGroup as group:
        passing = _passing(group)
        if passing is None:
            return _failure(port, group)
        raise passing from None
    except BaseException as error:
        return _failure(port, error)


def _failure(port: str, error: BaseException) -> ForeignFailure:
    """Keep the name of the error's type, read past any metaclass, and nothing that it says."""
    name = _NOT_A_NAME.sub("_", _type_name(type(error)))
    return ForeignFailure(port, name[:TYPE_NAME_CHARS_MAX])


def _passing(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """Return what must pass out of the group, the user's interrupt first, or None."""
    leaves = _leaves(group)
    found = (leaf for kind in _NOT_ITS_DOING for leaf in leaves if isinstance(leaf, kind))
    return next(found, None)


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """Return the exceptions of nested groups, however deep, without recursion."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop()
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(reversed(error.exceptions))
        else:
            leaves.append(error)
    return leaves
