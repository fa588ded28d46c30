"""What the seven expense tools do, inside one transaction each.

Every handler gets the arguments exactly as they were authorised, sees its own tenant's records and
the shared ones, and answers with a result or a typed refusal. Payments are kept under the claim
that they are for, so that the ledger has room for one: whoever comes second is refused, and of two
that come at once one loses at the commit. Everything else may be done twice, and must not be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from arh.records.tools import Refused

if TYPE_CHECKING:
    from arh.canonical import JsonValue
    from arh.ports.sue import CallContext, Tx
    from arh.records.execution import Handler

NOT_FOUND = "not_found"
NO_PAYMENT = "none"

Arguments = dict[str, "JsonValue"]


def get_claim(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Return the claim's row with who approved it, seen from the claimant, and its payment."""
    claim_id = str(arguments["claim_id"])
    row = _row(tx, "claims", claim_id)
    if row is None:
        return Refused(NOT_FOUND, "claim")
    amount = cast("int", row["amount"])
    paid = _row(tx, "payments", claim_id) or {"status": NO_PAYMENT}
    shown = {name: value for name, value in row.items() if name not in {"approved_by", "tenant"}}
    return {
        **shown,
        "amount_text": amount_text(amount),
        "approval": _approval(row),
        "payment": paid["status"],
    }


def check_payment(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Say whether a claim is paid or being paid, and under which number."""
    claim_id = str(arguments["claim_id"])
    if tx.get("claims", claim_id) is None:
        return Refused(NOT_FOUND, "claim")
    paid = _row(tx, "payments", claim_id)
    if paid is None:
        return {"claim_id": claim_id, "status": NO_PAYMENT}
    return {name: paid[name] for name in ("claim_id", "payment_id", "status")}


def get_policy_rule(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Return the rule on a topic: of the version asked for, else of the current one."""
    wanted: Arguments = {"topic": arguments["topic"]}
    version = arguments.get("version")
    wanted.update({"current": True} if version is None else {"version": version})
    found = tx.find("policy_rules", wanted)
    return found[0].value.value() if found else Refused(NOT_FOUND, "rule")


def create_reimbursement(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
    """Pay a claim that has no payment yet."""
    claim_id = str(arguments["claim_id"])
    if tx.get("claims", claim_id) is None:
        return Refused(NOT_FOUND, "claim")
    paid = _row(tx, "payments", claim_id)
    if paid is not None:
        reason = "already_paid" if paid["status"] == "paid" else "payment_in_progress"
        return Refused(f"x-expense:{reason}", "claim_id")
    payment_id = call.new_id("PAY")
    tx.put(
        "payments",
        claim_id,
        {
            **_stored(arguments),
            "payment_id": payment_id,
            "status": "processing",
            "tenant": call.tenant,
        },
    )
    return {"payment_id": payment_id}


def _decided(collection: str, name: str, prefix: str) -> Handler:
    """Return the handler that files a decision on a claim under a new number."""

    def handle(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
        if tx.get("claims", str(arguments["claim_id"])) is None:
            return Refused(NOT_FOUND, "claim")
        number = call.new_id(prefix)
        tx.put(collection, number, {**_stored(arguments), name: number})
        return {name: number}

    return handle


request_receipt = _decided("receipt_requests", "request_id", "RR")
open_finance_review = _decided("finance_reviews", "review_id", "FR")
reject_claim = _decided("rejections", "rejection_id", "RJ")


def amount_text(amount: int) -> str:
    """Return an amount in cents as it is written: 18640 as 186.40."""
    whole, cents = divmod(abs(amount), 100)
    return f"{'-' if amount < 0 else ''}{whole:,}.{cents:02d}"


def _approval(row: Arguments) -> str:
    """Return whose approval a claim has; nobody approves for themselves."""
    approver = row["approved_by"]
    if not approver:
        return "none"
    return "own" if approver == row["employee_id"] else "independent"


def _row(tx: Tx, collection: str, key: str) -> Arguments | None:
    record = tx.get(collection, key)
    return None if record is None else cast("Arguments", record.value.value())


def _stored(arguments: Arguments) -> Arguments:
    return {name: value for name, value in arguments.items() if name != "idempotency_key"}
