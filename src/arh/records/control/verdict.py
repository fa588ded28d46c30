"""What evaluators say.

Findings with stable rule ids, results by evaluator, verdicts by scenario.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arh.records.quick import quick

Status = Literal["pass", "fail", "not_exercised", "not_applicable", "indeterminate", "error"]
Level = Literal["response", "step", "action", "workflow", "system"]
LEVELS: tuple[Level, ...] = ("response", "step", "action", "workflow", "system")
Severity = Literal["fail", "indeterminate", "warning"]


@quick
@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found wrong (or not judgeable): the rule, what was expected and found, the proof.

    `events` are event ids (`<run>#<seq>`); `expected` and `found` are short plain texts with
    values.
    """

    rule: str
    level: Level
    severity: Severity
    message: str
    expected: str = ""
    found: str = ""
    events: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Fact:
    """A count that a metric adds up: `name` of `numerator` out of `denominator`, by slice."""

    name: str
    numerator: int
    denominator: int
    slice: str = ""


@quick
@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One evaluator's verdict on one run.

    `checks` counts what was judged, `unread` what could not be.
    """

    evaluator: str
    version: str
    status: Status
    summary: str
    findings: tuple[Finding, ...] = ()
    facts: tuple[Fact, ...] = ()
    checks: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Excused:
    """Findings of one rule that a scenario names as failures by design: how many, and why."""

    rule: str
    count: int
    why: str


@dataclass(frozen=True, slots=True)
class ScenarioVerdict:
    """The verdict on one run of one scenario: every result, and what they mean for its criteria.

    `status` is pass, fail, indeterminate or error; `levels` gives each level's own status;
    `excused` are the findings that were left out of the results since the scenario names them as
    failures by design; `missing` are the rules that it names and that were not found, or not as
    often as it says. `idle_passes` says whether an agent that does nothing passes the scenario,
    `None` where nobody tried.
    """

    scenario_id: str
    run_id: str
    role: str
    category: str
    risk_class: str
    status: Status
    levels: tuple[tuple[Level, Status], ...]
    results: tuple[EvaluationResult, ...]
    reasons: tuple[str, ...] = ()
    excused: tuple[Excused, ...] = ()
    missing: tuple[str, ...] = ()
    termination: str = ""
    facts: tuple[Fact, ...] = ()
    path: str = ""
    claims: tuple[str, ...] = ()
    replay: str = ""
    location: str = ""
    idle_passes: bool | None = None

    def result(self, evaluator: str) -> EvaluationResult | None:
        """Return one evaluator's result, or `None` if it was not run."""
        return next((r for r in self.results if r.evaluator == evaluator), None)
