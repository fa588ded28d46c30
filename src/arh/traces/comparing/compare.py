"""Compares two reports: which findings are new, which are resolved, which traces changed.

A finding is known again by its fingerprint: trace, rule, category, step and, where both reports
state it, subject. Messages are no part of it, since they hold measured values. Equal fingerprints
are counted and not merged. Where one report is older than subjects, or than rule ids, the other's
are left out of account for the findings concerned, and for those only.

Each report is read strictly: a verdict that is text, an id that is there twice, or a score that is
no number would otherwise decide a gate by accident.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from arh.traces.comparing.reports import (
    Entry,
    ReportedFinding,
    read_report,
    read_unjudged,
)
from arh.traces.judging.facts import Compat, exact
from arh.traces.judging.report import FAIL_UNDER, Fields

Change: TypeAlias = Literal["added", "removed", "pass->fail", "fail->pass", "unchanged"]

SCHEMA_VERSION: Final = "1"

_RANKS: Final = {"info": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True)
class FindingRef:
    """A finding of one of the two reports, with the trace that it is of."""

    trace_id: str
    severity: str
    category: str
    message: str
    step_id: str | None
    rule_id: str
    subject: str | None = None

    @property
    def order(self) -> tuple[str, str, str, str, str]:
        """The key that findings are sorted by."""
        return (self.trace_id, self.rule_id, self.category, self.step_id or "", self.message)

    def to_dict(self) -> Fields:
        """Return the finding as a comparison writes it."""
        fields: Fields = {
            "trace_id": self.trace_id,
            "severity": self.severity,
            "category": self.category,
            "message": self.message,
            "step_id": self.step_id,
            "rule_id": self.rule_id,
        }
        if self.subject is not None:
            fields["subject"] = self.subject
        return fields


@dataclass(frozen=True, slots=True)
class TraceChange:
    """What became of one trace. `raised` are findings that are known and weigh more than before."""

    trace_id: str
    status_change: Change
    baseline_passed: bool | None = None
    candidate_passed: bool | None = None
    baseline_score: float | None = None
    candidate_score: float | None = None
    latency_delta_ms: float | None = None
    cost_delta_usd: float | None = None
    new_findings: tuple[FindingRef, ...] = ()
    resolved_findings: tuple[FindingRef, ...] = ()
    raised: tuple[FindingRef, ...] = ()
    was_cut: bool = False

    @property
    def score_delta(self) -> Fraction | None:
        """The difference of the scores as they are written."""
        if self.baseline_score is None or self.candidate_score is None:
            return None
        return Fraction(exact(self.candidate_score)) - Fraction(exact(self.baseline_score))

    def to_dict(self) -> Fields:
        """Return the trace's part of a comparison, its keys in the published order."""
        delta = self.score_delta
        cost = self.cost_delta_usd
        fields: Fields = {
            "trace_id": self.trace_id,
            "status_change": self.status_change,
            "baseline_passed": self.baseline_passed,
            "candidate_passed": self.candidate_passed,
            "baseline_score": self.baseline_score,
            "candidate_score": self.candidate_score,
            "score_delta": None if delta is None else float(round(delta, 2)),
            "latency_delta_ms": self.latency_delta_ms,
            "cost_delta_usd": None if cost is None else round(cost, 6),
            "new_findings": [each.to_dict() for each in self.new_findings],
            "resolved_findings": [each.to_dict() for each in self.resolved_findings],
        }
        if self.raised:
            fields["raised_findings"] = [each.to_dict() for each in self.raised]
        return fields


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from a baseline to a candidate.

    `policy_changed` says how, or nothing. `unjudged` are the candidate's inputs that could not be
    judged, each with the reason.
    """

    baseline_policy_id: str
    candidate_policy_id: str
    traces: tuple[TraceChange, ...] = ()
    policy_changed: str = ""
    unjudged: tuple[str, ...] = ()
    compat: Compat | None = None

    def of(self, change: Change) -> list[TraceChange]:
        """Return the traces that changed so."""
        return [each for each in self.traces if each.status_change == change]

    @property
    def new_findings(self) -> list[FindingRef]:
        """All new findings, sorted."""
        found = (finding for each in self.traces for finding in each.new_findings)
        return sorted(found, key=lambda each: each.order)

    @property
    def resolved_findings(self) -> list[FindingRef]:
        """All resolved findings, sorted."""
        found = (finding for each in self.traces for finding in each.resolved_findings)
        return sorted(found, key=lambda each: each.order)

    @property
    def raised_findings(self) -> list[FindingRef]:
        """All findings that weigh more than before, sorted."""
        found = (finding for each in self.traces for finding in each.raised)
        return sorted(found, key=lambda each: each.order)

    def summary(self) -> Fields:
        """Return the counts, as a comparison writes them."""
        deltas = [each.score_delta for each in self.traces if each.score_delta is not None]
        drop = max((-delta for delta in deltas), default=Fraction(0))
        new = self.new_findings
        added, removed = len(self.of("added")), len(self.of("removed"))
        return {
            "traces_compared": len(self.traces) - added - removed,
            "traces_added": added,
            "traces_removed": removed,
            "pass_to_fail": len(self.of("pass->fail")),
            "fail_to_pass": len(self.of("fail->pass")),
            "new_findings": len(new),
            "new_error_findings": sum(1 for each in new if each.severity == "error"),
            "resolved_findings": len(self.resolved_findings),
            "average_score_delta": self._average(),
            "max_score_drop": float(round(max(drop, Fraction(0)), 2)),
        }

    def _average(self) -> float:
        """Return the mean difference of the scores, in doubles where compatibility asks for it."""
        pairs = [
            (each.baseline_score, each.candidate_score)
            for each in self.traces
            if each.baseline_score is not None and each.candidate_score is not None
        ]
        if not pairs:
            return 0.0
        if self.compat:
            return round(sum(new - old for old, new in pairs) / len(pairs), 2)
        deltas = (Fraction(exact(new)) - Fraction(exact(old)) for old, new in pairs)
        whole = sum(deltas, start=Fraction(0))
        return float(round(whole / len(pairs), 2))


def compare_reports(
    baseline: object,
    candidate: object,
    *,
    compat: Compat | None = None,
) -> Comparison:
    """Return what changed from one report document to another.

    Raises:
        ReportRefused: One of them is no report, or names a trace twice; says which and where.
    """
    old, new = read_report(baseline, "baseline"), read_report(candidate, "candidate")
    traces = tuple(
        _change(trace_id, old.get(trace_id), new.get(trace_id), compat)
        for trace_id in sorted(old.keys() | new.keys())
    )
    return Comparison(
        baseline_policy_id=_policy_ids(old.values()),
        candidate_policy_id=_policy_ids(new.values()),
        traces=traces,
        policy_changed=_policy_change(old, new),
        unjudged=read_unjudged(candidate, "candidate"),
        compat=compat,
    )


def _change(
    trace_id: str, old: Entry | None, new: Entry | None, compat: Compat | None
) -> TraceChange:
    """Return what became of a trace that is in at least one of the reports."""
    if old is None or new is None:
        there = new or old
        found = tuple(_ref(trace_id, each) for each in there.findings) if there else ()
        found = tuple(sorted(found, key=lambda each: each.order))
        return TraceChange(
            trace_id,
            "added" if new else "removed",
            baseline_passed=old.passed if old else None,
            candidate_passed=new.passed if new else None,
            baseline_score=old.score if old else None,
            candidate_score=new.score if new else None,
            new_findings=found if new else (),
            was_cut=bool(new and new.was_cut),
        )
    added, resolved, raised = _differences(old, new, compat)
    return TraceChange(
        trace_id,
        _status_change(old, new),
        baseline_passed=old.passed,
        candidate_passed=new.passed,
        baseline_score=old.score,
        candidate_score=new.score,
        latency_delta_ms=_delta(old.total_latency_ms, new.total_latency_ms),
        cost_delta_usd=_delta(old.total_cost_usd, new.total_cost_usd),
        new_findings=_refs(trace_id, added),
        resolved_findings=_refs(trace_id, resolved),
        raised=_refs(trace_id, raised),
        was_cut=new.was_cut or old.was_cut,
    )


def _status_change(old: Entry, new: Entry) -> Change:
    if old.passed == new.passed:
        return "unchanged"
    return "pass->fail" if old.passed else "fail->pass"


_Findings: TypeAlias = "list[ReportedFinding]"
_Pairs: TypeAlias = "list[tuple[ReportedFinding, ReportedFinding]]"
_Key: TypeAlias = "Callable[[ReportedFinding], tuple[str, ...]]"
_Test: TypeAlias = "Callable[[ReportedFinding], bool]"


@dataclass(frozen=True, slots=True)
class _Pass:
    """One way to know findings again: equal keys, among the old and the new ones that qualify."""

    key: _Key
    old: _Test
    new: _Test


def _differences(
    old: Entry, new: Entry, compat: Compat | None
) -> tuple[_Findings, _Findings, _Findings]:
    """Return the new, the resolved, and the raised findings of a trace."""
    added, resolved = list(new.findings), list(old.findings)
    pairs: _Pairs = []
    for each in _PUBLIC if compat else _PASSES:
        # Those that weigh the same are paired first, so that a finding that became worse does not
        # hide behind another that got better.
        for key in (each.key,) if compat else (_weighed(each.key), each.key):
            found = _paired(added, resolved, each, key)
            pairs += found
            known = {id(finding) for pair in found for finding in pair}
            added = [finding for finding in added if id(finding) not in known]
            resolved = [finding for finding in resolved if id(finding) not in known]
    raised = [] if compat else [now for then, now in pairs if _weighs_more(now, then)]
    return added, resolved, raised


def _paired(added: _Findings, resolved: _Findings, each: _Pass, key: _Key) -> _Pairs:
    """Return the pairs of equal keys, in order, each finding in one of them at most."""
    waiting: defaultdict[tuple[str, ...], deque[ReportedFinding]] = defaultdict(deque)
    for finding in filter(each.old, resolved):
        waiting[key(finding)].append(finding)
    pairs: _Pairs = []
    for finding in filter(each.new, added):
        candidates = waiting.get(key(finding))
        if candidates:
            pairs.append((candidates.popleft(), finding))
    return pairs


def _weighed(key: _Key) -> _Key:
    return lambda finding: (*key(finding), finding.severity)


def _tuple(finding: ReportedFinding) -> tuple[str, ...]:
    return (finding.rule_id, finding.category, finding.step_id or "")


def _with_subject(finding: ReportedFinding) -> tuple[str, ...]:
    return (*_tuple(finding), finding.subject or "")


def _loose(finding: ReportedFinding) -> tuple[str, ...]:
    return (finding.category, finding.step_id or "")


def _has_subject(finding: ReportedFinding) -> bool:
    return finding.subject is not None


def _has_no_subject(finding: ReportedFinding) -> bool:
    return finding.subject is None


def _has_rule(finding: ReportedFinding) -> bool:
    return bool(finding.rule_id)


def _has_no_rule(finding: ReportedFinding) -> bool:
    return not finding.rule_id


def _any(_: ReportedFinding) -> bool:
    return True


_LOOSE_PASSES: Final = (
    _Pass(_loose, _has_no_rule, _has_rule),
    _Pass(_loose, _has_rule, _has_no_rule),
)
_PASSES: Final = (
    _Pass(_with_subject, _has_subject, _has_subject),
    _Pass(_tuple, _has_no_subject, _any),
    _Pass(_tuple, _any, _has_no_subject),
    *_LOOSE_PASSES,
)
_PUBLIC: Final = (_Pass(_tuple, _any, _any), *_LOOSE_PASSES)


def _weighs_more(now: ReportedFinding, then: ReportedFinding) -> bool:
    return _RANKS.get(now.severity, 2) > _RANKS.get(then.severity, 2)


def _refs(trace_id: str, findings: Iterable[ReportedFinding]) -> tuple[FindingRef, ...]:
    found = (_ref(trace_id, each) for each in findings)
    return tuple(sorted(found, key=lambda each: each.order))


def _ref(trace_id: str, finding: ReportedFinding) -> FindingRef:
    return FindingRef(
        trace_id,
        finding.severity,
        finding.category,
        finding.message,
        finding.step_id,
        finding.rule_id,
        finding.subject,
    )


def _delta(old: float | None, new: float | None) -> float | None:
    if old is None or new is None:
        return None
    return float(Fraction(exact(new)) - Fraction(exact(old)))


def _policy_ids(entries: Iterable[Entry]) -> str:
    return ",".join(sorted({each.policy_id for each in entries if each.policy_id}))


def _least(entry: Entry) -> float:
    return FAIL_UNDER if entry.fail_under is None else entry.fail_under


def _policy_change(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> str:
    """Return how the policy differs over the traces that are in both reports, or nothing."""
    for trace_id in sorted(old.keys() & new.keys()):
        then, now = old[trace_id], new[trace_id]
        if then.policy_id != now.policy_id:
            return f"policy {then.policy_id!r} became {now.policy_id!r}"
        if then.policy_digest and now.policy_digest and then.policy_digest != now.policy_digest:
            return f"policy {then.policy_id!r} says something else than before"
        # A report with a digest says what a trace had to score, unless that is what it always is.
        if then.policy_digest and now.policy_digest and _least(then) != _least(now):
            return f"the least score that passes was {_least(then):g} and is {_least(now):g}"
    return ""
