"""The system rows that a write stands on: its operation, its approval's redemption, its limits.

They are written in the transaction that holds the effect, so that each of them exists exactly when
the effect does. The operation comes first: of two attempts at once the unique row decides, and a
conflict over it is told before any other. Rows belong to the operation's tenant.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, cast

from arh.canonical import JsonValue
from arh.ports.sue import OpenTx, Tx
from arh.records.authorization import Charge, Grant, Resource
from arh.records.execution import Execution, StoredOperation
from arh.records.outcomes import Reason
from arh.records.state import SHARED_TENANT, Operation, Record
from arh.records.tools import Effect, Refused

OPERATIONS: Final = "_operations"
REDEMPTIONS: Final = "_redemptions"
LIMITS: Final = "_limits"

INTENT: Final = "intent"
COMMITTED: Final = "committed"

REPLAYED: Final = "approval_replayed"
RESOURCE_MOVED: Final = "resource_moved"
RESOURCE_HIDDEN: Final = "resource_not_visible"
LIMIT: Final = "limit_exceeded"

_Row: TypeAlias = "dict[str, JsonValue]"


def claim(tx: OpenTx, execution: Execution) -> tuple[Refused, str] | None:
    """Insert the operation, redeem the approval, charge the limits, or return why not.

    After a refusal the transaction must not be committed.
    """
    refused = _recheck(tx, execution)
    if refused is not None:
        return refused
    tx.put(OPERATIONS, row_key(execution.operation), _claimed(execution), expect_revision=0)
    if execution.grant is not None and not _redeem(tx, execution.grant, execution.operation):
        return Refused(Reason.APPROVAL_DENIED), REPLAYED
    for charge in execution.charges:
        if not _charge(tx, charge):
            return Refused(Reason.LIMIT_EXCEEDED), LIMIT
    return None


def complete(tx: OpenTx, execution: Execution, body: bytes) -> None:
    """Keep the reply of the operation that this very transaction has claimed."""
    row = _claimed(execution)
    row["status"], row["body"] = COMMITTED, body.decode()
    tx.put(OPERATIONS, row_key(execution.operation), row)


def settle(tx: OpenTx, execution: Execution, body: bytes) -> None:
    """Keep the reply of an operation that was claimed before, with what it took along."""
    key = row_key(execution.operation)
    record = tx.get(OPERATIONS, key)
    claimed = _claimed(execution) if record is None else _fields(record)
    tx.put(OPERATIONS, key, {**claimed, "status": COMMITTED, "body": body.decode()})


def release(tx: OpenTx, operation: Operation) -> None:
    """Take back an intent that came to nothing: its row, its approval's use, its charges."""
    record = tx.get(OPERATIONS, row_key(operation))
    if record is None:
        return
    row = _fields(record)
    tx.remove(OPERATIONS, row_key(operation))
    if row["redemption"]:
        tx.remove(REDEMPTIONS, str(row["redemption"]))
    for limit, amount in cast("list[tuple[str, int]]", row["charges"]):
        tx.put(LIMITS, limit, {"total": max(0, _total(tx, limit) - amount)})


def read(tx: Tx, operation: Operation) -> StoredOperation | None:
    """Return the operation that is on record under the same tool and key."""
    return stored(tx.get(OPERATIONS, row_key(operation)), operation.tenant)


def stored(record: Record | None, tenant: str) -> StoredOperation | None:
    """Return the tenant's stored operation that a row holds."""
    if record is None or record.tenant != tenant:
        return None
    row = _fields(record)
    status: Literal["committed", "intent", "unresolved"] = "committed"
    if row["status"] != COMMITTED:
        status = "intent" if row["resolvable"] else "unresolved"
    body = str(row["body"]).encode()
    return StoredOperation(str(row["operation_id"]), str(row["argument_digest"]), status, body)


def row_key(operation: Operation) -> str:
    """Return the key of the operation's row."""
    return key_of(operation.tool, operation.key)


def key_of(tool: str, key: str) -> str:
    """Return the key of the row of a tool's operation."""
    return f"{tool}\x1f{key}"


def _recheck(tx: Tx, execution: Execution) -> tuple[Refused, str] | None:
    """Refuse when a resource is no longer what the decision saw, or was never the tenant's."""
    for resource in execution.resources:
        if resource.tenant not in (None, execution.operation.tenant, SHARED_TENANT):
            return Refused(Reason.NOT_FOUND), RESOURCE_HIDDEN
        if not _unmoved(tx, resource):
            return Refused(Reason.PRECONDITION_FAILED), RESOURCE_MOVED
    return None


def _unmoved(tx: Tx, resource: Resource) -> bool:
    record = tx.get(resource.collection, resource.key)
    found = (None, None) if record is None else (record.tenant, record.revision)
    return found == (resource.tenant, resource.revision)


def _redeem(tx: Tx, grant: Grant, operation: Operation) -> bool:
    """Use the approval once for this operation; false if it is used up."""
    key = _redemption(grant, operation)
    if tx.get(REDEMPTIONS, key) is not None:
        return False
    row: _Row = {"operation_id": operation.operation_id, "approver": grant.approver}
    tx.put(REDEMPTIONS, key, row, expect_revision=0)
    return True


def _redemption(grant: Grant, operation: Operation) -> str:
    """Return the row that one use takes: the approval's only one, or one for each operation."""
    if grant.single_use:
        return grant.approval_id
    return f"{grant.approval_id}\x1f{operation.operation_id}"


def _charge(tx: Tx, charge: Charge) -> bool:
    """Add to the running total; false if that is over the limit, or would give something back."""
    total = _total(tx, charge.limit) + charge.amount
    if charge.amount < 0 or total > charge.limit_max:
        return False
    tx.put(LIMITS, charge.limit, {"total": total})
    return True


def _total(tx: Tx, limit: str) -> int:
    record = tx.get(LIMITS, limit)
    return 0 if record is None else int(cast("int", _fields(record)["total"]))


def _claimed(execution: Execution) -> _Row:
    """Return the operation's row before its reply is known, with what it takes along."""
    operation, grant, tool = execution.operation, execution.grant, execution.tool
    keyed = tool.manifest.effect is Effect.KEYED_REMOTE
    return {
        "operation_id": operation.operation_id,
        "argument_digest": operation.argument_digest,
        "status": INTENT,
        "resolvable": keyed and tool.lookup is not None,
        "redemption": "" if grant is None else _redemption(grant, operation),
        "charges": [[charge.limit, charge.amount] for charge in execution.charges],
        "body": "",
    }


def _fields(record: Record) -> _Row:
    return cast("_Row", record.value.value())
