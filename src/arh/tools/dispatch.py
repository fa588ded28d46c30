"""The stages around the effect: what the store already holds, the one dispatch, and its reply.

Same key and same arguments give the stored result without a new approval or charge; a key with
other arguments is refused. What is dispatched are the bytes that were authorised. A reply is read
strictly and held against the tool's result schema; from one that does not fit nothing is taken.
What the caller believes of the commit is never more than a reply that reached it said.
"""

from __future__ import annotations

from typing import Final, get_args

from arh.canonical import JsonValue, Refused, members
from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure, call
from arh.ports.sue import Clock, ToolClient
from arh.records.execution import Execution, RawReply, Read, StoredOperation
from arh.records.identity import SecurityContext
from arh.records.messages import ReplyStatus
from arh.records.outcomes import PACK_REASON, CommitBelief, Delivery, Reason
from arh.records.state import Operation
from arh.tools.checks import redemption_failed
from arh.tools.stages import Call, End, failed, rejected

_REASONS: Final = frozenset(Reason) - {Reason.OK, Reason.REPLAYED}
_REJECTING: Final = frozenset(
    {
        Reason.APPROVAL_DENIED,
        Reason.LIMIT_EXCEEDED,
        Reason.KEY_MISMATCH,
        Reason.IN_FLIGHT,
        Reason.PRECONDITION_FAILED,
    }
)
_DELIVERIES: Final = ("delivered", "timeout", "error")
_COMMITS: Final = get_args(CommitBelief)
_PARTS: Final = (bytes, int, str, str, tuple)
_UNHELD: Final = ("absent", "mismatch", "not_applicable")
_KNOWN_UNDONE: Final = ("not_started", "not_committed")


def look_up(current: Call, client: ToolClient, tenant: str) -> End | None:
    """Ask the store for the operation; one that is committed is answered from there.

    An intent whose outcome is open goes on to the client, which alone can find it out.
    """
    if not current.writes:
        _noted(current, "not_applicable")
        return None
    stored, end = _stored(current, client, tenant)
    _noted(current, "failed" if end else _found(current, stored))
    if end is not None or stored is None or current.attempt.lookup == "mismatch":
        return end
    if stored.status == "committed":
        return replay(current, stored)
    if stored.status == "in_flight":
        return rejected(Reason.IN_FLIGHT)
    current.stored = stored
    return None


def require_records(current: Call) -> End | None:
    """End a call that names a record which does not exist, before anybody is asked to approve it.

    Only then is a key that belongs to other arguments refused: the order is the same for a record
    of another tenant, so the caller cannot tell the two apart.
    """
    lookup = current.attempt.lookup
    if lookup in _UNHELD:
        for resource in current.resources:
            if resource.tenant is None:
                return failed(Reason.NOT_FOUND, "resource_absent")
    return rejected(Reason.KEY_MISMATCH) if lookup == "mismatch" else None


def execute(current: Call, client: ToolClient, context: SecurityContext, clock: Clock) -> End:
    """Dispatch the call once and read its reply; from then on nothing is certain without one."""
    attempt = current.attempt
    execution = _execution(current, context)
    attempt.entered = True
    if current.writes:
        attempt.commit_belief = "unknown"
    attempt.stages.append(["entered", "ok"])
    reply: object
    try:
        reply = call("tool_client", lambda: client.execute(execution))
    except DependencyFailure as failure:
        reply = failure
    now_ms = clock.now_ms()
    attempt.times.append(("tool_execution", current.now_ms, now_ms))
    if not isinstance(reply, RawReply) or not _well_formed(reply):
        return _broken(current, reply)
    attempt.reads = reply.reads
    if now_ms > current.deadline_ms or reply.latency_ms > execution.timeout_ms:
        return _lost(current)
    if reply.reason == Reason.IN_FLIGHT and reply.delivery != "timeout":
        return _settle(current, client, context.tenant, reply)
    return _read(current, reply)


def replay(current: Call, stored: StoredOperation) -> End:
    """Return the stored result as the end of this call."""
    current.passed("committed", Reason.REPLAYED)
    return _decode(current, RawReply("delivered", "replayed", stored.body), "replayed")


def _execution(current: Call, context: SecurityContext) -> Execution:
    """Return what is authorised; an operation already under way needs no approval or charge."""
    decision, resuming = current.decision, current.stored is not None
    return Execution(
        current.tool.tool,
        _operation(current, context),
        current.frozen,
        current.resources,
        current.deadline_ms - current.now_ms,
        current.grant,
        () if resuming or decision is None else decision.charges,
    )


def _operation(current: Call, context: SecurityContext) -> Operation:
    """Return the logical action that this call is an attempt at, with what allowed it."""
    attempt, manifest = current.attempt, current.tool.manifest
    return Operation(
        attempt.operation_id,
        attempt.key,
        manifest.name,
        manifest.version,
        attempt.argument_digest,
        context.subject,
        attempt.actor,
        context.tenant,
        attempt.call_id,
        current.decision.decision_id if current.decision else "",
        current.grant.approval_id if current.grant else "",
    )


def _read(current: Call, reply: RawReply) -> End:
    """Return what a reply says, by how it was delivered."""
    if reply.delivery == "timeout":
        return _lost(current)
    if reply.delivery == "error":
        return _erred(current, reply)
    belief: CommitBelief = reply.commit if current.writes else "not_applicable"
    if current.writes:
        current.passed(_stage(belief), belief)
    return _decode(current, reply, belief)


def _lost(current: Call) -> End:
    """End a call whose reply did not come in time."""
    belief: CommitBelief = "unknown" if current.writes else "not_applicable"
    return End("error", Reason.TIMEOUT, "reply_lost", belief, "timeout")


