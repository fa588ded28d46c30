"""Compares the sources of one run by operation id.

The runner, the gateway's log, the store, the end.

A gap means that one source is silent about what another one saw; a conflict means that two sources
say different things. Neither is repaired: belief and truth may differ, and that they do is
evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from arh.records.control.evidence import (
    CallEvidence,
    CommitEvidence,
    Discrepancy,
    StateView,
)

Data = Mapping[str, Any]
BELIEVED_COMMITTED = ("committed", "replayed")
BELIEVED_UNCHANGED = ("not_started", "not_committed")


def reconcile(
    calls: Sequence[CallEvidence],
    commits: Sequence[CommitEvidence],
    end: Data,
    initial: StateView | None,
) -> tuple[Discrepancy, ...]:
    """Return every disagreement between the sources of a run, in a fixed order."""
    return (
        *_counts(calls, commits, end),
        *_end_state(end),
        *_commit_chain(commits, end, initial),
        *_record_chains(commits),
        *_unattempted(calls, commits),
        *_beliefs(calls, commits),
    )


def _counts(
    calls: Sequence[CallEvidence], commits: Sequence[CommitEvidence], end: Data
) -> Iterator[Discrepancy]:
    attempts = sum(1 for call in calls if not call.refused_by_budget)
    for name, found in (("calls", attempts), ("commits", len(commits))):
        counted = end.get(name)
        if counted != found:
            message = f"the runner counted {counted} {name}, the log holds {found}"
            yield Discrepancy("gap", "", message, ())


def _end_state(end: Data) -> Iterator[Discrepancy]:
    """Yield a gap if the runner could not read one end state; an end that says nothing is none."""
    consistency = end.get("consistency")
    met = consistency.get("met") if isinstance(consistency, Mapping) else False
    if end and met is not True:
        message = "the store moved while its end state was read, or holds commits not on record"
        yield Discrepancy("gap", "", message, ())


def _commit_chain(
    commits: Sequence[CommitEvidence], end: Data, initial: StateView | None
) -> Iterator[Discrepancy]:
    digest = initial.digest if initial is not None else None
    for number, commit in enumerate(commits, 1):
        if commit.sequence != number:
            yield _conflict(commit, f"commit {number} calls itself {commit.sequence}")
        if digest is not None and commit.state_before != digest:
            yield _conflict(
                commit, "the state changed outside of every transaction before this one"
            )
        if commit.changes and commit.state_after == commit.state_before:
            yield _conflict(
                commit, f"commit {number} changes records and leaves the state as it was"
            )
        digest = commit.state_after
    if digest is not None and end.get("state") not in (None, digest):
        message = "the state changed outside of every transaction before the run ended"
        yield Discrepancy("conflict", "", message, ())


def _record_chains(commits: Sequence[CommitEvidence]) -> Iterator[Discrepancy]:
    """Yield each commit that changes a record which an earlier one left otherwise."""
    left: dict[tuple[object, ...], object] = {}
    for commit in commits:
        for change in commit.changes:
            place = (change.get("tenant"), change.get("collection"), change.get("key"))
            before, after = change.get("digest_before"), change.get("digest_after")
            if left.get(place, before) != before:
                yield _conflict(commit, "a record was not as the commit before this one left it")
            left[place] = after


def _unattempted(
    calls: Sequence[CallEvidence], commits: Iterable[CommitEvidence]
) -> Iterator[Discrepancy]:
    attempted = {call.operation_id for call in calls if call.entered}
    for commit in commits:
        if commit.operation_id not in attempted:
            yield _conflict(commit, f"`{commit.tool}` took effect without an attempt on record")


def _beliefs(
    calls: Sequence[CallEvidence], commits: Sequence[CommitEvidence]
) -> Iterator[Discrepancy]:
    committed = {commit.operation_id for commit in commits}
    callers = {commit.call_id for commit in commits if commit.effective}
    for call in calls:
        held = bool(call.operation_id) and call.operation_id in committed
        if call.commit_belief in BELIEVED_COMMITTED and not held:
            yield _wrong(call, "was told that it is committed, and the store holds no such commit")
        if call.commit_belief in BELIEVED_UNCHANGED and call.call_id in callers:
            yield _wrong(call, "was told that nothing is committed, and the store committed it")


def _conflict(commit: CommitEvidence, message: str) -> Discrepancy:
    return Discrepancy("conflict", commit.operation_id, message, (commit.event_id,))


def _wrong(call: CallEvidence, message: str) -> Discrepancy:
    text = f"the caller of `{call.tool}` {message}"
    return Discrepancy("conflict", call.operation_id, text, (call.event_id,))
