"""What the six support tools do, inside one transaction each.

Every handler gets the arguments exactly as they were authorised, sees its own tenant's records and
the shared ones, and answers with a result or a typed refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from arh.records.tools import Refused

if TYPE_CHECKING:
    from arh.canonical import JsonValue
    from arh.ports.sue import CallContext, Tx

PAGE_SIZE = 3
NOT_FOUND = "not_found"

Arguments = dict[str, "JsonValue"]


def get_account(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Return the account's row, or `not_found`."""
    return _row(tx, "accounts", str(arguments["account_id"]))


def get_policy(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Return the business policy of a topic, or `not_found`."""
    return _row(tx, "policies", str(arguments["topic"]))


def check_incident_status(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Say whether an incident is active for the service in the region, with its row if any."""
    service, region = str(arguments["service"]), str(arguments["region"])
    record = tx.get("incidents", f"{service}|{region}")
    if record is None:
        return {"active": False, "service": service, "region": region}
    row = cast("Arguments", record.value.value())
    return {**row, "active": row.get("status") == "active"}


def search_knowledge_base(arguments: Arguments, tx: Tx, _call: CallContext) -> JsonValue | Refused:
    """Return one page of articles that hold every word of the query, in document order."""
    words = str(arguments["query"]).casefold().split()
    page = int(cast("int", arguments.get("page", 1)))
    hits = [row for row in _articles(tx) if _holds_all(row, words)]
    shown: list[JsonValue] = [*hits[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]]
    following: JsonValue = page + 1 if page * PAGE_SIZE < len(hits) else None
    return {"found": bool(shown), "page": page, "next_page": following, "results": shown}


def create_ticket(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
    """Open a ticket for an existing account; a named incident must exist."""
    if tx.get("accounts", str(arguments["account_id"])) is None:
        return Refused(NOT_FOUND, "account")
    incident = arguments.get("incident_ref")
    if incident is not None and not tx.find("incidents", {"id": incident}):
        return Refused("x-support:unknown_incident", "incident_ref")
    ticket_id = call.new_id("TK")
    tx.put("tickets", ticket_id, {**_stored(arguments), "ticket_id": ticket_id, "status": "open"})
    return {"ticket_id": ticket_id}


def issue_credit(arguments: Arguments, tx: Tx, call: CallContext) -> JsonValue | Refused:
    """Credit an active account with an amount in integer minor units."""
    account = tx.get("accounts", str(arguments["account_id"]))
    if account is None:
        return Refused(NOT_FOUND, "account")
    if cast("Arguments", account.value.value()).get("status") != "active":
        return Refused("x-support:account_not_active", "account_id")
    credit_id = call.new_id("CR")
    tx.put("credits", credit_id, {**_stored(arguments), "credit_id": credit_id})
    return {"credit_id": credit_id}


def _row(tx: Tx, collection: str, key: str) -> JsonValue | Refused:
    record = tx.get(collection, key)
    return Refused(NOT_FOUND, collection) if record is None else record.value.value()


def _articles(tx: Tx) -> list[Arguments]:
    return [cast("Arguments", r.value.value()) for r in tx.find("knowledge_base", {})]


def _holds_all(row: Arguments, words: list[str]) -> bool:
    text = f"{row.get('title', '')} {row.get('body', '')}".casefold()
    return all(word in text for word in words)


def _stored(arguments: Arguments) -> Arguments:
    return {name: value for name, value in arguments.items() if name != "idempotency_key"}
