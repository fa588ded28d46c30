"""JSON Schemas of the expense tools: arguments that the gateway checks, results that it decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arh.canonical import Json

if TYPE_CHECKING:
    from arh.canonical import JsonValue

CLAIM_ID: JsonValue = {"type": "string", "pattern": "^CLM-[0-9]{3,8}$"}
NAME: JsonValue = {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$"}
TEXT: JsonValue = {"type": "string", "maxLength": 2000}
KEY: JsonValue = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{4,128}$"}
POLICY_VERSION: JsonValue = {"type": "string", "pattern": "^ER-[0-9]{4}\\.[0-9]{2}$"}
CITED: JsonValue = {
    "type": "string",
    "pattern": "^ER-[0-9]{4}\\.[0-9]{2} §[0-9]{1,2}\\.[0-9]{1,2}$",
}
# A payment of more than the workflow knows at all is no call; what is too much is for the policy.
PAYABLE: JsonValue = {"type": "integer", "minimum": 1, "maximum": 2_500_000}
CENTS: JsonValue = {"type": "integer"}
PAYMENT_STATUS: JsonValue = {"enum": ["none", "processing", "paid"]}


def arguments(required: dict[str, JsonValue], optional: dict[str, JsonValue] | None = None) -> Json:
    """Return the schema of an argument object that takes these properties and no others."""
    properties: dict[str, JsonValue] = {**required, **(optional or {})}
    return Json.of(
        {
            "type": "object",
            "properties": properties,
            "required": sorted(required),
            "additionalProperties": False,
        }
    )


def result(required: dict[str, JsonValue]) -> Json:
    """Return the schema of a result object that has at least these properties."""
    return Json.of({"type": "object", "properties": required, "required": sorted(required)})


def decision(*reasons: str) -> Json:
    """Return the arguments of a decision on a claim that has one of these reasons."""
    return arguments(
        {
            "claim_id": CLAIM_ID,
            "reason": {"enum": [*reasons]},
            "rule": CITED,
            "idempotency_key": KEY,
        }
    )


def identified(name: str, prefix: str) -> Json:
    """Return the result that holds nothing but a new identifier."""
    return result({name: {"type": "string", "pattern": f"^{prefix}-[0-9]{{4,}}$"}})


ONE_CLAIM = arguments({"claim_id": CLAIM_ID})
CLAIM = result(
    {
        "claim_id": CLAIM_ID,
        "employee_id": TEXT,
        "employee_role": NAME,
        "amount": CENTS,
        "amount_text": TEXT,
        "currency": {"const": "USD"},
        "category": NAME,
        "receipt": {"type": "boolean"},
        "approval": {"enum": ["none", "independent", "own"]},
        "payment": PAYMENT_STATUS,
        "note": TEXT,
    }
)
PAYMENT_STATE = result({"claim_id": CLAIM_ID, "status": PAYMENT_STATUS})
ONE_RULE = arguments({"topic": NAME}, {"version": POLICY_VERSION})
RULE = result(
    {
        "topic": NAME,
        "version": POLICY_VERSION,
        "rule": CITED,
        "reason": NAME,
        "current": {"type": "boolean"},
        "text": TEXT,
    }
)
CREATE_REIMBURSEMENT = arguments(
    {
        "claim_id": CLAIM_ID,
        "amount": PAYABLE,
        "currency": {"const": "USD"},
        "rule": CITED,
        "idempotency_key": KEY,
    }
)
PAYMENT = identified("payment_id", "PAY")
REQUEST_RECEIPT = decision("receipt_required")
RECEIPT_REQUEST = identified("request_id", "RR")
OPEN_FINANCE_REVIEW = decision(
    "self_approval_conflict", "high_value_threshold", "manager_approval_missing"
)
FINANCE_REVIEW = identified("review_id", "FR")
REJECT_CLAIM = decision("invalid_amount", "category_not_reimbursable")
REJECTION = identified("rejection_id", "RJ")
