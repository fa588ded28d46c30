"""The release gate: reads a suite, runs it, decides, writes the scorecard, exits by the decision.

`python -m arh.harness.release_gate` and `arh gate` are this. Everything authored is read and
checked before anything runs; a started scorecard lies in the report's folder before the first run,
so that a crash leaves no older decision behind.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

from arh import bootstrap
from arh.decision.baseline import Baseline, load_baseline, save_baseline
from arh.decision.gates import decide
from arh.decision.metrics import compute
from arh.decision.profile import LoadedProfile
from arh.decision.scorecard import SuiteRun, build
from arh.errors import safe
from arh.harness.apart import apart, confirm
from arh.harness.authoring.plan import plan_runs
from arh.harness.chosen_profile import chosen_profile
from arh.harness.diagnostics import Diagnostics
from arh.harness.evidence.evidence_store import EvidenceWriter, read_back
from arh.harness.exits import BY_DECISION, guarded
from arh.harness.judging.judge import broken
from arh.harness.pipeline import Pipeline, run_suite
from arh.harness.reports import ReportFolder
from arh.harness.vocabulary.rules import RULES
from arh.records.control.plan import RunPlan
from arh.records.control.scorecard import About, Scorecard
from arh.records.control.verdict import ScenarioVerdict
from arh.render.console import Console
from arh.render.pages import page_paths
from arh.sim.clock import today
from arh.telemetry.logs import diagnostics
from arh.telemetry.redaction import Redactor

LATEST = "reports/latest"
PARTIAL = "reports/partial"
PROBLEMS_MAX = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run the gate and return its exit code: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 crash."""
    return guarded(gate, sys.argv[1:] if argv is None else argv)


def gate(argv: Sequence[str]) -> int:
    """Decide on the suite that the options name."""
    options = parser().parse_args(argv)
    if bootstrap.shares_our_process(options):
        return apart(["-m", "arh.harness.release_gate", *argv])
    trial = prepared(options)
    console = Console(sys.stdout, interactive=sys.stdout.isatty())
    scorecard = decided(trial, console)
    console.finished(scorecard)
    sys.stdout.write(f"report {safe(str(trial.folder / 'scorecard.md'))}\n")
    return confirm(options.confirm_to, BY_DECISION[scorecard.decision.decision])


@dataclass(frozen=True, slots=True)
class Trial:
    """A gate that has read and checked all of its input, and run nothing yet."""

    suite: bootstrap.Suite
    under_test: bootstrap.UnderTest
    plan: RunPlan
    profile: LoadedProfile
    baseline: Baseline | None
    about: About
    folder: Path
    save_baseline: Path | None
    telemetry: bool


def prepared(options: argparse.Namespace) -> Trial:
    """Read everything that the options name.

    Raises:
        AuthoringError: Anything of it is missing or wrong; nothing has run.
    """
    suite = bootstrap.prepare(bootstrap.sources(options))
    under_test = bootstrap.under_test(options, suite)
    plan = plan_runs(suite.loaded.scenarios, seed=options.seed, only=options.only)
    partial = bool(options.only) or suite.roots["scenarios"].is_line
    return Trial(
        suite=suite,
        under_test=under_test,
        plan=plan,
        profile=chosen_profile(options.profile),
        baseline=None if options.baseline is None else load_baseline(options.baseline),
        about=bootstrap.about(
            suite, plan, under_test, as_of=options.as_of.isoformat(), partial=partial
        ),
        folder=Path(options.out or (PARTIAL if partial else LATEST)),
        save_baseline=options.save_baseline,
        telemetry=options.telemetry,
    )


