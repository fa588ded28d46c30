"""Rules of category `budget`: what a trace may take, cost and use, summed exactly.

A limit of a step has a check for each step that records its latency; a limit of the trace has one
if any step records the figure. A limit that nothing was recorded for warns and leaves the score
alone; one that only some steps record for says over how many it was checked.
"""

from __future__ import annotations

from decimal import Decimal

from arh.traces.authoring.policy import Budgets, Policy
from arh.traces.findings import Judged
from arh.traces.judging.facts import Facts, exact, plain
from arh.traces.judging.totals import Totals


def judge(facts: Facts, policy: Policy, totals: Totals) -> Judged:
    """Return which budgets a trace exceeds, or cannot be held to."""
    limits = policy.budgets
    judged = Judged("budget")
    if limits == Budgets():
        return judged
    _latency(judged, facts, limits, totals)
    _cost(judged, limits, totals)
    _tokens(judged, limits, totals)
    # The public tool counts a budget that it could not check as one that is kept.
    judged.applicable = judged.total > 0 or facts.compat is not None
    if not facts.compat:
        _partial(judged, facts, limits, totals)
    return judged


def _latency(judged: Judged, facts: Facts, limits: Budgets, totals: Totals) -> None:
    step_limit, limit = limits.max_step_latency_ms, limits.max_total_latency_ms
    if step_limit is None and limit is None:
        return
    if not totals.latencies:
        _unverified(judged, "ARH-BUD-006", "latency", "`latency_ms`")
        return
    if step_limit is not None:
        _step_latencies(judged, facts, step_limit)
    if limit is not None:
        _total(judged, "ARH-BUD-002", "latency", (totals.latency_ms, limit), "ms")


def _step_latencies(judged: Judged, facts: Facts, limit: float) -> None:
    for step in facts.trace.steps:
        if step.latency_ms is None:
            continue
        holds = step.latency_ms <= limit
        judged.check(holds=holds)
        if not holds:
            took = plain(step.latency_ms)
            judged.add(
                "ARH-BUD-001",
                f"the step took {took} ms, more than {plain(limit)} ms",
                facts.anchor(step),
                expected=f"<= {plain(limit)} ms",
                observed=f"{took} ms",
            )


def _cost(judged: Judged, limits: Budgets, totals: Totals) -> None:
    limit = limits.max_total_cost_usd
    if limit is None:
        return
    if totals.costs:
        _total(judged, "ARH-BUD-003", "cost", (totals.cost_usd, limit), "USD")
    else:
        _unverified(judged, "ARH-BUD-007", "cost", "`cost_usd`")


def _tokens(judged: Judged, limits: Budgets, totals: Totals) -> None:
    limit = limits.max_total_tokens
    if limit is None:
        return
    if totals.token_steps:
        _total(judged, "ARH-BUD-004", "tokens", (totals.tokens, limit), "tokens")
    else:
        _unverified(judged, "ARH-BUD-005", "tokens", "tokens")


def _total(
    judged: Judged, rule: str, what: str, figures: tuple[Decimal | float, float], unit: str
) -> None:
    """Check one sum against its limit: exactly, unless a sum of doubles is asked for."""
    value, limit = figures
    holds = value <= (limit if isinstance(value, float) else exact(limit))
    judged.check(holds=holds)
    if not holds:
        judged.add(
            rule,
            f"the steps sum up to {plain(value)} {unit}, more than {plain(limit)} {unit}",
            expected=f"<= {plain(limit)} {unit}",
            observed=f"{plain(value)} {unit}",
            subject=what,
        )


def _unverified(judged: Judged, rule: str, what: str, figures: str) -> None:
    judged.add(
        rule,
        f"a budget for {what} is set, and no step records {figures}",
        expected=f"{figures} on some step",
        observed="none",
        remediation=f"record {figures}, or remove the budget",
        subject=what,
    )


def _partial(judged: Judged, facts: Facts, limits: Budgets, totals: Totals) -> None:
    """Say which budgets were checked over a part of the steps only."""
    steps = len(facts.trace.steps)
    latency_is_set = limits.max_step_latency_ms is not None or (
        limits.max_total_latency_ms is not None
    )
    for what, is_set, recorded in (
        ("latency", latency_is_set, totals.latencies),
        ("cost", limits.max_total_cost_usd is not None, totals.costs),
        ("tokens", limits.max_total_tokens is not None, totals.token_steps),
    ):
        if is_set and 0 < recorded < steps:
            judged.add(
                "ARH-BUD-008",
                f"the budget for {what} was checked over {recorded} of {steps} steps",
                expected=f"{steps} steps that record it",
                observed=f"{recorded}",
                subject=what,
            )
