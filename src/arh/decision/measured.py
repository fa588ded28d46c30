"""The decision over metrics alone, where nothing was run: gates that compare, and who answers.

A breach of a gate that asks for a review leaves the decision open. An approval answers for it: it
names who, why, until when, and the digest of the very result that it is about. It never answers for
a gate that blocks, and never for what was not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from arh.decision.comparing import (
    UNAPPROVED,
    Sample,
    absolute,
    blank_result,
    evidence_achieved,
    evidence_needed,
    missing,
    required,
    shown,
)
from arh.decision.gates import reasons_of, worst
from arh.records.control.gate import GateDecision, GateResult, GateSpec, Profile
from arh.records.control.metric import MetricValue


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody answers for one result, until the end of a day."""

    approver: str
    reason: str
    expires: date
    result: str


def decide_measured(
    profile: Profile, metrics: Sequence[MetricValue], sample: Sample
) -> GateDecision:
    """Return what a profile of absolute gates decides about metrics, nobody having approved."""
    known = {(metric.name, metric.slice): metric for metric in metrics}
    results = tuple(
        _result(gate, known.get((gate.metric or "", gate.slice)), sample) for gate in profile.gates
    )
    return _decision(results)


def approved(decision: GateDecision, approval: Approval) -> GateDecision:
    """Return the decision with what an approval answers for, which its reasons say."""
    results = tuple(_answered(result, approval) for result in decision.gates)
    answered = [
        f"gate {now.gate}: {now.reason}"
        for then, now in zip(decision.gates, results, strict=True)
        if now is not then
    ]
    made = _decision(results)
    return replace(made, reasons=(*made.reasons, *answered))


def refusal(approval: Approval, *, result: str, as_of: date) -> str:
    """Return why an approval does not count, or nothing."""
    if approval.result != result:
        return f"the approval is about another result ({approval.result[:12]})"
    if as_of > approval.expires:
        return f"the approval expired on {approval.expires.isoformat()}"
    return ""


def _result(gate: GateSpec, metric: MetricValue | None, sample: Sample) -> GateResult:
    blank = blank_result(gate)
    if metric is None:
        return missing(gate, blank, f"nothing of the slice {gate.slice} was measured")
    seen = replace(
        blank,
        observed=shown(metric),
        required=required(gate),
        evidence_required=evidence_needed(gate),
        evidence_achieved=evidence_achieved(metric, gate, sample),
    )
    return absolute(gate, metric, seen, sample)


def _decision(results: tuple[GateResult, ...]) -> GateDecision:
    decision = worst(results)
    return GateDecision(decision, tuple(reasons_of(results, decision)), results)


def _answered(result: GateResult, approval: Approval) -> GateResult:
    """Return the gate as approved, if it is a breach that a person may answer for."""
    if result.severity != "review" or not result.reason.endswith(UNAPPROVED):
        return result
    breach = result.reason.removesuffix(f"; {UNAPPROVED}")
    until = approval.expires.isoformat()
    reason = f"{breach}; approved by {approval.approver} until {until}: {approval.reason}"
    return replace(result, status="pass", reason=reason)
