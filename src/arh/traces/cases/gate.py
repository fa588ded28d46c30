"""The gate over a snapshot: exact metrics, the profile's gates, and an approval if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Final

from arh.canonical import digest
from arh.decision.case_metrics import CASE_METRICS, SEVERITIES
from arh.decision.comparing import Sample
from arh.decision.measured import Approval, approved, decide_measured, refusal
from arh.records.control.gate import Profile
from arh.records.control.metric import MetricValue
from arh.stats.quantiles import nearest_rank
from arh.traces.cases.judging import judge
from arh.traces.cases.records import CaseResult, Cases, Judged, Snapshot
from arh.traces.cases.report import result_of

P95: Final = Fraction(95, 100)


def decided(cases: Cases, snapshot: Snapshot, profile: Profile) -> Judged:
    """Judge every case and decide, nobody having approved."""
    results = judge(cases, snapshot)
    metrics = tuple(_metrics(results))
    slices = frozenset(metric.slice for metric in metrics)
    sample = Sample(len(results), 1, slices.__contains__)
    decision = decide_measured(profile, metrics, sample)
    return Judged(cases.digest, snapshot, results, metrics, decision)


def with_approval(
    judged: Judged, profile: Profile, approval: Approval, *, as_of: date
) -> tuple[Judged, str]:
    """Return the snapshot with what the approval answers for, or as it is and why."""
    reason = refusal(approval, result=result_digest(judged, profile), as_of=as_of)
    if reason:
        return judged, reason
    return replace(judged, decision=approved(judged.decision, approval)), ""


def result_digest(judged: Judged, profile: Profile) -> str:
    """Return the digest of the whole result before anybody approved: what an approval names."""
    return digest(result_of(judged, profile))


def _metrics(results: Sequence[CaseResult]) -> Iterator[MetricValue]:
    """Yield the metrics of all cases, then those of each severity that there are cases of."""
    yield from _sliced(results, "all")
    for severity in SEVERITIES:
        of = [result for result in results if result.case.severity == severity]
        if of:
            yield from _sliced(of, f"severity:{severity}")


def _sliced(results: Sequence[CaseResult], name: str) -> Iterator[MetricValue]:
    total, passed = len(results), sum(result.passed for result in results)
    latencies = [result.output.latency_ms for result in results]
    cost = sum((result.output.cost_usd for result in results), Fraction(0))
    critical = sum(not r.passed and r.case.severity == "critical" for r in results)
    undeclared = sum(len(result.undeclared) for result in results)
    values = {
        "case_pass_rate": (Fraction(passed), Fraction(total)),
        "case_failures": (Fraction(total - passed), Fraction(1)),
        "critical_case_failures": (Fraction(critical), Fraction(1)),
        "undeclared_tool_calls": (Fraction(undeclared), Fraction(1)),
        "case_latency_ms_p95": (nearest_rank(latencies, P95), Fraction(1)),
        "case_cost_usd_mean": (cost, Fraction(total)),
    }
    for metric, (numerator, denominator) in values.items():
        definition = CASE_METRICS[metric]
        yield MetricValue(
            metric,
            definition.version,
            definition.unit,
            "ok",
            numerator,
            denominator,
            numerator / denominator,
            slice=name,
            sample_size=total,
            scenarios=total,
        )
