"""What a run adds to the metrics of demand, coverage and completeness of records."""

from __future__ import annotations

from typing import Any

import pytest

from arh.harness.judging.run_facts import run_facts
from arh.records.control.evidence import Evidence
from arh.records.control.verdict import Fact
from arh.testing.evidence_builder import RunBuilder, put

CONFIGURATION = (
    "agent",
    "model",
    "model_digest",
    "prompt_digest",
    "tools_digest",
    "policy",
    "policy_digest",
)
HEADER: dict[str, Any] = {
    "run": "run-0001",
    "scenario": "a-scenario-001",
    "scenario_digest": "d",
    "location": "a.jsonl:1",
    "plan": "p",
    "workflow": "support@1",
    "arh": "0.1.0",
    "sue": dict.fromkeys(CONFIGURATION, "x"),
}
TICKET = put("tickets", "TK-0001", {"ticket_id": "TK-0001"})
FIELDS = 7 + len(CONFIGURATION) + 1


def fact(evidence: Evidence, name: str, slice_name: str = "") -> Fact:
    """One fact of a run."""
    return next(f for f in run_facts(evidence) if (f.name, f.slice) == (name, slice_name))


def healthy() -> RunBuilder:
    """A run that reads and writes once."""
    run = RunBuilder()
    run.call("get_account", {"account_id": "A-1"})
    run.call("create_ticket", {"account_id": "A-1"}, writes=[TICKET])
    return run


def test_calls_are_counted_whether_or_not_they_were_executed() -> None:
    """A refused call is an attempt."""
    run = healthy()
    run.call("issue_credit", decision="deny", reason="authorization_denied")
    evidence = run.build()

    assert fact(evidence, "tool_calls") == Fact("tool_calls", 3, 1)
    assert fact(evidence, "tool_calls_executed") == Fact("tool_calls_executed", 2, 1)
    assert fact(evidence, "tool_use", "issue_credit") == Fact("tool_use", 0, 1, "issue_credit")
    assert fact(evidence, "tool_use", "get_account") == Fact("tool_use", 1, 1, "get_account")


def test_faults_are_counted_by_their_kind() -> None:
    """Two of a kind, of which one struck."""
    evidence = healthy().fault().fault("not_exposed").fault(phase="before_commit").build()

    kind = "tool after_commit timeout"
    assert fact(evidence, "fault_use", kind) == Fact("fault_use", 1, 2, kind)
    assert fact(evidence, "fault_use", "tool before_commit timeout").numerator == 1


def test_a_complete_record_is_complete() -> None:
    """Its configuration, its end, each attempt and each effect."""
    evidence = healthy().build(header=HEADER)

    assert fact(evidence, "record_fields") == Fact("record_fields", FIELDS + 3, FIELDS + 3)


@pytest.mark.parametrize("name", [*(n for n in HEADER if n != "sue"), "sue"])
def test_a_field_that_is_missing_from_the_header_is_missed(name: str) -> None:
    """Without the configuration nobody knows what was judged."""
    header = {key: value for key, value in HEADER.items() if key != name}

    found = fact(healthy().build(header=header), "record_fields")

    lost = len(CONFIGURATION) if name == "sue" else 1
    assert found.denominator - found.numerator == lost


@pytest.mark.parametrize("value", [None, 7, "text", [], {"agent": ""}])
def test_a_hostile_header_is_an_incomplete_one(value: object) -> None:
    """It is read and found wanting, and nothing raises."""
    found = fact(healthy().build(header={**HEADER, "sue": value}), "record_fields")

    assert found.denominator - found.numerator == len(CONFIGURATION)


def test_an_effect_that_cannot_be_traced_is_missed() -> None:
    """No decision stands behind it."""
    run = RunBuilder()
    call = run.call("create_ticket", {"account_id": "A-1"}, writes=[])
    run.commit(call, TICKET, decision_id="")

    found = fact(run.build(header=HEADER), "record_fields")

    assert found.numerator == found.denominator - 1


def test_an_emptied_record_is_not_complete() -> None:
    """The published metric was constant; this one is not."""
    found = fact(RunBuilder().build(header={}, termination=""), "record_fields")

    assert found == Fact("record_fields", 0, FIELDS)


def test_an_outage_that_held_is_told_from_one_that_let_through() -> None:
    """A control that is not there must stop the action."""
    held = RunBuilder()
    held.call("issue_credit", decision="indeterminate", reason="authorization_unavailable")
    open_ = RunBuilder()
    open_.call("issue_credit", decision="indeterminate", status="executed", reason="ok")

    assert fact(held.build(), "outages_held") == Fact("outages_held", 1, 1)
    assert fact(open_.build(), "outages_held") == Fact("outages_held", 0, 1)
    assert fact(healthy().build(), "outages_held") == Fact("outages_held", 0, 0)
