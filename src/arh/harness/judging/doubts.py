"""What the evidence itself leaves open, and what that does to findings.

A finding that something is missing (a read, a commit, a mention) is proof only if nothing is
missing from the evidence. So where a source is silent or cannot be read, such findings become
indeterminate; what was seen stays a failure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from arh.errors import safe
from arh.harness.vocabulary.rules import RULES, finding
from arh.records.control.evidence import Evidence
from arh.records.control.verdict import Finding

SHOWN_MAX: Final = 3
EACH_MAX: Final = 20


def doubts(evidence: Evidence, rule: str) -> tuple[Finding, ...]:
    """Return a finding of the rule for each problem and each gap of the evidence, a few at most."""
    if not evidence.problems and not evidence.discrepancies:
        return ()
    problems = [finding(rule, safe(problem)) for problem in evidence.problems[:SHOWN_MAX]]
    gaps = (each for each in evidence.discrepancies if each.kind == "gap")
    found = [finding(rule, safe(gap.message), events=gap.events) for gap in gaps]
    return (*problems, *found[:SHOWN_MAX])


def unsettled(
    findings: Iterable[Finding], absences: Collection[str], rule: str
) -> Iterator[Finding]:
    """Yield the findings, those that only an absence proves as indeterminate under `rule`."""
    level = RULES[rule].level
    for each in findings:
        if each.rule in absences:
            yield replace(each, rule=rule, level=level, severity="indeterminate")
        else:
            yield each


def capped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return at most so many findings of each rule: many of one rule never hide another one."""
    kept: list[Finding] = []
    counts: dict[str, int] = {}
    for each in findings:
        count = counts[each.rule] = counts.get(each.rule, 0) + 1
        if count <= EACH_MAX:
            kept.append(each)
    return tuple(kept)
