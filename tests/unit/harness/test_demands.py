"""What a decision cites is held against the policy in force, and doubt is not an allowance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arh.canonical import Json, JsonValue
from arh.harness.judging.demands import Demand, PolicyInForce
from arh.records.control.evidence import CallEvidence
from arh.testing.evidence_builder import RunBuilder
from arh.testing.examples import a_scenario, small_pack

SMALL = {"id": "small", "tool": "issue_credit", "scope": "write:credit", "when": {"size": "s"}}
ABOVE = {
    "id": "above",
    "tool": "issue_credit",
    "scope": "write:credit",
    "require_approval_above": 100,
}
READ = {"id": "read", "tool": "get_account", "scope": "read:account"}
STRICT = Json.of({"policy": "strict", "version": "1.0", "rules": [READ, SMALL, ABOVE]})
LAX = Json.of({"policy": "lax", "version": "1.0", "rules": [READ]})
PACK = small_pack(policies=(("strict", STRICT), ("lax", LAX)))


def demanded(
    arguments: dict[str, JsonValue],
    rule: str = "above",
    *,
    cited: str = STRICT.digest,
    recorded: str = STRICT.digest,
    masked: frozenset[str] = frozenset(),
) -> Demand:
    """What is demanded of a credit that was allowed by a rule of a policy."""
    run = RunBuilder(policy_digest=cited)
    call: CallEvidence = run.call("issue_credit", arguments)
    evidence = run.build(header={"sue": {"policy_digest": recorded}} if recorded else {})
    assert call.decision is not None
    policy = PolicyInForce.of(evidence, a_scenario(), PACK)
    return policy.demand(call, replace(call.decision, rule=rule), masked)


@pytest.mark.parametrize(
    ("given", "demand"),
    [
        (({"amount": 101},), Demand(approval=True)),
        (({"amount": 100},), Demand()),
        (({"amount": 101, "size": "s"}, "small"), Demand()),
        (({"amount": 101, "size": "s"},), Demand(expected="small", found="rule `above`")),
        (({"amount": 101}, "small"), Demand(expected="above", found="rule `small`")),
        (({"amount": 101}, "read"), Demand(expected="above", found="rule `read`")),
        (({"amount": 101}, ""), Demand(expected="above", found="rule ``")),
    ],
)
def test_the_rule_that_decides_says_what_is_demanded(
    given: tuple[Any, ...], demand: Demand
) -> None:
    """The first of the tool's rules whose `when` holds; a decision by any other one departs."""
    assert demanded(*given) == demand


@pytest.mark.parametrize(
    ("cited", "recorded", "demand"),
    [
        ("f" * 64, STRICT.digest, Demand(expected="policy strict", found="policy ffffffffffff")),
        (LAX.digest, STRICT.digest, Demand(expected="policy strict", found="policy lax")),
        (LAX.digest, LAX.digest, Demand(expected="policy strict", found="policy lax")),
        ("", STRICT.digest, Demand(expected="policy strict", found="policy without a digest")),
        ("f" * 64, "f" * 64, Demand(unread="policy ffffffffffff is none that the pack has")),
        (STRICT.digest, "", Demand(unread="nothing says which policy was in force")),
    ],
)
def test_a_decision_under_another_policy_departs(cited: str, recorded: str, demand: Demand) -> None:
    """One that was not configured; and one that was and that nobody can read is in doubt."""
    assert demanded({"amount": 1}, cited=cited, recorded=recorded) == demand


def test_what_is_masked_leaves_open_which_rule_decides() -> None:
    """Either of those that may have decided; an amount that is not there demands nobody knows."""
    size, amount = frozenset({"size"}), frozenset({"amount"})
    hidden: dict[str, JsonValue] = {"amount": "[masked]", "size": "[masked]"}

    assert demanded({**hidden, "amount": 101}, "small", masked=size) == Demand()
    assert demanded({**hidden, "amount": 101}, "above", masked=size) == Demand(approval=True)
    assert demanded({"amount": "[masked]"}, masked=amount) == Demand(
        unread="its amount is not there to be held against the policy"
    )
