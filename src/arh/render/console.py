"""The console: progress on a terminal, one plain line a run elsewhere, failures in a few lines.

Everything that is written passes through `text.console`, so that nothing an agent says can move the
cursor or command a CI system. Colours and the progress line exist on a terminal only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from arh.records.control.gate import GateResult
from arh.records.control.scorecard import Scorecard
from arh.records.control.verdict import ScenarioVerdict
from arh.render.failures import failure_lines
from arh.render.text import console

_COLOURS: Final = {"PASS": "32", "FAIL": "31", "INCONCLUSIVE": "33", "ERROR": "35"}
_CLEAR: Final = "\r\x1b[2K"
_PROGRESS_CHARS_MAX: Final = 60
WARNINGS_MAX: Final = 12


class Stream(Protocol):
    """What the console writes to."""

    def write(self, text: str, /) -> object:
        """Take the text."""
        ...

    def flush(self) -> None:
        """Pass it on."""
        ...


class Console:
    """Tells a person, or the log of a CI system, how a suite is doing and how it was decided."""

    def __init__(self, stream: Stream, *, interactive: bool) -> None:
        """Write to `stream`; a terminal is `interactive`."""
        self._stream, self._interactive = stream, interactive
        self._total = self._done = 0

    def started(self, total: int) -> None:
        """Say how many runs there will be."""
        self._total, self._done = total, 0
        if not self._interactive:
            self._line("1 run" if total == 1 else f"{total} runs")

    def told(self, verdict: ScenarioVerdict) -> None:
        """Say how one run came out."""
        self._done += 1
        lines = tuple(_told(verdict))
        if not self._interactive:
            self._lines(lines)
            return
        if needs_attention(verdict):
            self._write(_CLEAR)
            self._lines(lines)
        shown = console(verdict.scenario_id, chars_max=_PROGRESS_CHARS_MAX)
        self._write(f"{_CLEAR}{self._done}/{self._total} {shown}")
        self._stream.flush()

    def finished(self, scorecard: Scorecard) -> None:
        """Say what was decided and why, with every gate that does not pass."""
        if self._interactive:
            self._write(_CLEAR)
        self._lines(_summary(scorecard))
        self._stream.flush()

    def _lines(self, lines: Iterator[str] | tuple[str, ...]) -> None:
        for line in lines:
            self._line(line)

    def _line(self, line: str) -> None:
        body = line.lstrip(" ")
        indent = " " * (len(line) - len(body))
        self._write(f"{indent}{self._coloured(console(body))}\n")

    def _coloured(self, line: str) -> str:
        word, space, rest = line.partition(" ")
        colour = _COLOURS.get(word) if self._interactive else None
        return line if colour is None else f"\x1b[{colour}m{word}\x1b[0m{space}{rest}"

    def _write(self, text: str) -> None:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def needs_attention(verdict: ScenarioVerdict) -> bool:
    """Return true if somebody should look at the run: it counts, and did not come out as it must.

    A negative control that fails is as it should be.
    """
    if verdict.role == "negative_control":
        return verdict.status != "fail" or bool(verdict.missing)
    return verdict.role != "unscored" and verdict.status != "pass"


def _told(verdict: ScenarioVerdict) -> Iterator[str]:
    calls = 0 if verdict.path.startswith("no tool") else verdict.path.count(" -> ") + 1
    word = _word(verdict)
    role = "" if verdict.role == "acceptance" else f" ({verdict.role.replace('_', ' ')})"
    yield f"{word} {verdict.scenario_id}{role} {calls if verdict.path else 0} calls"
    if needs_attention(verdict):
        yield from (f"  {line}" for line in failure_lines(verdict))


def _word(verdict: ScenarioVerdict) -> str:
    if verdict.role == "negative_control" and not needs_attention(verdict):
        return "PASS"
    if verdict.role == "negative_control":
        return "INCONCLUSIVE"
    words = {"pass": "PASS", "fail": "FAIL", "error": "ERROR"}
    return words.get(verdict.status, "INCONCLUSIVE")


def _summary(scorecard: Scorecard) -> Iterator[str]:
    decided = scorecard.decision
    yield ""
    yield scorecard.subject
    yield f"{decided.decision.upper()} by profile {_profile(scorecard)}"
    yield from (f"  {reason}" for reason in decided.reasons)
    yield _accounts(scorecard)
    yield from _gates(decided.gates)
    yield from (f"  warning: {text}" for text in scorecard.warnings[:WARNINGS_MAX])
    if len(scorecard.warnings) > WARNINGS_MAX:
        yield f"  and {len(scorecard.warnings) - WARNINGS_MAX} more warnings in scorecard.md"


def _profile(scorecard: Scorecard) -> str:
    profile = scorecard.profile
    found = f" ({profile.source}, {profile.digest[:12]})" if profile.source else ""
    return f"{profile.name} {profile.version}{found}" + (" (illustrative)" * profile.illustrative)


def _accounts(scorecard: Scorecard) -> str:
    return ", ".join(f"{each.name} {each.done}/{each.declared}" for each in scorecard.accounts)


def _gates(gates: tuple[GateResult, ...]) -> Iterator[str]:
    blocking = [gate for gate in gates if gate.severity == "blocking"]
    passed = sum(gate.status == "pass" for gate in blocking)
    if passed < len(blocking):
        yield f"{passed} of {len(blocking)} blocking gates passed"
