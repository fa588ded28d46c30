"""The events of a streamed reply of Bedrock's Converse API, joined into the reply.

An event is an object whose one key names it (`contentBlockDelta`). Deltas belong together by the
index of their block; the JSON of a call's input is parsed once, when it is whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts
from arh.traces.trace import JsonObject


def is_converse_stream(document: JsonValue) -> bool:
    """Say whether a document is a list of events of which one is about a block."""
    return isinstance(document, list) and any(
        isinstance(event, dict) and _BLOCK_EVENTS & event.keys() for event in document
    )


@dataclass(slots=True)
class _Block:
    """A block in the making."""

    tool: JsonObject | None = None
    text: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)

    def whole(self) -> list[JsonValue]:
        """Return the blocks that the fragments make."""
        made: list[JsonValue] = []
        if self.reasoning:
            made.append({"reasoningContent": {"text": "".join(self.reasoning)}})
        if self.text:
            made.append({"text": "".join(self.text)})
        if self.tool is not None or self.passed:
            made.append({"toolUse": {**(self.tool or {}), "input": "".join(self.passed)}})
        return made


def join_converse_events(assembly: Assembly, events: list[JsonValue], at: str) -> JsonObject:
    """Return the reply that the events make; what has no place in it is noted."""
    blocks: dict[int, _Block] = {}
    reply: JsonObject = {}
    for index, event in enumerate(events):
        place = f"{at}[{index}]"
        if not isinstance(event, dict):
            assembly.note("non_object_event", place, content=texts(event))
            continue
        _join(Fields(assembly, event, place), blocks, reply)
    if "stopReason" not in reply:
        assembly.note("stream_incomplete", at, "no event ends the message")
    content = [part for block in blocks.values() for part in block.whole()]
    return {**reply, "output": {"message": {"content": content}}}


def _join(fields: Fields, blocks: dict[int, _Block], reply: JsonObject) -> None:
    """Add one event."""
    for name, value in (("start", "contentBlockStart"), ("delta", "contentBlockDelta")):
        part = fields.object(value)
        if part is not None:
            inner = Fields(fields.assembly, part, f"{fields.at}.{value}")
            index = inner.whole("contentBlockIndex") or 0
            block = blocks.setdefault(index, _Block())
            _add(Fields(fields.assembly, inner.object(name) or {}, f"{inner.at}.{name}"), block)
            inner.done(_PADDING)
    for name in ("contentBlockStop", "messageStart"):
        Fields(fields.assembly, fields.object(name) or {}, f"{fields.at}.{name}").done(_PLACE)
    stop = fields.object("messageStop")
    if stop is not None:
        inner = Fields(fields.assembly, stop, f"{fields.at}.messageStop")
        reply["stopReason"] = inner.text("stopReason")
        inner.done(_PLACE | {"additionalModelResponseFields"})
    metadata = fields.object("metadata")
    if metadata is not None:
        inner = Fields(fields.assembly, metadata, f"{fields.at}.metadata")
        for name in ("usage", "metrics"):
            if name not in reply and inner.has(name):
                reply[name] = inner.take(name)
        inner.done(_PLACE)
    fields.done(kind="unmapped_event")


def _add(fields: Fields, block: _Block) -> None:
    """Add what one event says about a block."""
    text = fields.text("text")
    if text is not None:
        block.text.append(text)
    tool = fields.object("toolUse")
    if tool is not None:
        inner = Fields(fields.assembly, tool, f"{fields.at}.toolUse")
        passed = inner.text("input")
        if passed is not None:
            block.passed.append(passed)
        elif block.tool is None:
            block.tool = {"toolUseId": inner.text("toolUseId"), "name": inner.text("name")}
        inner.done(_PADDING)
    reasoning = fields.object("reasoningContent")
    if reasoning is not None:
        inner = Fields(fields.assembly, reasoning, f"{fields.at}.reasoningContent")
        block.reasoning.append(inner.text("text") or "")
        inner.done(_PADDING | {"signature", "redactedContent"})
    fields.done()


_BLOCK_EVENTS: Final = frozenset({"contentBlockStart", "contentBlockDelta"})
_PLACE: Final = frozenset({"contentBlockIndex", "p", "role"})
_PADDING: Final = frozenset({"p", "type"})
