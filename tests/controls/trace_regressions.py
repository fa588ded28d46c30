"""Reports of the kinds that a gate has to tell apart: seeded regressions, and what is none.

A scenario is a name, a baseline, a candidate, whether the gate passes, and whether the public
tool's does.
"""

from __future__ import annotations

from typing import Any


def finding(rule: str = "ARH-SCH-003", step: str | None = "s1", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A finding of a report."""
    return {
        "severity": "error",
        "category": "schema",
        "message": "m",
        "step_id": step,
        "rule_id": rule,
        "subject": "a",
        **fields,
    }


def entry(trace_id: str = "t", *findings: dict[str, Any], **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A trace of a report."""
    errors = any(each.get("severity") == "error" for each in findings)
    return {
        "trace_id": trace_id,
        "policy_id": "p",
        "score": 100.0,
        "passed": not errors,
        "total_latency_ms": 10,
        "total_cost_usd": 0.1,
        "findings": list(findings),
        "policy_digest": "d",
        **fields,
    }


def report(*entries: dict[str, Any]) -> dict[str, Any]:
    """A report."""
    return {"schema_version": "1", "summary": {}, "reports": list(entries)}


OLD_FINDING = {key: value for key, value in finding().items() if key != "subject"}
OLDEST_FINDING = {key: value for key, value in OLD_FINDING.items() if key != "rule_id"}
WARNING = finding(severity="warning")
A, B = entry("a"), entry("b")

SCENARIOS: list[tuple[str, dict[str, Any], dict[str, Any], bool, bool]] = [
    ("same", report(A, B), report(A, B), True, True),
    ("same_failures", report(entry("t", finding())), report(entry("t", finding())), True, True),
    (
        "other_message",
        report(entry("t", finding())),
        report(entry("t", finding(message="n"))),
        True,
        True,
    ),
    ("new_error", report(entry()), report(entry("t", finding())), False, False),
    ("new_warning", report(entry()), report(entry("t", WARNING)), True, True),
    ("fixed", report(entry("t", finding())), report(entry()), True, True),
    (
        "one_more_of_the_same",
        report(entry("t", finding())),
        report(entry("t", finding(), finding())),
        False,
        False,
    ),
    (
        "one_less_of_the_same",
        report(entry("t", finding(), finding())),
        report(entry("t", finding())),
        True,
        True,
    ),
    (
        "other_step",
        report(entry("t", finding())),
        report(entry("t", finding(step="s2"))),
        False,
        False,
    ),
    (
        "other_rule",
        report(entry("t", finding())),
        report(entry("t", finding("ARH-SCH-004"))),
        False,
        False,
    ),
    (
        "other_subject",
        report(entry("t", finding())),
        report(entry("t", finding(subject="b"))),
        False,
        True,
    ),
    ("score_only_fails", report(entry()), report(entry(passed=False)), False, False),
    ("still_fails", report(entry(passed=False)), report(entry(passed=False)), True, True),
    ("added_failing", report(A), report(A, entry("b", finding())), False, False),
    ("added_passing", report(A), report(A, B), True, True),
    ("removed_passing", report(A, B), report(A), False, True),
    ("removed_failing", report(A, entry("b", finding())), report(A), False, True),
    ("all_removed", report(A, B), report(), False, True),
    ("both_empty", report(), report(), False, True),
    (
        "raised",
        report(entry("t", WARNING)),
        report(entry("t", finding(), passed=True)),
        False,
        True,
    ),
    ("lowered", report(entry("t", finding())), report(entry("t", WARNING)), True, True),
    (
        "raised_hides_behind_lowered",
        report(entry("t", WARNING, finding(), passed=False)),
        report(entry("t", finding(), finding(), passed=False)),
        False,
        True,
    ),
    ("other_policy", report(A), report(entry("a", policy_id="q")), False, True),
    ("changed_policy", report(A), report(entry("a", policy_digest="e")), False, True),
    ("lower_bar", report(A), report(entry("a", fail_under=0.0)), False, True),
    ("same_bar", report(entry("a", fail_under=90)), report(entry("a", fail_under=90)), True, True),
    ("no_digest", report(entry("a", policy_digest="")), report(A), True, True),
    ("findings_cut", report(A), report(entry("a", findings_cut={"ARH-SEQ-002": 5})), False, True),
    ("old_baseline", report(entry("t", OLD_FINDING)), report(entry("t", finding())), True, True),
    ("old_candidate", report(entry("t", finding())), report(entry("t", OLD_FINDING)), True, True),
    (
        "old_baseline_one_more",
        report(entry("t", OLD_FINDING)),
        report(entry("t", finding(), finding(subject="b"))),
        False,
        False,
    ),
    (
        "oldest_baseline",
        report(entry("t", OLDEST_FINDING)),
        report(entry("t", finding())),
        True,
        True,
    ),
    (
        "oldest_warning_does_not_swallow_an_error",
        report(entry("t", {**OLDEST_FINDING, "severity": "warning"})),
        report(entry("t", finding(), passed=True)),
        False,
        True,
    ),
    (
        "fixed_and_broken",
        report(entry("t", finding())),
        report(entry("t", finding("ARH-SCH-009"))),
        False,
        False,
    ),
]
