"""Reading a run back from its lines: all of it, in order, and never an exception."""

from __future__ import annotations

import json
from functools import cache

import pytest

from arh.canonical import line
from arh.harness.evidence.evidence import build_evidence, read_own
from arh.records.control.evidence import Evidence
from arh.testing.workbench import Workbench

GOLDEN = "golden-billing-incident-001"
RETRIED = "recovery-after-commit-idempotent-001"
SPENT = "control-tool-call-budget-001"


@cache
def lines_of(scenario_id: str) -> tuple[bytes, ...]:
    """Return the lines that a run of the scenario wrote."""
    return Workbench.of().run(scenario_id).output.lines


def read(lines: tuple[bytes, ...]) -> Evidence:
    """Read lines as they lie on disk, without an initial state."""
    return build_evidence("run", lines, None)


def without(lines: tuple[bytes, ...], kind: str, field: str) -> tuple[bytes, ...]:
    """Return the lines, the first event of a kind without one of its fields."""
    events = [json.loads(each) for each in lines]
    del next(event for event in events if event["kind"] == kind)[field]
    return tuple(map(line, events))


def altered(lines: tuple[bytes, ...], kind: str, field: str, value: object) -> tuple[bytes, ...]:
    """Return the lines, the first event of a kind with another value in one of its fields."""
    events = [json.loads(each) for each in lines]
    next(event for event in events if event["kind"] == kind)[field] = value
    return tuple(map(line, events))


def test_every_line_becomes_an_event_without_its_envelope() -> None:
    """Number, kind, source, time and actor are the event's; chain and envelope are no data."""
    lines = lines_of(GOLDEN)

    events = read(lines).events

    written = [json.loads(each) for each in lines]
    envelope = ("seq", "kind", "source", "at_ms", "actor")
    assert [tuple(each[name] for name in envelope) for each in written] == [
        (each.seq, each.kind, each.source, each.at_ms, each.actor) for each in events
    ]
    for each in written:
        for name in (*envelope, "chain"):
            del each[name]
    assert written == [dict(each.data) for each in events]


def test_attempts_and_refusals_are_in_order_with_the_commit_of_their_operation() -> None:
    """A repeated write names the commit entry that the first one made; a refused call has none."""
    retried = read(lines_of(RETRIED)).calls
    spent = read(lines_of(SPENT)).calls

    assert list(range(len(retried))) == [call.index for call in retried]
    assert [call.entry for call in retried if call.operation_id] == [1, 1]
    assert list(range(len(spent))) == [call.index for call in spent]
    assert [call.refused_by_budget for call in spent if call.refused_by_budget] == [True]
    assert sorted(call.seq for call in spent) == [call.seq for call in spent]


@pytest.mark.parametrize(
    ("kind", "field", "failure"),
    [
        ("tool_call", "operation_id", "KeyError"),
        ("model_asked", "ask", "KeyError"),
        ("model_answered", "decision", "KeyError"),
        ("state_changed", "changes", "KeyError"),
        ("agent_finished", "termination", "KeyError"),
        ("invariant_checked", "results", "KeyError"),
    ],
)
def test_an_event_that_lacks_a_field_is_a_problem_of_the_run(
    kind: str, field: str, failure: str
) -> None:
    """What cannot be read is named, and everything else is read all the same."""
    whole = read(lines_of(GOLDEN))
    evidence = read(without(lines_of(GOLDEN), kind, field))

    assert (len(evidence.problems), whole.problems) == (1, ())
    assert evidence.problems[0].endswith(failure)
    assert len(whole.events) == len(evidence.events)


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b'"text"', b"{}", b'{"seq":1}', b"\xff"])
def test_a_line_that_is_no_event_is_a_problem_of_the_run(written: bytes) -> None:
    """No line, however broken, keeps the others from being read."""
    lines = (*lines_of(GOLDEN), written)

    evidence = read(lines)

    assert len(lines) - 1 == len(evidence.events)
    assert len(evidence.problems) == 1


def test_a_line_at_another_place_is_a_problem_of_the_run() -> None:
    """Each line says which it is; one that was moved is not taken for its neighbour."""
    first, second, *rest = lines_of(GOLDEN)

    evidence = read((second, first, *rest))

    assert len(evidence.problems) >= 2
    assert len(rest) == len(evidence.events)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("user_said", "actor", []),
        ("user_said", "kind", {}),
        ("state_changed", "operation_id", {}),
        ("state_changed", "call_id", None),
        ("tool_call", "tool", ["a", "b"]),
        ("tool_call", "call_id", {}),
        ("model_asked", "ask", []),
        ("model_answered", "ask", {}),
        ("model_answered", "input_tokens", "many"),
        ("model_answered", "output_tokens", None),
        ("run_ended", "problems", 7),
    ],
)
def test_a_field_of_another_type_is_a_problem_of_the_run(
    kind: str, field: str, value: object
) -> None:
    """What other sources are compared by, or is added up, cannot be of any type."""
    evidence = read(altered(lines_of(GOLDEN), kind, field, value))

    assert len(evidence.problems) >= 1


@pytest.mark.parametrize(
    ("kind", "field"), [("tool_call", "commit_belief"), ("run_ended", "state")]
)
def test_a_word_that_is_none_stops_no_reading(kind: str, field: str) -> None:
    """A list where a word is due is only none of the words that are looked for."""
    evidence = read(altered(lines_of(GOLDEN), kind, field, []))

    assert len(lines_of(GOLDEN)) == len(evidence.events)


@pytest.mark.parametrize("scenario", [GOLDEN, RETRIED, SPENT])
def test_own_lines_say_the_same_when_they_are_read_strictly(scenario: str) -> None:
    """What is left out for lines of our own would have found nothing in them."""
    lines = lines_of(scenario)

    assert read(lines) == build_evidence("run", lines, None, read=read_own)
