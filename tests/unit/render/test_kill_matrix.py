"""The kill matrix as text and as a page: complete, and harmless whatever stands in it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Final

import pytest
from markdown_it import MarkdownIt

from arh.records.control.kills import CELLS, Cell, KillMatrix, Row
from arh.render.kill_matrix import (
    SIGNS,
    STYLE,
    matrix_html,
    matrix_page,
    policy,
    row_lines,
    summary_lines,
)
from tests.unit.render.hostile import COMMANDS, ESCAPES, LINES

MARKUP: Final = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>",
    "' onmouseover='x",
    "| a | b |",
    "[x](javascript:1)",
    "&lt;b&gt;",
)
HOSTILE: Final = (*ESCAPES, *LINES, *COMMANDS, *MARKUP)
TAGS: Final = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "strong", "span", "div"),
    *("table", "thead", "tbody", "tr", "th", "td", "small", "ul", "li"),
}
MATRIX: Final = KillMatrix(
    "supplies@1.0",
    "reference",
    ("a-001", "b-002"),
    (
        Row(
            "scopes",
            "anybody may",
            "killed",
            cells=(Cell("a-001", "killed", "guardrails.bypass"), Cell("b-002", "untouched")),
        ),
        Row(
            "limit",
            "no limit",
            "survived",
            "1 run went otherwise and nobody minded",
            (Cell("a-001", "survived"), Cell("b-002", "unclear", "error: fixture_mismatch")),
        ),
        Row("redaction", "all is kept", "not applicable", "no tool declares a sensitive field"),
    ),
    (("c-003", "fail: it failed"),),
)


class Page(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, text: str) -> None:
        """Read it."""
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag and its attributes."""
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.texts.append(data)


def hostile(text: str) -> KillMatrix:
    """A matrix in which every text from outside is this one."""
    cells = tuple(Cell(text, status, text) for status in CELLS)
    rows = (
        Row(text, text, "killed", text, cells),
        Row(text, text, "survived", text, cells),
        Row(text, text, "not applicable", text),
    )
    return KillMatrix(text, text, (text, text), rows, ((text, text),))


def rendered(matrix: KillMatrix) -> list[str]:
    """The tags that a Markdown renderer, which lets HTML through, makes of the page."""
    return Page(MarkdownIt("commonmark").enable("table").render(matrix_page(matrix))).tags


def test_the_page_has_a_line_for_each_control_and_a_column_for_each_scenario() -> None:
    """With the sign of each cell, and the reason of a control without any."""
    page = Page(matrix_html(MATRIX))

    assert page.tags.count("tr") == 1 + len(MATRIX.rows)
    for text in ("a-001", "b-002", "scopes", "anybody may", "no tool declares a sensitive field"):
        assert text in page.texts
    assert [page.texts.count(SIGNS[s]) for s in CELLS if SIGNS[s]] == [2, 2, 2, 2]
    assert "c-003: fail: it failed" in page.texts


def test_the_page_needs_nothing_and_runs_nothing() -> None:
    """No script, no address, and a policy that allows its own style sheet by digest alone."""
    text = matrix_html(MATRIX)
    page = Page(text)
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= {
        "charset", "class", "colspan", "content", "http-equiv", "lang", "name", "scope", "title",
    }  # fmt: skip
    assert ("content", policy(STYLE)) in page.attributes
    assert policy(STYLE).startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert f"<style>{STYLE}</style>" in text
    assert "://" not in text


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_gets_out_of_its_place(text: str) -> None:
    """The page has the tags and attributes of a harmless one, and the texts are on one line."""
    harmless, page = Page(matrix_html(hostile("x"))), Page(matrix_html(hostile(text)))
    lines = [*row_lines(hostile(text).rows[1], 9), *summary_lines(hostile(text))]

    assert page.tags == harmless.tags
    assert [name for name, _ in page.attributes] == [name for name, _ in harmless.attributes]
    assert matrix_page(hostile(text)).count("\n") == matrix_page(hostile("x")).count("\n")
    assert rendered(hostile(text)) == rendered(hostile("x"))
    assert [line for line in lines if not line.isprintable() or line.startswith("::")] == []


def test_the_console_says_who_noticed_and_what_to_do() -> None:
    """A line each; a control that survives has a second one."""
    lines = [line for row in MATRIX.rows for line in row_lines(row, 9)]

    assert lines == [
        "scopes     killed by a-001 (guardrails.bypass)",
        "limit      SURVIVED: 1 run went otherwise and nobody minded",
        "           no limit: write a scenario that fails then",
        "redaction  not applicable: no tool declares a sensitive field",
    ]
    counted = "2 controls broken one at a time over 2 scenarios: 1 killed, 1 survived"
    assert list(summary_lines(MATRIX)) == [
        "c-003 was left out: with every control in place, fail: it failed",
        f"supplies@1.0: {counted}; 1 not applicable",
    ]


def test_the_markdown_page_begins_with_what_is_not_covered() -> None:
    """Then every control, what was left out, and every cell."""
    page = matrix_page(MATRIX)

    assert page.index("## Not covered") < page.index("## Controls") < page.index("## Scenarios")
    assert "- `limit`: no limit. 1 run went otherwise and nobody minded." in page
    assert "| `scopes` | anybody may | killed | `a-001` by guardrails.bypass | 0 | 0 |" in page
    assert "| Scenario | `scopes` | `limit` |" in page
    assert "| `a-001` | K | S |\n| `b-002` | \N{MIDDLE DOT} | ? |" in page
    assert "- `c-003`: fail: it failed" in page


def test_without_survivors_there_is_nothing_that_is_not_covered() -> None:
    """No empty section."""
    assert "Not covered" not in matrix_page(replace(MATRIX, rows=MATRIX.rows[:1]))
