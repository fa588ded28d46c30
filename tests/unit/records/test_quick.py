"""A quick record is the frozen dataclass that it was, only cheaper to build."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from inspect import signature

import pytest

from arh.records.quick import quick


@dataclass(frozen=True, slots=True)
class Careful:
    """The record as the library makes it."""

    name: str
    size: int = 1
    tags: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    """The same record, built in another way."""

    name: str
    size: int = 1
    tags: tuple[str, ...] = ()


class Child(Quick):
    """A subclass, which has a dictionary of its own."""


def test_it_holds_what_it_was_built_with() -> None:
    """By place, by name and by default, the fields are those of the careful class."""
    built = (Quick("a", 2, ("x",)), Quick(tags=("x",), name="a", size=2), Quick("a"))

    assert [(one.name, one.size, one.tags) for one in built] == [
        ("a", 2, ("x",)),
        ("a", 2, ("x",)),
        ("a", 1, ()),
    ]


def test_it_is_of_its_own_class() -> None:
    """Nobody ever sees the mutable twin."""
    assert type(Quick("a")) is Quick


def test_it_does_not_change() -> None:
    """Setting and deleting a field, or adding another one, is refused as ever."""
    made = Quick("a")

    for name in ("name", "other"):
        with pytest.raises((FrozenInstanceError, TypeError)):
            setattr(made, name, "b")
    with pytest.raises(FrozenInstanceError):
        del made.name
    assert made == Quick("a")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((), {}), (("a", 1, (), "more"), {}), (("a",), {"name": "b"}), (("a",), {"colour": "red"})],
)
def test_it_takes_no_other_arguments(
    arguments: tuple[object, ...], named: dict[str, object]
) -> None:
    """A missing, surplus, repeated or unknown argument is refused."""
    with pytest.raises(TypeError):
        Quick(*arguments, **named)  # type: ignore[arg-type]


def test_all_else_is_the_dataclass_own() -> None:
    """Fields, signature, equality, hash, text, `replace`, copies and pickles are as they were."""
    made = Quick("a", 2)

    assert [field.name for field in fields(Quick)] == [field.name for field in fields(Careful)]
    assert list(signature(Quick).parameters) == list(signature(Careful).parameters)
    assert made != Quick("a")
    assert hash(made) == hash(Careful("a", 2))
    assert repr(made) == "Quick(name='a', size=2, tags=())"
    assert replace(made, size=1) == Quick("a")
    assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made  # noqa: S301


def test_a_subclass_is_built_carefully() -> None:
    """Its layout is another, so its fields are set one by one."""
    made = Child("a", 2)

    assert (type(made), made.name, made.size) == (Child, "a", 2)
    with pytest.raises(FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]
