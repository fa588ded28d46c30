"""Invariants followed change by change say the same as assertions evaluated on each whole state."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import JsonValue
from arh.harness.vocabulary.assertions import Invariants, States, evaluate
from arh.harness.vocabulary.effects import effects
from arh.records.control.scenario import Assertion
from arh.testing.evidence_builder import RunBuilder, Write

ASSERTIONS: list[dict[str, JsonValue]] = [
    {"kind": "count", "collection": "tickets", "where": {"a": 1}, "expected": 1},
    {"kind": "present", "collection": "tickets", "where": {"a": 2}},
    {"kind": "absent", "collection": "tickets", "where": {"record.tenant": "tenant-b"}},
    {
        "kind": "field_match",
        "collection": "tickets",
        "where": {"a": 1},
        "field": "b",
        "expected": 1,
    },
    {"kind": "range", "collection": "tickets", "field": "b", "minimum": 1},
    {"kind": "set_equals", "collection": "tickets", "field": "a", "expected": [1, 2]},
    {"kind": "set_contains", "collection": "tickets", "field": "a", "expected": [2]},
    {"kind": "total", "collection": "tickets", "field": "b", "maximum": 3},
    {
        "kind": "cross_match",
        "collection": "tickets",
        "field": "a",
        "other_collection": "credits",
        "other_field": "a",
    },
    {
        "kind": "transition",
        "collection": "tickets",
        "where": {"a": 1},
        "field": "b",
        "before": 1,
        "expected": 2,
    },
    {"kind": "revision", "collection": "tickets", "where": {"a": 1}, "expected": 2},
    {"kind": "tenant_isolated", "collection": "tickets"},
    {"kind": "ever_committed", "collection": "credits", "where": {"a": 1}},
    {"kind": "never_committed", "collection": "credits", "where": {"a": 2}},
    {"kind": "count", "collection": "side_effects", "where": {"payload.a": 1}, "expected": 1},
    {"kind": "absent", "collection": "nowhere"},
]
GIVEN = [Assertion.model_validate_json(json.dumps(each)) for each in ASSERTIONS]

small = st.integers(1, 2)
values = st.none() | st.fixed_dictionaries({"a": small, "b": small})
writes = st.builds(
    Write,
    st.sampled_from(["tickets", "credits", "accounts"]),
    st.sampled_from(["k1", "k2"]),
    values,
    st.sampled_from(["tenant-a", "tenant-b"]),
)
commits = st.lists(st.lists(writes, min_size=1, max_size=3), max_size=6)


@given(seeds=st.lists(writes, max_size=4), told=commits)
def test_folding_changes_in_equals_looking_at_everything(
    seeds: list[Write], told: list[list[Write]]
) -> None:
    """After every commit, each invariant answers as if the whole state had been read anew."""
    run = RunBuilder()
    for seed in seeds:
        run.seed(seed.collection, seed.key, seed.value or {}, tenant=seed.tenant)
    initial = run.build().initial
    assert initial is not None
    invariants = Invariants(GIVEN, identities=frozenset(), amounts=frozenset())
    latest = {result.name: result.holds for result in invariants.begin(initial.rows)}
    for number, changes in enumerate(told):
        run.call("write", {"n": number}, writes=changes)
        evidence = run.build()
        folded = invariants.fold(effects(evidence.commits[-1:]) or ())
        latest |= {result.name: result.holds for result in folded}
        states = States(initial, evidence.final, evidence.commits)

        assert list(latest.values()) == [evaluate(each, states).holds for each in GIVEN]
