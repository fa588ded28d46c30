"""The events of a streamed reply of Cohere's chat API, joined into the reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.trace import JsonObject


def is_cohere_stream(document: JsonValue) -> bool:
    """Say whether a document is a list of events of which one has a type of this API's."""
    return isinstance(document, list) and any(word(event, "type") in _EVENTS for event in document)


@dataclass(slots=True)
class _Reply:
    """A reply in the making."""

    plan: list[str] = field(default_factory=list)
    blocks: dict[int, tuple[JsonObject, list[str]]] = field(default_factory=dict)
    calls: dict[int, tuple[JsonObject, list[str]]] = field(default_factory=dict)
    citations: list[JsonValue] = field(default_factory=list)
    finish_reason: JsonValue = None
    usage: JsonValue = None
    ended: bool = False

    def whole(self) -> JsonObject:
        """Return the reply that the events make."""
        content: list[JsonValue] = []
        for start, fragments in self.blocks.values():
            key = "thinking" if start.get("type") == "thinking" else "text"
            content.append({"type": key, key: "".join(fragments)})
        calls: list[JsonValue] = []
        for start, fragments in self.calls.values():
            function = start.get("function")
            named: JsonObject = (
                dict(function) if isinstance(function, dict) else {"at_start": function}
            )
            begun = named.get("arguments")
            named["arguments"] = (begun if isinstance(begun, str) else "") + "".join(fragments)
            if not isinstance(begun, str):
                named["arguments_at_start"] = begun
            calls.append({**start, "function": named})
        message: JsonObject = {
            "tool_plan": "".join(self.plan),
            "content": content,
            "tool_calls": calls,
            "citations": self.citations,
        }
        return {"message": message, "finish_reason": self.finish_reason, "usage": self.usage}


def join_cohere_events(assembly: Assembly, events: list[JsonValue], at: str) -> JsonObject:
    """Return the reply that the events make; what has no place in it is noted."""
    reply = _Reply()
    for index, event in enumerate(events):
        place = f"{at}[{index}]"
        if not isinstance(event, dict):
            assembly.note("non_object_event", place, content=texts(event))
            continue
        fields = Fields(assembly, event, place)
        delta = Fields(assembly, fields.object("delta") or {}, f"{place}.delta")
        message = Fields(assembly, delta.object("message") or {}, f"{place}.delta.message")
        _join(fields, delta, message, reply)
        for left in (message, delta, fields):
            left.done(_BOOKKEEPING)
    if not reply.ended:
        assembly.note("stream_incomplete", at, "no event ends the message")
    return reply.whole()


def _join(fields: Fields, delta: Fields, message: Fields, reply: _Reply) -> None:
    """Add one event."""
    kind = fields.text("type") or ""
    index = fields.whole("index") or 0
    if kind == "tool-plan-delta":
        reply.plan.append(message.text("tool_plan") or "")
    elif kind in ("content-start", "content-delta"):
        _join_content(message, reply, index)
    elif kind in ("tool-call-start", "tool-call-delta"):
        _join_call(message, reply, index)
    elif kind == "citation-start":
        if citation := message.take("citations"):
            reply.citations.append(citation)
    elif kind == "message-end" and not reply.ended:
        reply.ended = True
        reply.finish_reason = delta.text("finish_reason")
        reply.usage = delta.object("usage")
        if error := delta.take("error"):
            fields.assembly.note("reply_failed", fields.at, content=texts(error))
    elif kind == "message-start":
        message.text("role")
    elif kind not in _EVENTS:
        fields.assembly.note("unmapped_event", fields.at, kind)


def _join_content(message: Fields, reply: _Reply, index: int) -> None:
    """Add a fragment of text or of reasoning."""
    content = message.object("content") or {}
    inner = Fields(message.assembly, content, f"{message.at}.content")
    kind = inner.text("type")
    begun = "thinking" if kind == "thinking" or inner.has("thinking") else "text"
    _, fragments = reply.blocks.setdefault(index, ({"type": begun}, []))
    fragments.append(inner.text("text") or inner.text("thinking") or "")
    inner.done()


def _join_call(message: Fields, reply: _Reply, index: int) -> None:
    """Add the beginning of a call, or a fragment of its arguments."""
    call = message.object("tool_calls") or {}
    if index not in reply.calls:
        reply.calls[index] = (call, [])
        return
    inner = Fields(message.assembly, call, f"{message.at}.tool_calls")
    function = Fields(message.assembly, inner.object("function") or {}, f"{inner.at}.function")
    reply.calls[index][1].append(function.text("arguments") or "")
    function.done()
    inner.done(_BOOKKEEPING)


_BOOKKEEPING: Final = frozenset({"id", "type"})
_EVENTS: Final = frozenset(
    {
        "citation-end",
        "citation-start",
        "content-delta",
        "content-end",
        "content-start",
        "message-end",
        "message-start",
        "tool-call-delta",
        "tool-call-end",
        "tool-call-start",
        "tool-plan-delta",
    }
)
