"""Whatever a recording holds, a reader declines it with a reason, or keeps all of its text."""

from __future__ import annotations

import copy
import time
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue, encode
from arh.errors import AuthoringError
from arh.traces.reading.detection import BUILT_IN
from arh.traces.reading.reader import Reader
from arh.traces.reading.source import read_traces
from arh.traces.trace import Trace, TraceRefused
from tests.unit.traces.formats.conservation import lost
from tests.unit.traces.formats.samples import SAMPLES, STREAMS
from tests.unit.traces.formats.writers import WRITERS, Call, Talk, Turn, mcp_jsonrpc

READERS: Final = {reader.name: reader for reader in BUILT_IN}
KEYS: Final = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "tool_calls",
        "id",
        "name",
        "arguments",
        "input",
        "output",
        "messages",
        "choices",
        "delta",
        "parts",
        "message",
        "function",
        "usage",
        "index",
        "kind",
        "tool_call_id",
        "tool_use_id",
        "call_id",
        "request",
        "response",
        "attributes",
        "spans",
        "jsonrpc",
        "method",
        "params",
        "result",
        "error",
        "contents",
        "candidates",
        "events",
        "toolUse",
        "toolResult",
        "status",
        "functionCall",
        "functionResponse",
        "steps",
        "item",
    ]
)
WORDS: Final = st.sampled_from(
    [
        "assistant",
        "user",
        "tool",
        "model",
        "function",
        "text",
        "tool_use",
        "tool_result",
        "2.0",
        "function_call",
        "message",
        "thinking",
        "function_call_output",
        "tools/call",
        "error",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "response.completed",
        "chat",
        "tool-call-start",
        "run_started",
        "tool_call",
        "execute_tool",
        "{}",
        '{"a":1}',
        '{"a',
    ]
) | st.text(max_size=12)
SCALARS: Final = st.none() | st.booleans() | st.integers(-3, 2**53 - 1) | st.floats(0, 9) | WORDS
ANYTHING: Final[st.SearchStrategy[JsonValue]] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | WORDS, inner, max_size=5),
    max_leaves=24,
)

TALK: Final = Talk(
    "Cancel booking B7",
    (
        Turn("Looking it up.", (Call("get_booking", {"id": "B7"}, "paid in full"),)),
        Turn("", (Call("refund", {"to": "card", "amount": 5}, "declined", failed=True),)),
        Turn("It could not be refunded."),
    ),
)
DOCUMENTS: Final[dict[str, list[JsonValue]]] = {
    name: [write(TALK)] for name, write in WRITERS.items()
}
DOCUMENTS["mcp-jsonrpc"] = [mcp_jsonrpc(TALK)]
for form, samples in (*SAMPLES.items(), *STREAMS.items()):
    DOCUMENTS.setdefault(form, []).extend(samples)
VALID: Final = [(name, document) for name, found in DOCUMENTS.items() for document in found]


def test_every_reader_has_documents_to_mutate() -> None:
    """No built-in format is left out of the properties below."""
    assert READERS.keys() == DOCUMENTS.keys()


@given(ANYTHING)
def test_any_json_is_declined_or_read(document: JsonValue) -> None:
    """No reader raises anything but its refusal, and what is read keeps its text."""
    for reader in BUILT_IN:
        held(reader, document)


@given(st.data())
def test_a_changed_recording_is_declined_or_read(data: st.DataObject) -> None:
    """The same holds for recordings in which any part was replaced, removed or repeated."""
    name, document = data.draw(st.sampled_from(VALID))
    changed = document
    for _ in range(data.draw(st.integers(1, 3))):
        changed = mutated(data, changed)

    held(READERS[name], changed)


def held(reader: Reader, document: JsonValue) -> None:
    """Read a document that is not declined; nothing in it may be lost or changed.

    Only the canonical format's reader uses its document up, which saves the memory of a second one.
    """
    before = encode(document)
    document = copy.deepcopy(document)
    reason = reader.declines(document)
    assert reason is None or reason
    assert before == encode(document)
    if reason is None:
        try:
            traces = reader.read(document, "document.json")
        except TraceRefused:
            return
        assert all(isinstance(trace, Trace) for trace in traces)
        assert all(len({s.anchor for s in t.steps}) == len(t.steps) for t in traces if t.source)
        if reader.name != "arh":  # keys that the canonical format does not know are ignored in it
            assert lost(document, traces) == [], reader.name
            assert before == encode(document)


def mutated(data: st.DataObject, document: JsonValue) -> JsonValue:
    """Return a copy of a document with one part replaced, removed or repeated."""
    if not isinstance(document, (dict, list)) or not document or data.draw(st.integers(0, 9)) == 0:
        return data.draw(ANYTHING)
    if isinstance(document, list):
        at = data.draw(st.integers(0, len(document) - 1))
        part = document[at]
        change = data.draw(st.sampled_from(["within", "within", "within", "remove", "repeat"]))
        new = {"remove": [], "repeat": [part, part]}.get(change)
        return [
            *document[:at],
            *(new if new is not None else [mutated(data, part)]),
            *document[at + 1 :],
        ]
    key = data.draw(st.sampled_from(sorted(document)))
    changed = dict(document)
    if data.draw(st.integers(0, 5)) == 0:
        del changed[key]
    else:
        changed[key] = mutated(data, document[key])
    return changed


@given(st.binary(max_size=200) | ANYTHING.map(lambda value: repr(value).encode()))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    """The bytes of a file end in traces or in an author's error, of whatever kind they are."""
    for name in ("a.json", "a.jsonl", "a.yaml"):
        try:
            traces = read_traces(data, name)
        except AuthoringError:
            continue
        assert all(isinstance(trace, Trace) for trace in traces)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(WRITERS), "mcp-jsonrpc"])
def test_the_cost_of_reading_is_linear(name: str) -> None:
    """Eight times the conversation takes about eight times as long, whatever its ids."""
    write = {**WRITERS, "mcp-jsonrpc": mcp_jsonrpc}[name]
    reader = READERS[name]
    small, large = (write(long_talk(turns)) for turns in (200, 1600))

    assert spent(reader, large) < 24 * spent(reader, small)


def long_talk(turns: int) -> Talk:
    """Return a conversation of many turns."""
    call = Call("get_booking", {"id": "B7"}, "paid")
    return Talk("q", tuple(Turn("Again.", (call,)) for _ in range(turns)))


def spent(reader: Reader, document: JsonValue) -> float:
    """Return the shortest of three times that reading takes, in seconds."""
    times: list[float] = []
    for _ in range(3):
        begun = time.process_time()
        assert reader.declines(document) is None
        reader.read(document, "long.json")
        times.append(time.process_time() - begun)
    return min(times)
