"""The events of a streamed reply of Anthropic's Messages API, joined into whole messages.

Deltas belong together by the index of their block; the JSON of a call's input is parsed once, when
it is whole. Later token counts replace earlier ones, they are not added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.trace import JsonObject


def is_message_stream(document: JsonValue) -> bool:
    """Say whether a document is a list of events, of which one opens a message or a block."""
    return isinstance(document, list) and any(word(event, "type") in _OPENING for event in document)


@dataclass(slots=True)
class _Block:
    """A block in the making: what it began with, and the fragments by field."""

    start: JsonObject
    parts: dict[str, list[str]] = field(default_factory=dict)
    citations: list[JsonValue] = field(default_factory=list)

    def add(self, name: str, fragment: str) -> None:
        self.parts.setdefault(name, []).append(fragment)

    def whole(self) -> JsonObject:
        """Return the block that the fragments make."""
        block = dict(self.start)
        for name, fragments in self.parts.items():
            joined = "".join(fragments)
            begun = block.get(name)
            if name == "input":
                block[name] = joined or begun
                if joined and begun:
                    block["input_at_start"] = begun
            else:
                block[name] = (begun if isinstance(begun, str) else "") + joined
                if not isinstance(begun, str):
                    block[f"{name}_at_start"] = begun
        if self.citations:
            begun = block.get("citations")
            block["citations"] = [*(begun if isinstance(begun, list) else ()), *self.citations]
        return block


@dataclass(slots=True)
class _Message:
    """A message in the making."""

    head: JsonObject
    blocks: dict[int, _Block] = field(default_factory=dict)
    usage: JsonObject = field(default_factory=dict)
    ended: bool = False

    def whole(self) -> JsonObject:
        """Return the message that the events make."""
        begun = self.head.get("content")
        content = [*(begun if isinstance(begun, list) else ())]
        content += [self.blocks[index].whole() for index in sorted(self.blocks)]
        message: JsonObject = {"role": "assistant", **self.head, "content": content}
        if not isinstance(begun, list):
            message["content_at_start"] = begun
        if self.usage:
            message["usage"] = self.usage
        return message


def join_message_events(assembly: Assembly, events: list[JsonValue], at: str) -> list[JsonObject]:
    """Return the messages that the events make; what has no place in them is noted."""
    messages: list[_Message] = []
    for index, event in enumerate(events):
        place = f"{at}[{index}]"
        if not isinstance(event, dict):
            assembly.note("non_object_event", place, content=texts(event))
            continue
        _join(Fields(assembly, event, place), messages)
    for message in messages:
        if not message.ended:
            assembly.note("stream_incomplete", at, "no event ends the message")
    return [message.whole() for message in messages]


def _join(fields: Fields, messages: list[_Message]) -> None:
    """Add one event."""
    kind = fields.text("type")
    if kind == "message_start":
        head = dict(fields.object("message") or {})
        message = _Message(head)
        _count(fields, message, head.pop("usage", None))
        messages.append(message)
    elif kind in _PARTS:
        if not messages or messages[-1].ended:
            messages.append(_Message({}))
        _PARTS[kind](fields, messages[-1])
    elif kind == "error":
        fields.done(kind="stream_error")
    elif kind != "ping":
        fields.assembly.note("unmapped_event", fields.at, kind or "")
    fields.done()


def _start_block(fields: Fields, message: _Message) -> None:
    index = fields.whole("index")
    block = _Block(fields.object("content_block") or {})
    at = len(message.blocks) if index is None else index
    if at in message.blocks:
        fields.assembly.note("stream_block_repeated", fields.at, content=texts(block.start))
        return
    message.blocks[at] = block


def _add_delta(fields: Fields, message: _Message) -> None:
    index = fields.whole("index")
    at = next(reversed(message.blocks), 0) if index is None else index
    block = message.blocks.get(at)
    delta = Fields(fields.assembly, fields.object("delta") or {}, f"{fields.at}.delta")
    if block is None:
        delta.done(kind="unmapped_delta")
        return
    kind = delta.text("type") or ""
    if kind == "citations_delta":
        if citation := delta.take("citation"):
            block.citations.append(citation)
    elif kind in _DELTAS:
        source, target = _DELTAS[kind]
        block.add(target, delta.text(source) or "")
    delta.done()


def _end_message(fields: Fields, message: _Message) -> None:
    delta = fields.object("delta") or {}
    for name, value in delta.items():
        if value is not None:
            _replace(fields, message, name, value)
    _count(fields, message, fields.take("usage"))


def _replace(fields: Fields, message: _Message, name: str, value: JsonValue) -> None:
    """Write a field of the message's end; what stood there before is kept."""
    before = message.head.get(name)
    if name == "usage" or (before is not None and before != value):
        fields.assembly.recorded(fields.at, f"{name} before", before)
    if name == "usage":
        fields.assembly.note("unmapped_field", fields.at, name, content=texts(value))
    else:
        message.head[name] = value


def _count(fields: Fields, message: _Message, usage: JsonValue) -> None:
    """Let later counts replace earlier ones; what is no count is noted."""
    for name, value in usage.items() if isinstance(usage, dict) else ():
        if type(value) is int or isinstance(value, dict):
            before = message.usage.get(name, value)
            if isinstance(before, dict) and before != value:
                fields.assembly.recorded(fields.at, f"{name} before", before)
            message.usage[name] = value
        elif value is not None and not name.endswith("_tokens"):
            fields.assembly.recorded(fields.at, f"usage.{name}", value)
        elif value is not None:
            at = f"{fields.at}.usage.{name}"
            fields.assembly.note("usage_not_a_number", at, content=texts(value))
    if not isinstance(usage, (dict, type(None))):
        fields.assembly.note("unmapped_field", fields.at, "usage", content=texts(usage))


def _stop_message(_: Fields, message: _Message) -> None:
    message.ended = True


def _stop_block(fields: Fields, _: _Message) -> None:
    fields.whole("index")


_OPENING: Final = frozenset({"message_start", "content_block_start"})
_PARTS: Final = {
    "content_block_start": _start_block,
    "content_block_delta": _add_delta,
    "content_block_stop": _stop_block,
    "message_delta": _end_message,
    "message_stop": _stop_message,
}
_DELTAS: Final = {
    "input_json_delta": ("partial_json", "input"),
    "signature_delta": ("signature", "signature"),
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
}
