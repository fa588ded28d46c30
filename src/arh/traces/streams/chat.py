"""The chunks of a streamed chat completion, joined into the reply that they were cut from.

Fragments of a call belong together by their index; where a server sends none, a new id opens a
call and no id continues the last one. Index 0 is an index. Cost is linear in the chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts
from arh.traces.trace import JsonObject


def is_chat_stream(document: JsonValue) -> bool:
    """Say whether a document is a list of chunks, of which one has a `delta`."""
    if not isinstance(document, list) or not document:
        return False
    return any(
        isinstance(choice, dict) and "delta" in choice
        for chunk in document
        if isinstance(chunk, dict) and isinstance(chunk.get("choices"), list)
        for choice in chunk["choices"]  # type: ignore[union-attr]  # a list, as just seen
    )


@dataclass(slots=True)
class _Call:
    """A call in the making."""

    key: int | None
    call_id: JsonValue = None
    kind: JsonValue = None
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    custom: bool = False

    def whole(self) -> JsonObject:
        """Return the entry of `tool_calls` that the fragments make."""
        name, passed = "".join(self.name), "".join(self.arguments)
        if self.custom:
            part: JsonObject = {"name": name, "input": passed}
            return {"id": self.call_id, "type": "custom", "custom": part}
        part = {"name": name, "arguments": passed}
        return {"id": self.call_id, "type": self.kind, "function": part}


@dataclass(slots=True)
class _Choice:
    """One choice in the making."""

    content: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    by_index: dict[int, _Call] = field(default_factory=dict)
    finish_reason: JsonValue = None

    def whole(self) -> JsonObject:
        """Return the choice that the fragments make."""
        message: JsonObject = {
            "role": "assistant",
            "content": "".join(self.content),
            "refusal": "".join(self.refusal),
            "reasoning_content": "".join(self.reasoning),
            "tool_calls": [call.whole() for call in self.calls],
        }
        return {"message": message, "finish_reason": self.finish_reason}


def join_chat_chunks(assembly: Assembly, chunks: list[JsonValue], at: str) -> JsonObject:
    """Return the reply that the chunks were cut from; what has no place in it is noted."""
    choices: dict[int, _Choice] = {}
    reply: JsonObject = {}
    for index, chunk in enumerate(chunks):
        place = f"{at}[{index}]"
        if not isinstance(chunk, dict):
            assembly.note("non_object_chunk", place, content=texts(chunk))
            continue
        fields = Fields(assembly, chunk, place)
        usage = fields.object("usage")
        if usage is not None:
            if reply.get("usage", usage) != usage:
                assembly.recorded(place, "usage before", reply["usage"])
            reply["usage"] = usage  # the last one counts: earlier ones are its beginning
        for choice in fields.items("choices") or ():
            _join_choice(assembly, choice, f"{place}.choices", choices)
        fields.take("obfuscation")  # padding
        _keep_once(fields, reply)
        fields.done(_REPEATED)
    if all(choice.finish_reason is None for choice in choices.values()):
        assembly.note("stream_incomplete", at, "no chunk says how the reply ended")
    reply["choices"] = [choices[index].whole() for index in sorted(choices)]
    return reply


def _keep_once(fields: Fields, reply: JsonObject) -> None:
    """Keep what every chunk repeats one time, and again only where it differs."""
    for name in _REPEATED:
        value = fields.take(name)
        if value is not None and reply.setdefault(name, value) != value:
            fields.assembly.recorded(fields.at, name, value)


def _join_choice(
    assembly: Assembly, value: JsonValue, at: str, choices: dict[int, _Choice]
) -> None:
    """Add the fragments of one choice of one chunk."""
    if not isinstance(value, dict):
        assembly.note("non_object_choice", at, content=texts(value))
        return
    fields = Fields(assembly, value, at)
    choice = choices.setdefault(fields.whole("index") or 0, _Choice())
    choice.finish_reason = fields.text("finish_reason") or choice.finish_reason
    delta = Fields(assembly, fields.object("delta") or {}, f"{at}.delta")
    delta.text("role")
    choice.content.append(delta.text("content") or "")
    choice.refusal.append(delta.text("refusal") or "")
    for key in _REASONING:
        choice.reasoning.append(delta.text(key) or "")
    for fragment in delta.items("tool_calls") or ():
        _join_call(assembly, fragment, f"{at}.delta.tool_calls", choice)
    _join_legacy(delta, choice)
    delta.done(_INDEX)
    fields.done(_REPEATED)


def _join_call(assembly: Assembly, fragment: JsonValue, at: str, choice: _Choice) -> None:
    """Add one fragment to the call that it belongs to."""
    if not isinstance(fragment, dict):
        assembly.note("non_object_tool_call", at, content=texts(fragment))
        return
    fields = Fields(assembly, fragment, at)
    call = _call_of(fields, choice)
    call.kind = fields.text("type") or call.kind
    function = fields.object("function")
    if function is None and (custom := fields.object("custom")) is not None:
        call.custom, function = True, custom
    inner = Fields(assembly, function or {}, f"{at}.function")
    name = inner.text("name") or ""
    if name and call.name != [name]:  # some servers repeat the whole name
        call.name.append(name)
    call.arguments.append(inner.text("input" if call.custom else "arguments") or "")
    inner.done()
    fields.done()


def _call_of(fields: Fields, choice: _Choice) -> _Call:
    """Return the call that a fragment continues, or the new one that it opens."""
    index, call_id = fields.whole("index"), fields.identifier("id")
    if index is not None:
        call = choice.by_index.get(index)
        if call is None:
            call = choice.by_index[index] = _Call(index)
            choice.calls.append(call)
    else:
        call = choice.calls[-1] if choice.calls else None
        if call is None or (call_id is not None and call.call_id != call_id):
            call = _Call(None)
            choice.calls.append(call)
            detail = "a new id opens a call, no id continues the last one"
            fields.assembly.note("stream_index_missing", fields.at, detail)
    if call.call_id is None:
        call.call_id = call_id
    elif call_id is not None and call.call_id != call_id:
        fields.assembly.note("stream_id_changed", fields.at, content=call_id)
    return call


def _join_legacy(delta: Fields, choice: _Choice) -> None:
    """Add a fragment of the older `function_call`, which is one call at most."""
    legacy = delta.object("function_call")
    if legacy is None:
        return
    call = choice.by_index.get(_LEGACY)
    if call is None:
        call = choice.by_index[_LEGACY] = _Call(_LEGACY)
        choice.calls.append(call)
    inner = Fields(delta.assembly, legacy, f"{delta.at}.function_call")
    call.name.append(inner.text("name") or "")
    call.arguments.append(inner.text("arguments") or "")
    inner.done()


_LEGACY: Final = -1
_INDEX: Final = frozenset({"index"})
_REASONING: Final = ("reasoning_content", "reasoning")
_REPEATED: Final = frozenset(
    {
        "created",
        "id",
        "model",
        "native_finish_reason",
        "object",
        "provider",
        "service_tier",
        "system_fingerprint",
    }
)
