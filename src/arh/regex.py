"""Patterns that take linear time: the one place that compiles RE2, so what loads is what runs.

Scripts, simulated users, packs, scenarios and the secret shapes all come through here, with one
set of options and one memory limit. The limit is the library's own, named so that no caller has
another: a pattern that needs more is refused by whoever reads it, and every pattern that is let in
has room for its automaton (with an eighth of it, a search over 100 kB of hostile text was measured
to take ninety times as long). The library is imported when the first pattern is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, cast

from arh.errors import safe

MEMORY_BYTES_MAX: Final = 8 * 2**20
PATTERNS_MAX: Final = 1024

_SAID_CHARS_MAX: Final = 200


class PatternRefused(ValueError):  # noqa: N818 - the answer to an author's pattern
    """The text is no RE2 pattern, or needs more memory than a pattern may; says why."""


class Match(Protocol):
    """Where a pattern was found."""

    def group(self, group: int = 0, /) -> Any:  # noqa: ANN401 - text, or none where it took no part
        """Return what a group captured; group 0 is the whole match."""
        ...

    def groupdict(self) -> Mapping[str, str | None]:
        """Return what the named groups captured."""
        ...

    def start(self) -> int:
        """Return where the match begins."""
        ...

    def end(self) -> int:
        """Return where the match ends."""
        ...


class Regex(Protocol):
    """A compiled RE2 pattern."""

    groups: int

    def search(self, text: str, /) -> Match | None:
        """Return the first match, or `None`."""
        ...

    def fullmatch(self, text: str, /) -> Match | None:
        """Return the match of the whole text, or `None`."""
        ...

    def finditer(self, text: str, /) -> Iterator[Match]:
        """Yield the matches, none of which overlap."""
        ...

    def sub(self, replacement: Callable[[Match], str], text: str, /) -> str:
        """Return the text with every match replaced."""
        ...


@lru_cache(maxsize=PATTERNS_MAX)
def compiled(pattern: str) -> Regex:
    """Return the compiled pattern.

    Raises:
        PatternRefused: It is no RE2 pattern, or too large a one.
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - 13 ms, on first use

    try:
        return cast("Regex", re2.compile(pattern, _options()))
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternRefused(_said(error)) from None


def occurrences(pattern: str, text: str) -> list[str]:
    """Return the texts of all matches in order, none of which overlap.

    Bytes are searched, which takes half the time where there are matches: the library's wrapper
    counts every character up to each of them.
    """
    found = cast("Any", compiled(pattern)).finditer(searchable(text).encode())
    return [match[0].decode() for match in found]


def problem(pattern: str) -> str:
    """Return why a text is no pattern that can be used, or nothing."""
    try:
        compiled(pattern)
    except PatternRefused as refused:
        return str(refused)
    return ""


def screen(patterns: Sequence[str]) -> Callable[[str], Sequence[int] | None]:
    """Return the function that tells in one pass which patterns match somewhere in a text.

    It returns their indices in any order, or `None` if there are none.
    """
    import re2  # noqa: PLC0415 - 13 ms, on first use

    made = re2.Set.SearchSet(_options())
    for pattern in patterns:
        made.Add(pattern)
    made.Compile()
    return cast("Callable[[str], Sequence[int] | None]", made.Match)


def searchable(text: str) -> str:
    """Return the text with each lone surrogate, which has no UTF-8 form, replaced by `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _options() -> Any:  # noqa: ANN401 - the library has no types
    import re2  # noqa: PLC0415 - 13 ms, on first use

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_BYTES_MAX
    return options


def _said(error: Exception) -> str:
    """Return what the library says of a pattern, made safe and short, in words of authors."""
    if isinstance(error, UnicodeEncodeError):
        return "a lone surrogate"
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    text = text.replace("invalid perl operator", "RE2 has no look-around")
    return safe(text.partition("\n")[0], chars_max=_SAID_CHARS_MAX) or "no reason given"
