"""`assert_trace`: in a test, a trace passes its policy, or the failure says why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arh.errors import safe
from arh.traces.authoring.policy import Policy
from arh.traces.judging.report import FAIL_UNDER, TraceReport
from arh.traces.judging.validator import validate_trace
from arh.traces.trace import Trace

SHOWN_MAX: Final = 20


def assert_trace(
    trace: Trace | Mapping[str, object],
    policy: Policy | Mapping[str, object],
    fail_under: float = FAIL_UNDER,
) -> TraceReport:
    """Return the report on a trace that passes its policy.

    Both may be given as the objects of their JSON files.

    Raises:
        AssertionError: The trace does not pass; its message lists the findings that are errors.
        AuthoringError: The trace or the policy is none.
    """
    __tracebackhide__ = True
    read = trace if isinstance(trace, Trace) else Trace.from_dict(trace)
    rules = policy if isinstance(policy, Policy) else Policy.from_dict(policy)
    report = validate_trace(read, rules, fail_under)
    if not report.passed:
        raise AssertionError(failure_text(report, fail_under))
    return report


def failure_text(report: TraceReport, fail_under: float) -> str:
    """Return why a trace does not pass, a line for each finding that is an error."""
    errors = [each for each in report.findings if each.severity == "error"]
    verdict = f"trace {safe(report.trace_id)} does not pass policy {safe(report.policy_id)}"
    score = f"score {report.rounded_score:g} (at least {fail_under:g}), {len(errors)} errors"
    lines = [f"{verdict}: {score}"]
    for each in errors[:SHOWN_MAX]:
        step = "" if each.step_id is None else f" (step {safe(each.step_id)})"
        lines.append(f"  {each.rule_id} {each.message}{step}")
    if len(errors) > SHOWN_MAX:
        lines.append(f"  and {len(errors) - SHOWN_MAX} more")
    return "\n".join(lines)
