"""On which line of a JSON text a field stands, for messages: worked out only once one is needed.

Paths are those of messages, as in `steps[3].arguments`. The text is one that a strict parser took,
so its tokens need no further checking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from arh.errors import AuthoringError

_TOKEN: Final = re.compile(r'\s+|[{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+')

Error = TypeVar("Error", bound=AuthoringError)


def located(error: Error, text: str, file: str) -> Error:
    """Return the error with the file, and the line of each field that it names."""
    known = lines_of(text, (problem.field for problem in error.problems))
    return type(error)(
        *(
            replace(each, file=file, line=known.get(each.field, each.line))
            for each in error.problems
        )
    )


def lines_of(text: str, paths: Iterable[str]) -> dict[str, int]:
    """Return the line of each path: of the field, or of the nearest one around it that exists."""
    wanted = {path: list(_outwards(path)) for path in paths if path}
    sought = {each for candidates in wanted.values() for each in candidates}
    found: dict[str, int] = {}
    if sought:
        for path, line in _places(text):
            if path in sought and path not in found:
                found[path] = line
    return {
        path: next(found[each] for each in candidates if each in found)
        for path, candidates in wanted.items()
        if any(each in found for each in candidates)
    }


def _outwards(path: str) -> Iterator[str]:
    """Yield the path, then those around it."""
    while path:
        yield path
        path = path[: max(path.rfind("."), path.rfind("["), 0)]


@dataclass(slots=True)
class _Container:
    """An object or a list that is being read, and where in it the reading is."""

    path: str
    is_list: bool
    at: int = 0
    key: str | None = None

    def current(self) -> str:
        """Return the path of the value that is being read."""
        if self.is_list:
            return f"{self.path}[{self.at}]"
        return f"{self.path}.{self.key}" if self.path else f"{self.key}"


def _places(text: str) -> Iterator[tuple[str, int]]:
    """Yield the path and line of every key and every element."""
    line = 1
    around: list[_Container] = []
    for match in _TOKEN.finditer(text):
        piece = match[0]
        inner = around[-1] if around else None
        if piece.isspace():
            line += piece.count("\n")
        elif piece == ",":
            if inner:
                inner.at, inner.key = inner.at + 1, None
        elif piece in "}]":
            around.pop()
        elif piece[0] == '"' and inner and not inner.is_list and inner.key is None:
            inner.key = json.loads(piece, strict=False)
            yield inner.current(), line
        elif piece != ":":
            if inner and inner.is_list:
                yield inner.current(), line
            if piece in "{[":
                around.append(_Container(inner.current() if inner else "", piece == "["))
