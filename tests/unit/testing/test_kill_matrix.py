"""The kill matrix: what a suite covers, what survives, and what a configuration does not use."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arh import bootstrap
from arh.canonical import Json
from arh.errors import AuthoringError
from arh.records.control.kills import KillMatrix, Row
from arh.records.packs import WorkflowPack
from arh.security.policy import read_policy
from arh.testing.kill_controls import CONTROLS, Control, Used, used
from arh.testing.kill_matrix import chosen_controls, kill_matrix
from arh.testing.pack_bench import PackBench
from tests.unit.scaffold.written import Written, written

NOT_USED = {"deny-rules", "identity-arguments"}
BY_ID = {control.id: control for control in CONTROLS}
READ_ONLY = "adversarial-read-only-role-003"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """A pack as `arh new workflow` writes it."""
    with written(tmp_path_factory.mktemp("kills")) as pack:
        yield pack


@pytest.fixture
def own(original: Written, tmp_path: Path) -> Written:
    """A copy of it whose files a test may change."""
    root = tmp_path / "pack"
    shutil.copytree(original.root, root)
    return replace(original, root=root)


@pytest.fixture(scope="module")
def matrix(original: Written) -> KillMatrix:
    """The matrix of the pack as it was written."""
    return kill_matrix(original.bench())


def broken(bench: PackBench, control: str) -> Row:
    """The row of one control."""
    (row,) = kill_matrix(bench, (BY_ID[control],)).rows
    return row


def without(bench: PackBench, *scenarios: str) -> PackBench:
    """The bench of a suite that lacks some scenarios."""
    loaded = bench.suite.loaded
    kept = tuple(at for at in loaded.scenarios if at.scenario.id not in scenarios)
    return replace(bench, suite=replace(bench.suite, loaded=replace(loaded, scenarios=kept)))


def test_every_control_of_the_written_pack_is_missed_by_a_scenario(matrix: KillMatrix) -> None:
    """Two are not used, and are named with the reason."""
    assert {row.control for row in matrix.of("survived")} == set()
    assert {row.control for row in matrix.of("not applicable")} == NOT_USED
    assert len(matrix.of("killed")) == len(CONTROLS) - len(NOT_USED)
    assert (len(matrix.scenarios), matrix.unfit) == (21, ())


@pytest.mark.slow
@pytest.mark.parametrize("control", [c.id for c in CONTROLS if c.id not in NOT_USED])
def test_without_the_scenarios_that_notice_it_survives(
    control: str, matrix: KillMatrix, original: Written
) -> None:
    """So it is those scenarios that cover the control, and the matrix can come out badly."""
    row = next(row for row in matrix.rows if row.control == control)
    killers = {cell.scenario for cell in row.scenarios("killed")}

    left = broken(without(original.bench(), *killers), control)

    assert killers != set()
    assert (left.status, left.scenarios("killed")) == ("survived", ())
    assert left.why != ""


def test_a_scenario_notices_for_the_reason_that_it_is_about(matrix: KillMatrix) -> None:
    """Controls that are told apart by one scenario each are noticed by exactly that one."""
    noticed = {row.control: [c.scenario for c in row.scenarios("killed")] for row in matrix.rows}

    assert {
        "fail-closed": ["recovery-decision-point-down-002"],
        "scopes": [READ_ONLY],
        "tenants": ["adversarial-other-tenants-item-004"],
        "approval-binding": ["adversarial-approval-for-another-item-002"],
        "approval-signature": ["adversarial-forged-approval-006"],
        "approval-expiry": ["adversarial-expired-approval-007"],
        "approval-by-another": ["adversarial-own-approval-008"],
        "approval-single-use": ["adversarial-approval-used-twice-005"],
        "amount-maximum": ["boundary-above-maximum-001"],
        "cumulative-limit": ["boundary-limit-exceeded-002"],
        "argument-schema": ["boundary-undeclared-argument-003"],
        "budgets": ["control-step-budget-001"],
        "progress-limits": ["control-reads-in-a-loop-003"],
    }.items() <= noticed.items()


# --- controls that the written pack does not use -------------------------------------------------


def with_rule(pack: WorkflowPack, **more: Any) -> WorkflowPack:  # noqa: ANN401 - a policy's JSON
    """The pack, its rule on orders changed."""
    ((name, document),) = pack.policies
    value: Any = document.value()
    value["rules"][1].update(more)
    return replace(pack, policies=((name, Json.of(value)),))


@pytest.mark.parametrize(
    ("control", "rule"),
    [
        ("deny-rules", {"deny_when": {"item_id": "I-1001"}}),
        ("identity-arguments", {"identity_arguments": {"deliver_to": "subject"}}),
    ],
)
def test_a_rule_by_arguments_is_covered_by_a_scenario_that_it_denies(
    control: str, rule: dict[str, object], own: Written
) -> None:
    """The caller has the scope here, so that the rule alone is between it and the order."""

    def allowed(value: dict[str, Any]) -> None:
        value["trusted_environment"]["principal"]["authority"] = ["read:*", "write:order"]
        del value["expectations"]["guardrails"]["action_constraints"][0]["without_scope"]

    own.edit("scenarios/supplies/adversarial/read-only-role-003.jsonl", allowed)

    row = broken(own.bench(with_rule(own.pack, **rule)), control)

    assert READ_ONLY in [cell.scenario for cell in row.scenarios("killed")]


def unused(pack: WorkflowPack, *, own_agent: bool = True) -> set[str]:
    """The controls that a configuration does not use."""
    policies = [read_policy(document) for _, document in pack.policies]
    rules = tuple(r for policy in policies for each in policy.rules.values() for r in each)
    uses = Used(pack, rules, own_agent)
    return {control.id for control in CONTROLS if control.unused(uses)}


APPROVALS = {control.id for control in CONTROLS if control.id.startswith("approval")}


def test_what_a_configuration_does_not_use_is_not_applicable(original: Written) -> None:
    """Each part that is taken out of it takes its controls along, and no other."""
    pack = original.pack
    order = {"id": "place-orders", "tool": "place_order", "scope": "write:order"}
    ((name, document),) = pack.policies
    value: Any = document.value()
    bare = replace(pack, policies=((name, Json.of({**value, "rules": [order]})),))
    shared = tuple(replace(spec, tenant_field=None) for spec in pack.collections)
    reading = replace(pack, tools=pack.tools[:1], policies=pack.policies)
    open_ = original.with_tool("place_order", sensitive_fields=())

    assert unused(pack) == NOT_USED
    assert unused(bare) == NOT_USED | APPROVALS | {"amount-maximum", "cumulative-limit"}
    assert unused(replace(pack, collections=shared)) == NOT_USED | {"tenants", "tenant-binding"}
    assert unused(open_) == NOT_USED | {"redaction"}
    assert unused(original.with_tool("place_order", key_argument=None)) == NOT_USED | {
        "key-binding"
    }
    assert {"idempotency", "key-binding", "attempt-log"} <= unused(reading)
    assert unused(pack, own_agent=False) == NOT_USED | {"budgets", "progress-limits"}


def test_another_agent_keeps_its_own_limits(original: Written) -> None:
    """Whatever it is: a command or a callable."""
    suite = original.bench().suite
    command = bootstrap.UnderTest(bootstrap.CommandUnderTest("true"))

    assert used(suite, bootstrap.UnderTest()).own_agent
    assert not used(suite, command).own_agent


# --- runs that prove nothing ---------------------------------------------------------------------


def test_a_scenario_that_is_not_as_it_must_be_can_notice_nothing(own: Written) -> None:
    """It is left out with the reason, and has no column."""

    def wrong(value: dict[str, Any]) -> None:
        value["expectations"]["acceptable_outcomes"][0]["all_of"][0]["expected"] = 2

    own.edit("scenarios/supplies/golden/order-placed-001.jsonl", wrong)

    found = kill_matrix(own.bench(), (BY_ID["scopes"],))

    ((name, why),) = found.unfit
    assert (name, why.split(":")[0]) == ("golden-order-placed-001", "fail")
    assert name not in found.scenarios
    assert len(found.rows[0].cells) == len(found.scenarios) == 20


def test_what_is_not_scored_has_no_part_in_it(own: Written) -> None:
    """It neither notices nor fails to."""
    golden = "scenarios/supplies/golden/order-placed-001.jsonl"
    own.edit(golden, lambda value: value.update(role="unscored"))

    found = kill_matrix(own.bench(), (BY_ID["scopes"],))

    assert (len(found.scenarios), found.unfit) == (20, ())


def test_a_run_that_breaks_off_is_no_kill(original: Written) -> None:
    """A script without an answer to what happened says nothing about the suite."""
    row = broken(original.bench(), "tenant-binding")
    unclear = {cell.scenario: cell.by for cell in row.scenarios("unclear")}

    assert "recovery-reply-lost-001" in unclear
    assert "fixture_mismatch" in unclear["recovery-reply-lost-001"]


def test_a_control_that_cannot_be_broken_is_no_kill(original: Written) -> None:
    """What fails is ours, and never counts for the suite."""

    def fails(*_given: object) -> bootstrap.Composer:
        raise ZeroDivisionError

    control = replace(BY_ID["scopes"], composer=lambda _pack: fails)

    (row,) = kill_matrix(original.bench(), (control,)).rows

    assert (row.status, row.why) == ("survived", "21 runs broke off, which proves nothing")
    assert {cell.by for cell in row.cells} == {"the run failed: ZeroDivisionError"}


def test_a_control_that_was_not_broken_survives_untouched(original: Written) -> None:
    """The same runs again: nothing is credited to anybody."""
    intact = Control("intact", "nothing", lambda _used: "")

    (row,) = kill_matrix(original.bench(), (intact,)).rows

    assert (row.status, row.why) == ("survived", "no scenario depends on it")
    assert {cell.status for cell in row.cells} == {"untouched"}


def test_what_nobody_minds_is_told_from_what_changes_nothing(own: Written) -> None:
    """The run went otherwise without the control, and the scenario demands too little."""

    def lenient(value: dict[str, Any]) -> None:
        expected = value["expectations"]
        expected["acceptable_outcomes"] = [
            {
                "all_of": [
                    {"kind": "present", "collection": "orders", "where": {"item_id": "I-1005"}}
                ]
            }
        ]
        expected["unchanged_except"][0]["at_most"] = 9
        del expected["guardrails"]
        expected["pass_criteria"] = {"outcome": "pass"}

    own.edit("scenarios/supplies/boundary/limit-exceeded-002.jsonl", lenient)

    row = broken(own.bench(), "cumulative-limit")

    assert (row.status, row.why) == ("survived", "1 run went otherwise and nobody minded")
    assert [c.scenario for c in row.scenarios("survived")] == ["boundary-limit-exceeded-002"]


def test_with_the_first_that_notices_no_further_one_is_run(
    original: Written, matrix: KillMatrix
) -> None:
    """The controls come out the same."""
    quick = kill_matrix(original.bench(), first=True)

    assert [(r.control, r.status) for r in quick.rows] == [
        (r.control, r.status) for r in matrix.rows
    ]
    assert {len(row.scenarios("killed")) for row in quick.of("killed")} == {1}
    assert all(len(row.cells) == 21 for row in quick.of("killed"))


def test_controls_are_chosen_by_pattern() -> None:
    """A pattern that matches none is an error with the nearest name."""
    assert [c.id for c in chosen_controls(["approval-*"])] == sorted(
        (c.id for c in CONTROLS if c.id.startswith("approval-")), key=list(BY_ID).index
    )
    assert chosen_controls([]) == CONTROLS
    with pytest.raises(AuthoringError, match="did you mean `approvals`"):
        chosen_controls(["aprovals"])
