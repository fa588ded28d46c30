"""Inline assertions of a scenario over the calls of a run: the same that judge recorded traces.

A call that was executed is `ok`; one whose effect its caller could not learn is `unknown`, and
every other one an `error`. Steps are the calls and the responses that say something. What was on
offer is known, so a run in which an assertion could not have been broken is said to be one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arh.canonical import JsonValue
from arh.harness.vocabulary.rules import finding
from arh.records.control.evidence import CallEvidence, Evidence
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import Finding
from arh.traces.authoring.asserting import Call, Recorded
from arh.traces.authoring.assertions import assertions_from_dict

UNKNOWN: Final = "unknown"


def assertion_findings(evidence: Evidence, scenario: Scenario) -> Iterator[Finding]:
    """Yield each assertion that does not hold, or that nothing could have broken."""
    listed = scenario.expectations.trajectory.trace_assertions
    if not listed:
        return
    recorded = recorded_run(evidence, scenario)
    for assertion in assertions_from_dict(list(listed)):
        outcome = assertion.body.judge(recorded)
        if outcome.holds and outcome.exercised is not False:
            continue
        rule = "trajectory.assertion_not_exercised" if outcome.holds else "trajectory.assertion"
        said = "was not exercised" if outcome.holds else "does not hold"
        place = assertion.path.removeprefix("assertions")
        yield finding(
            rule,
            f"trace_assertions{place} ({assertion.type}) {said}",
            expected=outcome.expected,
            found=outcome.observed,
            events=(outcome.anchor,) if outcome.anchor else (),
        )


def recorded_run(evidence: Evidence, scenario: Scenario) -> Recorded:
    """Return what assertions are judged over."""
    responses = sum(1 for exchange in evidence.exchanges if exchange.text.strip())
    return Recorded(
        calls=tuple(map(_call, evidence.calls)),
        steps=len(evidence.calls) + max(responses, len(evidence.finishes)),
        offered=frozenset(scenario.runtime.available_tools),
    )


def _call(call: CallEvidence) -> Call:
    status = "ok" if call.executed else "error"
    if not call.executed and call.commit_belief == UNKNOWN:
        status = UNKNOWN
    arguments: dict[str, JsonValue] | None = (
        None if call.arguments is None else dict(call.arguments)
    )
    return Call(call.tool, arguments, status, call.event_id)
