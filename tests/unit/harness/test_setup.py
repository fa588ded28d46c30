"""A planned run becomes a setup and fault plans, field by field, and nothing expected leaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from arh.canonical import Json
from arh.errors import AuthoringError
from arh.harness.authoring.setup import soak_tasks, to_fault_plans, to_setup
from arh.records.authorization import Grant
from arh.records.control.plan import Located, PlannedRun
from arh.records.control.scenario import Scenario
from arh.records.faults import FaultPlan
from arh.records.identity import SecurityContext
from arh.records.messages import Message
from arh.records.setup import ActorSetup, RunSetup, SeedRecord
from arh.records.tasks import Budgets, ProgressLimits
from tests.unit.harness.authored import PACK, catalogue, scenario


def setup_of(made: Scenario, root: Path) -> RunSetup:
    """The setup of a scenario's run."""
    run = PlannedRun("run-1", 5, Located(made, "golden/a.jsonl", 1, "d"))
    return to_setup(run, PACK, catalogue(root))


def test_every_field_of_a_run_is_carried_over(tmp_path: Path) -> None:
    """Identity, grants, tools, limits and data arrive as the scenario has them."""
    made = scenario(
        {
            "trusted_environment.principal": {
                "caller": "anna",
                "authority": ["read:*"],
                "tenant": "north",
                "agent": "shop-agent",
                "actor_authority": ["read:*"],
                "delegation": ["boss"],
            },
            "trusted_environment.approvals": [
                {
                    "approval_id": "ok-1",
                    "approver": "boss",
                    "principal": "anna",
                    "tool": "refund_order",
                    "scope": {"amount": {"max": 500}},
                    "issued_vt_ms": 1,
                    "expires_vt_ms": 2,
                },
                {
                    "approval_id": "ok-2",
                    "approver": "boss",
                    "principal": "bert",
                    "tenant": "south",
                    "tool": "refund_order",
                    "tool_version": "2.0",
                    "action_digest": "0" * 64,
                    "single_use": False,
                    "forged": True,
                },
            ],
            "controls.runtime_budgets": {
                "max_steps": 1,
                "max_tool_calls": 2,
                "wall_clock_ms": 3,
                "max_tokens": 4,
                "max_output_tokens": 5,
                "max_retries": 6,
            },
            "controls.progress_limits": {"max_stall": 7, "amplification_stops": True},
            "runtime.changes": [{"collection": "items", "row": {"sku": "S-1", "price": 1}}],
            "runtime.output_contract": {"type": "object"},
        }
    )

    assert setup_of(made, tmp_path) == RunSetup(
        run_id="run-1",
        seed=5,
        workflow="shop@2",
        policy="standard",
        actors=(
            ActorSetup(
                "shop-agent",
                SecurityContext(
                    "anna", "shop-agent", "north", ("read:*",), ("read:*",), delegation=("boss",)
                ),
                ("read_item", "place_order", "refund_order"),
                (Message("user", "One lamp S-1, please."),),
                "scripted:buyer",
            ),
        ),
        grants=(
            Grant(
                "ok-1",
                "boss",
                "anna",
                "north",
                "refund_order",
                scope=Json.of({"amount": {"max": 500}}),
                issued_at_ms=1,
                expires_at_ms=2,
            ),
            Grant(
                "ok-2",
                "boss",
                "bert",
                "south",
                "refund_order",
                tool_version="2.0",
                action_digest="0" * 64,
                single_use=False,
                signature="forged",
            ),
        ),
        budgets=Budgets(1, 2, 3, 4, 5, 6),
        progress=ProgressLimits(stall_max=7, amplification_stops=True),
        seeds=(
            SeedRecord("*", "items", "S-1", Json.of({"sku": "S-1", "name": "lamp", "price": 1200})),
            SeedRecord("*", "items", "S-2", Json.of({"sku": "S-2", "name": "desk", "price": 9900})),
            SeedRecord("*", "items", "S-1", Json.of({"sku": "S-1", "price": 1})),
        ),
        tool_versions=(("read_item", "2.1"), ("place_order", "2.1"), ("refund_order", "2.1")),
        output_contract=Json.of({"type": "object"}),
    )


def test_actors_have_their_own_messages_script_and_identity(tmp_path: Path) -> None:
    """What an actor does not say of itself is the scenario's."""
    made = scenario(
        {
            "stimulus": {
                "actors": [
                    {"actor": "one", "messages": [{"content": "first"}]},
                    {
                        "actor": "two",
                        "messages": [{"content": "second", "name": "bert"}],
                        "model_configuration": "scripted:rival",
                        "principal": {"caller": "bert", "authority": []},
                    },
                ]
            },
            "trusted_environment.authorization_policy_refs": ["strict"],
        }
    )
    setup = setup_of(made, tmp_path)

    assert setup.policy == "strict"
    assert [
        (a.actor, a.context.subject, a.messages, a.model_configuration) for a in setup.actors
    ] == [
        ("one", "anna", (Message("user", "first"),), "scripted:buyer"),
        ("two", "bert", (Message("user", "second", name="bert"),), "scripted:rival"),
    ]


def test_data_that_has_drifted_refuses(tmp_path: Path) -> None:
    """A pin is checked again when a run is composed, also without the loader."""
    made = scenario({"runtime.dataset_refs": [{"collection": "items", "content_hash": "0" * 16}]})

    with pytest.raises(AuthoringError, match="has drifted"):
        setup_of(made, tmp_path)


def test_soak_tasks_count_their_repeats() -> None:
    """Each repeat is a task of its own, numbered from 1 within its kind."""
    made = scenario(
        {
            "stimulus": {
                "soak": [
                    {"messages": [{"content": "order {n} of {m}"}], "repeat": 2},
                    {"messages": [{"content": "the last, {n}"}]},
                ]
            }
        }
    )

    assert [task[0].content for task in soak_tasks(made)] == [
        "order 1 of {m}",
        "order 2 of {m}",
        "the last, 1",
    ]


def test_faults_become_plans_with_ids() -> None:
    """Every field of a fault arrives; without an id of its own it is numbered."""
    made = scenario(
        {
            "controls.faults": [
                {
                    "target_type": "tool",
                    "target_name": "place_order",
                    "trigger": "nth",
                    "invocation": 2,
                    "phase": "after_dispatch",
                    "effect": "timeout",
                    "parameters": {"ms": 10, "hidden_outcome": "committed"},
                },
                {
                    "id": "cut-reply",
                    "target_type": "tool",
                    "target_name": "read_item",
                    "phase": "after_dispatch",
                    "effect": "partial",
                    "parameters": {"keep_fields": ["name"]},
                },
                {"target_type": "model", "phase": "after_dispatch", "effect": "truncated_stream"},
            ]
        }
    )

    assert to_fault_plans(made) == (
        FaultPlan(
            "fault-1",
            "tool",
            "after_dispatch",
            "timeout",
            "place_order",
            "nth",
            2,
            ms=10,
            hidden_outcome="committed",
        ),
        FaultPlan(
            "cut-reply", "tool", "after_dispatch", "partial", "read_item", keep_fields=("name",)
        ),
        FaultPlan("fault-3", "model", "after_dispatch", "truncated_stream"),
    )
