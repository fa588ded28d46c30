"""Pages and the Markdown scorecard: everything is told, and nothing of it becomes markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from arh.records.control.gate import GateResult
from arh.records.control.verdict import Excused, ScenarioVerdict
from arh.render.markdown import scorecard_page
from arh.render.pages import MARK, page, page_paths
from tests.unit.decision.made import PASS_RATE, found, located, negative_control, suite
from tests.unit.render.hostile import EVERYTHING
from tests.unit.render.test_text import tags

GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": False})
PAGE_TAGS = {"h1", "h2", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td", "strong"}


def verdict(name: str = "buy-a-lamp-001", run: str = "") -> ScenarioVerdict:
    """A verdict under some name."""
    base = next(iter(suite(located()).verdicts.values()))
    return replace(base, scenario_id=name, run_id=run or f"run-{name}")


def test_a_page_tells_the_whole_run() -> None:
    """Verdict, reasons, path, decision to effect to claim, levels, evaluators, findings."""
    text = page(found(verdict(), "outcome", "evidence.gap", expected="one", found="two"))

    assert text.startswith(f"{MARK}\n# FAIL: `buy-a-lamp-001`\n")
    assert "- replay: `arh run shop/golden/buy-a-lamp-001.jsonl:1`" in text
    assert "- `read_item -> place_order`" in text
    assert "- `place_order S-1: allowed -> committed O-1 -> claimed completed O-1`" in text
    assert "| action | fail |" in text
    assert "| `evidence.gap` | action | fail | something is wrong | one | two | `run-1#3` |" in text


def test_a_page_says_what_failed_by_design() -> None:
    """What was excused, how often and why; and what should have been found and was not."""
    excused = (Excused("guardrails.fail_closed", 2, "an outage"),)

    text = page(replace(verdict(), excused=excused, missing=("evidence.gap",)))

    assert "- `guardrails.fail_closed`: 2 found and excused, an outage" in text
    assert "- `evidence.gap`: **not found as expected**" in text


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("buy-a-lamp-001", True),
        ("../../etc/passwd", False),
        ("a/b", False),
        ("a\x00b", False),
        ("CON", False),
        ("con", False),
        ("com1", False),
        (".hidden", False),
        ("x" * 300, False),
        ("", False),
        ("ä-ö", False),
        ("lone\ud800", False),
    ],
)
def test_a_page_has_a_plain_name(name: str, *, kept: bool) -> None:
    """A name that could lead elsewhere becomes a digest."""
    (path,) = page_paths([verdict(name, run="run-1")])

    assert re.fullmatch(r"scenarios/[a-z0-9-]{3,96}\.md", path)
    assert (path == f"scenarios/{name}.md") is kept


def test_no_two_pages_have_one_name() -> None:
    """Repeats of a scenario are told apart by their run."""
    paths = page_paths([verdict(run="run-1"), verdict(run="run-2"), verdict("other-001")])

    assert len(set(paths)) == 3
    assert paths[2] == "scenarios/other-001.md"


@pytest.mark.parametrize("text", EVERYTHING)
def test_a_page_makes_no_markup_of_what_an_agent_says(text: str) -> None:
    """The same tags as for harmless text, and no address to go to."""
    hostile = replace(
        found(verdict(), "outcome", "evidence.gap", message=text, expected=text, found=text),
        scenario_id=text,
        path=text,
        claims=(text,),
        reasons=(text,),
        termination=text,
        location=text,
        replay=text,
        category=text,
        excused=(Excused(text, 1, text),),
        missing=(text,),
    )

    html = GITHUB.render(page(hostile))

    assert set(tags(html)) <= PAGE_TAGS | {"p"}
    assert html.count("<h1>") == 1


def test_the_scorecard_begins_with_its_subject_and_its_decision() -> None:
    """Before any number."""
    scorecard = suite().scorecard(PASS_RATE)

    lines = scorecard_page(scorecard).splitlines()

    assert lines[0] == f"`{scorecard.subject}`"
    assert lines[2] == "# Release gate: PASS"
    assert lines[4] == "- all 8 blocking gates passed"


def test_the_scorecard_tells_everything() -> None:
    """A section for each thing that a reviewer asks for."""
    text = scorecard_page(suite().scorecard(PASS_RATE))

    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Gates",
        "Scenarios",
        "Declared and done",
        "Verdicts by role",
        "Acceptance verdicts by level, never averaged",
        "Metrics",
        "Coverage",
        "Controls",
        "Warnings",
        "What a pass does not show",
        "Versions and digests",
    ]
    assert "[`guarded-001`](scenarios/guarded-001.md)" in text
    assert "No value has an interval: an authored suite is not a sample." in text


@pytest.mark.parametrize("text", EVERYTHING)
def test_the_scorecard_makes_no_markup_of_hostile_text(text: str) -> None:
    """Reasons, warnings, names and versions are shown, and are text."""
    made = suite(located(), negative_control())
    made.change("buy-a-lamp-001", lambda v: replace(v, reasons=(text,), category=text))
    scorecard = made.scorecard(PASS_RATE)
    gate = GateResult(text, text, text, text, text, "pass", text, text, text, text, text, text)
    hostile = replace(
        scorecard,
        decision=replace(scorecard.decision, reasons=(text,), gates=(gate,)),
        warnings=(text,),
        not_shown=(text,),
        about=replace(scorecard.about, model=text, agent=text, tools=((text, text),)),
    )

    html = GITHUB.render(scorecard_page(hostile))

    assert set(tags(html)) <= PAGE_TAGS | {"p", "a"}
    links = re.findall(r'href="([^"]*)"', html)
    assert set(links) == {
        "scenarios/buy-a-lamp-001.md",
        "scenarios/liar-001.md",
        "evidence",
    }
