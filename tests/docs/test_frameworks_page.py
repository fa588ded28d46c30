"""The page on frameworks says what was seen, of the releases that are locked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import frameworks
from tools.frameworks import BEGIN, END, FRAMEWORKS, LOCKS, PAGE, observed, pinned, table_lines

CELLS = {"golden scenario": "pass", "makes a ticket up": "fail"}


def test_the_page_has_a_column_for_each_framework_with_its_locked_release() -> None:
    """A lock that was written anew asks for a new look at what its frameworks do."""
    head, _, releases, *rows = PAGE.read_text("utf-8").partition(BEGIN)[2].strip().splitlines()

    assert head == f"| | {' | '.join(one.title for one in FRAMEWORKS)} |"
    assert releases == f"| release | {' | '.join(map(pinned, FRAMEWORKS))} |"
    assert len(rows) > 5
    assert "not tried" not in "".join(rows)


def test_each_framework_has_an_agent_ranges_and_a_lock_without_addresses() -> None:
    """What is installed is pinned by hash, and no line says from where."""
    for framework in FRAMEWORKS:
        lock = (LOCKS / f"{framework.lock}.lock").read_text("utf-8")

        assert framework.agent.is_file()
        assert (LOCKS / f"{framework.lock}.in").is_file()
        assert "--hash=sha256:" in lock
        assert "://" not in lock


def test_what_was_seen_becomes_the_table(tmp_path: Path) -> None:
    """Rows are in the order of the tests; what one framework was not tried on is said."""
    first = FRAMEWORKS[0].name
    for place, (row, cell) in enumerate(CELLS.items()):
        (tmp_path / f"{first}.{place}.json").write_text(json.dumps({row: cell}), "utf-8")

    lines = list(table_lines(observed(tmp_path)))

    others = " | not tried" * (len(FRAMEWORKS) - 1)
    assert lines[3:] == [f"| {row} | {cell}{others} |" for row, cell in CELLS.items()]


@pytest.mark.parametrize(("told", "code"), [("| as seen |", 0), ("| as once seen |", 1)])
def test_a_page_that_says_something_else_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, code: int
) -> None:
    """What was seen is compared with what is told; writing puts it right."""
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(f"before\n{BEGIN}\n{told}\n{END}\nafter\n", "utf-8")
    monkeypatch.setattr(frameworks, "PAGE", page)
    monkeypatch.setattr(frameworks, "ROOT", tmp_path)

    assert frameworks.compared("| as seen |") == code
    assert frameworks.written("| as seen |") == 0
    assert frameworks.compared("| as seen |") == 0
    assert page.read_text("utf-8") == f"before\n{BEGIN}\n| as seen |\n{END}\nafter\n"


def test_a_page_without_a_place_for_the_table_is_no_page() -> None:
    """The table is not put just anywhere."""
    with pytest.raises(LookupError, match="no place for the table"):
        frameworks.replaced("a page", "a table")
