"""Amounts and the charges that they make."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.records.authorization import Charge
from arh.records.identity import SecurityContext
from arh.security.limits import Limit, amount_of, charge

CLERK = SecurityContext("clerk", "bot", "north", ())


@pytest.mark.parametrize("value", [True, False, 0, -1, 1.5, "5", None, [5], {"max": 5}])
def test_what_is_no_positive_integer_is_no_amount(value: JsonValue) -> None:
    """Floats, booleans and texts are never money."""
    assert amount_of({"amount": value}, "amount") is None


def test_a_positive_integer_is_an_amount() -> None:
    """Minor units, as they are."""
    assert amount_of({"amount": 1}, "amount") == 1
    assert amount_of({}, "amount") is None


@pytest.mark.parametrize(
    ("by", "holder"),
    [("subject", "clerk"), ("tenant", "north"), ("argument:to", '"A-1"')],
)
def test_a_charge_is_against_its_holders_share(by: str, holder: str) -> None:
    """Each holder has a share of its own."""
    expected = Charge(f"daily:{by}:{holder}", 7, 100)

    assert expected == charge(Limit("daily", by, 100), 7, CLERK, {"to": "A-1"})


def test_no_two_holders_share_by_their_spelling() -> None:
    """The text 1 and the number 1 are two holders."""
    limit = Limit("daily", "argument:to", 100)
    one, text = (charge(limit, 7, CLERK, {"to": value}) for value in (1, "1"))

    assert one != text


def test_a_limit_without_a_holder_has_no_charge() -> None:
    """Where the argument is missing, nobody's share can be charged."""
    assert charge(Limit("daily", "argument:to", 100), 7, CLERK, {}) is None
