"""Every report is read by a real parser, is the same bytes, and keeps hostile text inert."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from arh.traces.authoring.policy import Policy
from arh.traces.findings import KEPT_MAX
from arh.traces.judging.validator import validate_trace
from arh.traces.registry import RULES
from arh.traces.rendering.console import console_report
from arh.traces.rendering.html import POLICY, html_report
from arh.traces.rendering.junit import junit_report
from arh.traces.rendering.markdown import markdown_report
from arh.traces.rendering.run import FINDINGS_MAX, Placed, TraceRun, Unjudged, run_text
from arh.traces.rendering.sarif import RESULTS_MAX, encoded, sarif_report
from arh.traces.trace import Trace

EVIL = "x\x1b[2J\n::error::y|<script>alert(1)</script>`[a](http://b)\u202e\ufffe\x00&lt;\"'"
PRINTED = [console_report, markdown_report, junit_report, sarif_report, html_report, run_text]


def trace(name: str = "t", text: str = "done", **fields: Any) -> Trace:  # noqa: ANN401 - JSON values
    """Return a trace of one call and one response."""
    call = {"step_id": text, "type": "tool_call", "tool_name": text, "arguments": {text: text}}
    response = {"step_id": "r", "type": "model_response", "text": text}
    document = {"trace_id": name, "agent_name": text, "workflow": text, "steps": [call, response]}
    return Trace.from_dict({**document, **fields})


def run_of(*traces: Trace, policy: dict[str, Any] | None = None, uri: str = "a/t.json") -> TraceRun:
    """Judge traces by a policy under which calls fail."""
    read = Policy.from_dict(policy or {"policy_id": "p", "allowed_tools": {}})
    reports = [validate_trace(each, read) for each in traces]
    placed = tuple(Placed(report, uri, 3, (("c", 7),)) for report in reports)
    return TraceRun(placed, (Unjudged(f"b/{EVIL}.json", f"no {EVIL}"),))


def parsed(document: str) -> ET.Element:
    """Parse XML that we wrote."""
    return ET.fromstring(document)  # noqa: S314 - no entity is declared in it


def logged(run: TraceRun) -> Any:  # noqa: ANN401 - a JSON value
    """Return the one run of the SARIF log."""
    (log,) = json.loads(sarif_report(run))["runs"]
    return log


class Inert(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag."""
        self.tags.add(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.texts.append(data)


@pytest.mark.parametrize("render", PRINTED)
def test_the_same_reports_are_the_same_bytes(render: Callable[[TraceRun], str]) -> None:
    """Nothing depends on the time or an order of hashing."""
    assert render(run_of(trace(), trace("u"))) == render(run_of(trace(), trace("u")))


@given(st.text(max_size=60))
def test_every_text_is_parsed_by_the_real_parsers(text: str) -> None:
    """Whatever an agent is called, every report is well formed."""
    run = run_of(trace("t", text or "-"))

    parsed(junit_report(run))
    json.loads(sarif_report(run))
    json.loads(run_text(run))
    Inert().feed(html_report(run))
    assert not any(ord(char) < 32 and char != "\n" for char in console_report(run))


def test_html_holds_no_markup_of_others() -> None:
    """The tags of the page are ours, and its policy forbids scripts."""
    page = html_report(run_of(trace(EVIL, EVIL)))
    parser = Inert()
    parser.feed(page)

    assert "script" not in parser.tags
    assert f'content="{POLICY}"' in page
    assert "<script>alert(1)</script>" in "".join(parser.texts)


def test_markdown_holds_no_markup_of_others() -> None:
    """No link, no image, no raw tag, no code, however it is rendered."""
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(
        markdown_report(run_of(trace(EVIL, EVIL)))
    )
    parser = Inert()
    parser.feed(html)

    ours = {"h1", "h2", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert parser.tags <= ours


def test_the_console_forges_no_line_and_no_command() -> None:
    """A step cannot print a pass of its own, nor speak to a CI system."""
    lines = console_report(run_of(trace(EVIL, EVIL))).splitlines()

    assert not any(line.startswith(("::", "x::")) or "::error" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_an_input_that_was_not_judged_is_in_every_report() -> None:
    """As an error, beside the failures."""
    run = TraceRun((), (Unjudged("b.json", "because of this"),))

    assert all("because of this" in render(run) for render in PRINTED)
    suite = parsed(junit_report(run))
    assert (suite.get("errors"), suite.get("tests")) == ("1", "1")
    assert not run.passed


def test_no_trace_is_no_pass() -> None:
    """An empty run shows nothing."""
    assert not TraceRun(()).passed


def many(count: int) -> TraceRun:
    """Return a run with a finding for each of many calls."""
    steps = [{"step_id": f"s{n}", "type": "tool_call", "tool_name": f"x{n}"} for n in range(count)]
    return run_of(trace(steps=steps))


@pytest.mark.parametrize("render", [console_report, markdown_report, junit_report, html_report])
def test_what_is_cut_is_counted(render: Callable[[TraceRun], str]) -> None:
    """Of many findings some are shown, and the rest has a number."""
    text = render(many(KEPT_MAX + 50))

    assert "and 50 more of ARH-SCH-001" in text
    assert f"and {KEPT_MAX - FINDINGS_MAX} more findings" in text or render is markdown_report


def test_sarif_is_capped_with_a_count() -> None:
    """A scanner takes so many results and no more."""
    placed = many(KEPT_MAX).placed * (RESULTS_MAX // KEPT_MAX + 1)
    log = logged(TraceRun(placed))

    assert len(log["results"]) == RESULTS_MAX
    total = sum(len(each.report.findings) for each in placed)
    assert log["properties"]["results_omitted"] == total - RESULTS_MAX


def test_sarif_knows_every_rule_and_where_a_finding_is() -> None:
    """The step's line where it is known, else the trace's."""
    steps = [{"step_id": each, "type": "tool_call", "tool_name": "x"} for each in ("c", "d")]
    log = logged(run_of(trace(steps=steps)))
    rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    lines = {
        result["locations"][0]["logicalLocations"][0]["name"]: result["locations"][0][
            "physicalLocation"
        ]["region"]["startLine"]
        for result in log["results"]
        if result["ruleId"] == "ARH-SCH-001"
    }

    assert rules == sorted(RULES)
    assert lines == {"c": 7, "d": 3}
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in log["results"])


def test_equal_findings_have_fingerprints_of_their_own() -> None:
    """Two findings of one rule on one step are two results."""
    steps = [{"step_id": "c", "type": "tool_call", "tool_name": "x"} for _ in range(3)]
    log = logged(run_of(trace(steps=steps)))
    prints = [tuple(sorted(result["partialFingerprints"].items())) for result in log["results"]]

    assert len(prints) == len(set(prints))


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a/b c.json", "a/b%20c.json"),
        ("C:\\x\\y.json", "C%3A/x/y.json"),
        ("/abs/../../x.json", "abs/x.json"),
        ("ü#?.json", "%C3%BC%23%3F.json"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
    ],
)
def test_an_address_is_relative_and_encoded(path: str, uri: str) -> None:
    """No scheme, no way up, no character that means something."""
    assert encoded(path) == uri
