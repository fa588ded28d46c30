"""Under `compat="0.2"` our verdicts are those of the public tool, to the last digit.

The file beside holds what `agent-reliability-harness` 0.2.2 said about the seeded cases: score,
passed, totals, coverage, and its findings in its order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.controls.trace_cases import CASES, Case

VERDICTS: dict[str, list[Any]] = json.loads(
    Path(__file__).with_name("public_trace_verdicts.json").read_text("utf-8")
)
JUDGED = [case for case in CASES if case.name in VERDICTS and "assertions" not in case.policy]


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case.name)
def test_verdict_and_score_are_the_public_ones(case: Case) -> None:
    """Doubles are equal, not near; findings have their severity, category, step and order."""
    report = case.report(compat=True)
    coverage = report.citation_coverage

    assert VERDICTS[case.name] == [
        report.score,
        report.passed,
        report.total_latency_ms,
        report.total_cost_usd,
        report.total_tokens,
        None if coverage is None else float(coverage),
        [
            f"{each.severity} {each.category} {each.rule_id}@{each.step_id or '-'}"
            for each in report.findings
        ],
    ]


def test_there_are_enough_of_them() -> None:
    """Of every category."""
    rules = {each.split("@")[0] for verdict in VERDICTS.values() for each in verdict[-1]}

    assert len(VERDICTS) >= 100
    assert len(rules) == 31
