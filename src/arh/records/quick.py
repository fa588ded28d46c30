"""Frozen records that are built as fast as mutable ones.

A frozen dataclass sets each of its fields through `object.__setattr__`, at three to four times the
cost of an assignment, and a run builds hundreds of records. `quick` gives such a class an
`__init__` that assigns plainly: while it runs, the new object is of a twin class with the same
slots, which nobody else ever sees; its last act is to make it one of the frozen class. All else
(fields, defaults, `replace`, equality, the refusal of any change) is the dataclass's own.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar

T = TypeVar("T")

# What an assignment to `__class__` ends in. Asked directly, it does not look at what is frozen.
_become: Final[Any] = object.__dict__["__class__"].__set__


def quick(cls: type[T]) -> type[T]:
    """Return the class, a frozen dataclass with slots, with an `__init__` that costs less.

    A subclass keeps the careful one, since it may have other slots.
    """
    taken: Any = fields(cls)  # type: ignore[arg-type]  # callers pass dataclasses
    names = ", ".join(field.name for field in taken)
    known: dict[str, Any] = {
        "careful": cls.__init__,
        "cls": cls,
        "become": _become,
        "twin": type(cls.__name__, (), {"__slots__": cls.__slots__}),  # type: ignore[attr-defined]  # it has slots
        **{f"_{field.name}": field.default for field in taken},
    }
    parameters = ", ".join(
        field.name if field.default is MISSING else f"{field.name}=_{field.name}" for field in taken
    )
    source = (
        f"def __init__(self, {parameters}):",
        f"    if type(self) is not cls: return careful(self, {names})",
        "    become(self, twin)",
        *(f"    self.{field.name} = {field.name}" for field in taken),
        "    self.__class__ = cls",
    )
    exec("\n".join(source), known)  # noqa: S102 - as `dataclass` itself does, of field names alone
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = known["__init__"]  # type: ignore[method-assign]  # what this is for
    return cls
