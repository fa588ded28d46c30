"""On which line of a JSON text each value begins, by its path: for messages, and for SARIF.

The parser that reads strictly does not say where values stood. This scanner does, for a text that
was already read: one pass over its tokens, no recursion, nothing decoded but keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from arh.canonical import Refused, parse
from arh.errors import AuthoringError, Problem

BYTES_MAX: Final = 8 * 2**20
DEPTH_MAX: Final = 256
PATH_CHARS_MAX: Final = 400
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^\s{}\[\],:"]+', re.DOTALL)


def lines_of(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield the path of every value, as in `a.b[0]`, with the line that it begins on.

    Below a path of more than `PATH_CHARS_MAX` characters paths are cut and name nothing: a long
    key would stand in the path of every value within.
    """
    line = 1
    places: list[_Container] = []
    for found in _TOKEN.finditer(data):
        token = found[0]
        if token == b"\n":
            line += 1
            continue
        here = places[-1] if places else None
        if token in (b"}", b"]"):
            places.pop()
        elif token == b",":
            if here is not None:
                here.next()
        elif token != b":":
            if here is not None and here.wants_key():
                here.take_key(token)
                continue
            path = "" if here is None else here.path()
            yield path, line
            if token in (b"{", b"["):
                if len(places) == DEPTH_MAX:  # no strict reader goes deeper; paths would grow
                    return
                places.append(_Container(path, is_object=token == b"{"))


def lines_at(paths: AbstractSet[str], data: bytes) -> dict[str, int]:
    """Return the lines of those values of a text that are asked for: all would fill the memory."""
    return {path: line for path, line in lines_of(data) if path in paths}


def placed(error: AuthoringError, data: bytes, file: str) -> AuthoringError:
    """Return the error with the file, and the line of each field that stands in the text."""
    wanted = {path for each in error.problems for path in _around(each.field)}
    is_read = bool(wanted) and len(data) <= BYTES_MAX and _is_json(data)
    lines = lines_at(wanted, data) if is_read else {}
    return AuthoringError(*(_placed(problem, lines, file) for problem in error.problems))


def _placed(problem: Problem, lines: dict[str, int], file: str) -> Problem:
    if problem.line is not None:
        return replace(problem, file=problem.file or file)
    return replace(problem, file=problem.file or file, line=_nearest(problem.field, lines))


def _nearest(path: str, lines: dict[str, int]) -> int | None:
    """Return the line of a value, or of the nearest one around it that is there."""
    return next((lines[each] for each in _around(path) if each in lines), None)


def _around(path: str) -> Iterator[str]:
    """Yield a path, and that of each value around it, up to the whole; nothing of no path."""
    inner = path[: 2 * PATH_CHARS_MAX]
    while inner:
        yield inner
        inner = inner[: max(inner.rfind("."), inner.rfind("["), 0)]
    if path:
        yield inner


def _is_json(data: bytes) -> bool:
    try:
        parse(data, size_max=BYTES_MAX)
    except Refused:
        return False
    return True


class _Container:
    """An object or list that the scanner is in."""

    __slots__ = ("_base", "_index", "_key", "_object")

    def __init__(self, base: str, *, is_object: bool) -> None:
        self._base = base if len(base) <= PATH_CHARS_MAX else f"{base[:PATH_CHARS_MAX]}\0"
        self._object = is_object
        self._index = 0
        self._key: str | None = None

    def wants_key(self) -> bool:
        return self._object and self._key is None

    def take_key(self, token: bytes) -> None:
        try:
            name = parse(token)
        except Refused:
            name = ""
        self._key = f".{name}" if self._base else str(name)

    def next(self) -> None:
        self._index += 1
        self._key = None

    def path(self) -> str:
        return f"{self._base}{self._key or ''}" if self._object else f"{self._base}[{self._index}]"
