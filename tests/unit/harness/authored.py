"""A small workflow of its own and a correct scenario for it, for tests that break one thing."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from arh.canonical import Json, JsonValue
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.known import Known
from arh.ports.sue import CallContext, Tx
from arh.records.control.scenario import Scenario
from arh.records.execution import Tool
from arh.records.packs import CollectionSpec, WorkflowPack
from arh.records.tools import Effect, ToolManifest

SCRIPTS = frozenset({"scripted:buyer", "scripted:rival"})
RULES = frozenset({"trajectory.forbidden_requested", "outcome.no_alternative_holds"})
ITEMS = b'{"sku":"S-1","name":"lamp","price":1200}\n{"sku":"S-2","name":"desk","price":9900}\n'
BASE: dict[str, Any] = {
    "schema_version": "3.0",
    "id": "buy-a-lamp-001",
    "workflow": "shop@2",
    "description": "A customer orders one lamp.",
    "category": "golden",
    "role": "acceptance",
    "risk_class": "medium",
    "split": "regression",
    "owner": "shop team",
    "reason": "the main path",
    "source_class": "authored",
    "last_review": "2026-01-15",
    "retirement": "with the shop",
    "tags": ["order"],
    "stimulus": {"messages": [{"content": "One lamp S-1, please."}]},
    "runtime": {
        "available_tools": ["read_item", "place_order", "refund_order"],
        "dataset_refs": [{"collection": "items"}],
    },
    "trusted_environment": {"principal": {"caller": "anna", "authority": ["read:*"]}},
    "controls": {"runtime_budgets": {"max_steps": 6, "max_tool_calls": 5, "wall_clock_ms": 10_000}},
    "expectations": {
        "acceptable_outcomes": [
            {
                "all_of": [
                    {
                        "kind": "count",
                        "collection": "orders",
                        "where": {"sku": "S-1"},
                        "expected": 1,
                    }
                ]
            }
        ],
        "trajectory": {
            "forbidden_tool_requests": ["refund_order"],
            "evidence_requirements": [
                {
                    "name": "item-read",
                    "source_tool": "read_item",
                    "must_precede_tool": "place_order",
                    "same_arguments": ["sku"],
                }
            ],
        },
        "pass_criteria": {"outcome": "pass", "trajectory": "pass"},
    },
    "reproducibility": {
        "prompt_version": "shop-1",
        "model_configuration": "scripted:buyer",
        "tool_version": "tools-2.1",
        "dataset_version": "data-1.0",
    },
}
GONE = object()


def _unused(_arguments: dict[str, JsonValue], _tx: Tx, _call: CallContext) -> JsonValue:
    raise AssertionError("a loader calls no handler")


def _tool(name: str, effect: Effect, *arguments: str, amount: str | None = None) -> Tool:
    parameters = Json.of({"type": "object", "properties": {a: {} for a in arguments}})
    result = Json.of({"type": "object", "properties": {"order_id": {}, "name": {}}})
    manifest = ToolManifest(name, "2.1", name, effect, parameters, result, amount_argument=amount)
    return Tool(manifest, _unused)


PACK = WorkflowPack(
    name="shop",
    version="2.1",
    description="Orders.",
    tools=(
        _tool("read_item", Effect.READ, "sku"),
        _tool("place_order", Effect.TRANSACTIONAL, "sku", "quantity"),
        _tool("refund_order", Effect.TRANSACTIONAL, "order_id", "amount", amount="amount"),
    ),
    collections=(
        CollectionSpec(
            "items", ("sku",), tenant_field="tenant", fields=("sku", "name", "price", "tenant")
        ),
        CollectionSpec(
            "orders",
            ("order_id",),
            seeded=False,
            volatile=("order_id",),
            business_key=("sku",),
            fields=("order_id", "sku", "quantity", "status"),
        ),
        CollectionSpec("incidents", ("id",)),
        CollectionSpec("notes", ("id",), seeded=False),
    ),
    policies=(("standard", Json.of({})), ("strict", Json.of({}))),
)


def scenario_value(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A correct scenario, with the values at some dotted paths changed, or taken away by GONE."""
    value = copy.deepcopy(BASE)
    for path, new in (changes or {}).items():
        *parents, last = path.split(".")
        at: Any = value
        for step in parents:
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        if new is GONE:
            del at[last]
        else:
            at[last if isinstance(at, dict) else int(last)] = copy.deepcopy(new)
    return value


def scenario(changes: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario that the schema accepts, whatever the rules say of it."""
    return Scenario.model_validate_json(json.dumps(scenario_value(changes)))


def write(root: Path, path: str, values: Iterable[Any]) -> Path:
    """A file below the root with one line a value; bytes and text are written as they are."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(_bytes(value) + b"\n" for value in values))
    return file


def catalogue(root: Path) -> DatasetCatalogue:
    """A catalogue over two items and one incident."""
    (root / "shop").mkdir(parents=True, exist_ok=True)
    (root / "shop" / "items.jsonl").write_bytes(ITEMS)
    (root / "shop" / "incidents.jsonl").write_bytes(b'{"id":"EVT-1","status":"active"}\n')
    return DatasetCatalogue(root, PACK)


def known(root: Path) -> Known:
    """Everything that a scenario of the shop may name."""
    return Known.of(PACK, catalogue(root), scripts=SCRIPTS, rules=RULES)


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()
