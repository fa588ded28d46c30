"""The report on a trace and on many, as records and as the JSON that doubles as a baseline.

The keys, their order and the decimals are those of the public report, so that old baselines and
tools keep working; what is new comes after them. Nothing that is not finite can get in here, hence
every report is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from arh.canonical import JsonValue
from arh.traces.findings import Finding, bounded
from arh.traces.judging.facts import Compat

SCHEMA_VERSION: Final = "1"
FAIL_UNDER: Final = 70.0

Fields: TypeAlias = "dict[str, JsonValue]"


@dataclass(frozen=True, slots=True)
class TraceReport:
    """What was found on one trace. `score` is exact, and a double under `compat`.

    `findings_cut` says how many findings of each rule are counted and not listed.
    """

    trace_id: str
    agent_name: str
    workflow: str
    policy_id: str
    score: Fraction | float
    passed: bool
    total_latency_ms: float = 0.0
    total_cost_usd: float = 0.0
    citation_coverage: Fraction | None = None
    findings: tuple[Finding, ...] = ()
    total_tokens: int | None = None
    source_path: str | None = None
    policy_digest: str = ""
    fail_under: float = FAIL_UNDER
    findings_cut: dict[str, int] = field(default_factory=dict)
    compat: Compat | None = None

    @property
    def rounded_score(self) -> float:
        """The score with two decimals."""
        score = self.score
        return round(score, 2) if isinstance(score, float) else float(round(score, 2))

    def to_dict(self) -> Fields:
        """Return the entry of a report, its keys in the published order."""
        coverage = self.citation_coverage
        entry: Fields = {
            "trace_id": bounded(self.trace_id),
            "agent_name": bounded(self.agent_name),
            "workflow": bounded(self.workflow),
            "policy_id": bounded(self.policy_id),
            "score": self.rounded_score,
            "passed": self.passed,
            "total_latency_ms": self.total_latency_ms,
            "total_cost_usd": self.total_cost_usd,
            "citation_coverage": None if coverage is None else float(round(coverage, 4)),
            "findings": [self._finding(each) for each in self.findings],
        }
        if self.total_tokens is not None:
            entry["total_tokens"] = self.total_tokens
        if self.source_path is not None:
            entry["source_path"] = self.source_path
        if self.policy_digest:
            entry["policy_digest"] = self.policy_digest
        if self.fail_under != FAIL_UNDER and not self.compat:
            entry["fail_under"] = self.fail_under
        if self.findings_cut:
            entry["findings_cut"] = dict(self.findings_cut)
        return entry

    def _finding(self, finding: Finding) -> Fields:
        """Return a finding; its subject is an addition that compatibility leaves out."""
        fields: Fields = {**finding.to_dict()}
        if self.compat:
            fields.pop("subject", None)
        return fields


def report_document(reports: Iterable[TraceReport]) -> Fields:
    """Return the report on many traces."""
    reports = list(reports)
    passed = sum(1 for each in reports if each.passed)
    average = _average([each.score for each in reports])
    return {
        "schema_version": SCHEMA_VERSION,
        "summary": {
            "total_traces": len(reports),
            "passed_traces": passed,
            "failed_traces": len(reports) - passed,
            "average_score": average,
        },
        "reports": [each.to_dict() for each in reports],
    }


def _average(scores: list[Fraction | float]) -> float:
    """Return the mean with two decimals: exactly, or in doubles if the scores are some."""
    if not scores:
        return 0.0
    mean = sum(scores) / len(scores)
    return round(mean, 2) if isinstance(mean, float) else float(round(mean, 2))


def report_text(reports: Iterable[TraceReport]) -> str:
    """Return the report as JSON text in ASCII: two runs over equal traces write the same bytes."""
    return json.dumps(report_document(reports), indent=2, allow_nan=False)
