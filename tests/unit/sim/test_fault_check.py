"""A fault that could not happen as written is refused, with what to write instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arh.records.faults import FaultPlan
from arh.records.tools import Effect
from arh.sim.fault_check import check, check_together
from arh.sim.fault_table import PUBLISHED_EFFECTS, PUBLISHED_PHASES, TABLE
from tests.unit.sim.world import LOOK, MANIFESTS, NOTE

GOOD = FaultPlan("f1", "tool", "after_commit", "timeout", target_name="note")
REMOTE = replace(NOTE, name="pay", effect=Effect.REMOTE)
TOOLS = {**MANIFESTS, "pay": REMOTE}


def test_a_fault_that_can_happen_has_no_problem() -> None:
    """The twin of every case below."""
    assert check(GOOD, TOOLS, ("accounts",)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"target_type": "network"},
            (
                "no fault strikes a `network`; targets are approval_service, "
                "authorization_service, model, state_store, tool"
            ),
        ),
        (
            {"effect": "stale"},
            "a tool has no `stale` in phase `after_commit`; that effect has after_dispatch",
        ),
        (
            {"effect": "boredom"},
            (
                "a tool has no `boredom` in phase `after_commit`; that phase has "
                "timeout, error, slowdown, malformed, partial"
            ),
        ),
        (
            {"effect": "boredom", "phase": "never"},
            (
                "a tool has no `boredom` in phase `never`; "
                "phases are not_dispatched, before_commit, after_dispatch, after_commit"
            ),
        ),
        ({"trigger": "nth"}, "invocation: trigger nth needs the number of the call, 1 or more"),
        (
            {"trigger": "nth", "invocation": 0},
            "invocation: trigger nth needs the number of the call, 1 or more",
        ),
        ({"invocation": 2}, "invocation: only trigger nth takes it, found first"),
        ({"trigger": "last"}, "trigger: expected first, nth or always, found `last`"),
        (
            {"target_name": "notes"},
            "target_name: expected a tool on offer, found `notes`; did you mean `note`?",
        ),
        (
            {"target_name": "zzz"},
            "target_name: expected a tool on offer, found `zzz`; there are look, note, pay",
        ),
        (
            {"target_name": "look"},
            "phase: timeout after_commit needs a tool that writes; `look` is none",
        ),
        (
            {"target_name": "pay", "phase": "before_commit"},
            "phase: timeout before_commit needs a tool with transactions; `pay` is none",
        ),
        (
            {"retry_after_ms": 5},
            "parameters.retry_after_ms: timeout after_commit of this target takes none",
        ),
        ({"ms": 0}, "parameters.ms: expected 1 or more, found 0"),
        ({"effect": "slowdown"}, "parameters.ms: slowdown after_commit needs it"),
        ({"phase": "after_dispatch"}, "parameters.hidden_outcome: timeout after_dispatch needs it"),
        (
            {"phase": "after_dispatch", "hidden_outcome": "maybe"},
            "parameters.hidden_outcome: expected committed or not_committed, found `maybe`",
        ),
        (
            {"phase": "after_dispatch", "target_name": "look", "hidden_outcome": "committed"},
            "parameters.hidden_outcome: timeout after_dispatch of this target takes none",
        ),
        (
            {"effect": "malformed", "raw": '{"ok": {}}'},
            (
                'parameters.raw: `{"ok": {}}` is a reply '
                "that the decoder reads; give bytes that it must reject"
            ),
        ),
        (
            {"effect": "malformed", "raw": '{"refused": 1}'},
            (
                'parameters.raw: `{"refused": 1}` is a '
                "reply that the decoder reads; give bytes that it must reject"
            ),
        ),
        ({"effect": "partial"}, "parameters.keep_fields: partial after_commit needs it"),
        (
            {"target_type": "model", "phase": "not_dispatched"},
            "target_name: a model has none, found `note`; leave it out",
        ),
        (
            {"target_type": "state_store", "target_name": "acounts", "ms": 5},
            "target_name: expected a collection, found `acounts`; did you mean `accounts`?",
        ),
    ],
)
def test_a_fault_that_cannot_happen_has_its_problem(
    changes: dict[str, object], problem: str
) -> None:
    """One change to a good plan is one problem."""
    assert check(replace(GOOD, **changes), TOOLS, ("accounts",)) == [problem]  # type: ignore[arg-type]


def test_all_problems_are_listed_at_once() -> None:
    """An author need not find them one by one."""
    plan = replace(GOOD, trigger="nth", target_name="look", retry_after_ms=0)

    assert len(check(plan, TOOLS)) == 4


def test_a_read_may_lose_its_reply_without_a_hidden_outcome() -> None:
    """There is no commit to hide."""
    plan = FaultPlan("f1", "tool", "after_dispatch", "timeout", target_name="look")

    assert check(plan, TOOLS) == []


def test_a_fault_of_any_tool_needs_one_that_it_can_strike() -> None:
    """Without a name, some tool on offer must do."""
    plan = FaultPlan("f1", "tool", "after_dispatch", "stale")

    assert check(plan, {"look": LOOK}) == []
    assert check(plan, {"note": NOTE}) == [
        "phase: stale after_dispatch needs a tool that reads; none is on offer"
    ]


def test_the_stores_own_collections_are_never_stale() -> None:
    """An old look-up would be a defect of the store, not a stale read."""
    plan = FaultPlan("f1", "state_store", "after_dispatch", "stale", target_name="_operations")

    assert check(plan, TOOLS) == [
        "target_name: `_operations` is the store's own and never stale; name a record's"
    ]


def test_collections_are_checked_when_they_are_known() -> None:
    """Those of the store itself always exist."""
    plan = FaultPlan("f1", "state_store", "not_dispatched", "error", target_name="_operations")

    assert check(plan, TOOLS, ("accounts",)) == []
    assert check(replace(plan, target_name="anything"), TOOLS) == []


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        (GOOD, replace(GOOD, id="f2", trigger="nth", invocation=2), 0),
        (GOOD, replace(GOOD, id="f2", target_name="look"), 0),
        (GOOD, replace(GOOD, id="f2"), 1),
        (GOOD, replace(GOOD, id="f2", effect="error", trigger="nth", invocation=1), 1),
        (GOOD, replace(GOOD, trigger="nth", invocation=2), 1),
        (GOOD, GOOD, 1),
    ],
)
def test_faults_that_strike_the_same_call_are_refused(
    one: FaultPlan, other: FaultPlan, count: int
) -> None:
    """Only one of them could happen; an id names one fault."""
    assert len(check_together([one, other])) == count


def test_published_names_map_onto_the_table() -> None:
    """Every published phase and effect has its place, and together they make faults that exist."""
    phases, effects = set(PUBLISHED_PHASES.values()), set(PUBLISHED_EFFECTS.values())

    assert phases == {"not_dispatched", "after_dispatch", "after_commit"}
    assert all(any(key[2] == effect for key in TABLE) for effect in effects)
    assert [
        ("tool", PUBLISHED_PHASES[phase], PUBLISHED_EFFECTS[effect]) in TABLE
        for phase, effect in (
            ("before_execution", "timeout"),
            ("during_execution", "malformed_json"),
            ("after_commit_before_response", "timeout"),
        )
    ] == [True] * 3
