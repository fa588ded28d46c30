"""What a tool handler works with.

One transaction of its operation, and what it may know of its call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from arh.canonical import JsonValue
from arh.records.state import Record


class Tx(Protocol):
    """One transaction of one operation, seeing its tenant's records and the shared ones."""

    def get(self, collection: str, key: str) -> Record | None:
        """Return the record, or `None`."""
        ...

    def find(self, collection: str, where: Mapping[str, JsonValue]) -> tuple[Record, ...]:
        """Return the records whose fields equal `where`, in key order."""
        ...

    def put(
        self, collection: str, key: str, value: JsonValue, *, expect_revision: int | None = None
    ) -> None:
        """Write the record at commit.

        With `expect_revision`, only if it still has that revision.
        """
        ...

    def remove(self, collection: str, key: str) -> None:
        """Remove the record at commit."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    """Where the service that fulfils a tool is reached, and the credential that it wants."""

    url: str
    credential: str | None = field(default=None, repr=False)


class CallContext(Protocol):
    """What a handler may know of its call."""

    @property
    def subject(self) -> str:
        """The authenticated caller."""
        ...

    @property
    def tenant(self) -> str:
        """The tenant that bounds the call."""
        ...

    @property
    def key(self) -> str:
        """The operation's idempotency key, which a remote is sent."""
        ...

    @property
    def timeout_ms(self) -> int:
        """What is left of the call's time, in milliseconds of the run."""
        ...

    def service(self) -> Service:
        """Return the service that the tool's manifest names; ask anew for each request.

        Raises:
            LookupError: The manifest names none.
        """
        ...

    def now_ms(self) -> int:
        """Return the run's time."""
        ...

    def new_id(self, prefix: str) -> str:
        """Return a fresh identifier `<prefix>-0001`."""
        ...
