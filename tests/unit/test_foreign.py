"""Whatever foreign code does, `call` returns; only what is not its doing passes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from arh.errors import ArhError, AuthoringError, HarnessError, RunStopped
from arh.foreign import ForeignFailure, call


def raising(error: BaseException) -> Callable[[], NoReturn]:
    """Code that raises the error."""

    def f() -> NoReturn:
        raise error

    return f


def recursing() -> int:
    """Code that never comes to an end by itself."""
    return recursing() + 1


class CancelledError(BaseException):
    """As asyncio's: not an `Exception`, and not ours."""


class Liar(type):
    """A metaclass that will not tell the name of its classes."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        """Raise instead."""
        raise RuntimeError("no name")


class Nameless(Exception, metaclass=Liar):  # noqa: N818 - the name is the point
    """An exception that is hard to name."""


def test_a_value_is_returned_as_it_is() -> None:
    """Nothing is added to what the code returns."""
    assert call("model", lambda: 7) == 7


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError("secret at /home/user"), "ValueError"),
        (SystemExit(0), "SystemExit"),
        (MemoryError(), "MemoryError"),
        (GeneratorExit(), "GeneratorExit"),
        (CancelledError(), "CancelledError"),
        (Nameless(), "Nameless"),
        (ExceptionGroup("two", [ValueError(), KeyError()]), "ExceptionGroup"),
        (BaseExceptionGroup("one", [SystemExit(1)]), "BaseExceptionGroup"),
    ],
)
def test_what_it_raises_becomes_a_failure(error: BaseException, name: str) -> None:
    """The failure holds the port and the name of the type, and nothing that the error says."""
    assert call("model", raising(error)) == ForeignFailure("model", name)


def test_endless_recursion_becomes_a_failure() -> None:
    """A stack that ran out is the foreign code's."""
    assert call("agent", recursing) == ForeignFailure("agent", "RecursionError")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a\nb `c` /etc/passwd", "a_b__c___etc_passwd"),
        ("Über\u202e", "_ber_"),
        ("1st", "_1st"),
        ("", "_"),
        ("E" * 200, "E" * 60),
        ("9" * 200, "_" + "9" * 59),
    ],
)
def test_the_name_is_made_an_identifier(name: str, expected: str) -> None:
    """A name made up at run time is kept to 60 letters, digits and underscores."""
    made = type(name, (Exception,), {})

    assert call("handler", raising(made())) == ForeignFailure("handler", expected)
    assert expected.isidentifier()


@pytest.mark.parametrize(
    "error",
    [
        RunStopped("watchdog"),
        KeyboardInterrupt(),
        HarnessError("ours"),
        AuthoringError.of("x"),
        ArhError(),
    ],
)
def test_what_is_not_its_doing_passes_through(error: BaseException) -> None:
    """A stop, an interrupt and an error of arh underneath reach whoever called."""
    with pytest.raises(type(error)) as raised:
        call("agent", raising(error))

    assert raised.value is error


@pytest.mark.parametrize("depth", [1, 3, 2_000])
def test_a_stop_passes_out_of_exception_groups(depth: int) -> None:
    """A task group of the agent may wrap the stop, however deep, and does not hide it."""
    stop = RunStopped("watchdog")
    group: BaseException = stop
    for _ in range(depth):
        group = BaseExceptionGroup("tasks", [ValueError(), group])

    with pytest.raises(RunStopped) as raised:
        call("agent", raising(group))

    assert raised.value is stop


def test_the_interrupt_wins_over_the_stop() -> None:
    """When both are in one group, the user is heard."""
    group = BaseExceptionGroup("tasks", [HarnessError(), RunStopped("hung"), KeyboardInterrupt()])

    with pytest.raises(KeyboardInterrupt):
        call("agent", raising(group))
