"""Replies, streams, sessions and evidence: what each format carries beside the words."""

from __future__ import annotations

import copy
from typing import Final

import pytest

from arh.canonical import JsonValue
from arh.traces.reading.detection import Detected, detect, read_document
from arh.traces.trace import Trace
from tests.unit.traces.formats import samples
from tests.unit.traces.formats.conservation import lost


def read(document: JsonValue) -> Trace:
    """Return the one trace of a document."""
    (trace,) = read_document(document, "sample.json")
    return trace


def kinds(trace: Trace) -> list[str]:
    """Return the kinds of the notes, sorted."""
    return sorted(note.kind for note in trace.notes)


def usage(trace: Trace) -> JsonValue:
    """Return the sums of the tokens."""
    recorded = trace.metadata["recording"]
    assert isinstance(recorded, dict)
    return recorded["usage"]


ALL: Final = [
    (name, document)
    for found in (samples.SAMPLES, samples.STREAMS)
    for name, documents in found.items()
    for document in documents
]


@pytest.mark.parametrize(("name", "document"), ALL, ids=lambda value: str(value)[:24])
def test_a_sample_is_found_and_read_whole(name: str, document: JsonValue) -> None:
    """Each is taken by its own reader and by none before it, and no text of it is lost."""
    found = detect(document)

    assert isinstance(found, Detected)
    assert name == found.reader.name
    assert lost(document, read_document(document, "sample.json")) == []


@pytest.mark.parametrize(("name", "document"), ALL, ids=lambda value: str(value)[:24])
def test_a_document_is_as_it_was_after_it_was_read(name: str, document: JsonValue) -> None:
    """It is the caller's: whoever reads it again finds the same steps."""
    before = copy.deepcopy(document)
    first = read_document(document, "sample.json", form=name)

    assert before == document
    assert first == read_document(document, "sample.json", form=name)


@pytest.mark.parametrize(
    "stream", [found[0] for found in samples.STREAMS.values()], ids=list(samples.STREAMS)
)
def test_a_stream_reads_as_the_reply_that_it_was_cut_from(stream: JsonValue) -> None:
    """Fragments are joined before anything is parsed."""
    said, called = read(stream).steps

    assert (said.text, called.tool_name, called.arguments) == (
        "Looking.",
        "get_booking",
        {"id": "B7"},
    )


@pytest.mark.parametrize(
    "stream",
    [
        [*found[0], samples.RESPONSE_END] if name == "openai-responses" else found[0]  # type: ignore[misc]  # a list
        for name, found in samples.STREAMS.items()
    ],
    ids=list(samples.STREAMS),
)
def test_a_whole_stream_leaves_nothing_to_note_but_the_missing_result(stream: JsonValue) -> None:
    """Bookkeeping of the provider is no finding; its tokens are counted once."""
    trace = read(stream)

    assert kinds(trace) == ["missing_tool_result"]
    assert usage(trace) == {"input_tokens": 9, "output_tokens": 4}


@pytest.mark.parametrize("name", list(samples.STREAMS))
def test_a_cut_stream_is_said_to_be_cut(name: str) -> None:
    """Without its end a reply is never taken for a whole one, nor its arguments for complete."""
    (stream,) = samples.STREAMS[name]
    assert isinstance(stream, list)
    begun = stream[:1] if name == "gemini" else stream[: len(stream) // 2 + 1]
    trace = read(begun)

    if name != "gemini":  # its chunks are replies of their own: nothing marks the last
        assert "stream_incomplete" in kinds(trace)
    assert all(step.arguments != {"id": "B"} for step in trace.steps)


@pytest.mark.parametrize(
    ("document", "counts"),
    [
        (
            samples.CHAT_REPLY,
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "cache_read_tokens": 60,
                "reasoning_tokens": 5,
                "total_tokens": 120,
            },
        ),
        (
            samples.RESPONSE,
            {
                "input_tokens": 50,
                "output_tokens": 20,
                "cache_read_tokens": 10,
                "reasoning_tokens": 7,
                "total_tokens": 70,
            },
        ),
        (
            samples.MESSAGE,
            {
                "input_tokens": 45,
                "output_tokens": 8,
                "cache_read_tokens": 30,
                "cache_write_tokens": 5,
            },
        ),
        (
            samples.COHERE_REPLY,
            {"input_tokens": 90, "output_tokens": 12, "cache_read_tokens": 32},
        ),
        (
            samples.GEMINI_REPLY,
            {
                "input_tokens": 40,
                "output_tokens": 15,
                "cache_read_tokens": 16,
                "reasoning_tokens": 9,
                "total_tokens": 55,
            },
        ),
        (
            samples.CONVERSE_REPLY,
            {
                "input_tokens": 30,
                "output_tokens": 5,
                "cache_read_tokens": 20,
                "total_tokens": 35,
            },
        ),
    ],
    ids=["chat", "responses", "messages", "cohere", "gemini", "converse"],
)
def test_input_tokens_include_cached_ones_for_every_provider(
    document: JsonValue, counts: JsonValue
) -> None:
    """Some providers count them inside, some beside; a budget means the same for all."""
    trace = read(document)

    assert counts == usage(trace)
    assert isinstance(counts, dict)
    assert counts["input_tokens"] == trace.steps[0].input_tokens


def test_a_chat_reply_has_its_calls_and_reasoning() -> None:
    """A custom tool gets its text as `input`; reasoning is noted and no answer."""
    trace = read(samples.CHAT_EXCHANGE)

    assert [(step.tool_name, step.arguments, step.text) for step in trace.steps] == [
        (None, None, "Looking it up."),
        ("get_booking", {"id": "B7"}, None),
        ("sh", {"input": "ls -l"}, None),
    ]
    assert kinds(trace) == ["missing_tool_result", "missing_tool_result", "thinking"]
    assert trace.offered_tools == ("get_booking",)


