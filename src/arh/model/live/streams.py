"""Server-sent events out of bytes as they come: linear in their number, however they are cut."""

from __future__ import annotations

from collections.abc import Iterator


class EventStream:
    """Splits a body into the data of its events."""

    __slots__ = ("_data", "_pieces")

    def __init__(self) -> None:
        """Begin before the first byte."""
        self._pieces: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of each event that the chunk completes."""
        if b"\n" not in chunk:
            self._pieces.append(chunk)
            return
        *lines, rest = b"".join((*self._pieces, chunk)).split(b"\n")
        self._pieces = [rest]
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))

    def _line(self, line: bytes) -> Iterator[bytes]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield data
