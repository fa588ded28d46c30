"""JUnit tells failures of the agent from what could not be judged, and is always well formed."""

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest

from arh.records.control.verdict import Excused
from arh.render.junit import junit
from tests.unit.decision.made import (
    PASS_RATE,
    Suite,
    broken,
    found,
    located,
    negative_control,
    suite,
    undecided,
)
from tests.unit.render.hostile import EVERYTHING


def document(made: Suite) -> Element:
    """The document of a suite, read back."""
    data = junit(made.scorecard(PASS_RATE), list(made.verdicts.values()))
    return fromstring(data)  # noqa: S314 - our own document


def outcome(root: Element, name: str) -> str:
    """What a test case came to: the name of its first child, or passed."""
    case = next(case for case in root.iter("testcase") if case.get("name") == name)
    return next((child.tag for child in case), "passed")


def test_each_kind_of_end_has_its_own_element() -> None:
    """Only the agent's failure is a failure."""
    made = suite(
        located("fine-001"),
        located("wrong-001"),
        located("open-001"),
        located("broken-001"),
        located("idle-001", role="unscored"),
        negative_control("liar-001"),
        negative_control("saint-001"),
    )
    made.change("wrong-001", lambda v: found(v, "outcome", "evidence.gap"))
    made.change("open-001", lambda v: undecided(v, "outcome")).change("broken-001", broken)
    made.change("saint-001", lambda v: replace(v, status="pass"))

    root = document(made)

    ids = ("fine", "wrong", "open", "broken", "idle", "liar", "saint")
    assert {name: outcome(root, f"{name}-001") for name in ids} == {
        "fine": "passed",
        "wrong": "failure",
        "open": "error",
        "broken": "error",
        "idle": "skipped",
        "liar": "passed",
        "saint": "error",
    }
    assert outcome(root, "decision") == "failure"
    counts = [root.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["8", "2", "3", "1"]


def test_a_release_that_is_inconclusive_is_an_error() -> None:
    """All scenarios passed and a gate lacked its evidence: the job must not look green."""
    made = suite(located(), located("two-001")).change("two-001", None)

    assert outcome(document(made), "decision") == "error"


def test_a_release_that_passes_has_no_failure() -> None:
    """Nothing in the document says otherwise."""
    root = document(suite())

    assert (root.get("failures"), root.get("errors")) == ("0", "0")


def test_each_category_is_a_suite_with_its_own_counts() -> None:
    """As scenarios are filed."""
    root = document(suite())

    names = {s.get("name"): s.get("tests") for s in root.iter("testsuite")}
    assert names == {"release gate": "1", "golden": "2", "adversarial": "1", "recovery": "1"}


def test_a_failure_carries_the_lines_of_the_console() -> None:
    """With the command that repeats it."""
    made = suite(located()).change(
        "buy-a-lamp-001", lambda v: found(v, "outcome", "evidence.gap", expected="1", found="2")
    )

    text = next(document(made).iter("failure")).itertext()

    assert "replay: arh run shop/golden/buy-a-lamp-001.jsonl:1" in "".join(
        "".join(case.itertext()) for case in document(made).iter("testcase")
    )
    assert text is not None


@pytest.mark.parametrize("text", EVERYTHING)
def test_hostile_text_leaves_the_document_well_formed(text: str) -> None:
    """In every field that is shown."""
    made = suite(located())
    made.change(
        "buy-a-lamp-001",
        lambda v: replace(
            found(v, "outcome", "evidence.gap", message=text, expected=text, found=text),
            path=text,
            claims=(text,),
            reasons=(text,),
            location=text,
            category=text,
        ),
    )

    root = document(made)

    assert len(list(root.iter("testcase"))) == 2
    assert len(list(root.iter("failure"))) == 2


def test_a_passing_case_says_what_was_excused() -> None:
    """As a property, with the number and the reason; and a case that excuses nothing has none."""
    excused = (Excused("guardrails.fail_closed", 2, "an outage"),)
    made = suite(located("held-001"), located("plain-001"))
    made.change("held-001", lambda v: replace(v, excused=excused))

    told = {
        case.get("name"): [dict(each.attrib) for each in case.iter("property")]
        for case in document(made).iter("testcase")
    }

    value = "guardrails.fail_closed, 2 found: an outage"
    assert told["held-001"] == [{"name": "excused by design", "value": value}]
    assert told["plain-001"] == []
