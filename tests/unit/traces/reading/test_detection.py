"""Formats are found by what only they have, and what nobody reads is refused with every reason."""

from __future__ import annotations

from typing import Final

import pytest

from arh.canonical import JsonValue
from arh.errors import AuthoringError
from arh.traces.reading.detection import (
    BUILT_IN,
    Detected,
    Undetected,
    all_readers,
    detect,
    read_document,
)
from arh.traces.reading.reader import Reader
from arh.traces.trace import Trace

ASSISTANT: Final[JsonValue] = {"role": "assistant", "content": "Done."}


@pytest.mark.parametrize(
    "document",
    [
        [],
        [1, 2, 3],
        {},
        None,
        "text",
        7,
        {"messages": 5},
        {"messages": [{"role": "narrator", "content": "x"}]},
        [{"id": 0, "source": "user", "action": "message", "args": {"content": "hi"}}],
        [{"name": "span", "attributes": {"http.method": "GET"}}],
        {"trace": {"id": "1"}, "observations": [{"type": "GENERATION"}]},
    ],
    ids=str,
)
def test_what_is_no_format_is_refused_with_the_reason_of_each(document: JsonValue) -> None:
    """Any list used to be somebody's conversation of no steps, which passes every rule."""
    found = detect(document)

    assert isinstance(found, Undetected)
    assert [reader.name for reader in BUILT_IN] == [name for name, _ in found.reasons]
    with pytest.raises(AuthoringError, match="not recognised") as refused:
        read_document(document, "x.json")
    assert len(refused.value.problems) == 1 + len(BUILT_IN)


def test_marks_of_two_formats_make_a_conversation_nobodys() -> None:
    """A message with `tool_calls` and one with a `tool_use` block are not guessed at."""
    document: JsonValue = [
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "a"}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "b"}]},
    ]
    found = detect(document)

    assert isinstance(found, Undetected)
    reasons = dict(found.reasons)
    assert "[1].content[0]" in reasons["openai-chat"]
    assert "[0]" in reasons["anthropic-messages"]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (ASSISTANT, "openai-chat"),
        ({"role": "assistant", "content": [{"type": "text", "text": "x"}]}, "openai-chat"),
        ({"role": "assistant", "content": "x", "citations": None}, "openai-chat"),
        ({"role": "assistant", "content": "x", "citations": []}, "cohere-chat"),
        ({"role": "assistant", "content": "x", "tool_plan": "y"}, "cohere-chat"),
        (
            {"role": "assistant", "tool_calls": None, "content": [{"type": "thinking"}]},
            "anthropic-messages",
        ),
        ({"role": "assistant", "content": [{"text": "x"}]}, "bedrock-converse"),
        ({"role": "model", "parts": [{"text": "x"}]}, "gemini"),
        ({"role": "assistant", "parts": [{"type": "text", "text": "x"}]}, "ai-sdk-ui"),
        ({"type": "function_call", "name": "a", "call_id": "1"}, "openai-responses"),
        ({"type": "assistant", "message": ASSISTANT}, "claude-code"),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, "mcp-jsonrpc"),
    ],
    ids=str,
)
def test_a_mark_decides_and_null_is_no_mark(message: JsonValue, name: str) -> None:
    """Without marks the stated order decides, where all would read the same."""
    found = detect([message])

    assert isinstance(found, Detected)
    assert name == found.reader.name


def test_a_named_format_is_insisted_on_and_still_says_why_not() -> None:
    """Naming a format chooses among readers that could, and never forces one that cannot."""
    (trace,) = read_document([ASSISTANT], "x.json", form="anthropic-messages")

    assert trace.source == "anthropic-messages"
    with pytest.raises(AuthoringError, match="not in the format gemini"):
        read_document([ASSISTANT], "x.json", form="gemini")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("half a pair \ud800", "lone surrogate"),
        (float("nan"), "not finite"),
        (2**60, "number beyond"),
        (("a", "tuple"), "not a JSON type"),
    ],
)
def test_a_document_that_no_strict_parser_returns_is_refused(content: object, says: str) -> None:
    """Whoever parsed it otherwise is told the place."""
    document: JsonValue = [{"role": "assistant", "content": content}]  # type: ignore[dict-item]  # on purpose

    with pytest.raises(AuthoringError, match=says) as refused:
        read_document(document, "x.json")
    assert "[0].content" in str(refused.value)


def test_depth_without_end_is_refused() -> None:
    """Not even comparing such a value would come to an end."""
    deep: JsonValue = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(AuthoringError, match="too deep"):
        read_document([{"role": "assistant", "content": deep}], "x.json")


def test_an_unknown_format_names_the_nearest() -> None:
    """A typing error is answered with what was probably meant."""
    with pytest.raises(AuthoringError, match="did you mean `openai-chat`"):
        read_document([ASSISTANT], "x.json", form="openai-chap")


class Diary:
    """A reader of somebody else's."""

    name = "diary"

    def declines(self, document: JsonValue) -> str | None:
        """Take documents with a diary."""
        return None if isinstance(document, dict) and "diary" in document else "no diary"

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return an empty trace named after the file."""
        return (Trace(source, "a", "w", ()),)


class Broken(Diary):
    """A reader that raises in both methods."""

    name = "broken"

    def declines(self, document: JsonValue) -> str | None:
        """Raise, where a reason was asked for."""
        raise KeyError(str(document))


class Careless(Diary):
    """A reader that returns no tuple."""

    name = "careless"

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return a list."""
        return [*super().read(document, source)]  # type: ignore[return-value]  # on purpose


def test_readers_of_others_are_asked_last() -> None:
    """They read what no reader of arh takes."""
    readers = all_readers([Diary()])

    assert [trace.trace_id for trace in read_document({"diary": 1}, "d.json", readers=readers)] == [
        "d.json"
    ]
    assert isinstance(detect({"steps": [], "diary": 1}, readers), Detected)
    assert (
        read_document({"diary": 1, "messages": [ASSISTANT]}, "d.json", readers=readers)[0].source
        == "openai-chat"
    )


@pytest.mark.parametrize(
    ("reader", "says"),
    [(Broken(), "broken broke with KeyError"), (Careless(), "careless returned")],
)
def test_a_broken_reader_is_an_error_that_names_it(reader: Reader, says: str) -> None:
    """It is neither skipped nor a crash."""
    with pytest.raises(AuthoringError, match=says):
        read_document({"diary": 1}, "d.json", readers=all_readers([reader]))


def test_two_readers_of_one_name_are_refused() -> None:
    """Otherwise the order of installation would decide."""
    with pytest.raises(AuthoringError, match="two trace formats are named `diary`"):
        all_readers([Diary(), Diary()])
