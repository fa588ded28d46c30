"""Reported spans are bounded where they are taken in, and become one tree."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from arh.telemetry import semconv as names
from arh.telemetry.completeness import facts_of
from arh.telemetry.spans import SPANS_MAX, Attempt, RunFacts, Span, SpanBuffer, bounded, lines, tree
from tests.unit.telemetry.golden import Golden, Run
from tests.unit.telemetry.shapes import CANARIES

SLOW = "scenarios/support/recovery/slow-within-deadline-001.jsonl"
RETRY = "scenarios/support/recovery/after-commit-idempotent-001.jsonl"
DENIED = "scenarios/support/adversarial/credit-attempt-blocked-001.jsonl"


def report(buffer: SpanBuffer, name: str, number: int, parent: int = 0, **more: Any) -> None:  # noqa: ANN401
    """Report a span of ten milliseconds."""
    given = {"start_ms": 0, "end_ms": 10, "attributes": {}, **more}
    buffer.span(number, name, parent=parent, **given)


def shape(spans: tuple[Span, ...]) -> list[str]:
    """Return the tree as indented kinds, in the order of numbers."""
    below: dict[int | None, list[Span]] = {}
    for span in spans:
        below.setdefault(span.parent, []).append(span)

    def shown(span: Span, depth: int) -> list[str]:
        rest = [line for child in below.get(span.number, []) for line in shown(child, depth + 1)]
        return ["  " * depth + span.kind, *rest]

    return [line for root in below[None] for line in shown(root, 0)]


def spans_of(run: Run, nonce: str = "n") -> tuple[Span, ...]:
    """Return the tree of a run."""
    return tree(run.buffer, facts_of(run.output.evidence), nonce)


def test_the_golden_run_is_one_tree() -> None:
    """Workflow, steps, and below each of them what was asked, decided, executed, committed."""
    call = ["    tool_request", "      authorization", "      tool_execution"]
    step = ["  agent_step", "    model_call"]
    read = [*step, *call, "      argument_validation"]

    assert shape(spans_of(Golden().run())) == [
        "workflow",
        *read * 3,
        *[*read, "      state_commit"],
        *step,
    ]


def test_identifiers_are_derived_from_the_run_and_its_execution() -> None:
    """The same again for the same nonce, and others for another one; none is empty or double."""
    run = Golden().run()
    once, again, other = (spans_of(run, nonce) for nonce in ("n", "n", "m"))

    assert once == again
    assert {span.span_id for span in once}.isdisjoint(span.span_id for span in other)
    assert len({span.span_id for span in once}) == len(once)
    assert {(len(span.trace_id), len(span.span_id)) for span in once} == {(32, 16)}


def test_no_identifier_of_telemetry_is_in_evidence() -> None:
    """Evidence is the same whatever happens to telemetry."""
    run = Golden().run()

    assert [s for s in spans_of(run) if s.span_id in run.text or s.trace_id in run.text] == []


def test_a_span_keeps_the_attributes_of_its_kind_and_no_others() -> None:
    """What is cut is counted, and is never held."""
    buffer = SpanBuffer()
    attributes = {"decision": "allow", "authorization.decision": "deny", "account": "A-1007"}
    report(buffer, "authorization", 1, attributes=attributes)
    report(buffer, "made_up_by_somebody", 2, attributes={"decision": "x"})

    assert [(span.kind, span.attributes) for span in buffer.spans] == [
        ("authorization", {"authorization.decision": "deny"}),
        ("other", {}),
    ]
    assert buffer.cut == 2 + 2
    assert spans_of_buffer(buffer)[0].attributes[names.CUT] == 4


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("executed", "executed"),
        ("x-support:closed_account", "x-support:closed_account"),
        (True, True),
        (7, 7),
        (10**30, 2**53 - 1),
        ("two words", "other"),
        ("x" * 65, "other"),
        (CANARIES["api_key"], "other"),
        ("\ud800", "other"),
        (1.5, "other"),
        (None, "other"),
    ],
)
def test_a_value_is_a_short_word_or_a_number(value: object, expected: object) -> None:
    """A free text, a secret or a number without end is none."""
    assert bounded(value) == expected


def test_the_number_of_spans_has_an_end() -> None:
    """A run that never ends cannot fill the memory."""
    buffer = SpanBuffer()
    for number in range(SPANS_MAX + 3):
        report(buffer, "approval", number)

    assert (len(buffer.spans), buffer.dropped) == (SPANS_MAX, 3)


def test_a_denial_is_no_error() -> None:
    """A policy that decides has worked."""
    spans = spans_of(Golden(path=DENIED, script=None).run())
    denied = [s for s in spans if s.attributes.get(names.DECISION) == "deny"]

    assert denied
    assert [span.error for span in denied] == [""] * len(denied)


def test_attempts_at_one_operation_share_its_number() -> None:
    """A retry is the next attempt of the same operation."""
    spans = spans_of(Golden(path=RETRY).run())
    tickets = [
        (span.attributes[names.OPERATION], span.attributes[names.ATTEMPT])
        for span in spans
        if span.kind == names.TOOL_REQUEST and span.attributes[names.TOOL_NAME] == "create_ticket"
    ]

    (operation,) = {number for number, _ in tickets}
    assert tickets == [(operation, attempt + 1) for attempt in range(len(tickets))]
    assert len(tickets) > 1


def test_an_injected_delay_is_labelled_synthetic() -> None:
    """Nobody takes a fault's delay for the time that something took."""
    spans = spans_of(Golden(path=SLOW).run())
    labelled = {span.kind for span in spans if span.attributes.get(names.SYNTHETIC)}

    assert {names.WORKFLOW, names.AGENT_STEP, names.TOOL_REQUEST} <= labelled
    assert len(labelled) < len({span.kind for span in spans})
    assert not any(s.attributes.get(names.SYNTHETIC) for s in spans_of(Golden().run()))


