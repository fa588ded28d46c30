"""The measure of what readers lose catches a reader that loses something, of every kind."""

from __future__ import annotations

from typing import Final

import pytest

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Draft
from arh.traces.mapping.fields import Fields
from arh.traces.reading.detection import read_document
from tests.unit.traces.formats.conservation import lost

TALK: Final[JsonValue] = {
    "model": "model-seven",
    "messages": [
        {"role": "system", "content": "Be careful with bookings."},
        {
            "role": "assistant",
            "content": "Looking it up.",
            "reasoning": "they want it gone",
            "mood": "cheerful",
            "tool_calls": [
                {"id": "call_a", "function": {"name": "get_booking", "arguments": '{"id":"B7-X"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "paid in full"},
        {"role": "tool", "tool_call_id": "gone", "content": "refunded twice"},
    ],
}


def nothing(*_: object, **__: object) -> None:
    """Do nothing, where something was to be kept."""


def no_step(made: Assembly, text: str, at: str, step_id: str, *, refusal: bool = False) -> None:
    """Add no text."""
    del made, text, at, step_id, refusal


def no_result(draft: Draft, result: object) -> None:
    """Take the call as answered and forget the answer."""
    del result
    draft.answered = True


@pytest.mark.parametrize(
    ("place", "name", "defect", "text"),
    [
        (Assembly, "note", nothing, "they want it gone"),
        (Assembly, "note", nothing, "cheerful"),
        (Assembly, "note", nothing, "refunded twice"),
        (Assembly, "recorded", nothing, "model-seven"),
        (Assembly, "told", nothing, "Be careful with bookings."),
        (Assembly, "say", no_step, "Looking it up."),
        (Fields, "done", nothing, "cheerful"),
        ("arh.traces.mapping.assembly", "give", no_result, "paid in full"),
    ],
)
def test_a_reader_that_drops_something_is_caught(
    monkeypatch: pytest.MonkeyPatch, place: object, name: str, defect: object, text: str
) -> None:
    """Each way to keep text is needed: without it, that text is reported as lost."""
    if isinstance(place, str):
        monkeypatch.setattr(f"{place}.{name}", defect)
    else:
        monkeypatch.setattr(place, name, defect)

    assert text in lost(TALK, read_document(TALK, "talk.json"))


def test_the_whole_reader_loses_nothing() -> None:
    """The twin of the defects above."""
    assert lost(TALK, read_document(TALK, "talk.json")) == []
