"""Evidence that is told is evidence as a healthy run leaves it behind."""

from __future__ import annotations

from arh.harness.vocabulary.effects import broken_chain, effects, row_changes
from arh.records.control.evidence import Evidence, StateView
from arh.testing.evidence_builder import RunBuilder, put, remove


def a_run() -> RunBuilder:
    """A run with a read, a write whose reply is lost, its retry, and a removal."""
    run = RunBuilder().seed("accounts", "A-1", {"account_id": "A-1"})
    run.call("get_account", {"account_id": "A-1"})
    write = put("tickets", "T-1", {"n": 1})
    run.call("create_ticket", {"idempotency_key": "k"}, writes=[write], lost=True)
    run.call("create_ticket", {"idempotency_key": "k"})
    run.call("undo", {"idempotency_key": "u"}, writes=[remove("tickets", "T-1")])
    return run.user("hello").finish("Bye.")


def test_the_commits_lead_from_the_first_state_to_the_last() -> None:
    """Digests are chained, and the changes account for every row."""
    evidence = a_run().build()
    initial, final = states(evidence)
    found = effects(evidence.commits)

    assert broken_chain(initial, evidence.commits, final) == ""
    assert found is not None
    assert [c for c in row_changes(initial, found, final) if not c.events] == []


def test_a_state_that_was_tampered_with_is_accounted_for_by_nothing() -> None:
    """The one row that nobody committed is left over."""
    evidence = a_run().tamper(put("credits", "C-1", {})).build()
    initial, final = states(evidence)
    stray = row_changes(initial, effects(evidence.commits) or (), final)

    assert [(c.collection, c.key) for c in stray if not c.events] == [("credits", "C-1")]
    assert broken_chain(initial, evidence.commits, final) != ""


def test_a_call_ends_as_its_first_stage_says() -> None:
    """Status, reason, belief, and whether the tool was entered."""
    run = a_run()
    run.call("a", decision="deny")
    run.call("a", decision="indeterminate")
    run.call("a", decision=None)
    run.call("a", writes=(), approval="denied")
    run.call("a", writes=(), reason="timeout")

    assert [(c.status, c.reason, c.commit_belief, c.entered) for c in run.calls] == [
        ("executed", "ok", "not_applicable", True),
        ("error", "timeout", "unknown", True),
        ("executed", "replayed", "replayed", False),
        ("executed", "ok", "committed", True),
        ("rejected", "authorization_denied", "not_applicable", False),
        ("rejected", "authorization_unavailable", "not_applicable", False),
        ("rejected", "arguments_invalid", "not_applicable", False),
        ("rejected", "approval_denied", "not_started", False),
        ("error", "timeout", "not_committed", True),
    ]


def test_events_are_numbered_in_the_order_told() -> None:
    """Every part of the evidence names an event that is there."""
    evidence = a_run().build()
    told = [call.event_id for call in evidence.calls]
    told += [commit.event_id for commit in evidence.commits]
    told += [turn.event_id for turn in evidence.user_turns]
    told += [finish.event_id for finish in evidence.finishes]

    assert [event.seq for event in evidence.events] == list(range(1, len(evidence.events) + 1))
    assert sorted(told) == sorted(event.id for event in evidence.events)


def states(evidence: Evidence) -> tuple[StateView, StateView]:
    """The first and the last state."""
    assert evidence.initial is not None
    assert evidence.final is not None
    return evidence.initial, evidence.final
