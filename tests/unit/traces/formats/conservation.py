"""What of a recording cannot be found in the traces that were read from it.

A text of the recording counts as kept if it stands in a step, a note, or the trace's metadata; if
it is JSON text, when all text in it does; if it is a fragment of a stream, when it stands in what
the fragments make. What names a kind (`type`, `role`) shows in how it was read, not as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from arh.canonical import JsonValue, Refused, parse
from arh.traces.mapping.texts import texts
from arh.traces.trace import Trace

KINDS: Final = frozenset(
    {
        "action",
        "event",
        "key",
        "finishReason",
        "finish_reason",
        "jsonrpc",
        "kind",
        "method",
        "object",
    }
    | {"role", "state", "status", "stopReason", "stop_reason", "type"}
)
"""Keys whose values say how to read what is beside them."""

PADDING: Final = frozenset({"obfuscation", "p"})
"""Keys of streams whose values are random text, there to hide the length of a fragment."""

LENGTH_MIN: Final = 4


def lost(document: JsonValue, traces: Iterable[Trace]) -> list[str]:
    """Return the texts of a document that are nowhere in the traces."""
    held = "\n".join(_held(trace) for trace in traces)
    return [text for text in leaves(document) if not _kept(text, held)]


def leaves(document: JsonValue) -> Iterator[str]:
    """Yield every text of a document that is long enough and not the name of a kind."""
    pending: list[JsonValue] = [document]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(value for key, value in item.items() if key not in KINDS | PADDING)
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str) and len(item.strip()) >= LENGTH_MIN:
            yield item


def _kept(text: str, held: str) -> bool:
    if text in held:
        return True
    try:
        decoded = parse(text)
    except Refused:
        return False
    return not isinstance(decoded, str) and all(leaf in held for leaf in leaves(decoded))


def _held(trace: Trace) -> str:
    """Return all text of a trace, arguments also as JSON text, of which streams send fragments."""
    held: list[str] = [texts(trace.metadata), trace.trace_id, trace.agent_name, trace.workflow]
    held += trace.offered_tools or ()
    for note in trace.notes:
        held += [note.kind, note.detail, note.pointer, note.content]
    for step in trace.steps:
        held += [step.step_id, step.tool_name or "", step.text or "", step.error or ""]
        held += [texts(step.output), texts(step.arguments), texts(list(step.citations))]
        held += [step.raw_arguments or "", texts(step.metadata)]
        if step.arguments is not None:
            held.append(json.dumps(step.arguments, ensure_ascii=False))
            held.append(json.dumps(step.arguments, separators=(",", ":")))
    return "\n".join(held)
