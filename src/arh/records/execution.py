"""One authorised call on its way to a tool, and the raw reply that comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from arh.canonical import Json, JsonValue
from arh.records.authorization import Charge, Grant, Resource
from arh.records.outcomes import CommitBelief
from arh.records.quick import quick
from arh.records.state import Operation
from arh.records.tools import Refused, ToolManifest
from arh.records.transactions import CallContext, Tx

Handler = Callable[[dict[str, JsonValue], Tx, CallContext], "JsonValue | Refused"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A manifest with the code that fulfils it.

    Only the gateway's tool client ever holds the code. `lookup` asks a remote what became of a
    call that it was sent: it answers as the handler, or refuses with `not_found` if it never came.
    """

    manifest: ToolManifest
    handler: Handler = field(repr=False)
    lookup: Handler | None = field(default=None, repr=False)


@quick
@dataclass(frozen=True, slots=True)
class Execution:
    """Exactly what was authorised: the arguments are the bytes whose digest the decision echoed."""

    tool: Tool
    operation: Operation
    arguments: Json
    resources: tuple[Resource, ...]
    timeout_ms: int
    grant: Grant | None = None
    charges: tuple[Charge, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Read:
    """One record that a handler read, at the revision it saw."""

    collection: str
    key: str
    revision: int


@quick
@dataclass(frozen=True, slots=True)
class RawReply:
    """What came back from a tool: the body is undecoded bytes of `{"ok": …}` or `{"refused": {…}}`.

    `commit` is what the tool's own side knows; a caller whose reply was lost never sees it. `cause`
    is for the attempt log alone.
    """

    delivery: Literal["delivered", "timeout", "error"]
    commit: CommitBelief
    body: bytes = b""
    reason: str = "ok"
    retry_after_ms: int | None = None
    latency_ms: int = 0
    entry: int | None = None
    reads: tuple[Read, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class StoredOperation:
    """An operation that the store holds: `body` is its reply, undecoded, once it is `committed`.

    An `intent` is on record before a remote call goes out, `unresolved` means that nobody can say
    how that call ended, and an operation `in_flight` is another attempt's, still under way.
    """

    operation_id: str
    argument_digest: str
    status: Literal["committed", "intent", "unresolved", "in_flight"]
    body: bytes = b""
