"""The scorecard: what was decided, on what evidence, and what that does not show.

Plain data in the order in which it is written to `scorecard.json`. Nothing in it depends on the
machine: paths are relative to the report's folder, the only date is the decision date, an input.
Numbers that are compared are exact: counts are integers, and any other fraction is written `a/b`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from arh.records.control.gate import GateDecision
from arh.records.control.metric import MetricDefinition, MetricStatus
from arh.records.control.verdict import Excused

SCHEMA_VERSION = "1.0"
Pairs = tuple[tuple[str, str], ...]
# What makes up a configuration under test, in `About`, a baseline and a run's header alike.
CONFIGURATION = (
    "agent",
    "model",
    "model_digest",
    "prompt_digest",
    "tools_digest",
    "policy",
    "policy_digest",
)


@dataclass(frozen=True, slots=True)
class About:
    """What ran and was judged, by names, versions and digests.

    `mode` is the measurement mode (A1: logical time, scripted model; B: live model, controlled
    dependencies). `prompt_digest` is the digest of the whole prompt bundle. `as_of` is the decision
    date, `YYYY-MM-DD`. A `partial` run is a filtered one, which can never pass. `root` says how the
    suite was found (flag, working, packaged, repository). `evidence` is the digest of the
    evidence's manifest, `runs_recorded` the number of its runs. `idle_passes` names the acceptance
    scenarios that an agent passes by doing nothing, or on which that could not be tried; `None`
    where nobody tried.
    """

    arh: str
    as_of: str
    workflow: str
    agent: str
    model: str
    scripted: bool = True
    partial: bool = False
    mode: str = "A1"
    model_digest: str = ""
    prompt_digest: str = ""
    tools_digest: str = ""
    policy: str = ""
    policy_digest: str = ""
    root: str = ""
    scenarios_digest: str = ""
    datasets_digest: str = ""
    plan_digest: str = ""
    seed: int = 0
    evidence: str = ""
    runs_recorded: int = 0
    evaluators: Pairs = ()
    tools: Pairs = ()
    idle_passes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ProfileAbout:
    """Which thresholds decided; `source` is flag, working, packaged or repository."""

    name: str = ""
    version: str = ""
    illustrative: bool = False
    digest: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric of one slice; `exact` is the value as a fraction, `value` its decimal text.

    What the metric means stands once, in the scorecard's `definitions`.
    """

    name: str
    slice: str
    version: str
    status: MetricStatus
    value: str
    exact: str
    numerator: str
    denominator: str
    sample_size: int
    scenarios: int
    unjudged: int
    interval: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """How many runs have which status; `name` is a level, or a role."""

    name: str
    passed: int = 0
    failed: int = 0
    indeterminate: int = 0
    error: int = 0
    not_applicable: int = 0
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """Something that was declared, and how much of it happened."""

    name: str
    done: int
    declared: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often one item of a dimension occurs in acceptance runs, and how often it really struck.

    Dimensions: risk, category, tool, fault, boundary.
    """

    dimension: str
    item: str
    scenarios: int
    exercised: int


@dataclass(frozen=True, slots=True)
class ControlLine:
    """A control scenario and whether it behaved: a negative one must fail as it says."""

    scenario_id: str
    role: str
    behaved: bool
    detail: str


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run; `page` is the path of its page, `excused` what was left out of its verdict."""

    scenario_id: str
    run_id: str
    role: str
    category: str
    risk_class: str
    status: str
    termination: str
    location: str
    page: str
    reasons: tuple[str, ...] = ()
    excused: tuple[Excused, ...] = ()


@dataclass(frozen=True, slots=True)
class ExclusionLine:
    """A scenario that was not run or not counted, and why."""

    scenario_id: str
    location: str
    reason: str


@dataclass(frozen=True, slots=True)
class BaselineLine:
    """The baseline that was compared with; `differences` make a comparison impossible.

    `changed` are the parts of the configuration that differ: what is being compared.
    """

    digest: str
    as_of: str
    agent: str
    model: str
    differences: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scorecard:
    """Everything that a reviewer needs to defend the decision, or to doubt it."""

    subject: str
    decision: GateDecision
    about: About
    profile: ProfileAbout = ProfileAbout()
    accounts: tuple[Account, ...] = ()
    roles: tuple[StatusCounts, ...] = ()
    levels: tuple[StatusCounts, ...] = ()
    metrics: tuple[MetricLine, ...] = field(default=(), repr=False)
    definitions: tuple[MetricDefinition, ...] = field(default=(), repr=False)
    coverage: tuple[Coverage, ...] = ()
    controls: tuple[ControlLine, ...] = ()
    runs: tuple[RunLine, ...] = field(default=(), repr=False)
    exclusions: tuple[ExclusionLine, ...] = ()
    warnings: tuple[str, ...] = ()
    baseline: BaselineLine | None = None
    not_shown: tuple[str, ...] = ()
    evidence_path: str = "evidence"
    schema_version: Literal["1.0"] = "1.0"
