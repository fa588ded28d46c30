"""The raw replies in which a call can end, one function for each kind of end."""

from __future__ import annotations

from typing import Literal

from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure
from arh.records.execution import RawReply, Read, StoredOperation
from arh.records.outcomes import CommitBelief, Reason
from arh.records.state import Conflict, Failed, Operation, Unknown
from arh.records.tools import Refused
from arh.tools import ledger
from arh.tools.handling import Handled, refusal


def delivered(
    body: bytes,
    commit: CommitBelief,
    *,
    reads: tuple[Read, ...] = (),
    entry: int | None = None,
) -> RawReply:
    """Return the reply of a call that was executed."""
    return RawReply("delivered", commit, body, "ok", None, 0, entry, reads)


def refused(
    refusal_: Refused, cause: str, commit: CommitBelief, *, reads: tuple[Read, ...] = ()
) -> RawReply:
    """Return the reply of a call that was refused with a reason."""
    body = refusal(refusal_)
    reason = str(refusal_.reason)
    return RawReply("delivered", commit, body, reason=reason, reads=reads, cause=cause)


def failed(
    reason: str, commit: CommitBelief, cause: str, *, reads: tuple[Read, ...] = ()
) -> RawReply:
    """Return the reply of a call that broke: an error without a body."""
    return RawReply("error", commit, reason=str(reason), reads=reads, cause=cause)


def lost(
    failure: DependencyFailure, commit: CommitBelief, *, reads: tuple[Read, ...] = ()
) -> RawReply:
    """Return the reply of a call whose dependency failed, with the symptom that it showed.

    A body that nobody can read was delivered all the same.
    """
    if failure.reason == Reason.MALFORMED_RESULT:
        belief: CommitBelief = "unknown" if commit == "committed" else commit
        return RawReply("delivered", belief, b"", reason=str(failure.reason), reads=reads)
    delivery: Literal["timeout", "error"] = (
        "timeout" if failure.reason == Reason.TIMEOUT else "error"
    )
    return RawReply(
        delivery,
        commit,
        reason=str(failure.reason),
        retry_after_ms=failure.retry_after_ms,
        reads=reads,
    )


def unfinished(handled: Handled, commit: CommitBelief) -> RawReply:
    """Return the reply of a call whose handler gave no result."""
    answer = handled.answer
    if isinstance(answer, Refused):
        return refused(answer, "", commit, reads=handled.reads)
    if isinstance(answer, DependencyFailure):
        return lost(answer, commit, reads=handled.reads)
    cause = answer.type_name if isinstance(answer, ForeignFailure) else ""
    return failed(Reason.TOOL_ERROR, commit, cause, reads=handled.reads)


def uncommitted(
    result: Conflict | Failed | Unknown | DependencyFailure, *, reads: tuple[Read, ...] = ()
) -> RawReply:
    """Return the reply of a call whose transaction gave no receipt."""
    if isinstance(result, Conflict):
        return _conflicting(result, reads)
    if isinstance(result, Failed):
        return failed(Reason.DEPENDENCY_ERROR, "not_committed", "commit_failed", reads=reads)
    if isinstance(result, Unknown):
        return lost(DependencyFailure(Reason.TIMEOUT), "unknown", reads=reads)
    return lost(result, "unknown", reads=reads)


def unrecorded(
    result: Conflict | Failed | Unknown | DependencyFailure, *, reads: tuple[Read, ...]
) -> RawReply:
    """Return the reply of a remote call whose outcome is known, but is not on record."""
    if isinstance(result, Failed):
        return failed(Reason.DEPENDENCY_ERROR, "unknown", "outcome_unrecorded", reads=reads)
    if isinstance(result, Conflict):
        return failed(Reason.IN_FLIGHT, "unknown", "outcome_unrecorded", reads=reads)
    return uncommitted(result, reads=reads)


def taken(stored: StoredOperation, operation: Operation) -> RawReply:
    """Return the reply of a call whose operation is on record by now.

    It says nothing of the commit: a repeat finds the operation, and its reply with it.
    """
    if stored.argument_digest != operation.argument_digest:
        return refused(Refused(Reason.KEY_MISMATCH), "key_mismatch", "not_committed")
    return failed(Reason.IN_FLIGHT, "unknown", "operation_exists")


def _conflicting(conflict: Conflict, reads: tuple[Read, ...]) -> RawReply:
    """Return the reply of a call that another one was faster than."""
    if conflict.collection == ledger.OPERATIONS:
        return failed(Reason.IN_FLIGHT, "unknown", "operation_exists", reads=reads)
    if conflict.collection == ledger.REDEMPTIONS:
        denied = Refused(Reason.APPROVAL_DENIED)
        return refused(denied, ledger.REPLAYED, "not_committed", reads=reads)
    moved = Refused(Reason.PRECONDITION_FAILED)
    return refused(moved, f"conflict:{conflict.collection}", "not_committed", reads=reads)
