"""Recorded HTTP traffic: each exchange in its format, and a conversation only once."""

from __future__ import annotations

import gzip
import json
import struct
import time
import zlib
from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.errors import AuthoringError
from arh.traces.reading.event_stream import event_stream
from arh.traces.reading.source import read_traces
from arh.traces.trace import JsonObject, Trace
from tests.unit.traces.formats.samples import CHAT_CHUNKS, CONVERSE_EVENTS

USER: JsonObject = {"role": "user", "content": "Cancel B7"}
CALLING: JsonObject = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "function": {"name": "cancel", "arguments": '{"id":"B7"}'}}],
}
RESULT: JsonObject = {"role": "tool", "tool_call_id": "c1", "content": "cancelled"}
DONE: JsonObject = {"role": "assistant", "content": "It is cancelled."}


def exchange(messages: list[JsonValue], reply: JsonObject, tokens: int) -> JsonValue:
    """Return an exchange with a chat model."""
    response: JsonValue = {
        "choices": [{"index": 0, "message": reply, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
    }
    return {
        "request": {"uri": "https://ex.test/chat", "body": json.dumps({"messages": messages})},
        "response": {"status": {"code": 200}, "body": {"string": json.dumps(response)}},
    }


def read(*items: JsonValue) -> tuple[Trace, ...]:
    """Return the traces of a cassette."""
    return read_traces(json.dumps({"interactions": [*items]}).encode(), "cassette.json")


def test_an_exchange_that_the_next_one_holds_is_not_counted_twice() -> None:
    """One trace, with the tokens of both replies and the result of the call."""
    (trace,) = read(exchange([USER], CALLING, 10), exchange([USER, CALLING, RESULT], DONE, 20))

    assert [(step.tool_name, step.output, step.text) for step in trace.steps] == [
        ("cancel", "cancelled", None),
        (None, None, "It is cancelled."),
    ]
    assert [step.input_tokens for step in trace.steps] == [10, 20]
    assert trace.notes == ()


def test_exchanges_that_differ_are_two_traces() -> None:
    """Where the later one tells the call differently, both are kept."""
    other: JsonObject = {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "cancel", "arguments": "{}"}}],
    }
    traces = read(exchange([USER], CALLING, 10), exchange([USER, other, RESULT], DONE, 20))

    assert [trace.trace_id for trace in traces] == ["cassette-1", "cassette-2"]
    assert [note.pointer[:15] for note in traces[0].notes] == ["interactions[0]"]


def test_traffic_with_others_is_noted_with_its_text() -> None:
    """A page that was fetched is no conversation, and does not vanish."""
    page: JsonValue = {
        "request": {"uri": "https://ex.test/page", "body": ""},
        "response": {"body": {"string": "<html>terms of service</html>"}},
    }
    (trace,) = read(page, exchange([USER], DONE, 10))
    (note,) = trace.notes

    assert (note.kind, note.pointer) == ("exchange_not_read", "interactions[0]")
    assert "terms of service" in note.content
    with pytest.raises(AuthoringError, match="no exchange of this cassette"):
        read(page)


def test_bodies_are_unzipped_and_streams_joined() -> None:
    """A streamed reply in a zipped body reads like a plain one."""
    assert isinstance(CHAT_CHUNKS, list)
    events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHAT_CHUNKS)
    zipped = gzip.compress(f"{events}data: [DONE]\n\n".encode(), mtime=0)
    item: JsonValue = {
        "request": {"body": json.dumps({"messages": [USER]})},
        "response": {"body": {"string": zipped.decode("latin-1")}},
    }
    (trace,) = read(item)

    assert [(step.text, step.arguments) for step in trace.steps] == [
        ("Looking.", None),
        (None, {"id": "B7"}),
    ]


def test_an_unzipped_body_is_limited() -> None:
    """A body that unzips to more than the limit is cut there, and then is no reply."""
    bomb = gzip.compress(b" " * (64 * 2**20), mtime=0)
    item: JsonValue = {
        "request": {"body": json.dumps({"messages": [USER]})},
        "response": {"body": {"string": bomb.decode("latin-1")}},
    }
    with pytest.raises(AuthoringError, match="no exchange of this cassette"):
        read(item)


def framed(event: JsonValue) -> bytes:
    """Return an event as a frame of the binary stream."""
    assert isinstance(event, dict)
    ((name, payload),) = event.items()
    header = bytes([len(b":event-type")]) + b":event-type" + b"\x07"
    header += struct.pack(">H", len(name)) + name.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(header) + len(body), len(header))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    whole = prelude + header + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def test_binary_frames_become_events() -> None:
    """Whole frames with right checksums are events; anything else is no stream."""
    assert isinstance(CONVERSE_EVENTS, list)
    data = b"".join(framed(event) for event in CONVERSE_EVENTS)
    broken = bytearray(data)
    broken[-1] ^= 1

    assert event_stream(data) == CONVERSE_EVENTS
    assert event_stream(bytes(broken)) is None
    assert event_stream(data[:-3]) is None
    assert event_stream(b"") is None


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_lengths_that_lie_are_no_frames(cut: int) -> None:
    """A prelude whose lengths reach beyond the data, or below its own size, is refused."""
    frame = framed({"messageStart": {"role": "assistant"}})
    lying = struct.pack(">II", cut, 2**31) + frame[8:]

    assert event_stream(lying) is None


