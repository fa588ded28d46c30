"""A small workflow pack and scenarios over it, for tests that need one of each and no more.

The pack has one reading tool and two writing ones, of which issuing a credit needs an approval. Its
handlers are never meant to run.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from arh.canonical import Json
from arh.records.control.scenario import Scenario
from arh.records.execution import Tool
from arh.records.packs import ClaimPattern, CollectionSpec, WorkflowPack
from arh.records.tools import Effect, Refused, ResourceArgument, ToolManifest

Anything: TypeAlias = Any  # the value of whatever field a test names

OBJECT = Json.of({"type": "object"})
ACCOUNT = (ResourceArgument("account_id", "accounts"),)
NEGATIONS = (r"(?i)\b(no|not|never|without|unable|failed)\b", r"(?i)n't\b")
POLICY = Json.of(
    {
        "policy": "a-policy",
        "version": "1.0",
        "rules": [
            {"id": "allow-get-account", "tool": "get_account", "scope": "read:account"},
            {"id": "allow-create-ticket", "tool": "create_ticket", "scope": "write:ticket"},
            {
                "id": "allow-issue-credit",
                "tool": "issue_credit",
                "scope": "write:credit",
                "require_approval": True,
            },
        ],
    }
)


def small_pack(**fields: Anything) -> WorkflowPack:
    """Return the pack; `fields` replace what they name."""
    given: dict[str, Any] = {
        "name": "support",
        "version": "1.0",
        "description": "accounts, tickets, credits",
        "tools": (
            tool("get_account", Effect.READ),
            tool("create_ticket", Effect.TRANSACTIONAL),
            tool("issue_credit", Effect.TRANSACTIONAL, amount_argument="amount"),
        ),
        "collections": (
            CollectionSpec("accounts", ("account_id",), tenant_field="tenant"),
            CollectionSpec("incidents", ("id",)),
            CollectionSpec(
                "tickets",
                ("ticket_id",),
                seeded=False,
                business_key=("account_id", "category", "incident_ref"),
            ),
            CollectionSpec(
                "credits", ("credit_id",), seeded=False, business_key=("account_id", "reason")
            ),
        ),
        "policies": (("a-policy", POLICY),),
        "claims": (
            ClaimPattern(
                "create_ticket",
                r"(?i)\b(?:opened|created)\b.{0,60}\bticket\b(?:.{0,20}(?P<id>TK-[0-9]+))?"
                r"|(?i:\bticket\b.{0,60}\b(?:opened|created)\b)",
                NEGATIONS,
            ),
            ClaimPattern("issue_credit", r"(?i)\bcredit\b.{0,60}\bissued\b", NEGATIONS),
        ),
    }
    return WorkflowPack(**{**given, **fields})


def tool(name: str, effect: Effect, **fields: Anything) -> Tool:
    """Return a tool whose handler refuses; a writing one takes an idempotency key."""
    writes = effect is not Effect.READ
    given: dict[str, Any] = {
        "name": name,
        "version": "1.1",
        "description": name,
        "effect": effect,
        "parameters": OBJECT,
        "result": OBJECT,
        "key_argument": "idempotency_key" if writes else None,
        "resources": ACCOUNT,
    }
    return Tool(ToolManifest(**{**given, **fields}), lambda *_: Refused("not_found"))


def a_scenario(
    expectations: dict[str, Any] | None = None,
    *,
    faults: list[dict[str, Any]] | None = None,
    principal: dict[str, Any] | None = None,
    approvals: list[dict[str, Any]] | None = None,
    **fields: Anything,
) -> Scenario:
    """Return a scenario with these expectations; `fields` replace whole top-level groups."""
    who = {"caller": "support-agent-role", "authority": ["read:*", "write:ticket"]}
    given: dict[str, Any] = {
        "schema_version": "3.0",
        "id": "a-scenario-001",
        "workflow": "support@1",
        "description": "a billing incident on one account",
        "category": "golden",
        "role": "acceptance",
        "risk_class": "high",
        "split": "regression",
        "owner": "reliability",
        "reason": "an example",
        "source_class": "authored",
        "last_review": "2025-01-31",
        "retirement": "when the workflow is retired",
        "stimulus": {"messages": [{"content": "Account A-1007 reports duplicate billing."}]},
        "runtime": {"available_tools": ["get_account", "create_ticket", "issue_credit"]},
        "trusted_environment": {"principal": principal or who, "approvals": approvals or []},
        "controls": {
            "runtime_budgets": {"max_steps": 8, "max_tool_calls": 10, "wall_clock_ms": 15000},
            "faults": faults or [],
        },
        "expectations": expectations or {},
        "reproducibility": {
            "prompt_version": "1",
            "model_configuration": "scripted:an-example",
            "tool_version": "1.1",
            "dataset_version": "1",
        },
    }
    return Scenario.model_validate_json(json.dumps({**given, **fields}))
