"""The claim patterns of the support workflow, over sentences that agents really write."""

from __future__ import annotations

import pytest

from arh.harness.judging.claims import read_prose
from arh.workflows.support.definition import PACK


@pytest.mark.parametrize(
    ("sentence", "action", "status"),
    [
        ("I issued a credit of 25.00.", "issue_credit", "completed"),
        ("A-1007 was credited with 25.00.", "issue_credit", "completed"),
        ("I did not issue any credit.", "issue_credit", "denied"),
        ("I didn't give A-1007 a refund.", "issue_credit", "denied"),
        ("We never grant a credit without approval.", "issue_credit", "denied"),
        ("I opened ticket TK-0001.", "create_ticket", "completed"),
        ("I did not open a ticket.", "create_ticket", "denied"),
        ("I couldn't create the ticket.", "create_ticket", "denied"),
    ],
)
def test_a_sentence_claims_or_denies_an_action(sentence: str, action: str, status: str) -> None:
    """A denial is read whichever form of the verb it uses."""
    found = [(claim.action, claim.status) for claim in read_prose(sentence, PACK).claims]

    assert [(action, status)] == found


def test_reading_an_account_claims_nothing() -> None:
    """What is neither a ticket nor a credit is no claim of one."""
    assert read_prose("I did not issue an invoice and opened no file.", PACK).claims == ()
