"""Policy documents are read strictly: what is wrong is named by field, and nothing is skipped."""

from __future__ import annotations

from typing import Any

import pytest

from arh.canonical import EMPTY, Json
from arh.errors import AuthoringError
from arh.records.tools import Effect, ToolManifest
from arh.security.limits import Limit
from arh.security.policy import PolicySet, Rule, check_policy, read_policy

RULE: dict[str, Any] = {"id": "send", "tool": "send", "scope": "write:payment"}
FULL: dict[str, Any] = {
    **RULE,
    "tenant": "any",
    "require_approval": True,
    "require_approval_above": 100,
    "amount_max": 500,
    "amount_argument": "cents",
    "limit": {"name": "daily", "by": "argument:to", "max": 900},
    "identity_arguments": {"payer": "subject", "bank": "tenant"},
    "when": {"urgent": True},
    "deny_when": {"to": "X-1"},
}


def document(*rules: object, **fields: object) -> Json:
    """Return a policy document with these rules."""
    return Json.of({"policy": "bank", "version": "1.0", "rules": list(rules), **fields})


def problems(data: Json) -> dict[str, str]:
    """Return the field and the text of each problem that a document has."""
    with pytest.raises(AuthoringError) as refused:
        read_policy(data, file="bank.json")
    return {problem.field: str(problem) for problem in refused.value.problems}


def test_a_policy_is_read_in_full() -> None:
    """Every field of a rule arrives, with its default where it is left out."""
    plain = {"id": "read", "tool": "balance", "scope": "read:account"}
    data = document(FULL, plain)
    full = Rule(
        id="send",
        tool="send",
        scope="write:payment",
        any_tenant=True,
        require_approval=True,
        require_approval_above=100,
        amount_max=500,
        amount_argument="cents",
        limit=Limit("daily", "argument:to", 900),
        identity_arguments=(("bank", "tenant"), ("payer", "subject")),
        when=(("urgent", True),),
        deny_when=(("to", "X-1"),),
    )
    rules = {"send": (full,), "balance": (Rule("read", "balance", "read:account"),)}

    assert PolicySet("bank", "1.0", data.digest, rules) == read_policy(data)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": ""}, "id"),
        ({"id": 5}, "id"),
        ({"tool": "Send money"}, "tool"),
        ({"scope": "write"}, "scope"),
        ({"scope": "*:payment"}, "scope"),
        ({"scope": ["write:payment"]}, "scope"),
        ({"tenant": "other"}, "tenant"),
        ({"require_approval": "yes"}, "require_approval"),
        ({"require_approval": 1}, "require_approval"),
        ({"require_approval_above": True}, "require_approval_above"),
        ({"require_approval_above": 10.5}, "require_approval_above"),
        ({"amount_max": -1}, "amount_max"),
        ({"amount_max": None}, "amount_max"),
        ({"amount_max": "500"}, "amount_max"),
        ({"limit": 5}, "limit"),
        ({"limit": {"name": "daily", "by": "subject"}}, "limit.max"),
        ({"limit": {"name": "daily", "by": "actor", "max": 5}}, "limit.by"),
        ({"limit": {"name": "daily", "by": "argument:", "max": 5}}, "limit.by"),
        ({"limit": {"name": "daily", "by": "subject", "max": 5, "per": "day"}}, "limit.per"),
        ({"identity_arguments": {"payer": "actor"}}, "identity_arguments.payer"),
        ({"identity_arguments": []}, "identity_arguments"),
        ({"when": {}}, "when"),
        ({"deny_when": "never"}, "deny_when"),
        ({"require_aproval": True}, "require_aproval"),
    ],
)
def test_a_rule_with_a_wrong_field_is_refused_by_name(change: dict[str, Any], field: str) -> None:
    """The field that is wrong is named, and no other."""
    assert list(problems(document({**RULE, **change}))) == [f"rules[0].{field}"]


@pytest.mark.parametrize("field", ["id", "tool", "scope"])
def test_a_rule_without_a_required_field_is_refused(field: str) -> None:
    """What a rule must state is missed, not assumed."""
    rule = {name: value for name, value in RULE.items() if name != field}
    message = problems(document(rule))[f"rules[0].{field}"]

    assert message.startswith(f"bank.json: `rules[0].{field}`: expected ")
    assert message.endswith("found nothing")


