"""Comparing reports and the gate on what changed: seeded regressions are stopped, twins pass."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from arh.traces.comparing.compare import compare_reports
from arh.traces.comparing.gate import GateResult, comparison_document, evaluate_gate
from arh.traces.comparing.reports import ReportRefused
from tests.controls.trace_regressions import (
    OLD_FINDING,
    SCENARIOS,
    WARNING,
    A,
    B,
    entry,
    finding,
    report,
)


def gate(
    old: dict[str, Any],
    new: dict[str, Any],
    mode: Any = "regressions",  # noqa: ANN401 - also wrong ones
    compat: Literal["0.2"] | None = None,
    **options: Any,  # noqa: ANN401 - the same
) -> GateResult:
    """The gate on two reports."""
    return evaluate_gate(compare_reports(old, new, compat=compat), mode, **options)


@pytest.mark.parametrize(
    ("old", "new", "passes", "public"),
    [scenario[1:] for scenario in SCENARIOS],
    ids=[scenario[0] for scenario in SCENARIOS],
)
def test_what_got_worse_is_stopped(
    old: dict[str, Any],
    new: dict[str, Any],
    passes: bool,  # noqa: FBT001 - columns of the table
    public: bool,  # noqa: FBT001 - the same
) -> None:
    """By default closed where the public gate is open, and open where it is under `compat`."""
    assert passes == gate(old, new).passed
    assert public == gate(old, new, compat="0.2").passed


def test_what_is_on_purpose_is_let_through() -> None:
    """Each with its own option, which says nothing about the other."""
    gone, changed = (report(A, B), report(A)), (report(A), report(entry("a", policy_digest="e")))

    assert gate(*gone, allow_removed=True).passed
    assert not gate(*gone, allow_policy_change=True).passed
    assert gate(*changed, allow_policy_change=True).passed
    assert not gate(*changed, allow_removed=True).passed
    assert not gate(report(A), report(), allow_removed=True).passed


def test_failures_stops_every_failing_trace() -> None:
    """Also one that failed before; a trace that is gone is stopped as well."""
    old = report(entry("t", finding()))

    assert gate(old, old, "failures").reasons == ("1 failing trace: t",)
    assert not gate(report(A, B), report(A), "failures").passed
    assert gate(report(A), report(A), "failures").passed
    assert gate(report(A), report(), "never") == GateResult(passed=True)


def test_a_score_may_drop_by_what_is_allowed_and_no_more() -> None:
    """The difference is exact: 99.99 is 0.01 below 100."""
    old, new = report(entry(score=100.0)), report(entry(score=99.99))

    assert gate(old, new, max_score_drop=0.01).passed
    assert not gate(old, new, max_score_drop=0.009).passed
    assert not gate(old, new, "failures", max_score_drop=0).passed
    assert gate(old, new, "failures", max_score_drop=0, compat="0.2").passed


@pytest.mark.parametrize("compat", [None, "0.2"])
@pytest.mark.parametrize("mode", ["regressions", "failures"])
def test_a_candidate_that_was_not_wholly_judged_is_stopped(
    mode: str, compat: Literal["0.2"] | None
) -> None:
    """What was not judged may hide anything; in the baseline it hides nothing of today."""
    partly = {**report(A), "unjudged": [{"source_path": "b.json", "reason": "cut short"}]}

    stopped = gate(report(A), partly, mode, compat)

    assert stopped == GateResult(passed=False, reasons=("1 input could not be judged",))
    assert compare_reports(report(A), partly).unjudged == ("b.json: cut short",)
    assert gate(partly, report(A), mode, compat).passed
    assert gate(report(A), {**report(A), "unjudged": []}, mode, compat).passed


@pytest.mark.parametrize("value", [float("nan"), -1, 101, True, "5"])
def test_a_drop_that_is_no_number_is_refused(value: Any) -> None:  # noqa: ANN401 - any value
    """It would never stop anything, or everything."""
    with pytest.raises(ReportRefused, match="max_score_drop"):
        gate(report(A), report(A), max_score_drop=value)


def test_a_mode_that_does_not_exist_is_refused() -> None:
    """The three are named."""
    with pytest.raises(ReportRefused, match="regressions or failures or never"):
        gate(report(A), report(A), "regression")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "the candidate is no report"),
        ([], "the candidate is no report"),
        (report(A, A), "candidate report contains duplicate trace_id 'a'"),
        ({"reports": [5]}, r"candidate.reports\[0\]"),
        ({"reports": [{}]}, "trace_id"),
        (report(entry(passed="false")), "expected true or false"),
        (report(entry(score="100")), "expected a finite number"),
        (report(entry(score=float("nan"))), "expected a finite number"),
        (report(entry(findings=5)), "expected a list"),
        ({"reports": [{"trace_id": "t", "findings": [5]}]}, "expected an object"),
        (report(entry("t", finding(step=[1]))), "expected text or null"),  # type: ignore[arg-type] # wrong
        (report(entry("t", finding(subject=1))), "expected text"),
        (report(entry("t", finding(severity=5))), "expected error or"),
        (report(entry("t", finding(severity="ERROR"))), "expected error or"),
        (report(entry("t", {**finding(), "severity": None})), "expected error or"),
        ({**report(A), "unjudged": True}, "expected a list"),
        ({**report(A), "unjudged": [5]}, "expected an object"),
        ({**report(A), "unjudged": [{"source_path": 5}]}, "expected text"),
    ],
)
def test_what_is_no_report_is_refused(document: object, said: str) -> None:
    """A verdict that is text would be true."""
    with pytest.raises(ReportRefused, match=said):
        compare_reports(report(A), document)


def test_a_comparison_is_written_in_the_published_form() -> None:
    """Keys, their order and decimals."""
    comparison = compare_reports(
        report(entry("b", OLD_FINDING, score=90.0), entry("gone")),
        report(entry("a"), entry("b", score=100.0, total_latency_ms=12.5, total_cost_usd=0.3)),
        compat="0.2",
    )
    document = comparison_document(comparison, evaluate_gate(comparison))
    traces: Any = document["traces"]

    assert list(document) == [
        "schema_version",
        "baseline_policy_id",
        "candidate_policy_id",
        "summary",
        "gate",
        "traces",
    ]
    assert document["summary"] == {
        "traces_compared": 1,
        "traces_added": 1,
        "traces_removed": 1,
        "pass_to_fail": 0,
        "fail_to_pass": 1,
        "new_findings": 0,
        "new_error_findings": 0,
        "resolved_findings": 1,
        "average_score_delta": 10.0,
        "max_score_drop": 0.0,
    }
    assert traces[1] == {
        "trace_id": "b",
        "status_change": "fail->pass",
        "baseline_passed": False,
        "candidate_passed": True,
        "baseline_score": 90.0,
        "candidate_score": 100.0,
        "score_delta": 10.0,
        "latency_delta_ms": 2.5,
        "cost_delta_usd": 0.2,
        "new_findings": [],
        "resolved_findings": [{"trace_id": "b", **OLD_FINDING}],
    }
    assert [each["status_change"] for each in traces] == ["added", "fail->pass", "removed"]


def test_many_findings_of_one_kind_are_paired_in_linear_time() -> None:
    """A hostile report cannot hold up the gate."""
    many = [finding(subject=str(at)) for at in range(20_000)]
    swapped = [{**each, "subject": f"{at}b"} for at, each in enumerate(many)]

    comparison = compare_reports(report(entry("t", *many)), report(entry("t", *swapped)))

    assert len(comparison.new_findings) == 20_000


def test_all_findings_of_an_added_trace_are_new() -> None:
    """And those of one that is gone are not resolved."""
    added = compare_reports(report(A), report(A, entry("b", finding(), WARNING)))
    gone = compare_reports(report(A, entry("b", finding())), report(A))

    assert [each.trace_id for each in added.new_findings] == ["b", "b"]
    assert (gone.new_findings, gone.resolved_findings) == ([], [])


def test_a_score_that_is_gone_has_fallen() -> None:
    """A report that leaves it out does not pass a bound on how far it may fall."""
    unscored = report({**entry("a"), "score": None})

    assert gate(report(A), unscored, max_score_drop=5) == GateResult(
        passed=False, reasons=("trace a had a score and now has none",)
    )
    assert gate(unscored, unscored, max_score_drop=5).passed
    assert gate(report(A), unscored).passed
