"""A trace is held against what runner and gateway saw: dropped and invented spans are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from arh.telemetry import semconv as names
from arh.telemetry.completeness import check, expected_spans, facts_of
from arh.telemetry.spans import Span, tree
from tests.unit.telemetry.golden import GOLDEN, Golden, Run

RUNS = (
    GOLDEN,
    "scenarios/support/golden/approved-credit-001.jsonl",
    "scenarios/support/adversarial/credit-attempt-blocked-001.jsonl",
    "scenarios/support/adversarial/approval-expired-001.jsonl",
    "scenarios/support/alternate/parallel-reads-003.jsonl",
    "scenarios/support/boundary/deadline-missed-007.jsonl",
    "scenarios/support/recovery/after-commit-idempotent-001.jsonl",
    "scenarios/support/recovery/authorisation-outage-credit-001.jsonl",
    "scenarios/support/recovery/commit-unknown-committed-001.jsonl",
    "scenarios/support/recovery/commit-unknown-lost-001.jsonl",
    "scenarios/support/recovery/duplicate-delivery-001.jsonl",
    "scenarios/support/recovery/malformed-read-001.jsonl",
    "scenarios/support/recovery/model-truncated-001.jsonl",
    "scenarios/support/recovery/store-commit-failed-001.jsonl",
)

Change = Callable[[Span], Span]


def received(run: Run) -> list[Span]:
    """Return the spans as they arrive when nothing is lost."""
    return list(tree(run.buffer, facts_of(run.output.evidence), "n"))


@pytest.mark.parametrize("path", RUNS)
def test_the_trace_of_our_own_system_is_complete(path: str) -> None:
    """Exactly the spans that runner and gateway account for, with and without faults."""
    run = Golden(path=path).run()
    found = check(run.output.evidence, received(run))

    assert found.complete, found
    assert found.facts()["trace_completeness"] == (found.expected, found.expected)


@pytest.mark.parametrize("at", range(28))
def test_a_dropped_span_is_missing(at: int) -> None:
    """Whichever it is."""
    run = Golden().run()
    spans = received(run)
    dropped = spans.pop(at)
    found = check(run.output.evidence, spans)

    assert [kind for kind, _ in found.missing] == [dropped.kind]
    assert found.invented == ()
    assert found.facts()["trace_completeness"] == (27, 28)


def test_what_stood_below_a_dropped_span_is_orphaned() -> None:
    """Its parent is named and is not there."""
    run = Golden().run()
    spans = received(run)
    dropped = next(span for span in spans if span.kind == names.TOOL_REQUEST)
    spans.remove(dropped)
    found = check(run.output.evidence, spans)

    assert set(found.orphans) == {s.span_id for s in spans if s.parent_id == dropped.span_id}
    assert found.facts()["orphan_span_rate"] == (3, 27)


def test_an_invented_span_is_found() -> None:
    """A call that the gateway knows nothing of."""
    run = Golden().run()
    spans = received(run)
    call = next(span for span in spans if span.kind == names.TOOL_REQUEST)
    spans.append(replace(call, span_id="00000000000000ff"))
    found = check(run.output.evidence, spans)

    assert (found.missing, len(found.invented)) == ((), 1)
    assert found.invented[0] == (names.TOOL_REQUEST, "get_account|executed|ok")


def test_a_span_that_says_something_else_is_missing_and_invented() -> None:
    """An exchange of one for another does not come out even."""
    run = Golden().run()
    spans = [
        replace(span, attributes={**span.attributes, names.DECISION: "deny"})
        if span.kind == names.AUTHORIZATION and span.number == 4
        else span
        for span in received(run)
    ]
    found = check(run.output.evidence, spans)

    assert found.missing == ((names.AUTHORIZATION, "allow"),)
    assert found.invented == ((names.AUTHORIZATION, "deny"),)


def test_a_span_that_arrives_twice_counts_once() -> None:
    """A collector that repeats itself adds nothing, and is named."""
    run = Golden().run()
    spans = received(run)
    found = check(run.output.evidence, [*spans, spans[3]])

    assert found.duplicated == (spans[3].span_id,)
    assert (found.missing, found.invented, found.complete) == ((), (), False)


def test_order_does_not_matter() -> None:
    """Spans may arrive in any order."""
    run = Golden().run()

    assert check(run.output.evidence, received(run)[::-1]).complete


@pytest.mark.parametrize(
    ("told", "disagreements"),
    [("committed", 0), ("unknown", 0), ("not_committed", 1)],
)
def test_trace_and_journal_disagree_where_they_say_opposite_things(
    told: str, disagreements: int
) -> None:
    """The store has the commit; to call it unknown is a gap in knowledge and no contradiction."""
    run = Golden().run()
    spans = [
        replace(span, attributes={**span.attributes, names.COMMIT: told})
        if span.kind == names.STATE_COMMIT
        else span
        for span in received(run)
    ]
    found = check(run.output.evidence, spans)

    assert found.facts()["trace_journal_disagreement"] == (disagreements, 1)


def test_a_commit_that_only_the_trace_knows_is_a_disagreement() -> None:
    """The journal is the authority."""
    run = Golden().run()
    evidence = replace(run.output.evidence, commits=())

    assert check(evidence, received(run)).disagreements == 1


def test_a_step_left_open_is_missing_unless_the_run_was_stopped() -> None:
    """A step without an end is only right where the run was ended from outside."""
    run = Golden().run()
    spans = [
        replace(span, attributes={names.UNFINISHED: True}) if span.number == 1 else span
        for span in received(run)
    ]
    stopped = replace(run.output.evidence, stopped_by="invariant")

    assert check(run.output.evidence, spans).missing == ((names.AGENT_STEP, ""),)
    assert check(stopped, spans).missing == ()


def test_what_is_expected_does_not_come_from_the_trace() -> None:
    """With nothing received, everything is missing."""
    run = Golden().run()
    found = check(run.output.evidence, [])

    assert found.missing == tuple(sorted(expected_spans(run.output.evidence).elements()))
    assert found.facts() == {
        "trace_completeness": (0, 28),
        "orphan_span_rate": (0, 0),
        "trace_journal_disagreement": (1, 1),
    }


def test_an_agent_that_reports_nothing_owes_the_gateways_spans_only() -> None:
    """A foreign agent has no steps that anybody could see."""
    evidence = Golden().run().output.evidence
    kinds = {kind for kind, _ in expected_spans(evidence, agent_reports=False)}

    assert kinds == {
        names.WORKFLOW,
        names.TOOL_REQUEST,
        names.ARGUMENT_VALIDATION,
        names.AUTHORIZATION,
        names.TOOL_EXECUTION,
        names.STATE_COMMIT,
    }