def test_what_the_provider_ran_is_a_call_with_its_result() -> None:
    """`status` and `error` of the item decide, and a text keeps its citations."""
    asked, searched, said = read(samples.RESPONSE).steps

    assert (asked.tool_name, asked.arguments, asked.output, asked.status) == (
        "ask",
        {"q": "B7"},
        "paid in full",
        "ok",
    )
    assert (searched.tool_name, searched.status) == ("web_search", "error")
    assert said.citations == ({"type": "url_citation", "url": "https://ex.test/b7"},)


def test_a_reply_that_was_cut_off_is_noted() -> None:
    """The stop reason says so; the server tool's error is an error with its text."""
    trace = read(samples.MESSAGE)
    said, asked = trace.steps

    assert kinds(trace) == ["thinking", "truncated"]
    assert (asked.status, asked.error) == ("error", "no such page")
    assert said.citations == ({"type": "page", "cited_text": "B7"},)


def test_a_plan_is_said_before_the_answer() -> None:
    """The plan is a text of its own, marked as such; citations are those of the answer."""
    plan, said = read(samples.COHERE_REPLY).steps

    assert (plan.text, plan.metadata) == ("I will look it up.", {"source_field": "tool_plan"})
    assert len(said.citations) == 1


def test_code_that_the_model_had_run_is_a_call() -> None:
    """Its result answers it; thoughts are noted; a cut reply says so."""
    trace = read(samples.GEMINI_REPLY)
    ran, said = trace.steps

    assert (ran.tool_name, ran.output, ran.status) == ("code_execution", "seven", "ok")
    assert said.text == "It is seven."
    assert kinds(trace) == ["thinking", "truncated"]


@pytest.mark.parametrize(
    ("document", "took"),
    [
        (samples.ADK_SESSION, 2500.0),
        (samples.SESSION_LINES, 2250.0),
        (samples.MCP_LOG, 2000.0),
        (samples.EVIDENCE, 4),
        (samples.CONVERSE_REPLY, None),
    ],
    ids=["adk", "claude-code", "mcp", "evidence", "converse"],
)
def test_latency_of_a_call_is_what_the_recording_timed(
    document: JsonValue, took: float | None
) -> None:
    """From the call to its result where both have a time, and absent where not."""
    trace = read_document(document, "sample.json")[0]
    (latency,) = [step.latency_ms for step in trace.steps if step.type == "tool_call"]

    assert took == latency


def test_a_call_in_two_spans_is_one_step() -> None:
    """The model's span announces it, the tool's span executes it and times it."""
    trace = read(samples.SDK_SPANS)
    said, called = trace.steps

    assert (said.text, said.latency_ms, said.input_tokens) == ("Looking it up.", 1500.0, 12)
    assert (called.tool_name, called.arguments, called.output, called.latency_ms) == (
        "get",
        {"id": 1},
        '{"state":"paid"}',
        250.0,
    )
    assert kinds(trace) == ["span_of_another_trace"]


def test_a_failed_request_is_a_failed_call() -> None:
    """The error of the protocol is the call's; what the server offered is known."""
    trace = read(samples.MCP_LOG)
    (called,) = trace.steps

    assert (called.status, called.error) == ("error", "no such booking")
    assert trace.offered_tools == ("refund",)


def test_evidence_is_a_trace_for_each_run() -> None:
    """A denied call is an error, the answer is a step once, and trials have names of their own."""
    first, second = read_document(samples.EVIDENCE, "part-0000.jsonl")

    assert (first.trace_id, first.agent_name, first.workflow) == (
        "golden-1",
        "reference",
        "support@1",
    )
    assert [(s.tool_name, s.status, s.error, s.text) for s in first.steps] == [
        (None, "ok", None, "One moment."),
        ("create_ticket", "error", "denied: scope_missing", None),
        (None, "ok", None, '{"message":"I may not open a ticket."}'),
    ]
    assert first.offered_tools == ("get_account", "create_ticket")
    assert (second.trace_id, [s.text for s in second.steps]) == (
        "golden-1-trial-2",
        ["done already"],
    )


@pytest.mark.parametrize(
    ("status", "read", "notes"),
    [("error", "error", []), ("success", "ok", []), ("ERROR", "ok", ["unknown_status"])],
)
def test_a_status_that_its_format_does_not_have_is_noted(
    status: str, read: str, notes: list[str]
) -> None:
    """No word is guessed at, and none is dropped."""
    call = {"toolUse": {"toolUseId": "1", "name": "look", "input": {}}}
    result = {"toolResult": {"toolUseId": "1", "status": status, "content": [{"text": "x"}]}}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    (trace,) = read_document({"messages": messages}, "t.json")  # type: ignore[dict-item]  # JSON

    assert (trace.steps[0].status, [note.kind for note in trace.notes]) == (read, notes)


def test_a_request_that_was_merged_with_its_reply_is_read_too() -> None:
    """A call that led to the reply is no less a call for standing beside it."""
    call: JsonValue = {"functionCall": {"name": "rm", "args": {"path": "/"}}}
    done: JsonValue = {"functionResponse": {"name": "rm", "response": {"ok": True}}}
    merged: JsonValue = {
        "contents": [{"role": "model", "parts": [call]}, {"role": "user", "parts": [done]}],
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}}],
    }

    (trace,) = read_document(merged, "a.json")

    assert [(step.tool_name, step.text, step.status) for step in trace.steps] == [
        ("rm", None, "ok"),
        (None, "Done.", "ok"),
    ]
    assert trace.notes == ()
