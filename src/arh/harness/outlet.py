"""What a command writes to: a stream that may close, fill up or be missing, and decides nothing.

Where nobody can read any more, what is said is dropped, and the command goes on to its report and
to the exit code that it came to. A text that the stream's encoding does not have is escaped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO, cast

STANDARD: Final = 2


class Outlet:
    """Writes to a stream until that fails, and from then on to nobody."""

    def __init__(self, stream: TextIO | None) -> None:
        """Begin with the stream; `None` is one that was closed before we started."""
        self._stream = stream

    @property
    def encoding(self) -> str:
        """The stream's encoding."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Return true if a person may be looking."""
        with suppress(OSError, ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    def write(self, text: str) -> int:
        """Pass the text on, if anybody takes it."""
        if self._stream is not None:
            shown = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
            try:
                self._stream.write(shown)
            except (OSError, ValueError):
                self._drop()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Pass all of them on."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass on what was held back."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._drop()

    def close(self) -> None:
        """Leave the stream open: it is not ours."""
        self.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has besides
        """Return what else the stream has."""
        return getattr(self._stream, name)

    def _drop(self) -> None:
        """Give up the stream; what it still holds goes nowhere when the process ends."""
        stream, self._stream = self._stream, None
        with suppress(OSError, ValueError, AttributeError):
            number = cast("TextIO", stream).fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)


@contextmanager
def outlets() -> Iterator[None]:
    """Let standard output and standard error fail without a word, until the block ends."""
    before = sys.stdout, sys.stderr
    if None in before:
        _reserve()
    out, err = Outlet(sys.stdout), Outlet(sys.stderr)
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", err)
    try:
        yield
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = before


def _reserve() -> None:
    """Occupy the standard descriptors that are closed, so that no file of ours becomes one."""
    number = 0
    while number <= STANDARD:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
