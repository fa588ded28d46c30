"""What an agent hands back is read as plain text, and anew unless the run knows its bytes."""

from __future__ import annotations

import pytest

from arh.canonical import Json, Refused
from arh.harness.running.handed import taken_json, taken_message, taken_request
from arh.records.messages import Message, ToolReply, ToolRequest


class Sly(str):
    """A text with a will of its own."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("executed")


def replied(result: Json) -> Message:
    """A tool's message with this result."""
    return Message("tool", "shown", reply=ToolReply("req-1", "read", "executed", "ok", result))


def test_a_result_that_the_run_handed_over_is_its_own_again() -> None:
    """Bytes that are known are not read twice, and what is kept is nothing that the agent holds."""
    ours = Json.of({"a": 1})

    taken = taken_message(replied(ours.twin()), {ours.data: ours})

    assert taken.reply is not None
    assert taken.reply.result is ours


def test_bytes_that_the_run_does_not_know_are_read() -> None:
    """An agent may hand over a value of its own, but none whose bytes are no JSON."""
    ours, forged = Json.of({"a": 1}), Json.of({"a": 1})
    object.__setattr__(forged, "data", b'{"a":1,"a":2}')

    assert taken_json(Json.of([2]), {ours.data: ours}) == Json.of([2])
    with pytest.raises(Refused):
        taken_json(forged, {ours.data: ours})


def test_a_request_is_plain_text_whatever_its_texts_are() -> None:
    """No subclass of a text is left in it, and a lone surrogate is spelt out."""
    taken = taken_request(ToolRequest("req-1", Sly("pay"), "\ud800"))

    assert taken == ToolRequest("req-1", "pay", "\\ud800")
    assert {type(taken.call_id), type(taken.tool), type(taken.arguments)} == {str}


def test_a_status_is_what_it_says_and_not_what_it_equals() -> None:
    """A text that claims to equal every status is no status."""
    sly = ToolReply("req-1", "read", Sly("gone"), "ok")  # type: ignore[arg-type]

    with pytest.raises(TypeError):
        taken_message(Message("tool", "shown", reply=sly))
