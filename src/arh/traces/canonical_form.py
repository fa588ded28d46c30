"""A trace as a document of the canonical format, and back: what was read stays as it was judged.

Schema version 1 has no place for what other formats leave open: a result that was not recorded,
arguments that nobody could read, content without a place. That stands in `metadata.adapter`, where
older readers pass over it, and is taken back from there, so that the verdict is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from arh.canonical import JsonValue
from arh.traces.trace import JsonObject, Note, Step, Trace

ADAPTER: Final = "adapter"
_PLAIN: Final = (
    "tool_name",
    "arguments",
    "output",
    "text",
    "error",
    "latency_ms",
    "cost_usd",
    "input_tokens",
    "output_tokens",
)


def trace_document(trace: Trace) -> JsonObject:
    """Return the trace as a JSON object of trace schema version 1."""
    adapter: JsonObject = {}
    if trace.notes:
        adapter["notes"] = [_note(note) for note in trace.notes]
    if trace.offered_tools is not None:
        adapter["offered_tools"] = list(trace.offered_tools)
    return {
        "schema_version": trace.schema_version,
        "trace_id": trace.trace_id,
        "agent_name": trace.agent_name,
        "workflow": trace.workflow,
        "source": trace.source,
        "metadata": _with_adapter(trace.metadata, adapter),
        "steps": [_step(step) for step in trace.steps],
    }


def restored(trace: Trace) -> Trace:
    """Return the trace with what its document says in `metadata.adapter`, as far as it is sound."""
    adapter = _adapter(trace.metadata)
    if not adapter and not any(ADAPTER in step.metadata for step in trace.steps):
        return trace
    offered = adapter.get("offered_tools")
    is_offer = isinstance(offered, list) and all(isinstance(name, str) for name in offered)
    tools = tuple(map(str, offered)) if is_offer and isinstance(offered, list) else None
    return replace(
        trace,
        steps=tuple(_restored_step(step) for step in trace.steps),
        notes=(*trace.notes, *_notes(adapter.get("notes"))),
        offered_tools=tools if tools is not None else trace.offered_tools,
    )


def _step(step: Step) -> JsonObject:
    adapter: JsonObject = {}
    if step.status == "unknown":
        adapter["status"] = step.status
    if step.raw_arguments is not None:
        adapter["raw_arguments"] = step.raw_arguments
    if step.stable_id is not None:
        adapter["stable_id"] = step.stable_id
    document: JsonObject = {"step_id": step.step_id, "type": step.type}
    if step.status != "unknown":
        document["status"] = step.status
    for name in _PLAIN:
        value = getattr(step, name)
        if value is not None:
            document[name] = value
    if step.citations:
        document["citations"] = list(step.citations)
    if step.requires_grounding:
        document["requires_grounding"] = True
    metadata = _with_adapter(step.metadata, adapter)
    if metadata:
        document["metadata"] = metadata
    return document


def _restored_step(step: Step) -> Step:
    adapter = _adapter(step.metadata)
    raw, stable = adapter.get("raw_arguments"), adapter.get("stable_id")
    return replace(
        step,
        status="unknown" if adapter.get("status") == "unknown" else step.status,
        raw_arguments=raw if isinstance(raw, str) else step.raw_arguments,
        stable_id=stable if isinstance(stable, str) else step.stable_id,
        metadata=_without_restored(step.metadata, adapter) if adapter else step.metadata,
    )


def _without_restored(metadata: JsonObject, adapter: JsonObject) -> JsonObject:
    """Return the metadata without what has its own place again: it is not to be judged twice."""
    restorable = {
        "status": adapter.get("status") == "unknown",
        "raw_arguments": isinstance(adapter.get("raw_arguments"), str),
        "stable_id": isinstance(adapter.get("stable_id"), str),
    }
    left = {name: value for name, value in adapter.items() if not restorable.get(name)}
    rest = {name: value for name, value in metadata.items() if name != ADAPTER}
    return {**rest, ADAPTER: left} if left else rest


def _with_adapter(metadata: JsonObject, adapter: JsonObject) -> JsonObject:
    """Return the metadata with what has no other place; what stands there already is kept."""
    if not adapter:
        return dict(metadata)
    return {**metadata, ADAPTER: {**_adapter(metadata), **adapter}}


def _adapter(metadata: Mapping[str, JsonValue]) -> JsonObject:
    found = metadata.get(ADAPTER)
    return found if isinstance(found, dict) else {}


def _note(note: Note) -> JsonObject:
    fields: JsonObject = {"kind": note.kind}
    for name in ("detail", "pointer", "step_id", "content"):
        value = getattr(note, name)
        if value:
            fields[name] = value
    return fields


def _notes(listed: JsonValue) -> Iterator[Note]:
    """Yield the notes of a document; one that is none is itself something that nobody mapped."""
    if listed is None:
        return
    if not isinstance(listed, list):
        yield Note("unreadable_notes", pointer="metadata.adapter.notes")
        return
    for at, found in enumerate(listed):
        note = _read_note(found)
        yield note or Note("unreadable_note", pointer=f"metadata.adapter.notes[{at}]")


def _read_note(found: JsonValue) -> Note | None:
    if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
        return None
    texts = {name: found.get(name) or "" for name in ("detail", "pointer", "content")}
    step_id = found.get("step_id")
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    return Note(
        str(found["kind"]),
        str(texts["detail"]),
        str(texts["pointer"]),
        step_id if isinstance(step_id, str) else None,
        str(texts["content"]),
    )
