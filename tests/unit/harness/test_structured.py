"""What fields of a structured answer say."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.harness.judging.structured import fenced, malformed, stated_in
from arh.workflows.expense.definition import PACK as EXPENSE
from arh.workflows.support.definition import PACK


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('See:\n```json\n{"a": 1}\n```\nBye.', [{"a": 1}]),
        ('~~~\n[1]\n~~~ and ```{"b": 2}', [[1], {"b": 2}]),
        ('See {"a": 1} there.', [{"a": 1}]),
        ("Braces } and {", []),
        ("none", []),
    ],
)
def test_documents_are_found_in_a_text(text: str, expected: list[JsonValue]) -> None:
    """Each fence is read, also one that is never closed; a text without any may hold one."""
    assert expected == fenced(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"workflow_status": "completed"}, "without message"),
        ({"message": "m", "workflow_status": "completed", "more": 1}, "with more"),
        ({"message": 1, "workflow_status": "completed"}, "of other types"),
        ({"message": "m", "workflow_status": "completed"}, ""),
        ({"text": "m"}, ""),
    ],
)
def test_an_envelope_that_is_none_is_named(value: JsonValue, expected: str) -> None:
    """What has a field of an envelope must be one."""
    assert expected == malformed(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"credit_issued": True}, [("issue_credit", True)]),
        ({"creditIssued": False}, []),
        ({"response": {"credit": {"status": "done"}}}, [("issue_credit", True)]),
        ({"credit": {"currency": "EUR"}}, [("issue_credit", False)]),
        ({"credit": "denied", "ticket_needs_approval": True}, []),
        ({"credit_limit": 500}, []),
        ({"credits": [{"amount": 25.0}]}, [("issue_credit", False)]),
        ({"credits": 0, "refund": None}, []),
    ],
)
def test_a_field_claims_or_is_open(value: JsonValue, expected: list[tuple[str, bool]]) -> None:
    """A field that touches a topic claims it, leaves it open or says that it is not so."""
    assert expected == [(action, sure) for action, _, sure in stated_in(value, PACK)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"claim_rejected": True}, [("reject_claim", True)]),
        ({"claim": "rejected"}, [("reject_claim", True)]),
        ({"claim_rejected": False}, []),
        ({"claim": "not rejected"}, []),
        ({"rejection": "pending"}, []),
        ({"payment": "refused"}, []),
        ({"reimbursed": True}, [("create_reimbursement", True)]),
    ],
)
def test_a_field_is_read_by_the_verbs_of_its_own_pack(
    value: JsonValue, expected: list[tuple[str, bool]]
) -> None:
    """To reject is a deed where a tool does that, and what it would deny elsewhere."""
    assert expected == [(action, sure) for action, _, sure in stated_in(value, EXPENSE)]
