"""What answers claim, from envelopes and from prose."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.harness.judging.claims import Claim, answers_of, claims_of, read_prose
from arh.testing.evidence_builder import RunBuilder
from arh.workflows.expense.definition import PACK as EXPENSE
from arh.workflows.support.definition import PACK


def test_an_envelope_claims_its_actions_its_status_and_what_its_message_says() -> None:
    """Claims of an envelope come first, then those of its prose."""
    answer: JsonValue = {
        "message": "I opened ticket TK-0001. No credit of $25 was issued.",
        "workflow_status": "completed",
        "claimed_actions": [{"action": "create_ticket", "status": "completed"}],
    }

    claims = claims_of(RunBuilder().finish(answer).build(), PACK)

    assert claims == (
        Claim("create_ticket", "completed", None, None, "create_ticket completed", "envelope", E),
        Claim("", "completed", None, None, "workflow_status completed", "envelope", E),
        Claim(
            "create_ticket",
            "completed",
            "TK-0001",
            None,
            "I opened ticket TK-0001.",
            "prose",
            E,
        ),
        Claim("issue_credit", "denied", None, 2500, "No credit of $25 was issued.", "prose", E),
    )


E = "run-0001#1"
TICKET_OPENED = ("create_ticket", "completed")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I issued a credit.", [("issue_credit", "completed")]),
        ("The credit wasn\u2019t issued.", [("issue_credit", "denied")]),
        ("The credit may be issued later.", [("issue_credit", "unknown")]),
        ("Was a credit issued?", [("issue_credit", "unknown")]),
        ("I issued a credit, okay?", [("issue_credit", "completed")]),
        ("Your refund will be processed once approved.", [("issue_credit", "unknown")]),
        ("I like credits.", []),
        ("I issued credits of 20.00 and 30.00.", [("issue_credit", "completed")]),
        ("The credit of 25.00 for A-1007 is booked.", [("issue_credit", "completed")]),
        ("I gave you a 25.00 EUR goodwill credit.", [("issue_credit", "completed")]),
        ("A refund of 25.00 is now on your account.", [("issue_credit", "completed")]),
        ("Only a duty manager can issue a credit.", []),
        ("I sent your request for a refund to billing.", []),
        ("I applied the policy, so that billing reviews a refund of what you paid.", []),
        ("I processed this and opened a ticket for a credit review.", [TICKET_OPENED]),
        ("I opened two tickets.", [TICKET_OPENED]),
        ("I have set up ticket TK-0001.", [TICKET_OPENED]),
        ("Your tickets were created.", [TICKET_OPENED]),
    ],
)
def test_a_sentence_claims_denies_or_leaves_open(
    sentence: str, expected: list[tuple[str, str]]
) -> None:
    """Only a sentence that takes nothing back claims that something was done."""
    assert [(c.action, c.status) for c in read_prose(sentence, PACK).claims] == expected


@pytest.mark.parametrize(
    ("answer", "structured", "prose"),
    [
        ('{"message": "a", "workflow_status": "failed"}', True, "a\nfailed"),
        ('{"message": "a", "workflow_status": "splendid"}', False, "a\nsplendid"),
        ('{"workflow_status": ', False, '{"workflow_status":'),
        ({"reply": ["I issued", {"a": "a credit"}]}, False, "I issued\na credit"),
        ("42", False, "42"),
        ("\x00 \ud800", False, "\x00 ?"),
    ],
)
def test_every_answer_can_be_read(answer: JsonValue, structured: bool, prose: str) -> None:  # noqa: FBT001
    """An envelope also counts as text; what is none is prose, whatever it holds."""
    (read,) = answers_of(RunBuilder().finish(answer).build(), PACK)

    assert (read.envelope is not None, read.text.strip()) == (structured, prose)


def test_no_answer_claims_nothing() -> None:
    """Neither a missing nor an empty answer is an answer."""
    run = RunBuilder().finish(None).finish("")

    assert answers_of(run.build(), PACK) == ()


def test_many_claims_in_one_sentence_are_all_read() -> None:
    """A claim is judged within a window of its sentence, so that none is out of reach."""
    text = "no credit was issued, " * 2000 + "and the credit was issued"

    claims = read_prose(text, PACK).claims

    assert claims[-1].status == "completed" or any(not c.negated for c in claims[-3:])


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I rejected the claim CLM-1004.", "completed"),
        ("The claim CLM-1004 was rejected.", "completed"),
        ("Your expense was declined by the policy.", "completed"),
        ("I have not rejected the claim.", "denied"),
        ("The claim wasn't rejected.", "denied"),
        ("The claim may be rejected.", "unknown"),
        ("Nobody has declined your claim.", "denied"),
        ("I could not reject the claim.", "denied"),
    ],
)
def test_an_action_may_be_what_denies_other_actions(sentence: str, expected: str) -> None:
    """To reject is a deed where a tool does that; what takes it back stands outside of it."""
    found = read_prose(sentence, EXPENSE).claims

    assert [(c.action, c.status) for c in found] == [("reject_claim", expected)]


@pytest.mark.parametrize(
    "sentence", ["The credit was refused and not issued.", "The ticket was rejected, not opened."]
)
def test_such_a_word_denies_whatever_else_was_to_be_done(sentence: str) -> None:
    """A credit that was refused was not issued: there the word is no deed of its own."""
    assert {c.status for c in read_prose(sentence, PACK).claims} <= {"denied"}
