"""Reconciling: the sources of a run are compared, and never repaired."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arh.harness.evidence.reconcile import reconcile
from arh.records.control.evidence import CallEvidence, Discrepancy, Evidence
from arh.testing.evidence_builder import RunBuilder, put

TICKET = {"account_id": "A-1007", "idempotency_key": "wf-0001"}


def told(*, lost: bool = False) -> Evidence:
    """Return the evidence of a run with one read and one write."""
    run = RunBuilder().seed("accounts", "A-1007", {"account_id": "A-1007"})
    run.call("get_account", {"account_id": "A-1007"})
    ticket = put("tickets", "TK-0001", {"account_id": "A-1007"})
    run.call("create_ticket", dict(TICKET), writes=[ticket], lost=lost)
    return run.build()


def compared(evidence: Evidence, **end: object) -> tuple[Discrepancy, ...]:
    """Reconcile a run whose last line says what the runner counted, unless told otherwise."""
    final = evidence.final
    assert final is not None
    counted = {"calls": len(evidence.calls), "commits": len(evidence.commits)}
    last = {**counted, "state": final.digest, "consistency": {"met": True}, **end}
    return reconcile(evidence.calls, evidence.commits, last, evidence.initial)


def changed(evidence: Evidence, **fields: object) -> Evidence:
    """Return the evidence with fields of its last call changed."""
    last: CallEvidence = replace(evidence.calls[-1], **fields)  # type: ignore[arg-type]
    return replace(evidence, calls=(*evidence.calls[:-1], last))


@pytest.mark.parametrize("lost", [False, True])
def test_a_healthy_run_has_no_discrepancy(*, lost: bool) -> None:
    """Belief and truth may differ where a reply was lost: that is doubt, no disagreement."""
    assert compared(told(lost=lost)) == ()


@pytest.mark.parametrize("counted", ["calls", "commits"])
def test_a_log_that_holds_less_than_was_counted_is_a_gap(counted: str) -> None:
    """The runner counts for itself: a dropped line shows."""
    (found,) = compared(told(), **{counted: 7})

    assert found.kind == "gap"
    assert "counted 7" in found.message


@pytest.mark.parametrize("read", [{"met": False}, {"met": 1}, {}, None, "met"])
def test_an_end_state_that_was_not_read_as_one_is_a_gap(read: object) -> None:
    """Only what says in so many words that it was met was met."""
    (found,) = compared(told(), consistency=read)

    assert (found.kind, found.message.startswith("the store moved")) == ("gap", True)


def test_an_effect_without_an_attempt_is_a_conflict() -> None:
    """A commit entry that no attempt at the gateway explains was made behind its back."""
    evidence = told()
    evidence = replace(evidence, calls=evidence.calls[:-1])

    (found,) = compared(evidence)

    assert (found.kind, found.events) == ("conflict", (evidence.commits[0].event_id,))
    assert "without an attempt" in found.message


def test_an_attempt_that_was_never_let_through_explains_no_effect() -> None:
    """The gateway kept it from the tool; whatever took effect in its name did not come from it."""
    evidence = changed(told(), entered=False)

    (found,) = compared(evidence)

    assert (found.kind, found.events) == ("conflict", (evidence.commits[0].event_id,))
    assert "without an attempt" in found.message


def test_a_state_that_moved_between_commits_is_a_conflict() -> None:
    """A world edited without a tool call shows in the digests around the commits."""
    evidence = told()

    (found,) = compared(evidence, state="0" * 64)

    assert found.kind == "conflict"
    assert "outside of every transaction" in found.message


def test_a_commit_that_starts_from_another_state_is_a_conflict() -> None:
    """Each entry starts where the one before ended, the first one at the seeded state."""
    evidence = told()
    entry = replace(evidence.commits[0], state_before="f" * 64)
    evidence = replace(evidence, commits=(entry,))

    (found,) = compared(evidence)

    assert "before this one" in found.message


def test_a_caller_that_was_told_of_a_commit_the_store_lacks_is_a_conflict() -> None:
    """`committed` without a commit entry is a false acknowledgement."""
    evidence = told()
    evidence = replace(evidence, commits=(), final=evidence.initial)

    (found,) = compared(evidence)

    assert "the store holds no such commit" in found.message


def test_a_caller_that_was_told_of_no_commit_while_there_is_one_is_a_conflict() -> None:
    """`not_committed` beside a commit entry of the same attempt is a false denial."""
    evidence = changed(told(), commit_belief="not_committed", status="error")

    (found,) = compared(evidence)

    assert "the store committed it" in found.message
