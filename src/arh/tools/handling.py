"""How a handler is run: what it is handed, and what may come back.

A handler is foreign code. It gets a fresh copy of exactly the arguments that were authorised, a few
facts of its call, and a view of the transaction without system collections, which is void once it
has returned. What it answers is turned into bytes at once, so that nothing it keeps hold of can
change the reply, and an answer outside its contract counts as a failure of the handler.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import Any, Final, NamedTuple, TypeAlias, final

from arh.canonical import JsonValue, encode
from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure, call
from arh.ports.sue import Clock, Ids, Tx
from arh.records.execution import Execution, Handler, Read
from arh.records.outcomes import PACK_REASON, Reason
from arh.records.state import Record
from arh.records.tools import Refused
from arh.records.transactions import Service
from arh.tools.services import NO_SERVICES, Services

Answer: TypeAlias = bytes | Refused | ForeignFailure | DependencyFailure

_REFUSALS: Final = (Reason.NOT_FOUND, Reason.PRECONDITION_FAILED)
_SYSTEM: Final = "_"  # looked for with `str`'s own method, whatever a foreign name's type says


class Handled(NamedTuple):
    """How a handler ended: the reply's body, a refusal or a failure, and what it was shown."""

    answer: Answer
    reads: tuple[Read, ...]


def handle(
    handler: Handler, execution: Execution, tx: Tx, *, about: Call, writable: bool
) -> Handled:
    """Run the handler once; whatever it does comes back as a value."""
    view = View(tx, writable=writable)
    arguments: Any = execution.arguments.value()
    try:
        answer: Answer = call("tool", lambda: _checked(handler(arguments, view, about)))
        answer = about.withheld(answer)
    except DependencyFailure as failure:
        answer = failure
    finally:
        view.close()
    return Handled(answer, view.reads())


def refusal(refused: Refused) -> bytes:
    """Return the body of a refused reply."""
    return encode({"refused": {"reason": str(refused.reason), "detail": refused.detail}})


@final
class Call:
    """Implements `arh.ports.sue.CallContext`."""

    __slots__ = ("_clock", "_deadline_ms", "_execution", "_ids", "_operation", "_services")

    def __init__(
        self, execution: Execution, clock: Clock, ids: Ids, services: Services = NO_SERVICES
    ) -> None:
        """Take the trusted identity of the operation, nothing from its arguments."""
        self._execution = execution
        self._operation = execution.operation
        self._clock = clock
        self._ids = ids
        self._services = services
        self._deadline_ms = clock.now_ms() + execution.timeout_ms

    @property
    def subject(self) -> str:
        """The authenticated caller."""
        return self._operation.subject

    @property
    def tenant(self) -> str:
        """The tenant that bounds the call."""
        return self._operation.tenant

    @property
    def key(self) -> str:
        """The operation's idempotency key, which a remote is sent."""
        return self._operation.key

    @property
    def timeout_ms(self) -> int:
        """What is left of the call's time."""
        return max(0, self._deadline_ms - self._clock.now_ms())

    def service(self) -> Service:
        """Return the service that the tool's manifest names.

        Raises:
            LookupError: The manifest names none.
        """
        return self._services.of(self._execution.tool.manifest)

    def withheld(self, answer: Answer) -> Answer:
        """Return the answer, or a failure in its place if it shows the tool's credential."""
        if self._execution.tool.manifest.credential is None:
            return answer
        body = refusal(answer) if isinstance(answer, Refused) else answer
        if isinstance(body, bytes) and self._services.exposed_in(body.decode()):
            return ForeignFailure("tool", "CredentialExposed")
        return answer

    def now_ms(self) -> int:
        """Return the run's time."""
        return self._clock.now_ms()

    def new_id(self, prefix: str) -> str:
        """Return a fresh identifier `<prefix>-0001`."""
        return self._ids.next(prefix)


@final
class View:
    """Implements `arh.ports.sue.Tx` for a handler: business records only, until it has returned."""

    __slots__ = ("_reads", "_tx", "_writable", "_written")

    def __init__(self, tx: Tx, *, writable: bool) -> None:
        """Look through to a transaction."""
        self._tx: Tx | None = tx
        self._writable = writable
        self._reads: dict[tuple[str, str, int], None] = {}
        self._written: set[tuple[str, str]] = set()

    def get(self, collection: str, key: str) -> Record | None:
        """Return the record, or `None`; a system collection has none to show."""
        if str.startswith(collection, _SYSTEM):
            return None
        record = self._live().get(collection, key)
        if record is not None:
            self._note(record)
        return record

    def find(self, collection: str, where: Mapping[str, JsonValue]) -> tuple[Record, ...]:
        """Return the records whose fields equal `where`, in key order."""
        if str.startswith(collection, _SYSTEM):
            return ()
        records = self._live().find(collection, where)
        for record in records:
            self._note(record)
        return records

    def put(
        self, collection: str, key: str, value: JsonValue, *, expect_revision: int | None = None
    ) -> None:
        """Write the record at commit.

        Raises:
            PermissionError: The tool may not write, or not there.
        """
        self._require_writable(collection)
        self._live().put(collection, key, value, expect_revision=expect_revision)
        self._written.add((collection, key))

    def remove(self, collection: str, key: str) -> None:
        """Remove the record at commit.

        Raises:
            PermissionError: The tool may not write, or not there.
        """
        self._require_writable(collection)
        self._live().remove(collection, key)
        self._written.add((collection, key))

    def reads(self) -> tuple[Read, ...]:
        """Return every committed record that was handed out, once for each revision."""
        return tuple(starmap(Read, self._reads))

    def close(self) -> None:
        """End the view: a handler that kept it can do nothing with it."""
        self._tx = None

    def _note(self, record: Record) -> None:
        if (record.collection, record.key) not in self._written:
            self._reads[record.collection, record.key, record.revision] = None

    def _require_writable(self, collection: str) -> None:
        if not self._writable:
            raise PermissionError("this tool may not write: its manifest does not declare it")
        if str.startswith(collection, _SYSTEM):
            raise PermissionError("system collections are not a handler's to write")

    def _live(self) -> Tx:
        if self._tx is None:
            raise PermissionError("the call has ended, and its transaction with it")
        return self._tx


def _checked(result: object) -> bytes | Refused:
    """Return the body of a result, or a refusal that the contract allows.

    Raises:
        ValueError: The result is not JSON, or the refusal's reason is not a handler's to give.
    """
    if type(result) is not Refused:
        return encode({"ok": result})
    refusal(result)
    if result.reason not in _REFUSALS and not PACK_REASON.fullmatch(result.reason):
        raise ValueError("expected not_found, precondition_failed or a reason of the pack")
    return result
