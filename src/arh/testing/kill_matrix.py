"""The kill matrix: breaks one control of a configuration at a time, and sees who notices.

The self-test of arh asks whether arh notices defects. This asks the same of a team's own suite:
with an approval check switched off, is there a scenario that fails? A control that no scenario
misses is not covered, however many scenarios pass. A scenario notices if it no longer comes out as
its role says it must. Where nothing changes, it is told apart from where nobody minded.

The runs are not stamped with the name of what is planted, as those of the self-test are: a stamp is
itself a finding, so every scenario would notice. Nothing of them is written anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from arh.canonical import JsonValue, parse
from arh.decision.conformance import behaviour
from arh.decision.numbers import plural
from arh.errors import AuthoringError, closest
from arh.foreign import ForeignFailure, call
from arh.harness.evidence.recorder import keep_all
from arh.records.control.evidence import CommitEvidence
from arh.records.control.kills import Cell, KillMatrix, Row
from arh.records.control.verdict import ScenarioVerdict
from arh.records.tasks import HARNESS_ENDS
from arh.telemetry.redaction import MASKED, Redactor
from arh.testing.kill_controls import CONTROLS, Control, Used, used
from arh.testing.pack_bench import PackBench, Ran
from arh.testing.pack_snapshots import SYSTEM

RULES_MAX: Final = 3


def kill_matrix(
    bench: PackBench,
    controls: Sequence[Control] = CONTROLS,
    *,
    told: Callable[[Row], None] = lambda _row: None,
    first: bool = False,
) -> KillMatrix:
    """Return the matrix; `told` hears each control as soon as it is known.

    With `first`, no scenario is run for a control that one has noticed already.
    """
    bench = replace(bench, redacted=True, states={})
    fit, unfit = _sorted(bench)
    uses = used(bench.suite, bench.under_test)
    rows = []
    for control in controls:
        row = _row(bench, control, uses, fit, first=first)
        told(row)
        rows.append(row)
    return KillMatrix(
        workflow=f"{bench.pack.name}@{bench.pack.version}",
        agent=bench.under_test.agent.name,
        scenarios=tuple(one.id for one in fit),
        rows=tuple(rows),
        unfit=unfit,
    )


def chosen_controls(patterns: Sequence[str]) -> tuple[Control, ...]:
    """Return the controls whose id matches a pattern (`*`, `?`); all of them without one.

    Raises:
        AuthoringError: A pattern matches nothing.
    """
    names = [control.id for control in CONTROLS]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = closest(pattern, names) or f"controls: {', '.join(names)}"
            raise AuthoringError.of(
                pattern, expected="a pattern that matches a control", field="--only", hint=hint
            )
    return tuple(c for c in CONTROLS if not patterns or any(fnmatchcase(c.id, p) for p in patterns))


def _sorted(bench: PackBench) -> tuple[tuple[Ran, ...], tuple[tuple[str, str], ...]]:
    """Return the runs that can notice something, and the scenarios that cannot, with the reason.

    What is not scored is in neither: nobody claims that it notices anything.
    """
    scored = [one for one in bench.runs if one.verdict.role != "unscored"]
    odd = {one.id: _trouble(one, one.verdict) for one in scored}
    fit = tuple(one for one in scored if not odd[one.id])
    return fit, tuple((name, why) for name, why in odd.items() if why)


def _row(bench: PackBench, control: Control, uses: Used, fit: Sequence[Ran], *, first: bool) -> Row:
    why = control.unused(uses)
    if why:
        return Row(control.id, control.breaks, "not applicable", why)
    look = _unredacted(bench, uses) if control.redaction else partial(_broken, bench, control)
    cells: list[Cell] = []
    killed = False
    for one in fit:
        cell = Cell(one.id, "untried") if first and killed else _guarded(look, one)
        killed = killed or cell.status == "killed"
        cells.append(cell)
    return Row(
        control.id,
        control.breaks,
        "killed" if killed else "survived",
        "" if killed else _unnoticed(cells),
        tuple(cells),
    )


def _unnoticed(cells: Sequence[Cell]) -> str:
    """Return what a surviving control says of the suite."""
    counted = Counter(cell.status for cell in cells)
    said = []
    if counted["survived"]:
        said.append(f"{plural(counted['survived'], 'run')} went otherwise and nobody minded")
    if counted["unclear"]:
        said.append(f"{plural(counted['unclear'], 'run')} broke off, which proves nothing")
    return ", ".join(said) or "no scenario depends on it"


# --- one scenario under one broken control -------------------------------------------------------


def _guarded(look: Callable[[Ran], Cell], one: Ran) -> Cell:
    made = call("kill matrix", partial(look, one))
    if isinstance(made, ForeignFailure):
        return Cell(one.id, "unclear", f"the run failed: {made.type_name}")
    return made


def _broken(bench: PackBench, control: Control, one: Ran) -> Cell:
    """Return what came of the scenario with the control broken."""
    composer = None if control.composer is None else control.composer(bench.pack)
    run = bench.ran(one.run, composer=composer, change=control.change)
    if run.verdict.status == "error" or run.verdict.termination in HARNESS_ENDS:
        return Cell(one.id, "unclear", _reason(run.verdict))
    trouble = _trouble(one, run.verdict)
    if trouble:
        return Cell(one.id, "killed", _noticed_by(one, run, trouble))
    return Cell(one.id, "untouched" if _alike(one, run) else "survived")


def _trouble(one: Ran, verdict: ScenarioVerdict) -> str:
    """Return how a run does not come out as its scenario's role says, or nothing."""
    if verdict.role in {"positive_control", "negative_control"}:
        return behaviour(one.run, verdict)
    return "" if verdict.status == "pass" else _reason(verdict)


