"""One Markdown page for each run: its verdict by level, what was found, decision, effect and claim.

Plain data in, text out. A page is named after its scenario; names that could be anything else than
a plain file name are replaced by a digest.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from arh.records.control.verdict import EvaluationResult, Finding, ScenarioVerdict
from arh.render.parts import section, table
from arh.render.text import code, markdown

FOLDER: Final = "scenarios"
MARK: Final = "<!-- written by arh; replaced by the next run -->"
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9-]{2,95}")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")


def page_paths(verdicts: Sequence[ScenarioVerdict]) -> tuple[str, ...]:
    """Return the path of each verdict's page, below the report's folder, no two the same."""
    ids = Counter(verdict.scenario_id for verdict in verdicts)
    return tuple(f"{FOLDER}/{_name(v, alone=ids[v.scenario_id] == 1)}.md" for v in verdicts)


def _name(verdict: ScenarioVerdict, *, alone: bool) -> str:
    name = verdict.scenario_id
    if not _PLAIN.fullmatch(name) or _RESERVED.fullmatch(name):
        name = f"scenario-{_digest(name)}"
    return name if alone else f"{name}-{_digest(verdict.run_id)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def page(verdict: ScenarioVerdict) -> str:
    """Return the page of one run."""
    return "\n".join((*_head(verdict), *_body(verdict))) + "\n"


def _head(verdict: ScenarioVerdict) -> Iterator[str]:
    yield MARK
    yield f"# {verdict.status.upper()}: {code(verdict.scenario_id)}"
    yield ""
    kind = verdict.role, f"category {verdict.category}", f"risk {verdict.risk_class}"
    yield f"- {markdown(', '.join(kind))}"
    yield f"- ended as {code(verdict.termination) or 'nothing on record'}"
    yield f"- authored in {code(verdict.location)}, run {code(verdict.run_id)}"
    yield f"- replay: {code(verdict.replay)}"
    yield ""


def _body(verdict: ScenarioVerdict) -> Iterator[str]:
    yield from section("Why", [markdown(reason) for reason in verdict.reasons])
    yield from section("Path", [code(verdict.path)] if verdict.path else [])
    yield from section("Decision, effect, claim", [code(line) for line in verdict.claims])
    yield from table(
        "Levels", ("Level", "Status"), [(level, status) for level, status in verdict.levels]
    )
    yield from table(
        "Evaluators",
        ("Evaluator", "Status", "Judged", "Unread", "Summary"),
        [_evaluator(result) for result in verdict.results],
    )
    findings = [finding for result in verdict.results for finding in result.findings]
    yield from table(
        "Findings",
        ("Rule", "Level", "Severity", "What", "Expected", "Found", "Proof"),
        [_finding(finding) for finding in findings],
    )
    expected = [
        f"{code(each.rule)}: {each.count} found and excused, {markdown(each.why)}"
        for each in verdict.excused
    ]
    expected += [f"{code(rule)}: **not found as expected**" for rule in verdict.missing]
    yield from section("Failures by design", expected)


def _evaluator(result: EvaluationResult) -> tuple[str, ...]:
    name = f"{code(result.evaluator)} {markdown(result.version)}"
    counts = str(result.checks), str(result.unread)
    return name, markdown(result.status), *counts, markdown(result.summary)


def _finding(finding: Finding) -> tuple[str, ...]:
    proof = " ".join(code(event) for event in finding.events)
    said = markdown(finding.message), markdown(finding.expected), markdown(finding.found)
    return code(finding.rule), finding.level, finding.severity, *said, proof
