"""What is known of a call under way, how a stage ends it, and the stages before any decision.

A stage is a function of a call: it returns `None` when the call may go on, or the `End` that the
caller gets. These stages need nothing but the call and the registry: which tool it is, what its
arguments say, whether they fit, and which logical action that makes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from arh.canonical import EMPTY, Json, JsonValue, encode
from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure, call
from arh.ports.sue import StateReader
from arh.records.authorization import AuthorizationDecision, Grant, Resource
from arh.records.execution import StoredOperation
from arh.records.identity import SecurityContext
from arh.records.messages import ReplyStatus, ToolRequest
from arh.records.outcomes import CommitBelief, Delivery, Reason
from arh.tools.arguments import read_arguments
from arh.tools.attempts import Attempt
from arh.tools.registry import Registered, action_digest

KEY_CHARS_MAX: Final = 255

_METADATA_KEY: Final = re.compile(rf"[\x21-\x7e]{{1,{KEY_CHARS_MAX}}}")


class End(NamedTuple):
    """How a call ends. `value` is the decoded `result`; `cause` is for the attempt log alone."""

    status: ReplyStatus
    reason: str
    cause: str = ""
    commit_belief: CommitBelief | None = None
    delivery: Delivery = "delivered"
    result: Json | None = None
    value: JsonValue = None
    retry_after_ms: int | None = None


@dataclass(slots=True)
class Call:
    """One call under way; each stage adds what it found out.

    `resolve` sets `tool` and `writes` for all stages after it, `parse` sets `arguments`. A stage
    that reached out of the gateway sets `waited`: time may have passed, so it is read again, into
    `now_ms`, before the call goes on.
    """

    request: ToolRequest
    metadata_key: str | None
    attempt: Attempt
    deadline_ms: int
    now_ms: int
    waited: bool
    frozen: Json = EMPTY
    resources: tuple[Resource, ...] = ()
    decision: AuthorizationDecision | None = None
    stored: StoredOperation | None = None
    grant: Grant | None = None
    writes: bool = False
    tool: Registered = field(init=False)
    arguments: dict[str, JsonValue] = field(init=False)

    def passed(self, stage: str, result: str = "ok") -> None:
        """Note how a stage went."""
        self.attempt.stages.append([stage, str(result)])


Stage = Callable[[Call], End | None]


def rejected(reason: Reason, cause: str = "") -> End:
    """Return the end of a call that the gateway did not let through."""
    return End("rejected", reason, cause)


def failed(reason: str, cause: str = "", retry_after_ms: int | None = None) -> End:
    """Return the end of a call that something failed under before it was dispatched."""
    return End("error", reason, cause, retry_after_ms=retry_after_ms)


def resolve(current: Call, offered: Mapping[str, Registered]) -> End | None:
    """Find the tool by its exact name; one that is not offered does not exist for this caller."""
    name = current.request.tool
    entry = offered.get(name) if type(name) is str else None
    if entry is None:
        parsed = read_arguments(current.request.arguments)
        if not isinstance(parsed, str):
            current.attempt.arguments = parsed[0]
        current.passed("resolved", Reason.UNKNOWN_TOOL)
        return rejected(Reason.UNKNOWN_TOOL)
    manifest, attempt = entry.manifest, current.attempt
    current.tool, current.writes = entry, entry.writes
    attempt.version, attempt.sensitive = manifest.version, manifest.sensitive_fields
    if entry.writes:
        attempt.commit_belief = "not_started"
    attempt.stages.append(["resolved", "ok"])
    return None


def parse(current: Call) -> End | None:
    """Read the argument text strictly, as an object."""
    parsed = read_arguments(current.request.arguments)
    if isinstance(parsed, str):
        current.passed("parsed", Reason.ARGUMENTS_UNPARSABLE)
        return rejected(Reason.ARGUMENTS_UNPARSABLE, parsed)
    current.arguments, current.frozen = parsed
    current.attempt.arguments = current.arguments
    current.attempt.stages.append(["parsed", "ok"])
    return None


def validate(current: Call) -> End | None:
    """Hold the arguments against the tool's schema, and the key against its bounds."""
    schema = current.tool.arguments
    if schema.fits(current.arguments):
        fault = _key_fault(current) if current.writes else ""
    else:
        fault = "; ".join(schema.problems(current.arguments))
    if fault:
        current.passed("validated", Reason.ARGUMENTS_INVALID)
        return rejected(Reason.ARGUMENTS_INVALID, fault)
    current.attempt.stages.append(["validated", "ok"])
    return None


def identify(current: Call, context: SecurityContext) -> End | None:
    """Digest the action, and name the logical operation that it is an attempt at.

    Operations are told apart by tenant, tool, key and digest: attempts with one key and different
    arguments are not the same action, and no log may join them.
    """
    attempt = current.attempt
    attempt.argument_digest = digest = action_digest(current.tool, current.frozen)
    if current.writes:
        attempt.key, attempt.key_source = _key(current, context, digest)
        named = _hash(context.tenant, current.tool.manifest.name, attempt.key, digest)
        attempt.operation_id = f"op-{named[:24]}"
    return None


def locate(current: Call, reader: StateReader, tenant: str) -> End | None:
    """Read owner and revision of every record that the arguments name."""
    declared = current.tool.manifest.resources
    if not declared:
        return None
    named = [
        (item.collection, key)
        for item in declared
        if type(key := current.arguments.get(item.argument)) is str
    ]
    if not named:
        return None
    current.waited = True
    try:
        found = call("state_reader", lambda: [_resource(reader, tenant, *at) for at in named])
    except DependencyFailure as failure:
        return failed(failure.reason, "resource_unread", failure.retry_after_ms)
    if isinstance(found, ForeignFailure):
        return failed(Reason.DEPENDENCY_ERROR, "resource_unread")
    current.resources = tuple(found)
    return None


def _resource(reader: StateReader, tenant: str, collection: str, key: str) -> Resource:
    """Return what is known of one record: the caller's own or shared one first."""
    record = reader.get(tenant, collection, key) or reader.owner(collection, key)
    if record is None:
        return Resource(collection, key, None, None)
    return Resource(collection, key, record.tenant, record.revision)


def _key_fault(current: Call) -> str:
    """Say what is wrong with the key that would count, if anything."""
    manifest, given = current.tool.manifest, current.metadata_key
    if manifest.key_argument is not None:
        key = current.arguments.get(manifest.key_argument)
        fits = type(key) is str and 0 < len(key) <= KEY_CHARS_MAX
        return "" if fits else f"/{manifest.key_argument} length"
    if given is None:
        return ""
    fits = type(given) is str and _METADATA_KEY.fullmatch(given) is not None
    return "" if fits else "metadata key"


def _key(current: Call, context: SecurityContext, digest: str) -> tuple[str, str]:
    """Return the idempotency key and where it is from."""
    manifest = current.tool.manifest
    if manifest.key_argument is not None:
        return str(current.arguments[manifest.key_argument]), "argument"
    if current.metadata_key is not None:
        return current.metadata_key, "metadata"
    parts = (context.tenant, manifest.name, manifest.version, digest)
    own = (current.attempt.call_id,) if manifest.repeatable else ()
    return f"derived-{_hash(*parts, *own)[:32]}", "derived"


def _hash(*parts: str) -> str:
    """Return the digest of a list of texts."""
    return hashlib.sha256(encode(list(parts))).hexdigest()