def _reason(verdict: ScenarioVerdict) -> str:
    return f"{verdict.status}: {next(iter(verdict.reasons), 'no reason given')}"


def _noticed_by(one: Ran, run: Ran, trouble: str) -> str:
    """Return the rules that speak of it for the first time, else what the verdict says."""
    new = sorted(_rules(run.verdict) - _rules(one.verdict))
    more = "" if len(new) <= RULES_MAX else f" and {len(new) - RULES_MAX} more"
    return f"{', '.join(new[:RULES_MAX])}{more}" if new else trouble


def _rules(verdict: ScenarioVerdict) -> frozenset[str]:
    return frozenset(finding.rule for result in verdict.results for finding in result.findings)


def _alike(one: Ran, other: Ran) -> bool:
    """Return true if agents learned the same in the two runs, and the same took effect."""
    return _seen(one) == _seen(other)


def _seen(one: Ran) -> tuple[object, ...]:
    """Return what agents and the business see of a run, however the gateway went about it."""
    evidence = one.output.evidence
    return (
        [(call.tool, call.status, call.reason, call.result) for call in evidence.calls],
        [_changes(commit) for commit in evidence.commits],
        [(end.actor, end.termination, end.answer) for end in evidence.finishes],
        evidence.termination,
    )


def _changes(commit: CommitEvidence) -> list[tuple[object, ...]]:
    """Return what a commit changed of business records."""
    return [
        (change["collection"], change["tenant"], change["key"], change["value"])
        for change in commit.changes
        if not change["collection"].startswith(SYSTEM)
    ]


# --- what would be written -----------------------------------------------------------------------


def _unredacted(bench: PackBench, uses: Used) -> Callable[[Ran], Cell]:
    """Return what compares what is written of a run with what would be without redaction."""

    def look(one: Ran) -> Cell:
        bare = frozenset(_exposed(bench.ran(one.run, redact=keep_all), uses.sensitive))
        kept = frozenset(_exposed(bench.ran(one.run, redact=Redactor(bench.pack)), uses.sensitive))
        shown = ", ".join(sorted(bare - kept))
        if shown:
            return Cell(one.id, "killed", f"evidence would hold {shown}")
        return Cell(one.id, "survived" if bare else "untouched")

    return look


def _exposed(one: Ran, sensitive: frozenset[str]) -> Iterator[str]:
    """Yield the sensitive fields whose values stand in what was written of the run."""
    for data in (one.output.initial, *one.output.lines):
        yield from _fields(parse(data), sensitive)


def _fields(value: JsonValue, sensitive: frozenset[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in sensitive and inner not in (None, MASKED):
                yield name
            yield from _fields(inner, sensitive)
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner, sensitive)
