"""What a scripted model knows of a conversation: counts, the last call, results, the user's words.

Derived from messages alone and extended one message at a time, so that a conversation that only
grew is never read twice.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from arh.canonical import Json, JsonValue
from arh.records.messages import Message, ToolReply
from arh.regex import Regex, searchable


class Missing(Enum):
    """There is no value, not even null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
Found: TypeAlias = "JsonValue | Missing"


class Situation:
    """A conversation so far. `step` counts tool replies, `turn` user messages, `asked` requests."""

    __slots__ = (
        "_captured",
        "_scanned",
        "_texts",
        "_unread",
        "_value",
        "_values",
        "asked",
        "attempt",
        "called",
        "characters",
        "last",
        "last_reason",
        "last_status",
        "last_tool",
        "results",
        "step",
        "turn",
        "users",
    )

    def __init__(self) -> None:
        """Begin before the first message."""
        self.step = 0
        self.turn = 0
        self.asked = 0
        self.attempt = 0
        self.characters = 0
        self.last: ToolReply | None = None
        self.last_tool: str | None = None
        self.last_status: str | None = None
        self.last_reason: str | None = None
        self.users: list[str] = []
        self.called: dict[str, int] = {}
        self.results: dict[str, Json] = {}
        self._value: Found = MISSING
        self._values: dict[str, Found] = {}
        self._captured: dict[Regex, Found] = {}
        self._texts: list[str] = []
        self._unread: list[Json] = []
        self._scanned: dict[str, tuple[int, bool]] = {}

    def take(self, message: Message) -> None:
        """Extend the conversation by one message."""
        self.characters += len(message.content)
        for request in message.requests:
            self.asked += 1
            self.characters += len(request.tool) + len(request.arguments)
        if message.role == "user":
            self.turn += 1
            self.users.append(message.content)
            self._captured.clear()
        elif message.reply is not None:
            self._take_reply(message.reply)

    def result(self) -> Found:
        """Return the last call's result, `MISSING` unless it was executed."""
        last = self.last
        if self._value is MISSING and last is not None and last.result is not None:
            self._value = last.result.value()
        return self._value

    def result_of(self, tool: str) -> Found:
        """Return the tool's last executed result, `MISSING` if it has none."""
        if tool not in self._values and tool in self.results:
            self._values[tool] = self.results[tool].value()
        return self._values.get(tool, MISSING)

    def captured(self, regex: Regex) -> Found:
        """Return what the pattern's group is in the latest user message that it matches."""
        if regex not in self._captured:
            self._captured[regex] = self._capture(regex)
        return self._captured[regex]

    def any_result_contains(self, text: str) -> bool:
        """Return true if some executed result's JSON holds the case-folded text."""
        self._texts += [result.data.decode().casefold() for result in self._unread]
        self._unread.clear()
        scanned, found = self._scanned.get(text, (0, False))
        if not found:
            found = any(text in known for known in self._texts[scanned:])
            self._scanned[text] = (len(self._texts), found)
        return found

    def described(self) -> str:
        """Say in one line where the conversation stands."""
        if self.last is None:
            return f"step 0, turn {self.turn}, before any call"
        last = self.last
        return f"step {self.step}, turn {self.turn}, after {last.tool}: {last.status} {last.reason}"

    def _capture(self, regex: Regex) -> Found:
        for text in reversed(self.users):
            found = regex.search(searchable(text))
            if found is not None:
                captured: str | None = found.group(1)
                return MISSING if captured is None else captured
        return MISSING

    def _take_reply(self, reply: ToolReply) -> None:
        """Take in how a call ended."""
        again = (self.last_tool, self.last_status) == (reply.tool, reply.status)
        self.attempt = self.attempt + 1 if again else 1
        self.step += 1
        self.called[reply.tool] = self.called.get(reply.tool, 0) + 1
        self.last = reply
        self.last_tool, self.last_status, self.last_reason = reply.tool, reply.status, reply.reason
        self._value = MISSING
        if reply.status == "executed" and reply.result is not None:
            self.results[reply.tool] = reply.result
            self._values.pop(reply.tool, None)
            self._unread.append(reply.result)


def at_path(value: Found, path: tuple[str, ...]) -> Found:
    """Return what stands at the path of keys and list indices; `MISSING` if nothing does."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and step.isascii() and step.isdigit():
            index = int(step[:9])
            value = value[index] if index < len(value) else MISSING
        else:
            return MISSING
    return value
