"""Ready-made sources of a team's own state: a query or a GET a collection, and a revision.

Each returns what `ExternalState.connect` wants. A database is read in one transaction that shows
one moment: a copy of the file's state in SQLite, a repeatable read in PostgreSQL. What JSON has no
word for (times, decimals, identifiers, large numbers) becomes text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, Protocol, final

from arh.canonical import JsonValue, parse
from arh.errors import AuthoringError, DependencyFailure
from arh.http_exchange import HttpFailure, HttpReply, HttpRequest, exchange
from arh.records.external import Reading, Row, StateSource

SQL_ROWS_MAX: Final = 100_000
HTTP_BYTES_MAX: Final = 16_000_000
HTTP_MS_MAX: Final = 2_000
WHOLE_MAX: Final = 2**53 - 1

Connect = Callable[[str], StateSource]


def sqlite_source(
    queries: Mapping[str, str], *, revision: str, watermark: str | None = None
) -> Connect:
    """Return what reads an SQLite file, one query a collection; the address is its path.

    `revision` is a query of one number that grows with every write, as `watermark` is where the
    file is a copy of another database.
    """

    def connect(address: str) -> StateSource:
        uri = f"file:{address}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=1)
        return SqlSource(connection, queries, revision, watermark, begin="BEGIN")

    return connect


def postgres_source(
    queries: Mapping[str, str], *, revision: str, watermark: str | None = None
) -> Connect:
    """Return what reads a PostgreSQL database, one query a collection; the address is its DSN.

    Raises:
        AuthoringError: psycopg is not installed.
    """
    if find_spec("psycopg") is None:
        hint = 'pip install "agentic-reliability-harness[postgres]"'
        raise AuthoringError.of("reading PostgreSQL needs psycopg", hint=hint)

    def connect(address: str) -> StateSource:
        import psycopg  # noqa: PLC0415 - an extra, and heavy

        connection = psycopg.connect(address, autocommit=True, connect_timeout=2)
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        return SqlSource(connection, queries, revision, watermark, begin=begin)

    return connect


def http_source(
    path: str,
    *,
    reading: Callable[[JsonValue], Reading],
    headers: Mapping[str, str] | None = None,
    timeout_ms: int = HTTP_MS_MAX,
) -> Connect:
    """Return what reads a service by one GET; the address is the service's, `reading` its answer.

    The answer is read strictly, as JSON without duplicate keys, of at most 16 MB.
    """
    sent = tuple((headers or {}).items())
    return lambda address: HttpSource(address.rstrip("/") + path, reading, sent, timeout_ms)


class Cursor(Protocol):
    """What is used of a DB-API cursor."""

    @property
    def description(self) -> Sequence[Any] | None:
        """The columns of the last query."""
        ...

    def execute(self, query: Any, /) -> object:  # noqa: ANN401 - each driver has a type of its own
        """Run a query."""
        ...

    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]:
        """Return the next rows."""
        ...

    def close(self) -> None:
        """Let go of the result."""
        ...


class Connection(Protocol):
    """What is used of a DB-API connection, which must not open transactions by itself."""

    def cursor(self) -> Cursor:
        """Return a cursor."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


@final
class SqlSource:
    """Implements `arh.records.external.StateSource` over a DB-API connection."""

    def __init__(
        self,
        connection: Connection,
        queries: Mapping[str, str],
        revision: str,
        watermark: str | None,
        *,
        begin: str,
    ) -> None:
        """Read with these queries, in a transaction that `begin` opens."""
        self._connection = connection
        self._queries = queries
        self._revision = revision
        self._watermark = watermark
        self._begin = begin

    def read(self) -> Reading:
        """Return the rows of all queries as of one moment."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._begin)
            try:
                return self._read(cursor)
            finally:
                cursor.execute("ROLLBACK")
        finally:
            cursor.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _read(self, cursor: Cursor) -> Reading:
        revision = _number(cursor, self._revision)
        rows = {name: list(_rows(cursor, query)) for name, query in self._queries.items()}
        watermark = 0 if self._watermark is None else _number(cursor, self._watermark)
        return Reading(revision, rows, watermark)


@final
class HttpSource:
    """Implements `arh.records.external.StateSource` over one GET."""

    def __init__(
        self,
        url: str,
        reading: Callable[[JsonValue], Reading],
        headers: tuple[tuple[str, str], ...],
        timeout_ms: int,
    ) -> None:
        """Ask this address, and make a reading of what it answers."""
        self._request = HttpRequest("GET", url, (("Accept", "application/json"), *headers))
        self._reading = reading
        self._timeout_ms = timeout_ms

    def read(self) -> Reading:
        """Return what the service shows now.

        Raises:
            DependencyFailure: It shows nothing, or not with success.
        """
        reply = exchange(self._request, timeout_ms=self._timeout_ms, size_max=HTTP_BYTES_MAX)
        if isinstance(reply, HttpFailure) or not _is_success(reply):
            raise DependencyFailure("dependency_error")
        return self._reading(parse(reply.body, size_max=HTTP_BYTES_MAX))

    def close(self) -> None:
        """Do nothing: each reading has a connection of its own."""


def _is_success(reply: HttpReply) -> bool:
    return 200 <= reply.status < 300  # noqa: PLR2004 - success, in HTTP


def _rows(cursor: Cursor, query: str) -> Iterator[Row]:
    """Yield the rows of a query by column name.

    Raises:
        ValueError: There are more than may be.
    """
    cursor.execute(query)
    names = [str(column[0]) for column in cursor.description or ()]
    found = cursor.fetchmany(SQL_ROWS_MAX + 1)
    if len(found) > SQL_ROWS_MAX:
        raise ValueError("too many rows: let the query choose those that runs are about")
    for row in found:
        yield {name: _json(value) for name, value in zip(names, row, strict=True)}


def _number(cursor: Cursor, query: str) -> int:
    """Return the one number of a query; `NULL` is 0, as of a table without rows."""
    cursor.execute(query)
    (found,) = cursor.fetchmany(2)
    return int(found[0] or 0)


def _json(value: Any) -> JsonValue:  # noqa: ANN401 - whatever a driver returns
    """Return a column's value as JSON, as text what JSON has no word for."""
    if value is None or isinstance(value, bool | str | float | dict | list):
        return value
    if isinstance(value, int):
        return value if abs(value) <= WHOLE_MAX else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value)