@pytest.mark.parametrize("belief", ["committed", "not_committed", "unknown"])
def test_a_commit_says_how_it_stands(belief: str) -> None:
    """Three ends are told apart, and only the unknown one is an error."""
    (span,) = (s for s in called(belief) if s.kind == names.STATE_COMMIT)

    assert span.attributes[names.COMMIT] == belief
    assert bool(span.error) == (belief == "unknown")


@pytest.mark.parametrize("belief", ["not_started", "not_applicable", "replayed"])
def test_where_nothing_was_committed_there_is_no_commit(belief: str) -> None:
    """A read, a refusal or a replay leaves none."""
    assert [span for span in called(belief) if span.kind == names.STATE_COMMIT] == []


def test_calls_belong_to_the_step_of_their_own_actor() -> None:
    """Two actors take turns in the middle of their steps, and their spans do not mix."""
    buffer = SpanBuffer()
    one = threading.Thread(target=lambda: report(buffer, "tool_call", 3))
    report(buffer, "tool_call", 4)
    one.start()
    one.join()
    report(buffer, "agent_step", 2)
    spans = {span.number: span.parent for span in spans_of_buffer(buffer)}

    assert (spans[4], spans[3]) == (2, 0)


def test_a_step_in_which_the_run_was_stopped_is_unfinished() -> None:
    """What happened in it is still below it."""
    buffer = SpanBuffer()
    report(buffer, "model_call", 2, parent=1)
    report(buffer, "tool_call", 3, start_ms=10, end_ms=30)
    spans = {span.number: span for span in spans_of_buffer(buffer)}

    assert spans[1].attributes == {names.UNFINISHED: True}
    assert (spans[1].start_ms, spans[1].end_ms) == (0, 30)
    assert (spans[2].parent, spans[3].parent) == (1, 1)


def test_lines_hold_identifiers_and_wall_times() -> None:
    """They are what `telemetry.jsonl` holds, and begin at the wall time that is given."""
    buffer = SpanBuffer()
    report(buffer, "approval", 1, error="timeout")
    written = [json.loads(line) for line in lines(spans_of_buffer(buffer), began_ns=5).splitlines()]

    assert written[1] == {
        "trace_id": written[0]["trace_id"],
        "span_id": written[1]["span_id"],
        "parent_id": written[0]["span_id"],
        "name": "approval",
        "start_ns": 5,
        "end_ns": 10_000_005,
        "attributes": {},
        "error": "timeout",
    }


def spans_of_buffer(buffer: SpanBuffer) -> tuple[Span, ...]:
    """Return the tree of what was reported, with nothing else known."""
    return tree(buffer, RunFacts(run_id="run-1"), "n")


def called(belief: str) -> tuple[Span, ...]:
    """Return the tree of one call with a belief of its commit."""
    buffer = SpanBuffer()
    told = {"tool.name": "send", "tool.version": "1", "tool.commit_belief": belief}
    told |= {"tool.status": "executed", "tool.reason": "ok"}
    report(buffer, "tool_call", 1, attributes=told)
    attempt = Attempt(0, 10, "executed", "ok", 1, 1)
    return tree(buffer, RunFacts(attempts=(attempt,)), "n")