def test_large_numbers_are_compared_too() -> None:
    """A tool's identifier of 64 bits is no reason not to know a call again."""
    calling: JsonObject = {
        **CALLING,
        "tool_calls": [{"id": "c1", "function": {"name": "cancel", "arguments": {"id": 2**70}}}],
    }

    (trace,) = read(
        _parsed([USER], calling),
        _parsed([USER, calling, {**RESULT, "content": {"n": 2**70}}], DONE),
    )

    assert [step.status for step in trace.steps] == ["ok", "ok"]


def _parsed(messages: list[JsonValue], reply: JsonObject) -> JsonValue:
    """Return an exchange whose bodies are recorded as values."""
    response: JsonValue = {"choices": [{"index": 0, "message": reply, "finish_reason": "stop"}]}
    return {
        "request": {"parsed_body": {"messages": messages}},
        "response": {"parsed_body": response},
    }


@pytest.mark.parametrize(
    ("around", "items", "at"),
    [
        ({"messages": ["HIDDEN"]}, [], ""),
        ({}, [{"messages": ["HIDDEN"]}], "interactions[1]"),
        ({}, ["HIDDEN"], "interactions[1]"),
        ({}, [{**_parsed([USER], DONE), "steps": "HIDDEN"}], "interactions[1]"),  # type: ignore[dict-item]
        ({}, [{"request": {}, "response": {"parsed_body": {}, "body": "HIDDEN"}}], None),
        ({}, [{"request": {}, "response": {"body": {"string": "", "b64": "HIDDEN"}}}], None),
    ],
)
def test_what_stands_beside_the_exchanges_is_noted(
    around: JsonObject, items: list[JsonValue], at: str | None
) -> None:
    """A conversation cannot hide next to a harmless one."""
    document = {"version": 1, "interactions": [exchange([USER], DONE, 1), *items], **around}

    traces = read_traces(json.dumps(document).encode(), "cassette.json")

    notes = [note for trace in traces for note in trace.notes if "HIDDEN" in note.content]
    assert [note.kind for note in notes] == ["unmapped_field"]
    assert at is None or notes[0].pointer == at


def test_a_body_that_only_mentions_data_is_no_stream() -> None:
    """It stays the text that it is, and is noted."""
    answer: JsonValue = {"request": {"body": "{}"}, "response": {"body": "the data: HIDDEN"}}

    (trace,) = read(exchange([USER], DONE, 1), answer)

    assert [note.kind for note in trace.notes if "HIDDEN" in note.content] == ["exchange_not_read"]


def test_many_exchanges_of_one_conversation_cost_what_they_are_long() -> None:
    """What earlier exchanges knew is gathered and not copied for each of them."""
    asked: list[JsonValue] = [USER, {"role": "other", "content": "unread"}]
    items = [_parsed(asked, DONE) for _ in range(3_000)]
    started = time.process_time()

    (trace,) = read(*items)

    assert time.process_time() - started < 3
    assert len(trace.notes) == 3_000
    earlier: Any = trace.metadata["earlier"]
    assert len(earlier) == 2_999


def test_a_result_that_is_told_otherwise_is_another_conversation() -> None:
    """A failure cannot be taken back by the exchange that follows."""

    def asked(*, failed: bool) -> list[JsonValue]:
        call: JsonObject = {"type": "tool_use", "id": "c", "name": "cancel", "input": {}}
        result: JsonObject = {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": "x",
            "is_error": failed,
        }
        return [
            USER,
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]

    reply: JsonObject = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
    }
    items: list[JsonValue] = [
        {
            "request": {"parsed_body": {"messages": asked(failed=failed)}},
            "response": {"parsed_body": reply},
        }
        for failed in (True, False)
    ]

    assert [trace.steps[0].status for trace in read(*items)] == ["error", "ok"]


def test_bodies_do_not_unzip_to_more_than_a_file_may_hold() -> None:
    """Many small bodies that unzip to large ones would fill the memory."""
    body = gzip.compress(b"x" * 16 * 2**20).decode("latin-1")
    large: JsonValue = {"request": {"body": body}, "response": {"body": body}}

    (trace,) = read(exchange([USER], DONE, 1), {"request": {"body": body}, "response": {}})
    with pytest.raises(AuthoringError, match="unzip to more than"):
        read(exchange([USER], DONE, 1), large, large, large)

    assert [note.kind for note in trace.notes] == ["exchange_not_read"]
