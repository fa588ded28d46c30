"""Every rule of the loader finds its defect, says so in words, and spares the correct twin."""

# ruff: noqa: E501 - a message stands here in one line, as a user reads it

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arh.harness.authoring.expectation_rules import EXPECTATION_RULES
from arh.harness.authoring.scenario_rules import RULES, scenario_problems, workflow_exists
from tests.unit.harness.authored import known, scenario

X = "expectations"
OUTCOME = f"{X}.acceptable_outcomes.0.all_of.0"
NEED = f"{X}.trajectory.evidence_requirements.0"
TIMEOUT = {
    "target_type": "tool",
    "target_name": "read_item",
    "phase": "not_dispatched",
    "effect": "timeout",
}
APPROVAL = {
    "approval_id": "ok-1",
    "approver": "boss",
    "principal": "anna",
    "tool": "refund_order",
    "scope": {"amount": 5},
}
FAULTY = {"controls.faults": [TIMEOUT], "category": "recovery"}
HANDLED = {**FAULTY, f"{X}.fault_handling": {"expected": "recovery"}}
TWO_ACTORS = {
    "stimulus.messages": [],
    "stimulus.actors": [
        {"actor": "anna", "messages": [{"content": "S-1"}]},
        {
            "actor": "bert",
            "messages": [{"content": "S-1"}],
            "model_configuration": "scripted:rival",
        },
    ],
    "category": "concurrency",
}
BOUND = {"tool": "refund_order", "why": "no refunds", "amount_above": 100}
PREDICATE = {"tool": "place_order", "argument": "sku", "one_of": ["S-1"]}

Changes = Mapping[str, Any]

