"""Rules of category `assertion`: inline assertions of a policy over the calls of a trace."""

from __future__ import annotations

from collections.abc import Sequence

from arh.traces.authoring.asserting import Assertion, Call, Recorded
from arh.traces.findings import Judged
from arh.traces.judging.facts import Facts


def judge(facts: Facts, assertions: Sequence[Assertion]) -> Judged:
    """Return which assertions do not hold, and which had no occasion not to."""
    judged = Judged("assertion")
    recorded = recorded_calls(facts)
    for assertion in assertions:
        outcome = assertion.body.judge(recorded)
        if not outcome.holds:
            judged.add(
                "ARH-ASR-001",
                f"{assertion.path} ({assertion.type}) does not hold",
                outcome.anchor,
                expected=outcome.expected,
                observed=outcome.observed,
                subject=f"{assertion.type} {outcome.expected}",
            )
        elif outcome.exercised is False:
            judged.add(
                "ARH-ASR-002",
                f"{assertion.path} ({assertion.type}) was not exercised",
                expected=outcome.expected,
                observed=outcome.observed,
                subject=f"{assertion.type} {outcome.expected}",
            )
    return judged


def recorded_calls(facts: Facts) -> Recorded:
    """Return what assertions are judged over."""
    offered = facts.trace.offered_tools
    return Recorded(
        calls=tuple(
            Call(step.tool_name or "", step.arguments, step.status, facts.anchor(step))
            for step in facts.named
        ),
        steps=len(facts.trace.steps),
        offered=None if offered is None else frozenset(offered),
    )
