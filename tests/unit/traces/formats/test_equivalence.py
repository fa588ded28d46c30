"""The same conversation reads the same, in whatever format it was recorded."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue
from arh.traces.reading.detection import Detected, detect, read_document
from arh.traces.trace import Step, Trace
from tests.unit.traces.formats.conservation import lost
from tests.unit.traces.formats.writers import (
    WITH_ERRORS,
    WRITERS,
    Call,
    Talk,
    Turn,
    mcp_jsonrpc,
    openai_chat_legacy,
)

WORDS: Final = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).filter(
    lambda text: bool(text.strip())
)
NAMES: Final = st.sampled_from(["get_booking", "cancel_booking", "refund", "response"])
VALUES: Final = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | WORDS
ARGUMENTS: Final = st.dictionaries(WORDS, VALUES | st.lists(VALUES, max_size=2), max_size=3)
CALLS: Final = st.builds(Call, NAMES, ARGUMENTS, WORDS)
TURNS: Final = st.builds(
    Turn, st.just(""), st.lists(CALLS, min_size=1, max_size=3).map(tuple)
) | st.builds(Turn, WORDS, st.lists(CALLS, max_size=2).map(tuple))
TALKS: Final = st.builds(Talk, WORDS, st.lists(TURNS, min_size=1, max_size=4).map(tuple))

PLAIN: Final = Talk(
    "Cancel B7, please",
    (
        Turn("Let me look.", (Call("get_booking", {"id": "B7"}, "paid"),)),
        Turn(
            "",
            (
                Call("cancel_booking", {"id": "B7", "force": False}, "cancelled"),
                Call("get_booking", {"id": "B7"}, '{"state": "cancelled"}'),
            ),
        ),
        Turn("B7 is cancelled."),
    ),
)
FAILING: Final = Talk(
    "Refund B7",
    (
        Turn("", (Call("refund", {"id": "B7"}, "card declined", failed=True),)),
        Turn("The refund did not go through."),
    ),
)


@pytest.mark.parametrize("name", WRITERS)
def test_a_conversation_reads_as_the_steps_that_it_is_made_of(name: str) -> None:
    """Each format is found, and yields the same steps in the same order."""
    found = detect(WRITERS[name](PLAIN))

    assert isinstance(found, Detected), found
    assert name == found.reader.name
    trace = read(WRITERS[name](PLAIN))

    expected = essence(PLAIN)

    assert expected == [told(step) for step in trace.steps]


@pytest.mark.parametrize("name", sorted(WITH_ERRORS))
def test_a_failure_is_read_from_the_channel_of_the_format(name: str) -> None:
    """What failed has the status and the text of its error; what did not has none."""
    failed, answer = read(WRITERS[name](FAILING)).steps

    assert (
        failed.status,
        failed.error,
        answer.status,
        answer.error,
    ) == ("error", "card declined", "ok", None)


@pytest.mark.parametrize("name", sorted(set(WRITERS) - WITH_ERRORS))
def test_text_alone_is_no_failure(name: str) -> None:
    """Where the format has no error channel, no text of a result makes one."""
    talk = Talk("q", (Turn("", (Call("read_log", {}, "Error: it is a log line"),)),))

    statuses = [step.status for step in read(WRITERS[name](talk)).steps]

    assert statuses == ["ok"]


@given(TALKS)
def test_every_format_reads_a_conversation_alike(talk: Talk) -> None:
    """Steps, identities and results are equal over all formats, and no text is lost in any."""
    for name, write in WRITERS.items():
        document = write(talk)
        trace = read(document)
        assert essence(talk) == [told(step) for step in trace.steps], name
        assert lost(document, [trace]) == [], name


@given(TALKS)
def test_the_older_form_of_a_call_reads_like_the_newer(talk: Talk) -> None:
    """`function_call` with the role `function` is a call with its result."""
    single = Talk(talk.question, tuple(Turn(turn.text, turn.calls[:1]) for turn in talk.turns))
    trace = read(openai_chat_legacy(single))

    expected = essence(single)

    assert expected == [told(step) for step in trace.steps]


@given(TALKS)
def test_the_calls_on_the_wire_are_the_calls_of_the_conversation(talk: Talk) -> None:
    """MCP carries every call with its result, and no word of the model."""
    document = mcp_jsonrpc(talk)
    if not document:
        return
    trace = read(document)

    assert [step for step in essence(talk) if step[0] == "tool_call"] == [
        told(step) for step in trace.steps
    ]


@given(TALKS, st.sampled_from(sorted(WRITERS)))
def test_a_second_run_has_the_same_identities(talk: Talk, name: str) -> None:
    """New ids from the provider change no anchor of a finding."""
    first = WRITERS[name](talk)
    second = renamed(first)

    assert [step.anchor for step in read(first).steps] == [
        step.anchor for step in read(second).steps
    ] or name == "arh"


def read(document: JsonValue) -> Trace:
    """Return the one trace of a document, in the format that is found."""
    (trace,) = read_document(document, "talk.json")
    return trace


def renamed(document: JsonValue) -> JsonValue:
    """Return the document with other ids of calls, also where they stand in JSON text."""
    other: JsonValue = json.loads(re.sub("call_(?=[0-9])", "other_", json.dumps(document)))
    return other


def essence(talk: Talk) -> list[tuple[JsonValue, ...]]:
    """Return what any reader must make of a conversation."""
    steps: list[tuple[JsonValue, ...]] = []
    for turn in talk.turns:
        if turn.text:
            steps.append(("model_response", None, None, None, turn.text))
        steps += [("tool_call", c.name, c.arguments, c.output, None) for c in turn.calls]
    return steps


def told(step: Step) -> tuple[JsonValue, ...]:
    """Return the same of a step."""
    return (step.type, step.tool_name, step.arguments, step.output, step.text)
