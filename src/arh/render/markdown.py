"""The scorecard as Markdown: what a reviewer reads first, then what it stands on.

Plain data in, text out. The first line names the subject; the decision and its reasons come before
any number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from arh.records.control.gate import GateResult
from arh.records.control.scorecard import About, Account, RunLine, Scorecard
from arh.render.parts import section, table
from arh.render.text import code, markdown


def scorecard_page(scorecard: Scorecard) -> str:
    """Return the whole scorecard."""
    parts = (
        *_head(scorecard),
        *_gates(scorecard.decision.gates),
        *_attention(scorecard.runs),
        *_accounts(scorecard),
        *_levels(scorecard),
        *_metrics(scorecard),
        *_coverage(scorecard),
        *_controls(scorecard),
        *_exclusions(scorecard),
        *section("Warnings", map(markdown, scorecard.warnings)),
        *_baseline(scorecard),
        *section("What a pass does not show", map(markdown, scorecard.not_shown)),
        *_versions(scorecard),
    )
    return "\n".join(parts).rstrip() + "\n"


def _head(scorecard: Scorecard) -> Iterator[str]:
    decided, profile = scorecard.decision, scorecard.profile
    yield code(scorecard.subject)
    yield ""
    yield f"# Release gate: {decided.decision.upper()}"
    yield ""
    yield from (f"- {markdown(reason)}" for reason in decided.reasons)
    yield ""
    shown = f"{code(profile.name)} {markdown(profile.version)}"
    illustrative = ", **illustrative: its numbers are examples**" if profile.illustrative else ""
    found = f" ({profile.source}, {code(profile.digest[:12])})" if profile.source else ""
    yield f"Profile {shown}{found}{illustrative}. Decided as of {markdown(scorecard.about.as_of)}."
    if scorecard.about.partial:
        yield "Only a part of the suite was run."
    yield ""


def _gates(gates: Sequence[GateResult]) -> Iterator[str]:
    rows = [
        (
            code(gate.gate),
            markdown(gate.severity),
            f"**{gate.status}**" if gate.status != "pass" else "pass",
            markdown(gate.observed),
            markdown(gate.required),
            markdown(gate.baseline),
            markdown(_evidence(gate)),
            f"{markdown(gate.level)}, {markdown(gate.activity)}",
            markdown(gate.reason),
        )
        for gate in gates
    ]
    columns = (
        "Gate",
        "Severity",
        "Status",
        "Observed",
        "Required",
        "Baseline",
        "Evidence needed: achieved",
        "Level, activity",
        "Reason",
    )
    yield from table("Gates", columns, rows)


def _evidence(gate: GateResult) -> str:
    if not gate.evidence_required:
        return gate.evidence_achieved
    return f"{gate.evidence_required}: {gate.evidence_achieved}"


def _attention(runs: Sequence[RunLine]) -> Iterator[str]:
    """Yield the runs that did not pass, then all of them with links to their pages."""
    rows = [
        (
            f"[{code(run.scenario_id)}]({run.page})",
            markdown(run.role),
            markdown(run.category),
            markdown(run.risk_class),
            f"**{run.status}**" if run.status != "pass" else "pass",
            markdown("; ".join(run.reasons)),
        )
        for run in sorted(runs, key=lambda run: run.status == "pass")
    ]
    columns = ("Scenario", "Role", "Category", "Risk", "Status", "Why")
    yield from table("Scenarios", columns, rows)


def _accounts(scorecard: Scorecard) -> Iterator[str]:
    rows = [_account(each) for each in scorecard.accounts]
    yield from table("Declared and done", ("What", "Done", "Declared", "Missing"), rows)


def _account(account: Account) -> tuple[str, ...]:
    missing = " ".join(map(code, account.missing))
    return markdown(account.name), str(account.done), str(account.declared), missing


def _levels(scorecard: Scorecard) -> Iterator[str]:
    columns = ("", "Pass", "Fail", "Indeterminate", "Error", "Not applicable", "Missing")
    for title, lines in (
        ("Verdicts by role", scorecard.roles),
        ("Acceptance verdicts by level, never averaged", scorecard.levels),
    ):
        rows = [
            (
                markdown(line.name),
                str(line.passed),
                str(line.failed),
                str(line.indeterminate),
                str(line.error),
                str(line.not_applicable),
                str(line.missing),
            )
            for line in lines
        ]
        yield from table(title, columns, rows)


def _metrics(scorecard: Scorecard) -> Iterator[str]:
    """Yield the metrics over all acceptance runs; slices stand in the JSON."""
    meaning = {each.name: each for each in scorecard.definitions}
    rows = [
        (
            code(line.name),
            line.value or "",
            f"{line.numerator} / {line.denominator}" if line.denominator else "",
            markdown(line.status),
            str(line.sample_size),
            str(line.unjudged),
            f"{meaning[line.name].level}, {meaning[line.name].activity}",
            markdown(meaning[line.name].definition + (f" ({line.detail})" if line.detail else "")),
        )
        for line in scorecard.metrics
        if line.slice == "all" and line.name in meaning
    ]
    columns = (
        "Metric",
        "Value",
        "Of",
        "Status",
        "Sample",
        "Unjudged",
        "Level, activity",
        "Meaning",
    )
    yield from table("Metrics", columns, rows)
    if rows:
        yield from ("No value has an interval: an authored suite is not a sample.", "")


def _coverage(scorecard: Scorecard) -> Iterator[str]:
    rows = [
        (markdown(c.dimension), code(c.item), str(c.scenarios), str(c.exercised))
        for c in scorecard.coverage
    ]
    yield from table("Coverage", ("Dimension", "Item", "Scenarios", "Exercised"), rows)


def _controls(scorecard: Scorecard) -> Iterator[str]:
    rows = [
        (
            code(line.scenario_id),
            markdown(line.role),
            "behaved" if line.behaved else "**otherwise**",
            markdown(line.detail),
        )
        for line in scorecard.controls
    ]
    yield from table("Controls", ("Scenario", "Role", "Behaviour", "Detail"), rows)


def _exclusions(scorecard: Scorecard) -> Iterator[str]:
    rows = [
        (code(line.scenario_id), code(line.location), markdown(line.reason))
        for line in scorecard.exclusions
    ]
    yield from table("Left out", ("Scenario", "Where", "Why"), rows)


def _baseline(scorecard: Scorecard) -> Iterator[str]:
    line = scorecard.baseline
    if line is None:
        return
    about = f"of {markdown(line.as_of)}, agent {code(line.agent)}, model {code(line.model)}"
    reasons = [f"not comparable: {markdown(each)}" for each in line.differences] or ["comparable"]
    changed = f"changed since: {markdown(', '.join(line.changed) or 'nothing')}"
    yield from section("Baseline", [about, *reasons, changed])


def _versions(scorecard: Scorecard) -> Iterator[str]:
    rows = [*_about(scorecard.about), ("profile digest", code(scorecard.profile.digest))]
    rows.append(("evidence", f"[{scorecard.evidence_path}]({scorecard.evidence_path})"))
    yield from table("Versions and digests", ("What", "Which"), rows)


def _about(about: About) -> Iterator[tuple[str, str]]:
    for field in fields(about):
        value = getattr(about, field.name)
        if isinstance(value, tuple):
            value = ", ".join(f"{name} {version}" for name, version in value)
        if value not in ("", 0) or field.name == "seed":
            yield markdown(field.name.replace("_", " ")), code(str(value))
