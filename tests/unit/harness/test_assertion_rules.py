"""An assertion has exactly the fields that its kind reads, and values that can be wrong."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from arh.harness.authoring.assertion_rules import KINDS, assertion_problems
from arh.records.control.scenario import Assertion

RIGHT: dict[str, dict[str, Any]] = {
    "count": {"expected": 0},
    "present": {},
    "absent": {},
    "field_match": {"field": "status", "expected": None},
    "range": {"field": "amount", "minimum": 1},
    "set_equals": {"field": "sku", "expected": []},
    "set_contains": {"field": "sku", "expected": ["S-1"]},
    "cross_match": {"field": "sku", "other_collection": "items", "other_field": "sku"},
    "total": {"field": "amount", "maximum": 500},
    "transition": {"field": "status", "before": None, "expected": "open"},
    "revision": {"where": {"sku": "S-1"}, "expected": 2},
    "tenant_isolated": {},
    "ever_committed": {},
    "never_committed": {},
}
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("count", {}, "`expected`: expected a value, which `count` needs, found nothing"),
    ("count", {"expected": True}, "`expected`: expected a whole number from 0, found `true`"),
    ("count", {"expected": 1.5}, "`expected`: expected a whole number from 0, found `1.5`"),
    ("count", {"expected": -1}, "`expected`: expected a whole number from 0, found `-1`"),
    ("present", {"expected": 1}, "`expected`: `present` does not read this field"),
    ("absent", {"field": "sku"}, "`field`: `absent` does not read this field"),
    ("field_match", {"expected": 1}, "`field`: expected a value, which `field_match` needs"),
    ("field_match", {"field": "sku"}, "`expected`: expected a value, which `field_match` needs"),
    ("range", {"field": "amount"}, "`minimum`: expected a value, or one of minimum, maximum"),
    (
        "range",
        {"field": "amount", "minimum": 5, "maximum": 4},
        "`maximum`: expected at least the minimum, 5, found `4`",
    ),
    ("set_equals", {"field": "sku", "expected": "S-1"}, "expected a list of values, found `S-1`"),
    ("set_contains", {"field": "sku", "expected": []}, "every set contains the empty one"),
    ("cross_match", {"field": "sku"}, "`other_collection`: expected a value"),
    (
        "cross_match",
        {"field": "sku", "other_collection": "orders", "other_field": "sku"},
        "`other_field`: a field always matches itself",
    ),
    ("total", {"field": "amount"}, "`expected`: expected a value, or one of expected, minimum"),
    (
        "total",
        {"field": "amount", "expected": 1, "minimum": 1},
        "a total is either expected or bounded",
    ),
    ("total", {"field": "amount", "expected": "1"}, "expected a whole number, found `1`"),
    ("transition", {"field": "a", "before": 1, "expected": 1}, "a transition ends where it began"),
    ("revision", {"expected": 2}, "`where`: expected fields that name the row"),
    ("tenant_isolated", {"expected": 1}, "does not read this field"),
    ("ever_committed", {"minimum": 1}, "does not read this field"),
    ("never_committed", {"before": None}, "does not read this field"),
]


@pytest.mark.parametrize("kind", sorted(RIGHT))
def test_an_assertion_with_the_fields_of_its_kind_is_right(kind: str) -> None:
    """Nothing is wrong with what a kind reads, null included where it is a value."""
    assert list(assertion_problems(made(kind, RIGHT[kind]))) == []


@pytest.mark.parametrize(("kind", "fields", "message"), WRONG)
def test_what_could_not_fail_or_is_not_read_is_found(
    kind: str, fields: dict[str, Any], message: str
) -> None:
    """The problem names the field and what the kind needs."""
    problems = list(map(str, assertion_problems(made(kind, fields))))

    assert any(message in problem for problem in problems), problems


def test_every_kind_has_its_rule_its_twin_and_its_defect() -> None:
    """The table covers the kinds of the schema, and the tests cover the table."""
    kinds = set(get_args(Assertion.model_fields["kind"].annotation))

    assert set(KINDS) == kinds
    assert set(RIGHT) == kinds
    assert {kind for kind, _, _ in WRONG} == kinds


def test_a_null_bound_is_no_bound() -> None:
    """A field that is null where null is no value counts as left out."""
    problems = list(assertion_problems(made("range", {"field": "amount", "minimum": None})))

    assert [problem.field for problem in problems] == ["minimum"]


def made(kind: str, fields: dict[str, Any]) -> Assertion:
    """An assertion as a file would give it."""
    return Assertion.model_validate_json(
        json.dumps({"kind": kind, "collection": "orders", **fields})
    )
