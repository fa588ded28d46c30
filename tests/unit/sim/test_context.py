"""Generated context is deterministic filler that can serve as evidence of nothing."""

from __future__ import annotations

import pytest

from arh.sim.context import digest, generate


def test_the_same_arguments_give_the_same_conversation() -> None:
    """And another seed gives another one, told apart by its digest."""
    one = generate("7", 20, 30, "invoices")
    again = generate("7", 20, 30, "invoices")
    other = generate("8", 20, 30, "invoices")

    assert one == again
    assert digest(one) == digest(again) != digest(other)


@pytest.mark.parametrize(("messages", "words"), [(1, 1), (2, 5), (200, 40), (3, 400)])
def test_it_has_the_size_that_was_asked_for(messages: int, words: int) -> None:
    """So many messages of so many words each."""
    made = generate(1, messages, words, "routine account questions")

    assert len(made) == messages
    assert {len(message.content.split()) for message in made} == {words}


def test_user_and_assistant_take_turns() -> None:
    """It reads as a conversation, the user first, and nobody calls a tool."""
    made = generate(1, 5, 10, "opening hours")

    assert [m.role for m in made] == ["user", "assistant", "user", "assistant", "user"]
    assert all(m.requests == () and m.reply is None for m in made)


def test_it_holds_no_identifier_and_no_amount() -> None:
    """Not one digit: an answer that quotes an id or a sum has it from elsewhere."""
    made = generate(3, 400, 60, "opening hours")

    assert not any(char.isdigit() for message in made for char in message.content)


def test_a_topic_is_only_text() -> None:
    """Braces in a topic are words like any other."""
    made = generate(3, 40, 40, "{0} and {topic}")

    assert any("{0} and {topic}" in message.content for message in made)
