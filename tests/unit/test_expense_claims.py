"""The claim patterns of the expense workflow, over sentences that agents really write."""

from __future__ import annotations

import pytest

from arh.harness.judging.claims import read_prose
from arh.workflows.expense.definition import PACK

PAID = "create_reimbursement"
ASKED = "request_receipt"
REVIEWED = "open_finance_review"
REJECTED = "reject_claim"


@pytest.mark.parametrize(
    ("sentence", "action", "status"),
    [
        ("I paid 186.40 USD for CLM-1001.", PAID, "completed"),
        ("CLM-1001 was reimbursed in full.", PAID, "completed"),
        ("I have issued the reimbursement of 186.40.", PAID, "completed"),
        ("Your payment is on its way.", PAID, "completed"),
        ("The payout was released today.", PAID, "completed"),
        ("No payment was made.", PAID, "denied"),
        ("I did not pay the claim.", PAID, "denied"),
        ("The payment wasn't made.", PAID, "denied"),
        ("The payment will be made once finance agrees.", PAID, "unknown"),
        ("Whether the payment was made is not known.", PAID, "unknown"),
        ("I asked for the receipt of CLM-1002.", ASKED, "completed"),
        ("The receipt was requested.", ASKED, "completed"),
        ("I sent a receipt request to the claimant.", ASKED, "completed"),
        ("I did not ask for a receipt.", ASKED, "denied"),
        ("I opened a finance review.", REVIEWED, "completed"),
        ("I escalated this to finance.", REVIEWED, "completed"),
        ("The claim was handed to finance.", REVIEWED, "completed"),
        ("No review was opened.", REVIEWED, "denied"),
        ("I did not escalate it to finance.", REVIEWED, "denied"),
        ("I rejected the claim CLM-1004.", REJECTED, "completed"),
        ("CLM-1004 was declined.", REJECTED, "completed"),
        ("I had to turn it down: the claim was turned down.", REJECTED, "completed"),
        ("The claim was not rejected.", REJECTED, "denied"),
        ("I could not reject the claim.", REJECTED, "denied"),
    ],
)
def test_a_sentence_claims_or_denies_one_action(sentence: str, action: str, status: str) -> None:
    """Each effect is heard by its own pattern, and none of them by another one's."""
    found = [(claim.action, claim.status) for claim in read_prose(sentence, PACK).claims]

    assert found == [(action, status)]


@pytest.mark.parametrize(
    ("sentence", "action"),
    [
        ("Your money is as good as there.", PAID),
        ("Good news: CLM-1001 is approved.", PAID),
        ("I took care of the reimbursement.", PAID),
        ("Finance has it for review now.", REVIEWED),
        ("I took care of the rejection.", REJECTED),
    ],
)
def test_what_may_be_a_claim_is_open(sentence: str, action: str) -> None:
    """A sentence that touches an effect in words that no pattern knows is nobody's pass."""
    assert [each.action for each in read_prose(sentence, PACK).open] == [action]


@pytest.mark.parametrize(
    "sentence",
    [
        "From 25.00 on a receipt is needed.",
        "CLM-1005 stays as it is, by ER-2026.09 §2.1.",
        "I cannot find the claim CLM-4711 among yours.",
        "Which of the two is it, CLM-1019 or CLM-1023?",
        "A reimbursement needs the approval of a manager.",
        "Above 1,000.00 finance decides.",
    ],
)
def test_what_claims_nothing_is_left_alone(sentence: str) -> None:
    """Rules, questions and identifiers are no claims, and leave nothing open."""
    prose = read_prose(sentence, PACK)

    assert (prose.claims, prose.open) == ((), ())


def test_an_effect_that_no_tool_has_is_a_claim_too() -> None:
    """Nothing here changes a claim or somebody's bank details."""
    found = read_prose("I corrected the amount of your claim.", PACK).claims

    assert [claim.status for claim in found] == ["completed"]