def _erred(current: Call, reply: RawReply) -> End:
    """End a call that came back as an error."""
    belief = _belief_of_error(current, reply)
    reason = reply.reason if reply.reason in _REASONS else Reason.TOOL_ERROR
    wait = reply.retry_after_ms
    return End(_status(reason), reason, reply.cause, belief, "error", retry_after_ms=wait)


def _well_formed(reply: RawReply) -> bool:
    """Return true if every field is of its type, and delivery and commit are words that exist."""
    parts = (reply.body, reply.latency_ms, reply.reason, reply.cause, reply.reads)
    if tuple(map(type, parts)) != _PARTS:
        return False
    for read in reply.reads:
        if type(read) is not Read:
            return False
    return (
        (reply.retry_after_ms is None or type(reply.retry_after_ms) is int)
        and reply.delivery in _DELIVERIES
        and reply.commit in _COMMITS
    )


def _belief_of_error(current: Call, reply: RawReply) -> CommitBelief:
    """Return what an error tells of the commit: only a certain `nothing happened` is believed."""
    if not current.writes:
        return "not_applicable"
    if reply.commit not in _KNOWN_UNDONE:
        return "unknown"
    current.passed("rolled_back", reply.commit)
    return reply.commit


def _settle(current: Call, client: ToolClient, tenant: str, reply: RawReply) -> End:
    """Answer from the store if the attempt that came first has committed the same action."""
    stored, end = _stored(current, client, tenant)
    if end is not None or stored is None or stored.status != "committed":
        belief = _belief_of_error(current, reply)
        return End("rejected", Reason.IN_FLIGHT, reply.cause, belief)
    if stored.argument_digest != current.attempt.argument_digest:
        return End("rejected", Reason.KEY_MISMATCH, reply.cause, "not_committed")
    return replay(current, stored)


def _broken(current: Call, failure: object) -> End:
    """End a call whose client raised or answered something else: nobody knows what it did."""
    belief: CommitBelief = "unknown" if current.writes else "not_applicable"
    if isinstance(failure, DependencyFailure):
        timed_out = failure.reason == Reason.TIMEOUT
        delivery: Delivery = "timeout" if timed_out else "error"
        wait = failure.retry_after_ms
        return End("error", failure.reason, "client_failed", belief, delivery, retry_after_ms=wait)
    cause = "client_raised" if isinstance(failure, ForeignFailure) else "client_malformed"
    return End("error", Reason.TOOL_ERROR, cause, belief, "error")


def _decode(current: Call, reply: RawReply, belief: CommitBelief) -> End:
    """Return what the body of a delivered reply says."""
    try:
        stated = members(reply.body)
    except Refused as refused:
        return _malformed(current, refused.reason)
    if stated is None or len(stated) != 1:
        return _malformed(current, "neither ok nor refused")
    if "refused" in stated:
        return _refusal(current, stated["refused"][0], reply, belief)
    if "ok" not in stated:
        return _malformed(current, "neither ok nor refused")
    value, result = stated["ok"]
    schema = current.tool.result
    if not schema.fits(value):
        return _malformed(current, "; ".join(schema.problems(value)))
    reason = Reason.REPLAYED if belief == "replayed" else Reason.OK
    return End("executed", reason, "", belief, "delivered", result, value)


def _malformed(current: Call, cause: str) -> End:
    belief: CommitBelief = "unknown" if current.writes else "not_applicable"
    return End("error", Reason.MALFORMED_RESULT, cause, belief, "malformed")


def _refusal(current: Call, refused: JsonValue, reply: RawReply, belief: CommitBelief) -> End:
    """Return a typed refusal: what it means is what its reason says, in words that exist."""
    if not isinstance(refused, dict) or refused.keys() != {"reason", "detail"}:
        return _malformed(current, "refused in another shape")
    reason = refused["reason"]
    if not isinstance(reason, str) or not (reason in _REASONS or PACK_REASON.fullmatch(reason)):
        return End("error", Reason.TOOL_ERROR, "unknown refusal", belief)
    if reason == Reason.APPROVAL_DENIED:
        redemption_failed(current, reply.cause)
    return End(_status(reason), reason, reply.cause or "refused", belief)


def _status(reason: str) -> ReplyStatus:
    """Return whether a reason says that the call was not let through, or that it went wrong."""
    return "rejected" if reason in _REJECTING or ":" in reason else "error"


def _stored(
    current: Call, client: ToolClient, tenant: str
) -> tuple[StoredOperation | None, End | None]:
    """Return what the store holds under this key, or the end if it cannot be read."""
    name, key = current.tool.manifest.name, current.attempt.key
    current.waited = True
    try:
        found = call("tool_client", lambda: client.look_up(tenant, name, key))
    except DependencyFailure as failure:
        return None, failed(failure.reason, "lookup_failed", failure.retry_after_ms)
    if found is not None and not isinstance(found, StoredOperation):
        return None, failed(Reason.DEPENDENCY_ERROR, "lookup_failed")
    return found, None


def _stage(belief: CommitBelief) -> str:
    return "committed" if belief in ("committed", "replayed") else "rolled_back"


def _found(current: Call, stored: StoredOperation | None) -> str:
    """Return what a look-up found, as the attempt log calls it."""
    if stored is None:
        return "absent"
    if stored.argument_digest != current.attempt.argument_digest:
        return "mismatch"
    return "replay" if stored.status == "committed" else stored.status


def _noted(current: Call, found: str) -> None:
    current.attempt.lookup = found
    current.attempt.stages.append(["looked_up", found])
