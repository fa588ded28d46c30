"""Rules of category `reading`: where the recording itself says less than a verdict would suggest.

They have no checks and leave the score alone. Nothing to judge and arguments that nobody can read
fail a trace; what a reader could not map and a result that is missing are said.
"""

from __future__ import annotations

from typing import Final

from arh.errors import safe
from arh.traces.findings import TEXT_CHARS_MAX, Judged, shown
from arh.traces.judging.facts import Facts


def judge(facts: Facts) -> Judged:
    """Return what is missing from a recording."""
    judged = Judged("reading")
    trace = facts.trace
    if not trace.steps:
        judged.add(
            "ARH-TRC-001",
            "the trace has no steps",
            expected="at least 1 step",
            observed="0 steps",
        )
    _unparsed(judged, facts)
    for note in trace.notes:
        if note.kind in _SAID and note.step_id is not None:
            continue
        detail = f": {safe(note.detail, chars_max=TEXT_CHARS_MAX)}" if note.detail else ""
        place = f" at {shown(note.pointer)}" if note.pointer else ""
        judged.add(
            "ARH-TRC-003",
            f"{safe(note.kind, chars_max=TEXT_CHARS_MAX)}{place}{detail}",
            note.step_id,
            subject=note.kind,
        )
    return judged


_SAID: Final = frozenset({"argument_parse_error", "arguments_not_object", "missing_tool_result"})
"""Notes of readers on a step of which another rule here says the same."""


def _unparsed(judged: Judged, facts: Facts) -> None:
    """Find calls whose arguments are no object, and calls without a result."""
    for step in facts.calls:
        tool = step.tool_name or ""
        if step.raw_arguments is not None and step.arguments is None:
            judged.add(
                "ARH-TRC-002",
                f"the arguments of {shown(tool)} are no JSON object",
                facts.anchor(step),
                expected="a JSON object",
                observed=f"text of {len(step.raw_arguments)} characters",
                subject=tool,
            )
        if step.status == "unknown":
            judged.add(
                "ARH-TRC-004",
                f"no result of {shown(tool)} was recorded",
                facts.anchor(step),
                expected="a result",
                observed="none",
                subject=tool,
            )
