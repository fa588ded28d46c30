"""Amounts and cumulative limits: what a call takes from which account of a limit.

The decision point turns a policy's limits into charges, which the store adds up in the transaction
that holds the effect. An amount is a positive integer of minor units and nothing else: a float, a
boolean or a text of digits is no amount. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue, encode
from arh.records.authorization import Charge
from arh.records.identity import SecurityContext

BY_ARGUMENT: Final = "argument:"


@dataclass(frozen=True, slots=True)
class Limit:
    """What may be spent in all, in minor units, for each value of `by`.

    `by` is `subject`, `tenant` or `argument:<name>`.
    """

    name: str
    by: str
    limit_max: int


def charge(
    limit: Limit, amount: int, context: SecurityContext, arguments: Mapping[str, JsonValue]
) -> Charge | None:
    """Return the charge of `amount` against the limit, or `None` where nobody says whose it is."""
    holder = _holder(limit.by, context, arguments)
    if holder is None:
        return None
    return Charge(f"{limit.name}:{limit.by}:{holder}", amount, limit.limit_max)


def amount_of(arguments: Mapping[str, JsonValue], argument: str) -> int | None:
    """Return the amount that an argument states, or `None` if it is not a positive integer."""
    amount = arguments.get(argument)
    return amount if type(amount) is int and amount > 0 else None


def _holder(by: str, context: SecurityContext, arguments: Mapping[str, JsonValue]) -> str | None:
    """Return whose share of the limit is meant, as text that no two holders have in common."""
    if by == "subject":
        return context.subject
    if by == "tenant":
        return context.tenant
    name = by.removeprefix(BY_ARGUMENT)
    return encode(arguments[name]).decode() if name in arguments else None
