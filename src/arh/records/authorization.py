"""What a decision point is asked and what it answers, and the grants that approvals are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arh.canonical import EMPTY, Json
from arh.records.identity import SecurityContext
from arh.records.quick import quick

DecisionStatus = Literal["allow", "deny", "indeterminate"]


@quick
@dataclass(frozen=True, slots=True)
class Resource:
    """A record that a call names: its owner and revision, or `None` for both where none exists."""

    collection: str
    key: str
    tenant: str | None
    revision: int | None


@quick
@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One action to be decided; `action_digest` covers tool, version and normalised arguments."""

    request_id: str
    context: SecurityContext
    tool: str
    version: str
    effect: str
    arguments: Json
    action_digest: str
    resources: tuple[Resource, ...]
    at_ms: int
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount that an action takes from a cumulative limit, in the limit's own unit."""

    limit: str
    amount: int
    limit_max: int


@quick
@dataclass(frozen=True, slots=True)
class AuthorizationDecision:
    """A decision with its reason; it must echo the request's id and action digest to count.

    Obligations are what the enforcement point must discharge: an approval, charges against limits.
    """

    request_id: str
    action_digest: str
    status: DecisionStatus
    reason: str
    decision_id: str = ""
    policy: str = ""
    policy_digest: str = ""
    rule: str = ""
    require_approval: bool = False
    charges: tuple[Charge, ...] = ()
    expires_at_ms: int | None = None
    latency_ms: int = 0


@dataclass(frozen=True, slots=True)
class Grant:
    """An approval that a person gave: who approved which action of whom, and until when.

    `scope` is an object of argument name -> the only value approved, or `{"max": n}` for an amount.
    A grant with neither scope nor action digest approves nothing. `signature` is the service's.
    """

    approval_id: str
    approver: str
    subject: str
    tenant: str
    tool: str
    tool_version: str | None = None
    action_digest: str | None = None
    scope: Json = EMPTY
    issued_at_ms: int = 0
    expires_at_ms: int | None = None
    single_use: bool = True
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A sensitive action that looks for its approval."""

    request_id: str
    context: SecurityContext
    tool: str
    version: str
    arguments: Json
    action_digest: str
    at_ms: int
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The grants on record for a request, best first; an empty tuple means none was given."""

    action_digest: str
    grants: tuple[Grant, ...] = ()
    latency_ms: int = 0
