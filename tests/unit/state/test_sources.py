"""Ready-made sources: one moment of a database, values that JSON has words for, and no silence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arh.canonical import Refused
from arh.errors import AuthoringError, DependencyFailure
from arh.records.external import Reading
from arh.state import sources
from arh.state.sources import http_source, postgres_source, sqlite_source
from tests.conformance.desk import Desk, serving


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a database with one table of every kind of value."""
    path = tmp_path / "a.db"
    run(
        path, "CREATE TABLE things (id TEXT, amount, note)", "CREATE TABLE changes (number INTEGER)"
    )
    return path


def run(path: Path, *statements: str) -> None:
    """Run statements and commit."""
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def read(path: Path, **changes: Any) -> Reading:  # noqa: ANN401 - any option
    """Return one reading of the things."""
    options = {"revision": "SELECT MAX(number) FROM changes", **changes}
    source = sqlite_source({"things": "SELECT id, amount, note FROM things"}, **options)(str(path))
    try:
        return source.read()
    finally:
        source.close()


def test_values_become_json(path: Path) -> None:
    """What JSON has no word for, and numbers that it would round, become text."""
    run(path, "INSERT INTO things VALUES ('a', 1152921504606846976, X'00FF'), ('b', 1.5, NULL)")

    reading = read(path)

    assert reading == Reading(
        0,
        {
            "things": [
                {"id": "a", "amount": "1152921504606846976", "note": "00ff"},
                {"id": "b", "amount": 1.5, "note": None},
            ]
        },
    )


def test_revision_and_watermark_are_read_too(path: Path) -> None:
    """Both are one number each; a table without rows is at revision 0."""
    empty = read(path)
    run(path, "INSERT INTO changes VALUES (3), (7)")
    full = read(path, watermark="SELECT 9")

    assert (empty.revision, empty.watermark) == (0, 0)
    assert (full.revision, full.watermark) == (7, 9)


def test_a_source_cannot_write(path: Path) -> None:
    """A query that would write fails, and the database is as it was."""
    source = sqlite_source({"things": "DELETE FROM things"}, revision="SELECT 1")(str(path))
    run(path, "INSERT INTO things VALUES ('a', 1, 'n')")

    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        source.read()
    source.close()

    assert len(list(read(path).rows["things"])) == 1


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """An address without a database fails, where an empty one would look like an empty state."""
    with pytest.raises(sqlite3.OperationalError):
        read(tmp_path / "absent.db")

    assert list(tmp_path.iterdir()) == []


def test_rows_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than may be are an error, never a part of them."""
    monkeypatch.setattr(sources, "SQL_ROWS_MAX", 2)
    run(path, *["INSERT INTO things VALUES ('a', 1, 'n')"] * 3)

    with pytest.raises(ValueError, match="too many rows"):
        read(path)


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack that reads PostgreSQL does not load without the library, and says what to install."""
    monkeypatch.setattr(sources, "find_spec", lambda _name: None)

    with pytest.raises(AuthoringError, match=r"agentic-reliability-harness\[postgres\]"):
        postgres_source({}, revision="SELECT 1")


@pytest.fixture
def desk() -> Iterator[tuple[Desk, str]]:
    """Return a desk and where it is served."""
    desk = Desk()
    with serving(desk) as url:
        yield desk, url


def test_a_service_is_read_strictly(desk: tuple[Desk, str]) -> None:
    """No success, no strict JSON, or no answer at all is never an empty state."""
    served, url = desk
    source = http_source("/state", reading=lambda _value: Reading(0, {}), timeout_ms=200)(url)
    assert source.read() == Reading(0, {})

    for trouble in ("broken", "hang", "redirect", "cut"):
        served.trouble = trouble
        with pytest.raises(DependencyFailure):
            source.read()
    for trouble in ("no_json", "twice"):
        served.trouble = trouble
        with pytest.raises(Refused):
            source.read()
    source.close()
