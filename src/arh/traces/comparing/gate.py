"""Decides whether a comparison of reports lets a change through.

`regressions` stops what got worse: new errors, findings that became errors, traces that fail and
did not, and traces that are gone, since a trace that is not run fails nobody. A baseline made with
another policy is no measure, so a changed policy stops it too. `failures` stops every failing
trace, whether new or not, and an empty candidate. What of the candidate could not be judged stops
both, since it may hide anything. `never` only reports.

What is on purpose is said: `allow_removed`, `allow_policy_change`. Under `compat="0.2"` the gate is
as open as the public tool's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Final, Literal, TypeAlias

from arh.decision.numbers import plural
from arh.errors import safe
from arh.traces.comparing.compare import Comparison, FindingRef, compare_reports
from arh.traces.comparing.reports import ReportRefused
from arh.traces.judging.facts import Compat, exact
from arh.traces.judging.report import Fields

FailOn: TypeAlias = Literal["regressions", "failures", "never"]

__all__ = [
    "MODES",
    "FailOn",
    "GateResult",
    "compare_reports",
    "comparison_document",
    "evaluate_gate",
]

MODES: Final[tuple[FailOn, ...]] = ("regressions", "failures", "never")
LISTED_MAX: Final = 50
SCORE_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class GateResult:
    """Whether the change may go through, and each reason why not."""

    passed: bool
    reasons: tuple[str, ...] = ()

    def to_dict(self) -> Fields:
        """Return the result as a comparison writes it."""
        return {"passed": self.passed, "reasons": list(self.reasons)}


def evaluate_gate(
    comparison: Comparison,
    fail_on: FailOn = "regressions",
    max_score_drop: float | None = None,
    *,
    allow_removed: bool = False,
    allow_policy_change: bool = False,
    compat: Compat | None = None,
) -> GateResult:
    """Return whether a comparison passes the gate.

    Raises:
        ReportRefused: The mode does not exist, or the drop is no number that a score can fall by.
    """
    _check_options(fail_on, max_score_drop)
    if fail_on == "never":
        return GateResult(passed=True)
    compat = compat or comparison.compat
    reasons = _unjudged(comparison)
    if fail_on == "failures":
        reasons += _failing(comparison)
    else:
        reasons += _regressions(comparison)
    if max_score_drop is not None and (fail_on == "regressions" or not compat):
        reasons += _drops(comparison, max_score_drop)
        reasons += [] if compat else _without_score(comparison)
    if not compat:
        if fail_on == "regressions":
            reasons += _raised(comparison)
        reasons += _doubts(
            comparison, allow_removed=allow_removed, allow_policy_change=allow_policy_change
        )
    return GateResult(passed=not reasons, reasons=tuple(reasons))


def comparison_document(comparison: Comparison, gate: GateResult) -> Fields:
    """Return the comparison and its gate as the JSON that is written, its keys in order."""
    document: Fields = {
        "schema_version": "1",
        "baseline_policy_id": comparison.baseline_policy_id,
        "candidate_policy_id": comparison.candidate_policy_id,
        "summary": comparison.summary(),
        "gate": gate.to_dict(),
        "traces": [each.to_dict() for each in comparison.traces],
    }
    return document


def _unjudged(comparison: Comparison) -> list[str]:
    """Return how much of the candidate could not be judged, in one line."""
    count = len(comparison.unjudged)
    inputs = "input" if count == 1 else "inputs"
    return [f"{count} {inputs} could not be judged"] if count else []


def _regressions(comparison: Comparison) -> list[str]:
    """Return what got worse."""
    errors = [each for each in comparison.new_findings if each.severity == "error"]
    reasons = []
    if errors:
        reasons.append(f"{plural(len(errors), 'new error finding')}: {_named(errors)}")
    reasons += [
        f"trace {safe(each.trace_id)} passed and now fails" for each in comparison.of("pass->fail")
    ]
    reasons += [
        f"trace {safe(each.trace_id)} was added and fails"
        for each in comparison.of("added")
        if not each.candidate_passed
    ]
    return reasons


def _failing(comparison: Comparison) -> list[str]:
    """Return which traces of the candidate fail, in one line."""
    failing = [each.trace_id for each in comparison.traces if each.candidate_passed is False]
    return [f"{plural(len(failing), 'failing trace')}: {_listed(failing)}"] if failing else []


def _drops(comparison: Comparison, most: float) -> list[str]:
    """Return which scores fell by more than they may."""
    allowed = Fraction(exact(most))
    return [
        f"the score of trace {safe(each.trace_id)} fell by {float(-each.score_delta):.2f}, "
        f"more than {float(allowed):.2f}"
        for each in comparison.traces
        if each.score_delta is not None and -each.score_delta > allowed
    ]


def _without_score(comparison: Comparison) -> list[str]:
    """Return which traces have lost their score, so that nobody can say how far it fell."""
    return [
        f"trace {safe(each.trace_id)} had a score and now has none"
        for each in comparison.traces
        if each.status_change != "removed"
        and each.baseline_score is not None
        and each.candidate_score is None
    ]


def _raised(comparison: Comparison) -> list[str]:
    """Return which findings are errors now and were none before."""
    raised = [each for each in comparison.raised_findings if each.severity == "error"]
    return [f"{plural(len(raised), 'finding')} became an error: {_named(raised)}"] if raised else []


def _doubts(comparison: Comparison, *, allow_removed: bool, allow_policy_change: bool) -> list[str]:
    """Return why the two reports cannot be compared well enough to let anything through."""
    reasons = []
    removed = [each.trace_id for each in comparison.of("removed")]
    if removed and not allow_removed:
        reasons.append(f"gone: {plural(len(removed), 'trace')}: {_listed(removed)}")
    if all(each.candidate_passed is None for each in comparison.traces):
        reasons.append("the candidate has no traces")
    if comparison.policy_changed and not allow_policy_change:
        reasons.append(safe(comparison.policy_changed))
    cut = [each.trace_id for each in comparison.traces if each.was_cut]
    if cut:
        reasons.append(
            f"more findings than were listed in {plural(len(cut), 'trace')}: {_listed(cut)}"
        )
    return reasons


def _named(findings: list[FindingRef]) -> str:
    return _listed(
        sorted({f"{each.trace_id}:{each.rule_id or each.category}" for each in findings})
    )


def _listed(names: list[str]) -> str:
    """Return names in one line; of many, how many are left out."""
    more = len(names) - LISTED_MAX
    text = ", ".join(safe(each, chars_max=200) for each in names[:LISTED_MAX])
    return f"{text} and {more} more" if more > 0 else text


def _check_options(fail_on: object, max_score_drop: object) -> None:
    if fail_on not in MODES:
        found = fail_on if isinstance(fail_on, str) else type(fail_on).__name__
        raise ReportRefused.of(found, expected=" or ".join(MODES), field="fail_on")
    if max_score_drop is None:
        return
    is_number = type(max_score_drop) is int or type(max_score_drop) is float
    if not is_number or not _is_drop(max_score_drop):
        raise ReportRefused.of(
            str(max_score_drop), expected="a number from 0 to 100", field="max_score_drop"
        )


def _is_drop(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value) and 0 <= value <= SCORE_MAX
