"""Session files of Claude Code: a line an event, each with a message of the Messages API.

One reply may be spread over several lines with the same message id; its tokens are then counted
once, as the last line says. How long a tool took is the time from the line with its call to the
line with its result.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.blocks import BOOKKEEPING, read_message
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.times import iso_ms
from arh.traces.trace import JsonObject, Trace

_SPEAKING: Final = frozenset({"user", "assistant"})


class ClaudeCode:
    """Reads the format `claude-code`."""

    name = "claude-code"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no session, or `None`."""
        lines = _lines(document)
        if lines is None:
            return "it is neither a list of lines nor an object with `loglines`"
        if not any(
            isinstance(line, dict)
            and word(line, "type") in _SPEAKING
            and isinstance(line.get("message"), dict)
            for line in lines
        ):
            return "no line has the `type` user or assistant and a `message`"
        return None

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the session."""
        assembly = Assembly(
            self.name, source, agent_name="claude-code", workflow="claude-code-import"
        )
        at = "loglines" if isinstance(document, dict) else ""
        if isinstance(document, dict):
            rest = {name: value for name, value in document.items() if name != "loglines"}
            Fields(assembly, rest, "").done()
        lines = [
            _Line(assembly, line, f"{at}[{index}]", index)
            for index, line in enumerate(_lines(document) or ())
        ]
        _count_once(assembly, lines)
        for line in lines:
            line.read()
        return (assembly.finish(),)


class _Line:
    """One line of a session."""

    __slots__ = ("assembly", "at", "fields", "index", "message", "value")

    def __init__(self, assembly: Assembly, value: JsonValue, at: str, index: int) -> None:
        self.assembly, self.value, self.at, self.index = assembly, value, at, index
        self.fields = Fields(assembly, value, at) if isinstance(value, dict) else None
        message = self.fields.object("message") if self.fields else None
        self.message: JsonObject | None = None if message is None else dict(message)

    def read(self) -> None:
        """Add what the line says."""
        if self.fields is None:
            self.assembly.note("non_object_message", self.at, content=texts(self.value))
            return
        kind = self.fields.text("type")
        stamp = self.fields.take("timestamp")
        at_ms = iso_ms(stamp)
        if stamp is not None:
            self.assembly.recorded(self.at, "timestamp", stamp)
        if self.message is not None:
            message = {"role": kind, **self.message}
            read_message(self.assembly, message, f"{self.at}.message", self.index, at_ms)
            self.fields.done(_BOOKKEEPING)
        else:
            self.fields.done(_BOOKKEEPING, kind="unmapped_line")


def _count_once(assembly: Assembly, lines: list[_Line]) -> None:
    """Leave the token counts of a message on its first line, in their last version."""
    first: dict[str, JsonObject] = {}
    for line in lines:
        message = line.message
        name = message.get("id") if message else None
        if message is None or not isinstance(name, str):
            continue
        begun = first.setdefault(name, message)
        usage = message.get("usage")
        if begun is not message and isinstance(usage, dict):
            begun["usage"] = usage
            del message["usage"]
            assembly.recorded(line.at, "usage_of", name)


def _lines(document: JsonValue) -> list[JsonValue] | None:
    """Return the lines of a session."""
    lines = document.get("loglines") if isinstance(document, dict) else document
    return lines if isinstance(lines, list) else None


_BOOKKEEPING: Final = BOOKKEEPING | {
    "cwd",
    "gitBranch",
    "leafUuid",
    "parentUuid",
    "requestId",
    "sessionId",
    "slug",
    "toolUseResult",
    "userType",
    "uuid",
    "version",
}
