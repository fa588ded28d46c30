"""Rules of category `completion`: how a trace ends, and how long it may be. One check each."""

from __future__ import annotations

from arh.traces.authoring.policy import Policy
from arh.traces.findings import Judged
from arh.traces.judging.facts import Facts
from arh.traces.trace import Step


def judge(facts: Facts, policy: Policy) -> Judged:
    """Return how the end or the length of a trace breaks the rules."""
    wanted = policy.completion
    judged = Judged("completion")
    steps = facts.trace.steps
    if wanted.require_final_response:
        last = steps[-1] if steps else None
        fault = _fault(last)
        judged.check(holds=not fault)
        if fault:
            judged.add(
                "ARH-CMP-001",
                f"the trace ends with {fault}",
                None if last is None else facts.anchor(last),
                expected="a response with text, without an error",
                observed=fault,
            )
    if wanted.max_steps is not None:
        holds = len(steps) <= wanted.max_steps
        judged.check(holds=holds)
        if not holds:
            judged.add(
                "ARH-CMP-002",
                f"the trace has {len(steps)} steps, more than {wanted.max_steps}",
                expected=f"at most {wanted.max_steps} steps",
                observed=f"{len(steps)} steps",
            )
    judged.applicable = judged.total > 0
    return judged


def _fault(last: Step | None) -> str:
    """Return what the last step is instead of a response, or nothing."""
    if last is None:
        return "no step at all"
    if last.type != "model_response":
        return "a tool call"
    if last.status != "ok":
        return "a response that failed"
    return "" if last.text and last.text.strip() else "a response without text"
