"""Chance without chance: named streams of numbers that follow from a seed alone.

A stream is SHA-256 over the seed material, the stream's name and a counter, so every stream is
independent of the others: drawing once more from one changes no other. The same material gives the
same numbers on every machine and Python version. Parts are length-prefixed before they are hashed,
so that no two lists of parts share their bytes.
"""

from __future__ import annotations

import hashlib
from typing import Final

from arh.errors import HarnessError

_WORD_BYTES: Final = 8
_WORDS: Final = 2 ** (8 * _WORD_BYTES)


class Streams:
    """Independent streams of one seed; what a stream gives next depends on its own past only."""

    __slots__ = ("_counts", "_material")

    def __init__(self, material: str) -> None:
        """Start every stream at its beginning."""
        self._material = material
        self._counts: dict[str, int] = {}

    def choice(self, stream: str, n: int) -> int:
        """Return an index below `n`, each equally likely.

        Raises:
            HarnessError: There is nothing to choose from, or more than a word can index.
        """
        if not 0 < n <= _WORDS:
            raise HarnessError(f"a choice needs 1 to 2^64 things, not {n}")
        limit = _WORDS - _WORDS % n
        while (word := self._word(stream)) >= limit:
            pass  # a word beyond the last whole multiple of n would favour small indices
        return word % n

    def _word(self, stream: str) -> int:
        """Return the stream's next 64 bits."""
        count = self._counts.get(stream, 0)
        self._counts[stream] = count + 1
        digest = _hash((self._material, stream, count))
        return int.from_bytes(digest[:_WORD_BYTES], "big")


class SequentialIds:
    """Implements `ports.sue.Ids`: each stream counts from 1, whatever the other streams do."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        """Start every stream before its first identifier."""
        self._counts: dict[str, int] = {}

    def next(self, stream: str) -> str:
        """Return the stream's next identifier, `<stream>-0001` first."""
        count = self._counts.get(stream, 0) + 1
        self._counts[stream] = count
        return f"{stream}-{count:04}"


def _hash(parts: tuple[str | int, ...]) -> bytes:
    """Return the SHA-256 of the parts, each with its type and length."""
    hasher = hashlib.sha256()
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        kind = "i" if isinstance(part, int) else "s"
        hasher.update(f"{kind}{len(data)}:".encode())
        hasher.update(data)
    return hasher.digest()
