"""Authoritative state: records, operations, and the commit entries that a store chains.

System collections start with an underscore: `_operations` (one row a tenant, tool and key),
`_redemptions` (one row a used approval), `_limits` (one row a cumulative limit). They take part in
the same transactions as business records and are hidden from tool handlers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from arh.canonical import Json, line
from arh.records.quick import quick

SHARED_TENANT = "*"


@quick
@dataclass(frozen=True, slots=True)
class Record:
    """One record at one revision.

    Revisions count from 1 and never repeat, not even after removal.
    """

    tenant: str
    collection: str
    key: str
    revision: int
    value: Json


@quick
@dataclass(frozen=True, slots=True)
class Operation:
    """One logical action.

    Every attempt with the same tenant, tool and key is the same operation.
    """

    operation_id: str
    key: str
    tool: str
    version: str
    argument_digest: str
    subject: str
    actor: str
    tenant: str
    call_id: str = ""
    decision_id: str = ""
    approval_id: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Change:
    """One record before and after a commit.

    Revision 0 and an empty digest mean that it was absent.
    """

    tenant: str
    collection: str
    key: str
    revision_before: int
    revision_after: int
    digest_before: str
    digest_after: str
    value: Json | None


@quick
@dataclass(frozen=True, slots=True)
class CommitEntry:
    """What one transaction changed, written inside it; `previous` chains the entries of a store."""

    sequence: int
    at_ms: int
    operation: Operation
    changes: tuple[Change, ...]
    state_before: str
    state_after: str
    previous: str
    digest: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The transaction is committed; `entry` says what it changed."""

    entry: CommitEntry


@dataclass(frozen=True, slots=True)
class Conflict:
    """The transaction changed nothing: another one moved this record first."""

    collection: str
    key: str
    expected: int
    found: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The transaction changed nothing: the store refused to commit."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say yet whether the transaction is committed."""


CommitResult = Receipt | Conflict | Failed | Unknown


def record_digest(record: Record) -> str:
    """Return the SHA-256 over a record's identity, revision and canonical value, in hex."""
    identity = line([record.tenant, record.collection, record.key, record.revision])
    return hashlib.sha256(identity + record.value.data).hexdigest()