def test_a_misspelt_field_is_told_with_the_nearest_one() -> None:
    """The next step is in the message."""
    message = problems(document({**RULE, "require_aproval": True}))["rules[0].require_aproval"]

    assert message.endswith("did you mean `require_approval`?")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (Json.of([]), ""),
        (document(), "rules"),
        (document(RULE, version="2.0"), "version"),
        (document(RULE, policy=""), "policy"),
        (document(RULE, strict=True), "strict"),
        (document("allow everything"), "rules[0]"),
        (document(RULE, {**RULE, "tool": "ping"}), "rules[1].id"),
        (document(RULE, {**RULE, "id": "again"}), "rules[1]"),
    ],
)
def test_a_document_that_is_wrong_as_a_whole_is_refused(data: Json, field: str) -> None:
    """An empty, misspelt or repeated part never weakens a policy unseen."""
    assert list(problems(data)) == [field]


def test_all_problems_of_a_document_are_told_together() -> None:
    """Nobody has to mend one to see the next."""
    data = document({**RULE, "tenant": "x"}, {**RULE, "id": "b", "tool": "ping", "amount_max": -1})

    assert list(problems(data)) == ["rules[0].tenant", "rules[1].amount_max"]


def test_rules_of_one_tool_that_can_all_apply_are_kept_in_order() -> None:
    """A condition before a general rule is reachable, and so is one that only denies."""
    urgent = {**RULE, "id": "urgent", "when": {"urgent": True}}
    barred = {**RULE, "id": "barred", "deny_when": {"to": "X-1"}}
    policy = read_policy(document(urgent, RULE, barred))

    assert [rule.id for rule in policy.rules["send"]] == ["urgent", "send", "barred"]


SEND = ToolManifest(
    "send",
    "1.0",
    "",
    Effect.TRANSACTIONAL,
    Json.of(
        {
            "type": "object",
            "properties": {"to": {}, "payer": {}, "bank": {}, "urgent": {}, "cents": {}},
        }
    ),
    EMPTY,
    amount_argument="cents",
)


def test_a_policy_that_fits_its_tools_is_accepted() -> None:
    """The twin of the misfits below."""
    check_policy(read_policy(document(FULL)), [SEND])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tool": "sent"}, "rules[send].tool"),
        ({"when": {"urgnet": True}}, "rules[send]"),
        ({"deny_when": {"x": 1}}, "rules[send]"),
        ({"identity_arguments": {"x": "subject"}}, "rules[send]"),
        ({"limit": {"name": "daily", "by": "argument:x", "max": 900}}, "rules[send]"),
        ({"amount_argument": "amount"}, "rules[send].amount_argument"),
    ],
)
def test_a_rule_that_could_never_apply_is_refused(change: dict[str, Any], field: str) -> None:
    """A tool or an argument that does not exist would make a rule a dead letter."""
    policy = read_policy(document({**FULL, **change}))
    with pytest.raises(AuthoringError) as refused:
        check_policy(policy, [SEND])

    assert [problem.field for problem in refused.value.problems] == [field]


@pytest.mark.parametrize(
    ("held", "needed", "holds"),
    [
        (("write:payment",), "write:payment", True),
        (("write:*",), "write:payment", True),
        (("*:payment",), "write:payment", True),
        (("*:*",), "write:payment", True),
        (("read:payment", "write:note"), "write:payment", False),
        ((), "write:payment", False),
        (("*",), "write:payment", False),
        (("write:pay*",), "write:payment", False),
        (("w*:payment",), "write:payment", False),
        (("write",), "write:payment", False),
        (("WRITE:payment",), "write:payment", False),
        (("write:payments",), "write:payment", False),
        (("write:payment:x",), "write:payment", False),
        ((" write:payment",), "write:payment", False),
        ((None, 5), "write:payment", False),
    ],
)
def test_a_wildcard_stands_for_a_whole_segment_only(
    held: tuple[Any, ...],
    needed: str,
    holds: bool,  # noqa: FBT001
) -> None:
    """Scopes are compared exactly, segment by segment."""
    assert holds is Rule("r", "tool", needed).held_by(held)
