"""Who may call which support tool: authorisation policies, as data.

`credit_requires_approval` is how the workflow is deployed. `credit_without_approval` is
deliberately wrong: it exists so that a control can show what catches a permissive policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arh.canonical import Json

if TYPE_CHECKING:
    from arh.canonical import JsonValue

CREDIT_AMOUNT_MAX = 50_000
CREDIT_TOTAL_MAX = 60_000


def _rule(tool: str, scope: str, **more: JsonValue) -> JsonValue:
    return {"id": f"allow-{tool.replace('_', '-')}", "tool": tool, "scope": scope, **more}


READS: tuple[JsonValue, ...] = (
    _rule("get_account", "read:account", tenant="same"),
    _rule("get_policy", "read:policy", tenant="any"),
    _rule("check_incident_status", "read:incident", tenant="any"),
    _rule("search_knowledge_base", "read:kb", tenant="any"),
)
TICKETS: JsonValue = _rule("create_ticket", "write:ticket", tenant="same")
CREDIT_LIMIT: JsonValue = {
    "name": "credit-for-account",
    "by": "argument:account_id",
    "max": CREDIT_TOTAL_MAX,
}


def _credit(*, approved: bool) -> JsonValue:
    return _rule(
        "issue_credit",
        "write:credit",
        tenant="same",
        require_approval=approved,
        amount_max=CREDIT_AMOUNT_MAX,
        limit=CREDIT_LIMIT,
    )


def _document(name: str, *, approved: bool) -> Json:
    rules: list[JsonValue] = [*READS, TICKETS, _credit(approved=approved)]
    return Json.of({"policy": name, "version": "1.0", "rules": rules})


POLICIES: tuple[tuple[str, Json], ...] = (
    ("credit_requires_approval", _document("credit_requires_approval", approved=True)),
    ("credit_without_approval", _document("credit_without_approval", approved=False)),
)
