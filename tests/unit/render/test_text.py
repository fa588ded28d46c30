"""Untrusted text stays text on every sink."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import Element, fromstring, tostring

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from arh.render.text import code, console, markdown, xml
from tests.unit.render.hostile import COMMANDS, EVERYTHING, LINES

ANYTHING = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(EVERYTHING)
GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": False}).enable("table")


class Tags(HTMLParser):
    """Collects the tags of a document."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag."""
        self.tags.append(tag)


def tags(html: str) -> list[str]:
    """The tags of a document, in order."""
    parser = Tags()
    parser.feed(html)
    return parser.tags


@given(ANYTHING)
def test_a_console_gets_one_line_that_only_prints(text: str) -> None:
    """No control, direction or zero width character reaches a terminal."""
    shown = console(text)

    assert shown.isprintable()


@pytest.mark.parametrize("text", COMMANDS)
def test_a_ci_system_sees_no_command(text: str) -> None:
    """Neither at the start of the text nor after a line end in it."""
    shown = console(text)

    assert "::" not in shown
    assert "##vso[" not in shown
    assert "##[" not in shown
    assert "##teamcity[" not in shown


def test_harmless_text_stays_as_it_is() -> None:
    """Names, values and paths read as they were written."""
    text = "credited 98.00, allowed 0: create_ticket!ack_lost -> create_ticket (a/b.jsonl:3) äß→"

    assert console(text) == text


def test_long_text_is_cut_and_says_so() -> None:
    """How much is missing is part of what is shown."""
    assert console("x" * 30, chars_max=10) == "xxxxxxxxxx (20 more characters)"
    assert markdown("x" * 30, chars_max=10) == "xxxxxxxxxx (20 more characters)"


@given(ANYTHING)
def test_markdown_makes_nothing_of_it(text: str) -> None:
    """A paragraph with it holds no tag, link, image, code or emphasis, and no further block."""
    html = GITHUB.render(f"before {markdown(text)} after")

    assert tags(html) == ["p"]


@given(ANYTHING)
def test_a_table_cell_stays_one_cell(text: str) -> None:
    """The row has the cells that it had, and nothing else in them."""
    html = GITHUB.render(f"| a | b |\n| --- | --- |\n| {markdown(text)} | x |\n")

    assert tags(html) == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]


@given(ANYTHING)
def test_a_list_item_stays_one_item(text: str) -> None:
    """Also where the text comes first."""
    html = GITHUB.render(f"- {markdown(text)}\n- next\n")

    assert tags(html) == ["ul", "li", "li"]


@given(ANYTHING)
def test_a_code_span_cannot_be_left(text: str) -> None:
    """In a cell, where a backtick or a bar would end it."""
    html = GITHUB.render(f"| a | b |\n| --- | --- |\n| {code(text)} | x |\n")

    assert set(tags(html)) <= {"table", "thead", "tr", "th", "tbody", "td", "code"}
    assert html.count("<td") == 2


def test_no_address_becomes_a_link() -> None:
    """Also for a renderer that links bare addresses."""
    linking = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    for text in ("https://evil.example/", "www.evil.example", "a@evil.example", "ftp://x.example"):
        shown = markdown(text)

        assert "://" not in shown
        assert "www." not in shown
        assert "@" not in shown
        assert "<a" not in linking.render(shown)


def test_names_of_metrics_stay_readable_in_markdown() -> None:
    """An underscore within a word is none of emphasis."""
    assert markdown("outcome_success_rate 0.98 (49/50)") == "outcome_success_rate 0.98 (49/50)"


@pytest.mark.parametrize("text", LINES)
def test_markdown_and_code_are_one_line(text: str) -> None:
    """A line end in a text would begin a block."""
    assert len(markdown(text).splitlines()) == 1
    assert len(code(text).splitlines()) == 1


@given(st.text(st.characters(codec=None), max_size=80) | st.sampled_from(EVERYTHING))
def test_xml_stays_well_formed(text: str) -> None:
    """Every text can be an attribute and a text of a document that a parser reads."""
    element = Element("x", {"a": xml(text)})
    element.text = xml(text)

    read = fromstring(tostring(element, encoding="utf-8"))  # noqa: S314 - our own document

    assert read.tag == "x"
