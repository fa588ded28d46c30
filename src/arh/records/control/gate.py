"""Gate profiles as they are written, and gate results as they are decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from arh.records.control.scenario import Count, Name, Strict

Operator = Literal["eq", "le", "ge", "lt", "gt"]
GateStatus = Literal["pass", "fail", "warn", "skipped", "inconclusive"]
Decision = Literal["pass", "fail", "inconclusive"]
Severity = Literal["blocking", "review", "warning"]
"""What a breach does: it fails the release, leaves it to a person, or is only told."""
Subject = Literal["scenarios", "cases"]
Number = Annotated[int | float, Field(allow_inf_nan=False)]


class EvidenceNeeds(Strict):
    """How much must have been seen before a gate's verdict counts.

    `minimum_trials` of more than one is refused when a profile is loaded: a suite runs each
    scenario once, since further runs of a scripted model show nothing new.
    """

    minimum_trials: Count | None = None
    minimum_scenarios: Count | None = None
    required_slices: list[Name] = Field(default_factory=list)
    confidence_level: Number | None = None
    maximum_interval_width: Number | None = None


class GateSpec(Strict):
    """One gate: `absolute` compares a metric, `regression` its change, `conformance` a property.

    `allow_provisional` is a key of published profiles; no metric of ours is provisional, so nothing
    but `false` can be meant.
    """

    id: Name | None = None
    type: Literal["absolute", "regression", "conformance"]
    metric: Name | None = None
    slice: Name = "all"
    operator: Operator | None = None
    threshold: Number | None = None
    regression_kind: (
        Literal["drop_points", "rise_points", "drop_percent", "rise_percent"] | None
    ) = None
    max_delta: Number | None = None
    floor: Number | None = None
    check: (
        Literal[
            "critical_scenarios_pass",
            "no_evaluator_error",
            "controls_exercised",
            "records_complete",
            "faults_delivered",
            "controls_behave",
            "nothing_unjudged",
            "never",
        ]
        | None
    ) = None
    rules: list[Name] = Field(default_factory=list)
    severity: Severity
    minimum_attempts: Count | None = None
    minimum_sample_size: Count | None = None
    evidence: EvidenceNeeds = EvidenceNeeds()
    on_missing: Literal["block", "warn", "skip"] = "block"
    allow_provisional: Literal[False] = False
    level: Name | None = None
    activity: Name | None = None


class Profile(Strict):
    """A versioned set of gates.

    An empty one is refused; `illustrative` is shown on every scorecard. `judges` says whose metrics
    the gates look at: those of scenarios that were run, or of recorded outputs held against cases.
    """

    profile: Name
    judges: Subject = "scenarios"
    version: str = "1"
    illustrative: bool = False
    max_unjudged: Count = 0
    baseline_days_max: Count = 90
    gates: Annotated[list[GateSpec], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class GateResult:
    """How one gate came out, with what was required and what was achieved."""

    gate: str
    type: str
    metric: str
    slice: str
    severity: str
    status: GateStatus
    reason: str
    level: str
    activity: str
    observed: str = ""
    required: str = ""
    baseline: str = ""
    evidence_required: str = ""
    evidence_achieved: str = ""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The release decision.

    Fail if a blocking gate failed, else inconclusive if anything is unjudged.
    """

    decision: Decision
    reasons: tuple[str, ...]
    gates: tuple[GateResult, ...]
