"""The events of a streamed reply of OpenAI's Responses API, joined into the response.

The last event usually carries the whole response, and then that is it; what was streamed and is not
in it is noted. A recording that was cut is put together from the items and the deltas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.trace import JsonObject


def is_response_stream(document: JsonValue) -> bool:
    """Say whether a document is a list of events of which one is named `response.…`."""
    return isinstance(document, list) and any(
        word(event, "type").startswith("response.") for event in document
    )


@dataclass(slots=True)
class _Stream:
    """A response in the making."""

    response: JsonObject = field(default_factory=dict)
    ended: bool = False
    items: dict[int, JsonObject] = field(default_factory=dict)
    repeated: list[JsonValue] = field(default_factory=list)
    deltas: dict[tuple[int, str, int], list[str]] = field(default_factory=dict)


def join_response_events(assembly: Assembly, events: list[JsonValue], at: str) -> JsonObject:
    """Return the response that the events make."""
    stream = _Stream()
    for index, event in enumerate(events):
        place = f"{at}[{index}]"
        if isinstance(event, dict):
            _join(Fields(assembly, event, place), stream)
        else:
            assembly.note("non_object_event", place, content=texts(event))
    _complete_items(stream)
    if not stream.response.get("output"):
        stream.response["output"] = [stream.items[index] for index in sorted(stream.items)]
    if not stream.ended:
        assembly.note("stream_incomplete", at, "no event ends the response")
    _note_lost(assembly, stream, at)
    return stream.response


def _join(fields: Fields, stream: _Stream) -> None:
    """Add one event."""
    kind = fields.text("type") or ""
    response = fields.object("response")
    if response is not None:
        _note_replaced(fields, stream.response, response)
        stream.response = dict(response)
        stream.ended = kind in _ENDING
    item = fields.object("item")
    index = fields.whole("output_index") or 0
    if item is not None:
        _note_replaced(fields, stream.items.get(index, {}), item)
        stream.items[index] = dict(item)
    part = fields.whole("content_index") or 0
    delta = fields.text("delta")
    if delta is not None:
        name = kind.removeprefix("response.").removesuffix(".delta")
        stream.deltas.setdefault((index, name, part), []).append(delta)
    if kind in _WHOLE or kind.endswith((".done", ".added")):
        for name in _REPEATED:
            stream.repeated.append(fields.take(name))
    fields.take("obfuscation")  # padding
    if kind == "error":
        fields.done(kind="stream_error")
    fields.done(_BOOKKEEPING)


def _note_replaced(fields: Fields, before: JsonObject, after: JsonObject) -> None:
    """Note text of an earlier state that is not in the later one."""
    held = set(_leaves(after))
    lost = [text for text in _leaves(before) if text not in held and text not in _STATES]
    if lost:
        fields.assembly.note("stream_text_differs", fields.at, content="\n".join(lost))


def _leaves(value: JsonValue) -> list[str]:
    """Return every text in a value but keys and the names of kinds."""
    found: list[str] = []
    pending: list[JsonValue] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if item:
                found.append(item)
        elif isinstance(item, dict):
            pending.extend(part for name, part in item.items() if name not in _KINDS)
        elif isinstance(item, list):
            pending.extend(item)
    return found


def _complete_items(stream: _Stream) -> None:
    """Put the fragments into items that no event gave whole."""
    for (index, name, _), fragments in stream.deltas.items():
        item = stream.items.get(index)
        joined = "".join(fragments)
        if item is None:
            continue
        if name in ("function_call_arguments", "mcp_call_arguments") and not item.get("arguments"):
            item["arguments"] = joined
        elif name == "custom_tool_call_input" and not item.get("input"):
            item["input"] = joined
        elif name in _SPOKEN and not item.get("content"):
            kind, key = _SPOKEN[name]
            item["content"] = [{"type": kind, key: joined}]


def _note_lost(assembly: Assembly, stream: _Stream, at: str) -> None:
    """Note streamed text that the response does not hold."""
    held = set(_leaves(stream.response.get("output")))
    streamed = ["".join(fragments) for fragments in stream.deltas.values()]
    said = _leaves([stream.repeated, [*stream.items.values()]])
    lost = [text for text in dict.fromkeys([*streamed, *said]) if text and text not in held]
    lost = [text for text in lost if text not in _STATES]
    if lost:
        assembly.note("stream_text_differs", at, content="\n".join(lost))


_KINDS: Final = ("type", "role")
_STATES: Final = frozenset({"completed", "in_progress"})
_ENDING: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_WHOLE: Final = frozenset({"response.content_part.added", "response.content_part.done"})
_REPEATED: Final = ("part", "text", "arguments", "input", "refusal", "logprobs", "annotation")
_SPOKEN: Final = {"output_text": ("output_text", "text"), "refusal": ("refusal", "refusal")}
_BOOKKEEPING: Final = frozenset({"item_id", "event_id", "obfuscation", "annotation"})
