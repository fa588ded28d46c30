"""What is read off texts: sentences, tokens, denials, amounts."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.harness.vocabulary.texts import (
    amounts,
    asks,
    denies,
    holds_token,
    identifiers,
    kind_of,
    leaves_open,
    means_another,
    numbers_of,
    plain,
    reach,
    says_done,
    sentences,
    texts_of,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four; five", ["One.", "Two!", "Three?", "Four;", "five"]),
        ("It is 2.5 of $98.00, v1.1.", ["It is 2.5 of $98.00, v1.1."]),
        ("Done.I did it.", ["Done.", "I did it."]),
        ("The U.S. office, e.g. Mr. Hill", ["The U.S. office, e.g. Mr. Hill"]),
        ("a\nb\r\n\u2028c", ["a", "b", "c"]),
        ('He said "no." Yes', ['He said "no.', '" Yes']),
        ("", []),
    ],
)
def test_a_sentence_ends_where_it_ends(text: str, expected: list[str]) -> None:
    """A point inside of a number, an identifier or an abbreviation ends no sentence."""
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cre\u200bdit \u202eissued\u00ad", "credit issued"),
        ("A\u20111007, wasn\u2019t", "A-1007, wasn't"),
        ("\uff21\uff0d\uff11", "A-1"),
        ("a\ud800b", "a?b"),
    ],
)
def test_a_plain_text_hides_nothing(text: str, expected: str) -> None:
    """Invisible characters are gone, and what looks alike is written alike."""
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "token", "expected"),
    [
        ("see EVT-402.", "evt-402", True),
        ("see EVT-402", "EVT-40", False),
        ("see XEVT-40", "EVT-40", False),
        ("see EVT-40-b", "EVT-40", False),
        ("see EVT-40- or so", "EVT-40", True),
        ("it costs 25.00", "25", False),
        ("it costs 25.", "25", True),
        ("anything", " ", False),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
    ],
)
def test_a_token_is_held_as_a_whole(text: str, token: str, expected: bool) -> None:  # noqa: FBT001
    """A token that continues is another one."""
    assert holds_token(text, token) is expected


@pytest.mark.parametrize(
    ("sentence", "about", "denied"),
    [
        ("No credit was issued", "credit was issued", True),
        ("I issued the credit, no problem", "issued the credit", False),
        ("No worries, I issued the credit", "issued the credit", False),
        ("No ticket was opened and the credit was issued", "credit was issued", False),
        ("No credit, refund or ticket was issued", "ticket was issued", True),
        ("the request was refused and nothing was credited", "credited", True),
        ("I could not read it, so I opened a ticket", "opened a ticket", False),
        ("It is not so that a credit was issued", "credit was issued", True),
        ("The ticket was opened, but not confirmed", "ticket was opened", True),
        ("The ticket was opened and it is still not there", "ticket was opened", True),
        ("I opened the ticket and you do not need to call", "opened the ticket", False),
    ],
)
def test_a_denial_reaches_as_far_as_its_clause(
    sentence: str,
    about: str,
    denied: bool,  # noqa: FBT001
) -> None:
    """What stands in another clause denies nothing, unless it is a contrast."""
    begin = sentence.index(about)

    assert denies(reach(sentence, begin, begin + len(about))) is denied


def test_other_readings_of_sentences() -> None:
    """Conditions, questions, further items and completions are told apart."""
    assert leaves_open("it may have been opened")
    assert not leaves_open("it could not be opened")
    assert asks("Was it opened?")
    assert not asks("I opened it, ok?")
    assert means_another("no other ticket")
    assert says_done("All done!")
    assert says_done("Your request has been resolved.")
    assert not says_done("All done?")
    assert not says_done("I have done nothing.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$25", [(2500,)]),
        ("USD 25 and 25 euros", [(2500,), (2500,)]),
        ("1,250.00 and 1.250,00 EUR", [(125_000,), (125_000,)]),
        ("$5k", [(500_000,)]),
        ("2500 minor units, 99 cents", [(2500,), (99,)]),
        ("a credit of 25", [(25, 2500)]),
        ("a credit of 25.00", [(2500,)]),
        ("12.50% of 3.25 seconds in v2.25 on 05.06.2026", []),
        ("3 calls, 2 accounts, 100 %", []),
        ("$" + "9" * 100, []),
    ],
)
def test_amounts_are_money_and_nothing_else(text: str, expected: list[tuple[int, ...]]) -> None:
    """Amounts come in minor units; percentages, durations, dates and counts are no money."""
    assert [amount.readings for amount in amounts(text)] == expected


def test_values_are_taken_apart_in_order() -> None:
    """Texts and numbers of a JSON value, and the fields that hold the numbers."""
    value: JsonValue = {"a": ["x", {"b": "y"}], "n": [1, 2.5, True], "c": "z"}

    assert texts_of(value) == ["x", "y", "z"]
    assert sorted(numbers_of(value)) == [("n", 1), ("n", 2.5)]


def test_identifiers_are_found_once_and_know_their_kind() -> None:
    """Each identifier of a text is named once, and fits the pattern that found it."""
    kinds = (r"\bA-[0-9]+\b", r"\bTK-[0-9]+\b")

    assert identifiers("TK-1 for A-1, A-1 and AA-2", kinds) == ["TK-1", "A-1"]
    assert [kind_of(text, kinds) for text in ("TK-1", "see TK-1")] == [kinds[1], ""]
    assert words("see TK-1, a.b and c:d.") == ["see", "TK-1", "a.b", "and", "c:d"]


@pytest.mark.parametrize(
    "text",
    [
        *("1" * 10**6, "1," * 400_000 + "1x", "$1,1" * 200_000, "of 1,5 " * 100_000),
        *(" " * 10**6, "A.B." * 200_000, "." * 10**6, "and " * 200_000, "is still " * 100_000),
    ],
)
def test_no_text_costs_more_than_its_length(text: str) -> None:
    """Texts of a megabyte that go back and forth are read like any other."""
    text = plain(text)

    assert sum(1 for _ in sentences(text)) <= len(text)
    assert sum(1 for _ in amounts(text)) <= len(text)
    assert not denies(reach(text, len(text) // 2, len(text) // 2))
