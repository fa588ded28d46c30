"""A failed run in a few lines: what was expected and found, the path, the effect, the replay.

The same lines wherever a failure is shown: console, JUnit, pytest. Not yet safe for any sink.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arh.records.control.verdict import Finding, ScenarioVerdict

CLAIMS_MAX: Final = 6
_WORST_FIRST: Final = ("fail", "indeterminate", "warning")


def failure_lines(verdict: ScenarioVerdict) -> tuple[str, ...]:
    """Return the lines that tell a run which did not pass."""
    return tuple(_lines(verdict))


def _lines(verdict: ScenarioVerdict) -> Iterator[str]:
    worst = worst_finding(verdict)
    yield _comparison(verdict, worst)
    if verdict.path:
        yield f"path: {verdict.path}"
    shown = verdict.claims[:CLAIMS_MAX]
    yield from shown
    if len(verdict.claims) > len(shown):
        yield f"and {len(verdict.claims) - len(shown)} more writes"
    if verdict.replay:
        yield f"replay: {verdict.replay}"


def worst_finding(verdict: ScenarioVerdict) -> Finding | None:
    """Return the first of the gravest findings."""
    findings = [finding for result in verdict.results for finding in result.findings]
    return min(findings, key=lambda f: _WORST_FIRST.index(f.severity), default=None)


def _comparison(verdict: ScenarioVerdict, worst: Finding | None) -> str:
    reason = next(iter(verdict.reasons), verdict.status)
    if worst is None or worst.severity == "warning":
        return reason
    if not worst.expected and not worst.found:
        return f"{worst.message} [{worst.rule}]"
    return (
        f"expected {worst.expected or 'nothing'}, found {worst.found or 'nothing'} [{worst.rule}]"
    )
