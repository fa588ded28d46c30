"""The console says how a suite is doing, and no agent can speak through it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Final

import pytest

from arh.records.control.verdict import ScenarioVerdict
from arh.render.console import Console, needs_attention
from arh.render.failures import failure_lines
from tests.unit.decision.made import PASS_RATE, broken, found, located, negative_control, suite
from tests.unit.render.hostile import EVERYTHING

OWN: Final = "\x1b[31mFAIL\x1b[0m"


def verdict(**changes: object) -> ScenarioVerdict:
    """A passing verdict with other fields."""
    made = suite(located())
    return replace(next(iter(made.verdicts.values())), **changes)  # type: ignore[arg-type]


def failed() -> ScenarioVerdict:
    """A verdict with a finding that says what was expected and found."""
    return found(
        verdict(),
        "outcome",
        "outcome.no_alternative_holds",
        message="credited 98.00, allowed 0",
        expected="no credit",
        found="credited 98.00",
    )


def written(*verdicts: ScenarioVerdict, interactive: bool = False) -> str:
    """What a console writes of some verdicts."""
    stream = io.StringIO()
    console = Console(stream, interactive=interactive)
    console.started(len(verdicts))
    for each in verdicts:
        console.told(each)
    return stream.getvalue()


def test_a_passing_run_is_one_plain_line() -> None:
    """In a log of CI: what, which, how many calls."""
    assert written(verdict()) == "1 run\nPASS buy-a-lamp-001 2 calls\n"


def test_a_failing_run_says_what_why_and_how_to_repeat_it() -> None:
    """Expected and found, the path, decision to effect to claim, and the command."""
    assert written(failed()).splitlines()[1:] == [
        "FAIL buy-a-lamp-001 2 calls",
        "  expected no credit, found credited 98.00 [outcome.no_alternative_holds]",
        "  path: read_item -> place_order",
        "  place_order S-1: allowed -> committed O-1 -> claimed completed O-1",
        "  replay: arh run shop/golden/buy-a-lamp-001.jsonl:1",
    ]


def test_a_broken_run_is_an_error_and_no_failure() -> None:
    """The word says whose trouble it is."""
    lines = written(broken(verdict())).splitlines()

    assert lines[1].startswith("ERROR ")
    assert lines[2] == "  the harness failed"


def test_a_negative_control_that_fails_as_it_must_is_well() -> None:
    """It needs nobody's attention; one that passes does."""
    control = next(iter(suite(negative_control()).verdicts.values()))

    assert written(control) == "1 run\nPASS liar-001 (negative control) 2 calls\n"
    assert written(replace(control, status="pass")).splitlines()[1] == (
        "INCONCLUSIVE liar-001 (negative control) 2 calls"
    )
    assert needs_attention(replace(control, missing=("grounding.unfounded_claim",)))


def test_an_unscored_run_that_fails_is_told_and_not_explained() -> None:
    """It does not count."""
    assert len(written(verdict(role="unscored", status="fail")).splitlines()) == 2


def test_a_terminal_shows_progress_and_keeps_failures() -> None:
    """One line that is overwritten; what needs attention stays above it."""
    shown = written(verdict(), failed(), interactive=True)

    assert "\r\x1b[2K1/2 buy-a-lamp-001" in shown
    assert f"{OWN} buy-a-lamp-001 2 calls\n" in shown
    assert "PASS" not in shown


@pytest.mark.parametrize("text", EVERYTHING)
@pytest.mark.parametrize("interactive", [False, True])
def test_nothing_that_an_agent_says_reaches_a_terminal_as_more_than_text(
    text: str,
    interactive: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """In every field: no control but our own, no forged line, no command of a CI system."""
    hostile = replace(
        found(verdict(), "outcome", "outcome.undecided", message=text, expected=text, found=text),
        scenario_id=text,
        path=text,
        claims=(text,),
        replay=text,
        reasons=(text,),
        termination=text,
    )

    shown = written(hostile, interactive=interactive)

    for own in ("\r\x1b[2K", "\x1b[31m", "\x1b[0m"):
        shown = shown.replace(own, "")
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count("\n") == len(failure_lines(hostile)) + 1 + (not interactive)
    assert "::" not in shown
    assert "##[" not in shown


def test_a_stream_that_knows_few_characters_gets_escapes() -> None:
    """A CI log in ASCII is no reason to crash."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="\n")

    Console(stream, interactive=False).told(verdict(scenario_id="ä-001"))
    stream.flush()

    assert raw.getvalue() == b"PASS \\xe4-001 2 calls\n"


def test_the_end_names_the_subject_the_decision_and_every_reason() -> None:
    """The same first line as the scorecard's."""
    made = suite().change("guarded-001", lambda v: found(v, "outcome", "evidence.gap"))
    scorecard = made.scorecard(PASS_RATE)
    stream = io.StringIO()

    Console(stream, interactive=False).finished(scorecard)

    lines = stream.getvalue().splitlines()
    assert lines[1] == scorecard.subject
    assert lines[2] == "FAIL by profile test 1"
    assert lines[3:4] == [
        "  gate scenario_pass_rate failed: 2 of 3 (0.666667) where exactly 1 is required"
    ]
    assert "faults delivered 1/1" in lines[4]
    assert lines[5] == "7 of 8 blocking gates passed"
