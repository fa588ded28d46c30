"""The exceptions of arh: an author's mistakes, our own defects, and a run stopped from outside.

Outcomes that are expected (a denied call, a timed-out tool) are values and never pass through here.
A message names the file, line and field, says what was expected and what was found, and what to do
next. Whatever an author wrote is escaped, capped and set in backticks before it is shown, so that
no input can forge a line of output. Imports nothing of ours and nothing that is slow to import.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

QUOTED_CHARS_MAX = 200
TEXT_CHARS_MAX = 1000
_WORD_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class Problem:
    """One authoring mistake.

    With `expected`, `found` is what stands in the file and is shown in backticks (empty: the word
    nothing). Without it, `found` is a sentence of its own. `hint` is the next step, a whole phrase.
    """

    found: str
    expected: str = ""
    file: str = ""
    line: int | None = None
    field: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """Read as one line: place, field, what was expected and found, next step."""
        hint = f"; {safe(self.hint)}" if self.hint else ""
        return f"{self._place()}{self._fault()}{hint}"

    def _place(self) -> str:
        """Say where the mistake is, as `file:line: `, or nothing when it is nowhere."""
        file = safe(self.file, chars_max=QUOTED_CHARS_MAX)
        line = "" if self.line is None else str(self.line)
        place = ":".join(part for part in (file, line) if part)
        if not file and line:
            place = f"line {line}"
        return f"{place}: " if place else ""

    def _fault(self) -> str:
        """Say what is wrong, with the field first when there is one."""
        field = f"{quoted(self.field)}: " if self.field else ""
        if not self.expected:
            return f"{field}{safe(self.found)}"
        found = quoted(self.found) if self.found else "nothing"
        return f"{field}expected {safe(self.expected)}, found {found}"


class ArhError(Exception):
    """The base of every exception that arh raises on purpose."""


class AuthoringError(ArhError):
    """A scenario, policy, profile or option is wrong; all mistakes are reported together."""

    def __init__(self, *problems: Problem) -> None:
        """Hold the problems in the order in which they were found."""
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        """Read as one line a problem."""
        return "\n".join(map(str, self.problems))

    @classmethod
    def of(
        cls,
        found: str,
        *,
        expected: str = "",
        file: str = "",
        line: int | None = None,
        field: str = "",
        hint: str = "",
    ) -> Self:
        """Make the error of a single problem."""
        return cls(Problem(found, expected, file, line, field, hint))


class HarnessError(ArhError):
    """A defect of arh itself: never a verdict on the agent, never a pass."""


class WriteFailure(ArhError):  # noqa: N818 - as its neighbours
    """A result could not be written, or was written over: there is no decision to read."""


class DependencyFailure(ArhError):  # noqa: N818 - a symptom that callers expect, not a defect
    """A dependency of the system under evaluation failed: mapped to a value at the next border.

    `reason` is `timeout`, `dependency_error`, `rate_limited` or `malformed_result`. `undone` is
    true only where the dependency certainly did nothing: it was never reached, or it said so.
    """

    def __init__(
        self, reason: str, retry_after_ms: int | None = None, *, undone: bool = False
    ) -> None:
        """Name the symptom as the dependency's caller sees it."""
        super().__init__(reason)
        self.reason = reason
        self.retry_after_ms = retry_after_ms
        self.undone = undone


class RunStopped(BaseException):
    """A run is stopped from outside the agent, which shall not catch it as an Exception."""

    def __init__(self, termination: str, detail: str = "") -> None:
        """Name the termination that the run ends with, and what led to it."""
        super().__init__(termination, detail)
        self.termination = termination
        self.detail = detail

    def __str__(self) -> str:
        """Read as the termination and its detail."""
        return f"{self.termination}: {safe(self.detail)}" if self.detail else self.termination


def closest(word: str, known: Iterable[str]) -> str:
    """Return "did you mean `x`?" for the known word nearest to `word`, or "" when none is near."""
    import difflib  # noqa: PLC0415 - only needed once something is wrong

    near = difflib.get_close_matches(word[:_WORD_CHARS_MAX], sorted(set(known)), n=1)
    return f"did you mean {quoted(near[0])}?" if near else ""


def quoted(text: str, *, chars_max: int = QUOTED_CHARS_MAX) -> str:
    """Return `text` made safe and set in backticks; a backtick inside it cannot close them."""
    shown = _escaped(text[:chars_max]).replace("`", "\\x60")
    return f"`{shown}`{_cut(text, chars_max)}"


def safe(text: str, *, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Return `text` on one line, every invisible or directional character shown as an escape."""
    return f"{_escaped(text[:chars_max])}{_cut(text, chars_max)}"


def _escaped(text: str) -> str:
    """Replace what does not print: controls, line ends, bidi and other formats, surrogates.

    A second hash is escaped: `##[` begins a command of CI systems wherever in a line it stands.
    """
    if "##" in text:
        text = text.replace("##", "#\\x23")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    """Return the escape that Python source would use for the character."""
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def _cut(text: str, chars_max: int) -> str:
    """Say how much of the text is not shown."""
    cut = len(text) - chars_max
    return f" ({cut} more characters)" if cut > 0 else ""
