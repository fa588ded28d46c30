"""Databases of a team's own, for tests: an SQLite file, and a PostgreSQL server on loopback.

The server is started in a temporary folder, as another user where the tests run as root, since
PostgreSQL refuses that. Where no PostgreSQL is installed, its tests are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = (
    "CREATE TABLE tickets (ticket_id TEXT PRIMARY KEY, account_id TEXT, key TEXT, paid NUMERIC)",
    "CREATE TABLE journal (revision INTEGER PRIMARY KEY)",
)
QUERIES = {"tickets": "SELECT ticket_id, account_id, key, paid FROM tickets"}
REVISION = "SELECT MAX(revision) FROM journal"


@dataclass(frozen=True)
class Database:
    """A database with tickets: its address for a reader, and how one connects to write."""

    kind: str
    address: str
    connect: Callable[[], Any]

    def empty(self) -> None:
        """Leave no ticket."""
        self.run("DELETE FROM tickets", "DELETE FROM journal")

    def file(self, number: str, account: str, key: str) -> None:
        """File a ticket, and count the revision up."""
        self.run(
            f"INSERT INTO tickets VALUES ('{number}', '{account}', '{key}', 12.5)",  # noqa: S608 - a test's own words
            "INSERT INTO journal SELECT COALESCE(MAX(revision), 0) + 1 FROM journal",
        )

    def found(self, key: str) -> list[str]:
        """Return the tickets that were filed under a key."""
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute(f"SELECT ticket_id FROM tickets WHERE key = '{key}'")  # noqa: S608 - as above
        rows = cursor.fetchall()
        connection.close()
        return [row[0] for row in rows]

    def run(self, *statements: str) -> None:
        """Run statements in one transaction."""
        connection = self.connect()
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
        connection.close()


def sqlite_database(folder: Path) -> Database:
    """Return a fresh SQLite database."""
    path = folder / "desk.db"
    database = Database("sqlite", str(path), lambda: sqlite3.connect(path))
    database.run(*SCHEMA)
    return database


@contextmanager
def postgres_database() -> Iterator[Database]:
    """Run a PostgreSQL server of its own and return its database."""
    import psycopg  # noqa: PLC0415 - only where it is installed

    with _server() as dsn:
        database = Database("postgres", dsn, lambda: psycopg.connect(dsn))
        database.run(*SCHEMA)
        yield database


def why_no_postgres() -> str:
    """Return why PostgreSQL cannot be tested here, or nothing."""
    if binaries() is None:
        return "no PostgreSQL is installed (Debian: apt-get install postgresql)"
    try:
        import psycopg  # noqa: F401, PLC0415 - whether it is there is the question
    except ImportError:
        return "psycopg is not installed"
    return ""


def binaries() -> Path | None:
    """Return the folder of the server's commands, the newest first."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return places[0].parent if places else None


@contextmanager
def _server() -> Iterator[str]:
    folder, port = Path(tempfile.mkdtemp(prefix="arh-pg-")), _free_port()
    commands = binaries()
    assert commands is not None
    as_other: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        as_other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    control = [*as_other, str(commands / "pg_ctl"), "-D", str(data), "-w"]
    try:
        init = ["-D", str(data), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8"]
        _run([*as_other, str(commands / "initdb"), *init], folder)
        _run([*control, "-l", str(folder / "log"), "-o", options, "start"], folder)
        yield f"host=127.0.0.1 port={port} user=tester dbname=postgres"
    finally:
        _run([*control, "-m", "immediate", "stop"], folder, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], folder: Path, *, check: bool = True) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        timeout=60,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert not check or done.returncode == 0, done.stderr.decode(errors="replace")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
