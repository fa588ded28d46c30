"""Published transcript cases that are about verdicts: what is judged, compared and refused.

The cases lie outside of the repository: in the folder that ARH_SHARED names, else beside it, and
without them there is nothing to test.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from arh.errors import AuthoringError
from arh.traces import Policy, Trace, compare_reports, evaluate_gate, validate_trace
from arh.traces.reading.source import read_traces

ROOT = Path(__file__).parents[2]
CASES = Path(os.environ.get("ARH_SHARED", ROOT.parent / "shared")) / "cases/transcript-cases.jsonl"

pytestmark = pytest.mark.skipif(not CASES.is_file(), reason="no published cases here")


def case(name: str) -> dict[str, Any]:
    """The published case of that name."""
    lines = map(json.loads, CASES.read_text("utf-8").splitlines())
    found: dict[str, Any] = next(each for each in lines if each["id"] == name)
    return found


def test_equal_calls_are_two_calls() -> None:
    """Counts are of a multiset."""
    published = case("repeated-calls-counted")
    trace, policy = published["input"]["trace"], published["input"]["policy"]
    report = validate_trace(Trace.from_dict(trace), Policy.from_dict(policy))

    assert published["expected"] == {"passed": report.passed, "findings": list(report.findings)}


def test_a_trace_that_is_gone_fails_the_gate() -> None:
    """Unless that is allowed; the public tool's gate stays open under compatibility."""
    given = case("gate-removed-trace")["input"]
    comparison = compare_reports(given["baseline"], given["candidate"])

    assert not evaluate_gate(comparison).passed
    assert evaluate_gate(comparison, allow_removed=True).passed
    assert evaluate_gate(comparison, compat="0.2").passed


def test_a_lone_surrogate_is_refused_by_name() -> None:
    """The file is told as one that could not be judged, and nothing crashes."""
    with pytest.raises(AuthoringError, match="lone surrogate"):
        read_traces(case("lone-surrogate")["input"].encode(), "t.json")