def decided(trial: Trial, console: Console) -> Scorecard:
    """Run the suite, write the report, and return the scorecard that was written last."""
    report = ReportFolder(trial.folder)
    report.start(trial.about, pages=_pages(trial.plan))
    tracing = bootstrap.trace_to(trial.folder, wanted=trial.telemetry)
    pipeline = bootstrap.pipeline(trial.suite, trial.plan, trial.under_test, tracing=tracing)
    console.started(len(trial.plan.runs))
    own = Diagnostics(lambda: diagnostics(sys.stderr))
    writer = EvidenceWriter(report.evidence, trial.plan, redact=pipeline.bench.redact)
    verdicts = run_suite(trial.plan, pipeline, writer, told=_telling(console, own))
    told = trial.under_test.models.finish()
    if tracing is not None:
        tracing.close()
    own.finished(
        not_redacted=_not_redacted(pipeline), not_sent=0 if tracing is None else tracing.unsent
    )
    about = replace(trial.about, idle_passes=_idle(verdicts))
    manifest = writer.close({"arh": about.arh, "about": _plain(about)})
    kept = read_back(report.evidence, manifest)
    about = replace(about, evidence=manifest, runs_recorded=kept.intact)
    problems = [f"evidence: {each}" for each in (*writer.problems, *kept.problems)[:PROBLEMS_MAX]]
    scorecard = _scorecard(trial, about, verdicts, (*told, *problems))
    for problem in report.finish(scorecard, verdicts):
        sys.stderr.write(f"{safe(problem)}\n")
    if trial.save_baseline is not None:
        _save(trial.save_baseline, scorecard)
    return scorecard


def _pages(plan: RunPlan) -> tuple[str, ...]:
    """Return where the page of each run will lie, whatever becomes of the run."""
    return page_paths([broken(run.located, run.run_id, "") for run in plan.runs])


def _telling(console: Console, own: Diagnostics) -> Callable[[ScenarioVerdict], None]:
    def told(verdict: ScenarioVerdict) -> None:
        console.told(verdict)
        own.heard(verdict)

    return told


def _not_redacted(pipeline: Pipeline) -> int:
    redact = pipeline.bench.redact
    return redact.failures if isinstance(redact, Redactor) else 0


def _scorecard(
    trial: Trial, about: About, verdicts: Sequence[ScenarioVerdict], told: Sequence[str]
) -> Scorecard:
    suite, plan, profile = trial.suite, trial.plan, trial.profile
    notes = (*suite.loaded.passed_over, *suite.loaded.notes)
    metrics = compute(verdicts, suite.loaded.scenarios, plan, suite.pack)
    decision = decide(profile.profile, metrics, verdicts, plan, trial.baseline, about=about)
    return build(
        about,
        profile,
        decision,
        metrics,
        SuiteRun(plan, tuple(verdicts), suite.pack, frozenset(RULES)),
        baseline=trial.baseline,
        notes=[*told, *(f"{note.location}: {note.text}" for note in notes)],
    )


def _idle(verdicts: Sequence[ScenarioVerdict]) -> tuple[str, ...] | None:
    """Return the scenarios that inaction passes or was not tried on, `None` if on none of them."""
    acceptance = [verdict for verdict in verdicts if verdict.role == "acceptance"]
    if all(verdict.idle_passes is None for verdict in acceptance):
        return None
    return tuple(sorted({v.scenario_id for v in acceptance if v.idle_passes is not False}))


def _plain(about: About) -> dict[str, object]:
    """Return what ran as JSON, so that evidence can be decided on anew."""
    pairs = {name: [list(p) for p in getattr(about, name)] for name in ("evaluators", "tools")}
    idle = None if about.idle_passes is None else list(about.idle_passes)
    return {**asdict(about), **pairs, "idle_passes": idle}


def _save(path: Path, scorecard: Scorecard) -> None:
    """Save a baseline, or say why not: the decision stands either way."""
    problem = save_baseline(path, scorecard)
    if problem is not None:
        sys.stderr.write(f"no baseline was saved: {problem}\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the gate's options."""
    made = argparse.ArgumentParser(
        "arh gate",
        description="Run a suite of scenarios and decide whether the agent may ship.",
        epilog="exit codes: 0 pass, 1 fail, 2 authoring or usage error, 3 inconclusive, 4 crash",
    )
    bootstrap.add_sources(made)
    bootstrap.add_seed(made)
    bootstrap.add_agent(made)
    bootstrap.add_model(made)
    add = made.add_argument
    add("--profile", metavar="FILE", help="gate profile, by path or name (default conformance)")
    add("--baseline", type=Path, metavar="FILE", help="baseline that regression gates compare with")
    add("--save-baseline", type=Path, metavar="FILE", help="save this run as a baseline")
    add("--out", metavar="DIR", help=f"report folder (default {LATEST})")
    add("--only", action="append", default=[], metavar="PATTERN", help="run a part: id or tag:NAME")
    add(
        "--as-of",
        type=date.fromisoformat,
        default=today(),
        metavar="DATE",
        help="decision date (default today)",
    )
    add("--telemetry", action="store_true", help="collect spans, and check that none is missing")
    return made


if __name__ == "__main__":
    sys.exit(main())
