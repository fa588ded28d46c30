"""Cases, recorded outputs, and what judging one by the other came to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from arh.canonical import JsonValue
from arh.records.control.gate import GateDecision
from arh.records.control.metric import MetricValue

NO_TOOL = "none"

JsonObject = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case demands; `tool_name` is `none` where nothing may be called."""

    decision: str
    tool_name: str
    required_args: JsonObject
    required_citations: tuple[str, ...]
    forbidden_tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One authored case; `severity` is critical, major or minor."""

    case_id: str
    title: str
    severity: str
    given: JsonObject
    expected: Expected


@dataclass(frozen=True, slots=True)
class Cases:
    """All cases of a file, with its digest, and the words that they use."""

    cases: tuple[Case, ...]
    digest: str
    decisions: frozenset[str]
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that the agent made."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Output:
    """What an agent did about one case; latency in milliseconds and cost in USD, exactly."""

    case_id: str
    decision: str
    calls: tuple[RecordedCall, ...]
    citations: tuple[str, ...]
    latency_ms: Fraction
    cost_usd: Fraction


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One recorded output for each case, in the cases' order, under a label."""

    label: str
    outputs: tuple[Output, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case with its output: every check by name, and a reason for each that failed.

    `undeclared` are the called tools that no case names.
    """

    case: Case
    output: Output
    checks: dict[str, bool]
    reasons: tuple[str, ...]
    undeclared: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Every check holds."""
        return all(self.checks.values())


@dataclass(frozen=True, slots=True)
class Judged:
    """A snapshot with its results, its metrics and the decision on it; `cases` is their digest."""

    cases: str
    snapshot: Snapshot
    results: tuple[CaseResult, ...]
    metrics: tuple[MetricValue, ...]
    decision: GateDecision
