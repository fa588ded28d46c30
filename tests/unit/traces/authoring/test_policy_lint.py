"""What of a policy can never find anything is told, and its correct twin is not."""

from __future__ import annotations

from typing import Any

import pytest

from arh.traces.authoring.policy import Policy
from arh.traces.authoring.policy_lint import asked_rules, lint_policy
from arh.traces.registry import RULES


def fields(**policy: Any) -> list[str]:  # noqa: ANN401 - JSON values
    """Return the fields that the lint warns of."""
    read = Policy.from_dict({"policy_id": "p", "allow_unlisted_tools": True, **policy})
    return [each.field for each in lint_policy(read)]


def tool(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
    """Return a policy of one tool with one argument."""
    return {"allowed_tools": {"t": {"required_arguments": {"a": spec}}}}


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nothing asked": ({}, {"completion": {"max_steps": 3}}, "policy"),
    "a pattern of a number": (
        tool(type="int", pattern="x"),
        tool(type="str", pattern="x"),
        "allowed_tools.t.required_arguments.a.pattern",
    ),
    "bounds of a text": (
        tool(type="str", min=1),
        tool(type="int", min=1),
        "allowed_tools.t.required_arguments.a",
    ),
    "a value outside its bounds": (
        tool(type="int", enum=[1, 9], max=5),
        tool(type="int", enum=[1, 5], max=5),
        "allowed_tools.t.required_arguments.a.enum",
    ),
    "one tool in order": (
        {"sequence": {"call_order": ["a"]}, "completion": {"max_steps": 3}},
        {"sequence": {"call_order": ["a", "b"]}},
        "sequence.call_order",
    ),
    "a forbidden tool in order": (
        {"sequence": {"call_order": ["a", "b"], "forbidden_tools": ["b"]}},
        {"sequence": {"call_order": ["a", "b"], "forbidden_tools": ["c"]}},
        "sequence.call_order[1]",
    ),
    "a forbidden tool with demands": (
        {**tool(type="str"), "sequence": {"forbidden_tools": ["t"]}},
        {**tool(type="str"), "sequence": {"forbidden_tools": ["u"]}},
        "allowed_tools.t",
    ),
    "a required tool that may not be called": (
        {"allowed_tools": {"t": {"max_calls": 0}}, "sequence": {"required_tools": ["t"]}},
        {"allowed_tools": {"t": {"max_calls": 1}}, "sequence": {"required_tools": ["t"]}},
        "allowed_tools.t.max_calls",
    ),
    "a required tool that is not listed": (
        {"allow_unlisted_tools": False, "sequence": {"required_tools": ["t"]}},
        {"allow_unlisted_tools": True, "sequence": {"required_tools": ["t"]}},
        "sequence.required_tools[0]",
    ),
    "a pattern twice": (
        {"unsafe_patterns": ["x", "x"]},
        {"unsafe_patterns": ["x", "y"]},
        "unsafe_patterns",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_useless_is_told(name: str) -> None:
    """By its path; the twin that can find something is spared."""
    wrong, right, field = WRONG[name]

    assert fields(**wrong) == [field]
    assert fields(**right) == []


def test_the_rules_that_are_asked_for_exist() -> None:
    """And a policy that asks for everything asks for all that have a section."""
    policy = Policy.from_dict(
        {
            "policy_id": "p",
            "allowed_tools": {
                "t": {
                    "required_arguments": {"a": {"type": "int", "enum": [1], "min": 0, "max": 2}},
                    "optional_arguments": {"b": {"type": "str", "pattern": "x"}},
                    "max_calls": 2,
                    "min_calls": 1,
                    "side_effect": True,
                }
            },
            "budgets": {
                "max_step_latency_ms": 1,
                "max_total_latency_ms": 2,
                "max_total_cost_usd": 1,
                "max_total_tokens": 1,
            },
            "unsafe_patterns": ["x"],
            "grounding": {
                "require_citations": True,
                "min_citation_coverage": 1,
                "require_valid_citation_urls": True,
            },
            "sequence": {
                "required_tools": ["t"],
                "forbidden_tools": ["u"],
                "call_order": ["t", "v"],
            },
            "error_handling": {"require_retry_on_error": True, "max_attempts": 2},
            "completion": {"require_final_response": True, "max_steps": 3},
            "assertions": [{"type": "trace_must_call_tool", "tool": "t"}],
        }
    )
    asked = asked_rules(policy)

    errors = [rule for rule in RULES.values() if rule.severity == "error"]
    unasked = {rule.id for rule in errors} - set(asked)
    assert set(asked) <= set(RULES)
    assert unasked == {"ARH-SCH-002", "ARH-TRC-001", "ARH-TRC-002"}
