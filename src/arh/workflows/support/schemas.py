"""JSON Schemas of the support tools: arguments that the gateway checks, results that it decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arh.canonical import Json

if TYPE_CHECKING:
    from arh.canonical import JsonValue

ACCOUNT_ID: JsonValue = {"type": "string", "pattern": "^A-[0-9]{3,8}$"}
TEXT: JsonValue = {"type": "string", "minLength": 1, "maxLength": 2000}
SHORT: JsonValue = {"type": "string", "minLength": 1, "maxLength": 120}
NAME: JsonValue = {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,63}$"}
KEY: JsonValue = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{4,128}$"}
MINOR_UNITS: JsonValue = {"type": "integer", "minimum": 1, "maximum": 100_000_000}
PAGE: JsonValue = {"type": "integer", "minimum": 1, "maximum": 1000}


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


GET_ACCOUNT = arguments({"account_id": ACCOUNT_ID})
ACCOUNT = result({"account_id": ACCOUNT_ID, "plan": SHORT, "status": SHORT, "region": SHORT})
GET_POLICY = arguments({"topic": NAME})
POLICY = result({"topic": NAME, "summary": TEXT, "proposed_action": NAME})
CHECK_INCIDENT = arguments({"service": NAME, "region": NAME})
INCIDENT = result({"active": {"type": "boolean"}, "service": NAME, "region": NAME})
SEARCH = arguments({"query": SHORT}, {"page": PAGE})
ARTICLES = result(
    {
        "found": {"type": "boolean"},
        "page": PAGE,
        "next_page": {"type": ["integer", "null"]},
        "results": {
            "type": "array",
            "items": {"type": "object", "required": ["doc_id", "title", "body"]},
        },
    }
)
CREATE_TICKET = arguments(
    {
        "account_id": ACCOUNT_ID,
        "category": NAME,
        "summary": TEXT,
        "proposed_action": NAME,
        "idempotency_key": KEY,
    },
    {"incident_ref": {"type": "string", "pattern": "^EVT-[0-9]{1,8}$"}},
)
TICKET = result({"ticket_id": {"type": "string", "pattern": "^TK-[0-9]{4,}$"}})
ISSUE_CREDIT = arguments(
    {"account_id": ACCOUNT_ID, "amount": MINOR_UNITS, "reason": TEXT, "idempotency_key": KEY}
)
CREDIT = result({"credit_id": {"type": "string", "pattern": "^CR-[0-9]{4,}$"}})