# rule, the defect, what is said of it, and the nearest scenario that is right
DEFECTS: list[tuple[str, Changes, str, Changes]] = [
    (
        "workflow_exists",
        {"workflow": "shop@3"},
        "`workflow`: expected the workflow shop@2, found `shop@3`",
        {},
    ),
    (
        "versions_are_pinned",
        {"reproducibility.tool_version": "tools-2.0"},
        "`reproducibility.tool_version`: expected tools-2.1, found `tools-2.0`; the tools changed: review the scenario, then pin their version",
        {},
    ),
    (
        "versions_are_pinned",
        {"reproducibility.dataset_version": "data-2.0"},
        "`reproducibility.dataset_version`: expected data-1.0, found `data-2.0`",
        {},
    ),
    (
        "scripts_exist",
        {"reproducibility.model_configuration": "scripted:byer"},
        "`reproducibility.model_configuration`: expected a known model script, found `scripted:byer`; did you mean `scripted:buyer`?",
        {"reproducibility.model_configuration": "scripted:rival"},
    ),
    (
        "scripts_exist",
        {**TWO_ACTORS, "stimulus.actors.1.model_configuration": "scripted:none"},
        "`stimulus.actors[1].model_configuration`: expected a known model script, found `scripted:none`",
        TWO_ACTORS,
    ),
    (
        "tools_exist",
        {"runtime.available_tools": ["read_itm", "place_order", "refund_order"]},
        "`runtime.available_tools[0]`: expected a known tool, found `read_itm`; did you mean `read_item`?",
        {},
    ),
    (
        "tools_exist",
        {"runtime.available_tools": ["read_item", "read_item"]},
        "`runtime.available_tools[1]`: expected each tool once, found `read_item`",
        {},
    ),
    (
        "datasets_verify",
        {"runtime.dataset_refs": [{"collection": "itms"}]},
        "`runtime.dataset_refs[0].collection`: expected a known dataset, found `itms`; did you mean `items`?",
        {},
    ),
    (
        "datasets_verify",
        {"runtime.dataset_refs": [{"collection": "items", "content_hash": "0" * 16}]},
        "`runtime.dataset_refs[0].content_hash`: expected the digest of shop/items.jsonl",
        {"runtime.dataset_refs": [{"collection": "items", "content_hash": "95a1da4f06a8fbd9"}]},
    ),
    (
        "datasets_verify",
        {"runtime.dataset_refs": [{"collection": "items", "version": "7.0"}]},
        "`runtime.dataset_refs[0].version`: expected version 1.0, found `7.0`",
        {},
    ),
    (
        "changes_are_rows",
        {"runtime.changes": [{"collection": "items", "row": {"name": "lamp"}}]},
        "`runtime.changes[0].row.sku`: expected a text or a whole number as key, found nothing",
        {"runtime.changes": [{"collection": "items", "row": {"sku": "S-1", "price": 1}}]},
    ),
    (
        "changes_are_rows",
        {"runtime.changes": [{"collection": "items", "row": {"sku": "S-1", "tenant": "north"}}]},
        "`runtime.changes[0].row`: expected the tenant of the row, *, found `north`",
        {"runtime.changes": [{"collection": "items", "row": {"sku": "S-9", "tenant": "north"}}]},
    ),
    (
        "incident_is_in_the_data",
        {"runtime.incident": {"id": "EVT-9"}},
        "`runtime.incident`: expected fields that one of the rows has",
        {
            "runtime.incident": {"id": "EVT-1"},
            "runtime.dataset_refs": [{"collection": "incidents"}],
        },
    ),
    (
        "policy_exists",
        {"trusted_environment.authorization_policy_refs": ["strickt"]},
        "`trusted_environment.authorization_policy_refs[0]`: expected a known authorisation policy, found `strickt`; did you mean `strict`?",
        {"trusted_environment.authorization_policy_refs": ["strict"]},
    ),
    (
        "policy_exists",
        {"trusted_environment.authorization_policy_refs": ["strict", "standard"]},
        "expected one policy, which decides alone, found `2 names`",
        {},
    ),
    (
        "approvals_make_sense",
        {"trusted_environment.approvals": [{**APPROVAL, "tool": "refund"}]},
        "`trusted_environment.approvals[0].tool`: expected a known tool, found `refund`",
        {"trusted_environment.approvals": [{**APPROVAL, "approver": "anna"}]},
    ),
    (
        "approvals_make_sense",
        {"trusted_environment.approvals": [APPROVAL, APPROVAL]},
        "expected each approval id once, found `ok-1`",
        {"trusted_environment.approvals": [APPROVAL, {**APPROVAL, "approval_id": "ok-2"}]},
    ),
    (
        "stimulus_is_one_kind",
        {"stimulus.messages": []},
        "`stimulus`: expected one of messages, actors, soak, found nothing",
        {},
    ),
    (
        "stimulus_is_one_kind",
        {"stimulus.soak": [{"messages": [{"content": "again"}]}]},
        "`stimulus`: expected one of messages, actors, soak, found `messages and soak`",
        TWO_ACTORS,
    ),
    (
        "stimulus_is_one_kind",
        {"stimulus.turns": [{"when": {"trun": 1}, "say": "yes"}]},
        "`stimulus.turns[0].when.trun`: an unknown guard; did you mean `turn`?",
        {"stimulus.turns": [{"when": {"turn": 1}, "say": "yes"}]},
    ),
    (
        "actors_differ",
        {**TWO_ACTORS, "stimulus.actors.1.actor": "anna"},
        "`stimulus.actors[1]`: expected each actor once, found `anna`",
        TWO_ACTORS,
    ),
    (
        "actors_differ",
        {"controls.schedule": {"kind": "seeded"}},
        "`controls.schedule`: there are no actors to order",
        {**TWO_ACTORS, "controls.schedule": {"kind": "seeded"}},
    ),
    (
        "actors_differ",
        {
            **TWO_ACTORS,
            "controls.schedule": {
                "kind": "explicit",
                "steps": [{"actor": "anna", "point": "model", "to": "brt"}],
            },
        },
        "`controls.schedule.steps[0].to`: expected a known actor, found `brt`; did you mean `bert`?",
        {
            **TWO_ACTORS,
            "controls.schedule": {
                "kind": "explicit",
                "steps": [{"actor": "anna", "point": "model", "to": "bert"}],
            },
        },
    ),
    (
        "category_has_its_content",
        {"category": "multiturn"},
        "`stimulus`: the category `multiturn` needs two user turns or more, or two user messages",
        {"category": "multiturn", "stimulus.messages": [{"content": "a"}, {"content": "b"}]},
    ),
    (
        "category_has_its_content",
        {"category": "concurrency"},
        "the category `concurrency` needs two actors or more",
        TWO_ACTORS,
    ),
    (
        "category_has_its_content",
        {"category": "soak"},
        "the category `soak` needs soak tasks",
        {
            "category": "soak",
            "stimulus.messages": [],
            "stimulus.soak": [{"messages": [{"content": "x"}]}],
        },
    ),
    (
        "category_has_its_content",
        {"category": "long_context"},
        "the category `long_context` needs generated context",
        {"category": "long_context", "stimulus.context": {"messages": 20}},
    ),
    (
        "stimulus_is_one_kind",
        {"stimulus.context": {"messages": 20, "after": 1}},
        "`stimulus.context.after`: expected fewer than the 1 messages of the opening, found `1`",
        {
            "stimulus.messages": [{"content": "early"}, {"content": "late"}],
            "stimulus.context": {"messages": 20, "after": 1},
        },
    ),
    (
        "faults_can_strike",
        {"controls.faults": [{k: v for k, v in TIMEOUT.items() if k != "target_name"}]},
        "`controls.faults[0].target_name`: expected the tool that fails, found nothing",
        FAULTY,
    ),
    (
        "faults_can_strike",
        {"controls.faults": [{**TIMEOUT, "effect": "stale"}]},
        "`controls.faults[0]`: a tool has no `stale` in phase `not_dispatched`",
        FAULTY,
    ),
    (
        "faults_can_strike",
        {"controls.faults": [TIMEOUT], "runtime.available_tools": ["place_order"]},
        "`controls.faults[0]`: target_name: expected a tool on offer, found `read_item`",
        FAULTY,
    ),
    (
        "faults_can_strike",
        {"controls.faults": [{**TIMEOUT, "trigger": "nth"}]},
        "`controls.faults[0]`: invocation: trigger nth needs the number of the call",
        {"controls.faults": [{**TIMEOUT, "trigger": "nth", "invocation": 5}]},
    ),
    (
        "faults_can_strike",
        {"controls.faults": [{**TIMEOUT, "trigger": "nth", "invocation": 6}]},
        "`controls.faults[0].invocation`: expected at most controls.runtime_budgets.max_tool_calls, 5, found `6`",
        {"controls.faults": [{**TIMEOUT, "trigger": "nth", "invocation": 5}]},
    ),
    (
        "faults_can_strike",
        {"controls.faults": [{**TIMEOUT, "id": "one"}, {**TIMEOUT, "id": "two"}]},
        "`controls.faults`: faults `one` and `two` strike the same call",
        {"controls.faults": [TIMEOUT, {**TIMEOUT, "trigger": "nth", "invocation": 2}]},
    ),
    (
        "criteria_are_there",
        {f"{X}.pass_criteria": {}},
        "`expectations.pass_criteria`: no criteria: nothing would be judged, and the role is acceptance",
        {f"{X}.pass_criteria": {}, "role": "unscored"},
    ),
    (
        "criteria_are_there",
        {f"{X}.pass_criteria": {"trajectory": "pass"}},
        "expected outcome among the criteria, found `trajectory`",
        {f"{X}.pass_criteria": {"trajectory": "pass"}, "role": "positive_control"},
    ),
    (
        "criteria_are_known",
        {f"{X}.pass_criteria": {"outcome": "pass", "trajectry": "pass"}},
        "expected a known evaluator, found `trajectry`; did you mean `trajectory`?",
        {},
    ),
    (
        "criteria_can_be_judged",
        {f"{X}.acceptable_outcomes": []},
        "`expectations.pass_criteria.outcome`: nothing to judge: no acceptable_outcomes, invariants or unchanged_except",
        {f"{X}.acceptable_outcomes": [], f"{X}.unchanged_except": []},
    ),
    (
        "criteria_can_be_judged",
        {f"{X}.pass_criteria.response": "pass"},
        "`expectations.pass_criteria.response`: nothing to judge: no response rules",
        {
            f"{X}.pass_criteria.response": "pass",
            f"{X}.response.deterministic": {"must_reference": "S-1"},
        },
    ),
    (
        "criteria_can_be_judged",
        {f"{X}.pass_criteria.guardrails": "pass", f"{X}.trajectory.forbidden_tool_requests": []},
        "no action_constraints and no forbidden_tool_requests",
        {f"{X}.pass_criteria.guardrails": "pass"},
    ),
    (
        "criteria_can_be_judged",
        {f"{X}.pass_criteria.grounding": "pass", f"{X}.grounding": False},
        "grounding is switched off",
        {f"{X}.pass_criteria.grounding": "pass"},
    ),
    (
        "criteria_can_be_judged",
        {f"{X}.pass_criteria.fault_handling": "pass"},
        "nothing to judge: no fault_handling",
        {**HANDLED, f"{X}.pass_criteria.fault_handling": "pass"},
    ),
    (
        "assertions_can_fail",
        {f"{OUTCOME}.collection": "ordrs"},
        "`expectations.acceptable_outcomes[0].all_of[0].collection`: expected a known collection, found `ordrs`; did you mean `orders`?",
        {},
    ),
    (
        "assertions_can_fail",
        {f"{OUTCOME}.where": {"skku": "S-1"}},
        "`expectations.acceptable_outcomes[0].all_of[0].where`: expected a known field of orders, found `skku`; did you mean `sku`?",
        {f"{OUTCOME}.where": {"sku": "S-1", "record.tenant": "tenant-a"}},
    ),
    (
        "assertions_can_fail",
        {
            f"{X}.invariants": [
                {"kind": "absent", "collection": "side_effects", "where": {"kind": "refnd"}}
            ]
        },
        "`expectations.invariants[0].where.kind`: expected a known tool, found `refnd`",
        {
            f"{X}.invariants": [
                {"kind": "absent", "collection": "side_effects", "where": {"kind": "refund_order"}}
            ]
        },
    ),
    (
        "assertions_can_fail",
        {f"{OUTCOME}.expected": True},
        "`expectations.acceptable_outcomes[0].all_of[0].expected`: expected a whole number from 0, found `true`",
        {},
    ),
    (
        "assertions_can_fail",
        {
            f"{X}.invariants": [
                {"kind": "absent", "collection": "notes", "id": "no-notes"},
                {"kind": "never_committed", "collection": "notes", "id": "no-notes"},
            ]
        },
        "expected each assertion id once, found `no-notes`",
        {},
    ),
    (
        "changes_name_collections",
        {f"{X}.unchanged_except": [{"collection": "order"}]},
        "`expectations.unchanged_except[0].collection`: expected a known collection, found `order`",
        {f"{X}.unchanged_except": [{"collection": "orders", "fields": ["status"]}]},
    ),
    (
        "changes_name_collections",
        {f"{X}.unchanged_except": [{"collection": "orders", "fields": ["state"]}]},
        "`expectations.unchanged_except[0].fields`: expected a known field of orders, found `state`",
        {},
    ),
    (
        "changes_name_collections",
        {f"{X}.unchanged_except": [{"collection": "orders"}, {"collection": "orders"}]},
        "`expectations.unchanged_except[1]`: this change is allowed already; at_most says how many",
        {f"{X}.unchanged_except": [{"collection": "orders", "at_most": 2}]},
    ),
    (
        "trace_assertions_can_fail",
        {f"{X}.trajectory.trace_assertions": [{"type": "trace_must_call_tol", "tool": "x"}]},
        "`expectations.trajectory.trace_assertions[0].type`: unknown assertion type `trace_must_call_tol`; did you mean `trace_must_call_tool`?",
        {f"{X}.trajectory.trace_assertions": [{"type": "trace_max_steps", "max": 9}]},
    ),
    (
        "trace_assertions_can_fail",
        {f"{X}.trajectory.trace_assertions": [{"type": "trace_must_call_tool", "tool": "x"}]},
        "`expectations.trajectory.trace_assertions[0]`: expected a known tool, found `x`",
        {
            f"{X}.trajectory.trace_assertions": [
                {"type": "trace_before", "first": "read_item", "then": {"tool": "place_order"}}
            ]
        },
    ),
    (
        "trajectory_names_tools",
        {f"{X}.trajectory.forbidden_tool_requests": ["refund_ordr"]},
        "`expectations.trajectory.forbidden_tool_requests[0]`: expected a known tool, found `refund_ordr`; did you mean `refund_order`?",
        {},
    ),
    (
        "trajectory_names_tools",
        {"runtime.available_tools": ["read_item", "place_order"]},
        "`expectations.trajectory.forbidden_tool_requests[0]`: expected one of runtime.available_tools, found `refund_order`; the rule can never fire",
        {},
    ),
    (
        "trajectory_names_tools",
        {f"{X}.trajectory.ordering_constraints": [{"before": "read_item", "after": "read_item"}]},
        "`expectations.trajectory.ordering_constraints[0].after`: expected another tool than before",
        {f"{X}.trajectory.ordering_constraints": [{"before": "read_item", "after": "place_order"}]},
    ),
    (
        "trajectory_names_tools",
        {f"{X}.trajectory.allowed_tool_requests": ["read"]},
        "`expectations.trajectory.allowed_tool_requests[0]`: expected a known tool, found `read`",
        {f"{X}.trajectory.allowed_tool_requests": ["read_item"]},
    ),
    (
        "evidence_can_be_had",
        {"runtime.available_tools": ["place_order", "refund_order"]},
        "`expectations.trajectory.evidence_requirements[0].source_tool`: expected one of runtime.available_tools, found `read_item`",
        {},
    ),
    (
        "evidence_can_be_had",
        {f"{NEED}.same_arguments": ["quantity"]},
        "`expectations.trajectory.evidence_requirements[0].same_arguments[0]`: expected a known argument of read_item, found `quantity`",
        {},
    ),
    (
        "evidence_can_be_had",
        {f"{NEED}.argument_predicates": [{"field": "name", "expected": "lamp"}]},
        "argument_predicates[0].field`: expected a known argument of read_item, found `name`",
        {f"{NEED}.argument_predicates": [{"field": "sku", "expected": "S-1"}]},
    ),
    (
        "arguments_can_be_judged",
        {f"{X}.trajectory.argument_predicates": [{"tool": "place_order", "argument": "sku"}]},
        "`expectations.trajectory.argument_predicates[0]`: expected exactly one of one_of, mentioned_by_user, matches, minimum or maximum, found nothing",
        {f"{X}.trajectory.argument_predicates": [PREDICATE]},
    ),
    (
        "arguments_can_be_judged",
        {f"{X}.trajectory.argument_predicates": [{**PREDICATE, "mentioned_by_user": True}]},
        "found `one_of and mentioned_by_user`",
        {},
    ),
    (
        "arguments_can_be_judged",
        {
            f"{X}.trajectory.argument_predicates": [
                {"tool": "place_order", "argument": "sku", "matches": "(?=x)"}
            ]
        },
        "`expectations.trajectory.argument_predicates[0].matches`: expected an RE2 pattern, found `(?=x)`",
        {
            f"{X}.trajectory.argument_predicates": [
                {"tool": "place_order", "argument": "sku", "matches": "^S-[0-9]$"}
            ]
        },
    ),
    (
        "arguments_can_be_judged",
        {
            f"{X}.trajectory.argument_predicates": [
                {"tool": "place_order", "argument": "sku", "matches": "x*"}
            ]
        },
        "expected a pattern that does not match the empty text, found `x*`",
        {},
    ),
    (
        "arguments_can_be_judged",
        {
            f"{X}.trajectory.argument_predicates": [
                {"tool": "place_order", "argument": "quantity", "minimum": 3, "maximum": 2}
            ]
        },
        "argument_predicates[0].maximum`: expected at least the minimum, 3, found `2`",
        {
            f"{X}.trajectory.argument_predicates": [
                {"tool": "place_order", "argument": "quantity", "maximum": 2}
            ]
        },
    ),
    (
        "arguments_can_be_judged",
        {f"{X}.trajectory.argument_predicates": [{**PREDICATE, "one_of": []}]},
        "argument_predicates[0].one_of`: no value could be right",
        {},
    ),
    (
        "arguments_can_be_judged",
        {f"{X}.trajectory.justified_targets": [{"tool": "place_order", "argument": "sk"}]},
        "`expectations.trajectory.justified_targets[0].argument`: expected a known argument of place_order, found `sk`",
        {f"{X}.trajectory.justified_targets": [{"tool": "place_order", "argument": "sku"}]},
    ),
    (
        "constraints_can_bind",
        {f"{X}.guardrails.action_constraints": [{**BOUND, "tool": "place_order"}]},
        "`expectations.guardrails.action_constraints[0].amount_above`: place_order has no amount",
        {f"{X}.guardrails.action_constraints": [BOUND]},
    ),
    (
        "constraints_can_bind",
        {f"{X}.guardrails.action_constraints": [{**BOUND, "arguments": {"ammount": 1}}]},
        "action_constraints[0].arguments`: expected a known argument of refund_order, found `ammount`; did you mean `amount`?",
        {},
    ),
    (
        "constraints_can_bind",
        {f"{X}.guardrails.action_constraints": [{**BOUND, "total_by": "order_id"}]},
        "action_constraints[0].total_by`: only total_above reads this",
        {
            f"{X}.guardrails.action_constraints": [
                {**BOUND, "total_by": "order_id", "total_above": 9}
            ]
        },
    ),
    (
        "constraints_can_bind",
        {f"{X}.guardrails.must_exercise": True, f"{X}.trajectory.forbidden_tool_requests": []},
        "`expectations.guardrails.must_exercise`: nothing is forbidden",
        {f"{X}.guardrails.must_exercise": True},
    ),
    (
        "terminations_are_acceptable",
        {f"{X}.acceptable_terminations": ["complete"]},
        "`expectations.acceptable_terminations[0]`: expected a known termination, found `complete`; did you mean `completed`?",
        {f"{X}.acceptable_terminations": ["completed", "safely_refused"]},
    ),
    *(
        (
            "terminations_are_acceptable",
            {f"{X}.acceptable_terminations": [name]},
            f"`{name}` is the harness stopping or failing, never acceptable",
            {},
        )
        for name in ("watchdog", "hung", "fixture_mismatch", "harness_error")
    ),
    (
        "terminations_are_acceptable",
        {f"{X}.acceptable_outcomes.0.terminations": ["hung"]},
        "`expectations.acceptable_outcomes[0].terminations[0]`: `hung` is the harness stopping",
        {f"{X}.acceptable_outcomes.0.terminations": ["completed"]},
    ),
    (
        "findings_have_rules",
        {f"{X}.expected_findings": [{"rule": "trajectory.forbiden_requested", "why": "by design"}]},
        "`expectations.expected_findings[0].rule`: expected a known rule, found `trajectory.forbiden_requested`; did you mean `trajectory.forbidden_requested`?",
        {
            f"{X}.expected_findings": [
                {"rule": "trajectory.forbidden_requested", "why": "by design"}
            ]
        },
    ),
    (
        "findings_have_rules",
        {f"{X}.expected_findings": [{"rule": "outcome.no_alternative_holds", "why": "flaky"}]},
        "`expectations.expected_findings[0].rule`: expected one of guardrails.fail_closed, non_progress.behaviour, trajectory.forbidden_requested, found `outcome.no_alternative_holds`; role acceptance excuses no run that went wrong: take it away, or make the scenario a negative_control, which must fail by it",
        {
            "role": "negative_control",
            f"{X}.expected_findings": [{"rule": "outcome.no_alternative_holds", "why": "meant"}],
        },
    ),
    (
        "response_rules_can_fail",
        {f"{X}.response.deterministic": {"must_reference": [""]}},
        "`expectations.response.deterministic.must_reference`: an empty text is in every answer",
        {f"{X}.response.deterministic": {"must_reference": ["S-1"]}},
    ),
    (
        "response_rules_can_fail",
        {f"{X}.response.deterministic": {"json_schema": {"type": "objekt"}}},
        "`expectations.response.deterministic.json_schema`: this is no JSON Schema (2020-12)",
        {f"{X}.response.deterministic": {"json_schema": {"type": "object"}}},
    ),
    (
        "response_rules_can_fail",
        {f"{X}.response.deterministic": {"json_schema": {}}},
        "an empty schema accepts every answer",
        {},
    ),
    (
        "response_rules_can_fail",
        {"runtime.output_contract": {"$ref": "http://127.0.0.1:9/schema.json"}},
        "`runtime.output_contract`: this is no JSON Schema (2020-12)",
        {"runtime.output_contract": {"type": "object"}},
    ),
    (
        "faults_are_expected",
        FAULTY,
        "`expectations.fault_handling`: expected recovery, faithful_failure or degraded, found nothing",
        HANDLED,
    ),
    (
        "faults_are_expected",
        {f"{X}.fault_handling": {"expected": "recovery"}},
        "`expectations.fault_handling`: there are no faults to handle; add controls.faults",
        {},
    ),
    (
        "faults_are_expected",
        {"category": "recovery"},
        "`controls.faults`: there is no fault to recover from",
        HANDLED,
    ),
    (
        "outcomes_differ",
        {
            f"{X}.acceptable_outcomes": [{"all_of": [{"kind": "present", "collection": "orders"}]}]
            * 2
        },
        "`expectations.acceptable_outcomes[1]`: this alternative is there already",
        {},
    ),
]
ALL_RULES = {rule.__name__: rule for rule in (workflow_exists, *RULES)}


