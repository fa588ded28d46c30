"""Findings, and how a category of rules hands them over: bounded, with counts of what was cut.

A trace can be long and hostile, so a rule keeps at most `KEPT_MAX` findings and counts the rest,
and identifiers and texts in a finding have a length that a report can hold. A verdict rests on the
counts and never on what was kept.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final

from arh.errors import quoted
from arh.traces.registry import RULES, Category, Severity

KEPT_MAX: Final = 500
ID_CHARS_MAX: Final = 400
TEXT_CHARS_MAX: Final = 120
_TAG_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `subject` is what it is about, for comparing: a tool, an argument, a pattern."""

    severity: Severity
    category: Category
    message: str
    step_id: str | None
    rule_id: str
    expected: str | None = None
    observed: str | None = None
    remediation: str | None = None
    subject: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Return the finding as reports write it: these keys in this order."""
        named: dict[str, str | None] = {
            "severity": self.severity,
            "category": self.category,
            "message": self.message,
            "step_id": self.step_id,
            "rule_id": self.rule_id,
        }
        for name in ("expected", "observed", "remediation", "subject"):
            value = getattr(self, name)
            if value is not None:
                named[name] = value
        return named


@dataclass(slots=True)
class Judged:
    """What one category found: its findings, and its checks if it has any.

    `passed` of `total` checks hold. A category that is not `applicable` is left out of the score.
    """

    category: Category
    applicable: bool = False
    passed: int = 0
    total: int = 0
    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    errors: int = 0
    # The share of the checks that hold as a double, where it was not a quotient of two counts.
    public_share: float | None = None

    def check(self, *, holds: bool, times: int = 1) -> None:
        """Count checks that hold, or do not."""
        self.total += times
        if holds:
            self.passed += times

    def add(
        self,
        rule_id: str,
        message: str,
        step_id: str | None = None,
        *,
        expected: str | None = None,
        observed: str | None = None,
        remediation: str | None = None,
        subject: str = "",
        severity: Severity | None = None,
    ) -> None:
        """Add a finding, or only count it when the rule has enough of them."""
        rule = RULES[rule_id]
        weight = severity or rule.severity
        count = self.counts.get(rule_id, 0)
        self.counts[rule_id] = count + 1
        self.errors += weight == "error"
        if count >= KEPT_MAX:
            return
        self.findings.append(
            Finding(
                severity=weight,
                category=rule.category,
                message=message,
                step_id=None if step_id is None else bounded(step_id),
                rule_id=rule_id,
                expected=expected,
                observed=observed,
                remediation=remediation,
                subject=bounded(subject),
            )
        )

    def cut(self) -> dict[str, int]:
        """Return how many findings of each rule are counted and not kept."""
        return {rule: n - KEPT_MAX for rule, n in self.counts.items() if n > KEPT_MAX}


def bounded(text: str) -> str:
    """Return an identifier that a report can hold; long ones stay distinct by their digest."""
    if len(text) <= ID_CHARS_MAX:
        return text
    tag = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_TAG_CHARS]
    return f"{text[:ID_CHARS_MAX]}...#{tag}"


def shown(text: str) -> str:
    """Return a recorded text for a message: quoted, safe and short."""
    return quoted(text, chars_max=TEXT_CHARS_MAX)
