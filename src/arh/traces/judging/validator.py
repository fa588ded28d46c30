"""Judges one trace by one policy: every rule, then the score, then whether it passes.

A trace passes if no finding is an error and its score is at least `fail_under`. The score is the
weighted mean of the categories that apply, computed exactly, so that a perfect trace is 100 and
nothing else. `compat="0.2"` leaves out the rules that the public specification does not have, and
computes with doubles as the public tool does: same verdicts, same scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Final

from arh.traces.authoring.forms import PolicyRefused
from arh.traces.authoring.policy import Policy
from arh.traces.collecting import uncollected
from arh.traces.findings import Judged
from arh.traces.judging.facts import Compat, Facts, exact
from arh.traces.judging.peer_order import peer_order
from arh.traces.judging.regex_worker import Worker
from arh.traces.judging.report import FAIL_UNDER, TraceReport
from arh.traces.judging.rules import (
    budget,
    completion,
    flow,
    grounding,
    reading,
    safety,
    schema,
    sequence,
)
from arh.traces.judging.totals import Totals
from arh.traces.registry import WEIGHTS
from arh.traces.trace import Trace, shown_type

SCORE_MAX: Final = 100

_PERFECT: Final = Fraction(SCORE_MAX)


def validate_trace(
    trace: Trace,
    policy: Policy,
    fail_under: float = FAIL_UNDER,
    *,
    compat: Compat | None = None,
) -> TraceReport:
    """Return the report on a trace.

    Raises:
        PolicyRefused: An unsafe pattern cannot be run, or `fail_under` is no score.
        TraceRefused: A step holds what is no JSON value.
    """
    _check_threshold(fail_under)
    _check_patterns(policy)
    totals = Totals.of(trace, compat)
    with uncollected():
        facts = Facts(peer_order(trace) if compat else trace, compat)
        judged, coverage = _by_all(facts, policy, totals)
    score = _score(judged, compat)
    errors = sum(each.errors for each in judged)
    return TraceReport(
        trace_id=trace.trace_id,
        agent_name=trace.agent_name,
        workflow=trace.workflow,
        policy_id=policy.policy_id,
        score=score,
        passed=not errors and score >= (fail_under if compat else _threshold(fail_under)),
        total_latency_ms=float(totals.latency_ms),
        total_cost_usd=float(totals.cost_usd),
        citation_coverage=coverage,
        findings=tuple(finding for each in judged for finding in each.findings),
        total_tokens=totals.tokens if totals.token_steps else None,
        policy_digest="" if compat else policy.digest,
        fail_under=fail_under,
        findings_cut=_cut(judged),
        compat=compat,
    )


def _by_all(facts: Facts, policy: Policy, totals: Totals) -> tuple[list[Judged], Fraction | None]:
    """Return what every category found, with a worker for patterns that need one."""
    if not policy.trusted_patterns:
        return _judged(facts, policy, totals, None)
    with Worker() as worker:
        return _judged(facts, policy, totals, worker)


def _judged(
    facts: Facts, policy: Policy, totals: Totals, worker: Worker | None
) -> tuple[list[Judged], Fraction | None]:
    """Return what each category found, in the order of reports, and the citation coverage."""
    grounded, coverage = grounding.judge(facts, policy)
    judged = [
        schema.judge(facts, policy, worker),
        budget.judge(facts, policy, totals),
        safety.judge(facts, policy, worker),
        grounded,
        sequence.judge(facts, policy),
        flow.judge(facts, policy),
        completion.judge(facts, policy),
        schema.lint(facts),
    ]
    if not facts.compat:
        judged += [reading.judge(facts)]
    if policy.assertions:
        from arh.traces.judging.rules import assertions

        judged += [assertions.judge(facts, policy.assertions)]
    return judged, coverage


def _score(judged: Iterable[Judged], compat: Compat | None) -> Fraction | float:
    """Return the weighted mean over the categories that apply; 100 if none does."""
    applicable = [each for each in judged if each.applicable]
    if compat:
        return _public_score(applicable)
    if all(each.passed == each.total for each in applicable):
        return _PERFECT
    weight = sum(WEIGHTS[each.category] for each in applicable)
    parts = (
        Fraction(WEIGHTS[each.category] * each.passed, each.total or 1)
        for each in applicable
        if each.total
    )
    whole = sum((WEIGHTS[each.category] for each in applicable if not each.total), start=0)
    return SCORE_MAX * (sum(parts, start=Fraction(whole))) / weight


def _public_score(applicable: list[Judged]) -> float:
    """Return the mean in the arithmetic of doubles, with its rounding."""
    weighted, weights = 0.0, 0.0
    for each in applicable:
        weight = WEIGHTS[each.category] / 100
        weights += weight
        weighted += weight * _public_category_score(each)
    return weighted / weights if weights else 100.0


def _public_category_score(judged: Judged) -> float:
    if judged.public_share is not None:
        return 100.0 * judged.public_share
    return 100.0 * judged.passed / judged.total if judged.total else 100.0


def _cut(judged: Iterable[Judged]) -> dict[str, int]:
    """Return how many findings were cut, by rule."""
    return {rule: count for each in judged for rule, count in each.cut().items()}


@lru_cache(maxsize=64)
def _threshold(fail_under: float) -> Fraction:
    return Fraction(exact(fail_under))


def _check_threshold(fail_under: object) -> None:
    if type(fail_under) is int or type(fail_under) is float:
        found = str(fail_under)
        is_score = isfinite(fail_under) and 0 <= fail_under <= SCORE_MAX
    else:
        found, is_score = shown_type(fail_under), False
    if not is_score:
        raise PolicyRefused.of(found, expected="a number from 0 to 100", field="fail_under")


def _check_patterns(policy: Policy) -> None:
    if policy.unsafe_patterns and not _are_usable(policy.unsafe_patterns, policy.trusted_patterns):
        policy.check_patterns()


@lru_cache(maxsize=64)
def _are_usable(unsafe_patterns: tuple[str, ...], trusted: bool) -> bool:  # noqa: FBT001 - a key
    """Return whether all patterns can be run; asked for every trace, worked out once."""
    policy = Policy("", unsafe_patterns=unsafe_patterns, trusted_patterns=trusted)
    try:
        policy.check_patterns()
    except PolicyRefused:
        return False
    return True
