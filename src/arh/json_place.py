"""Paths within a JSON value: how they are written, and which one leads to a line and column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\],]', re.DOTALL)


class _Open:
    """An object or list that has not ended: `step` is the key or index that is being read."""

    __slots__ = ("awaits_key", "is_list", "step")

    def __init__(self, *, is_list: bool) -> None:
        self.is_list = is_list
        self.awaits_key = not is_list
        self.step: str | int | None = 0 if is_list else None


def path_of(steps: Iterable[str | int]) -> str:
    """Return keys and indices as a path, in ASCII, as in `expectations.outcome[0].kind`."""
    return "".join(map(_shown, steps)).removeprefix(".")


def _shown(step: str | int) -> str:
    """Return `[index]` or `.key`; a key that is no plain word stands as JSON in brackets."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"


def steps_to(text: bytes, line: int, column: int) -> list[str | int]:
    """Return the keys and indices that lead to a position; both numbers count from 1, in bytes."""
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text, 0, _offset(text, line, column)):
        _take(stack, token[0])
    return [entry.step for entry in stack if entry.step is not None]


def _offset(text: bytes, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find(b"\n", start) + 1
    return start + column


def _take(stack: list[_Open], token: bytes) -> None:
    """Follow one token; whatever stands in the wrong place is ignored."""
    top = stack[-1] if stack else None
    if token in b"{[":
        stack.append(_Open(is_list=token == b"["))
    elif top is None:
        return
    elif token in b"}]":
        stack.pop()
    elif token == b",":
        if isinstance(top.step, int):
            top.step += 1
        top.awaits_key = not top.is_list
    elif top.awaits_key:
        top.step, top.awaits_key = _key(token), False


def _key(token: bytes) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token[1:-1].decode("utf-8", "replace")
