"""What a scenario says of the rows that a tool may write, and what it leaves to the agent.

Shared by the linter's rules on content. Free text is nobody's to fix: what it names is held against
what the agent was told. Every other argument is a name, a number or an identifier, of which one
value is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from arh.canonical import JsonValue
from arh.harness.authoring.expectation_rules import assertions_of
from arh.harness.authoring.known import properties
from arh.records.control.scenario import ExpectedChange, Scenario
from arh.records.packs import CollectionSpec
from arh.records.tools import ToolManifest


def judged_names(scenario: Scenario, manifest: ToolManifest, collection: str) -> set[str]:
    """Return the fields and arguments that anything in the scenario says something of."""
    x, tool = scenario.expectations, manifest.name
    found: set[str] = set()
    for _, assertion in assertions_of(scenario):
        if assertion.collection == collection:
            found |= {*assertion.where, assertion.field or ""}
    for entry in x.unchanged_except or ():
        found |= set(entry.where) if entry.collection == collection else set()
    found |= {p.argument for p in x.trajectory.argument_predicates if p.tool == tool}
    found |= {t.argument for t in x.trajectory.justified_targets if t.tool == tool}
    for constraint in x.guardrails.action_constraints:
        if constraint.tool == tool:
            found |= set(constraint.arguments)
            bounded = constraint.amount_above is not None or constraint.total_above is not None
            found |= {manifest.amount_argument or ""} if bounded else set()
    return found


def left_out(entries: Sequence[ExpectedChange], spec: CollectionSpec) -> set[str]:
    """Return the fields that no new row may have, where each entry names those that it may."""
    if not entries or any(entry.fields is None for entry in entries):
        return set()
    return set(spec.fields) - {name for entry in entries for name in entry.fields or ()}


def written_by(manifest: ToolManifest, spec: CollectionSpec) -> bool:
    """Return whether the tool seems to write such rows: they have all that it asks for."""
    asked = properties(manifest.parameters) - {manifest.key_argument}
    return bool(asked) and asked <= set(spec.fields)


def closed_arguments(manifest: ToolManifest) -> set[str]:
    """Return the arguments that are no free text: names, numbers, identifiers."""
    schema = manifest.parameters.value()
    declared = schema.get("properties") if isinstance(schema, dict) else None
    found = declared.items() if isinstance(declared, dict) else ()
    return {
        name
        for name, of in found
        if name != manifest.key_argument and isinstance(of, dict) and not _is_text(of)
    }


def _is_text(schema: dict[str, JsonValue]) -> bool:
    return schema.get("type") == "string" and not {"pattern", "enum", "const"} & set(schema)