@pytest.mark.parametrize(("rule", "changes", "message"), [row[:3] for row in DEFECTS])
def test_a_defect_is_found_by_its_rule(
    rule: str, changes: Changes, message: str, tmp_path: Path
) -> None:
    """The rule yields a problem that names the field and says what was expected and found."""
    problems = [str(problem) for problem in ALL_RULES[rule](scenario(changes), known(tmp_path))]

    assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(("rule", "twin"), [(row[0], row[3]) for row in DEFECTS])
def test_the_correct_twin_is_spared(rule: str, twin: Changes, tmp_path: Path) -> None:
    """The rule yields nothing for the nearest scenario that is right."""
    problems = [str(problem) for problem in ALL_RULES[rule](scenario(twin), known(tmp_path))]

    assert problems == []


def test_no_rule_lacks_a_defect() -> None:
    """Each rule of the loader is shown to catch something."""
    assert {row[0] for row in DEFECTS} == set(ALL_RULES)
    assert set(EXPECTATION_RULES) <= set(RULES)


def test_the_base_scenario_is_right(tmp_path: Path) -> None:
    """All rules together find nothing wrong with a correct scenario."""
    assert list(scenario_problems(scenario(), known(tmp_path))) == []


def test_of_another_workflow_only_that_is_said(tmp_path: Path) -> None:
    """A scenario of another workflow is not judged by names that are not its own."""
    changes = {"workflow": "bank@1", "runtime.available_tools": ["transfer"]}
    problems = list(scenario_problems(scenario(changes), known(tmp_path)))

    assert [problem.field for problem in problems] == ["workflow"]


def test_nothing_can_be_asserted_of_a_field_that_is_never_written(tmp_path: Path) -> None:
    """Its value is masked in all evidence: `absent` would hold for nothing."""
    everything = known(tmp_path)
    asserted = scenario({f"{OUTCOME}.where": {"sku": "S-1"}})

    masked = [
        str(p) for p in scenario_problems(asserted, replace(everything, masked=frozenset({"sku"})))
    ]

    place = "`expectations.acceptable_outcomes[0].all_of[0].where`"
    hint = "its value is never written, so nothing about it can be judged: name another field"
    assert f"{place}: a sensitive field; {hint}" in masked
    assert not [p for p in scenario_problems(asserted, everything) if "sensitive" in str(p)]
