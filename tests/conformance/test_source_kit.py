"""The kit for sources of state: the ready-made ones pass it, and each defect is caught."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arh.records.external import Consistency, ExternalState, Reading
from arh.records.packs import CollectionSpec
from arh.state.sources import http_source, postgres_source, sqlite_source
from arh.testing.source_kit import CHECKS, SourceCase, violations
from tests.conformance.databases import (
    QUERIES,
    REVISION,
    Database,
    postgres_database,
    sqlite_database,
    why_no_postgres,
)
from tests.conformance.desk import Desk, serving
from tests.conformance.desk_pack import shown

TICKETS = CollectionSpec("tickets", ("ticket_id",), seeded=False)
LIMITS = Consistency(deadline_ms=10_000, interval_ms=5, attempts_max=20)


def case_of(database: Database, connect: Any, nowhere: str) -> SourceCase:  # noqa: ANN401 - hostile ones too
    """Return a database as a case: each change files one more ticket."""
    numbers = itertools.count(1)
    state = ExternalState(
        "desk", ("tickets",), connect=connect, address=database.address, consistency=LIMITS
    )
    file = lambda: database.file(f"T-{next(numbers)}", "A-1", "k")  # noqa: E731 - one line of it
    return SourceCase(state, (TICKETS,), file, nowhere)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Return an SQLite database."""
    return sqlite_database(tmp_path)


def test_a_source_over_sqlite_passes(database: Database, tmp_path: Path) -> None:
    """The ready-made source over a file does all that a source must."""
    connect = sqlite_source(QUERIES, revision=REVISION)

    assert violations(case_of(database, connect, str(tmp_path / "absent.db"))) == ()


@pytest.mark.slow
def test_a_source_over_postgres_passes() -> None:
    """The ready-made source over a server does all that a source must."""
    if why := why_no_postgres():
        pytest.skip(why)
    with postgres_database() as database:
        connect = postgres_source(QUERIES, revision=REVISION)
        nowhere = "host=127.0.0.1 port=9 user=tester dbname=none"

        assert violations(case_of(database, connect, nowhere)) == ()


@pytest.fixture
def desk() -> Iterator[tuple[Desk, str]]:
    """Return a desk and where it is served."""
    desk = Desk()
    with serving(desk) as url:
        yield desk, url


def test_a_source_over_http_passes(desk: tuple[Desk, str]) -> None:
    """The ready-made source over a service does all that a source must."""
    served, url = desk
    keys = itertools.count()
    connect = http_source("/state", reading=shown)
    state = ExternalState("desk", ("tickets",), connect=connect, address=url, consistency=LIMITS)
    file = lambda: served.file({"account_id": "A-1"}, f"k-{next(keys)}")  # noqa: E731 - one line
    case = SourceCase(state, (TICKETS,), file, "http://127.0.0.1:9")

    assert violations(case) == ()


class Own:
    """A source as a team writes it: twenty lines, and what may be wrong with them."""

    def __init__(self, path: str, defect: str) -> None:
        self.defect = defect
        self.path = path
        self.readings = 0

    def read(self) -> Reading:
        """Return the tickets, or what a defect makes of them."""
        self.readings += 1
        try:
            rows, revision = self.tickets()
        except sqlite3.Error:
            if self.defect != "swallows":
                raise
            rows, revision = [], 0
        if self.defect == "moves":
            rows = [{**row, "read_at": self.readings} for row in rows]
        if self.defect == "frozen":
            revision = 1
        if self.defect == "blind":
            rows = []
        if self.defect == "doubles":
            rows *= 2
        if self.defect == "elsewhere":
            return Reading(revision, {"ticket": rows})
        return Reading(revision, {"tickets": rows})

    def tickets(self) -> tuple[list[dict[str, Any]], int]:
        """Return the rows and the revision."""
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True) as connection:
            found = connection.execute("SELECT ticket_id, account_id FROM tickets").fetchall()
            (revision,) = connection.execute(REVISION).fetchone()
        connection.close()
        return [{"ticket_id": i, "account_id": a} for i, a in found], revision or 0

    def close(self) -> None:
        """Hold nothing open."""


def own(defect: str) -> Callable[[str], Own]:
    """Return how the team's own source is connected."""
    return lambda path: Own(path, defect)


def test_a_teams_own_source_passes(database: Database, tmp_path: Path) -> None:
    """A class with a query and a revision is all that a source takes."""
    assert violations(case_of(database, own(""), str(tmp_path / "absent.db"))) == ()


@pytest.mark.parametrize(
    ("defect", "caught_by"),
    [
        ("swallows", "fails_where_nothing_is"),
        ("moves", "shows_a_change_once"),
        ("frozen", "shows_a_change_once"),
        ("blind", "makes_records"),
        ("doubles", "makes_records"),
        ("elsewhere", "reads_at_its_consistency_point"),
    ],
)
def test_each_defect_is_caught(
    database: Database, tmp_path: Path, defect: str, caught_by: str
) -> None:
    """A source with a defect fails the check that is about it."""
    case = case_of(database, own(defect), str(tmp_path / "absent.db"))
    limits = replace(LIMITS, attempts_max=5)
    case = replace(case, state=replace(case.state, consistency=limits))

    found = violations(case)

    assert caught_by in {line.split(":")[0] for line in found}


def test_every_check_says_what_is_true() -> None:
    """Each check has a docstring, which is what its failure means."""
    assert all(check.__doc__ for check in CHECKS)
