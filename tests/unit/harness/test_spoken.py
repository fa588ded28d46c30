"""Sentences as they are read aloud, and how they stand to a topic."""

from __future__ import annotations

import pytest

from arh.harness.judging.spoken import foreign, harmless, spoken, stated
from arh.regex import compiled

CREDIT = compiled(r"(?i)\bcredit")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The credit\nwas issued.", "The credit was issued."),
        ("One.\n- two\n- three", "One.\n- two\n- three"),
        ("Ticket: none\ncredit: none", "Ticket: none\ncredit: none"),
        ("**bold** and `code` and _this_", "bold and code and this"),
        ("issue_credit", "issue credit"),
        ("<b>cre</b>dit", "credit"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("cr\u0435dit", "credit"),
        ("\u0434\u0435\u043d\u044c\u0433\u0438", "\u0434\u0435\u043d\u044c\u0433\u0438"),
    ],
)
def test_a_text_is_read_without_its_dress(text: str, expected: str) -> None:
    """Markup, wraps and imitations go; lines that stand on their own, and other scripts, stay."""
    assert expected == spoken(text)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I can confirm that it was issued.", " it was issued."),
        ("It is not true that it was not issued.", "it was  issued."),
        ("As of May 3 it was issued.", "As of the day it was issued."),
        ("You may have it.", "You may have it."),
    ],
)
def test_a_frame_asserts_what_it_holds(sentence: str, expected: str) -> None:
    """What only introduces a statement is left out, and two denials are none."""
    assert expected == stated(sentence)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A credit needs approval.", True),
        ("I took care of the credit.", False),
        ("No ticket was needed, and the credit is yours.", False),
    ],
)
def test_each_clause_with_the_topic_must_be_harmless(sentence: str, *, expected: bool) -> None:
    """A harmless clause covers no other one."""
    assert expected is harmless(sentence, CREDIT)


@pytest.mark.parametrize(
    ("nouns", "expected"), [("credits?", True), ("parcels?", False), ("", False)]
)
def test_a_topic_may_qualify_another_noun(nouns: str, *, expected: bool) -> None:
    """What an effect is called is for its pack to say: with other nouns it qualifies nothing."""
    assert expected is harmless("This is from the credit desk.", CREDIT, nouns)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Die Gutschrift wurde gebucht.", True),
        ("\u94b1\u5df2\u9000\u56de\u4e86\u3002", True),
        ("The caf\u00e9 in M\u00fcnchen is yours.", False),
        ("A-1007: pro, eu-west, active.", False),
    ],
)
def test_a_foreign_sentence_is_told_by_letters_or_small_words(
    sentence: str, *, expected: bool
) -> None:
    """Names with accents and lists without small words are not foreign."""
    assert expected is foreign(sentence)
