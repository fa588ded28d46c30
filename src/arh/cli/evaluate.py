"""`arh evaluate DIR`: judges the evidence in a folder anew and decides, without running anything.

The plan and the scenarios are those that lie in the folder; the profile and the baseline are the
user's, as at the gate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from arh import bootstrap
from arh.canonical import line
from arh.cli.verify import evidence_folder
from arh.decision.baseline import load_baseline
from arh.decision.gates import decide
from arh.decision.metrics import compute
from arh.errors import AuthoringError
from arh.harness.chosen_profile import chosen_profile
from arh.harness.evidence.evidence_store import EvidenceFolder, verify
from arh.harness.exits import BY_DECISION, INCONCLUSIVE
from arh.harness.pipeline import judge_folder
from arh.records.control.gate import GateDecision
from arh.records.control.scorecard import About
from arh.records.control.verdict import ScenarioVerdict
from arh.render.text import console


def main(argv: Sequence[str]) -> int:
    """Print a line for each run, then the decision; it is the exit code.

    Evidence that is not whole is printed first, and decides nothing: inconclusive.
    """
    chosen = _parser().parse_args(argv)
    folder = evidence_folder(chosen.folder)
    problems = verify(folder)
    _print(*problems)
    decision = decided(EvidenceFolder(folder), chosen)
    return INCONCLUSIVE if problems else BY_DECISION[decision.decision]


def decided(folder: EvidenceFolder, chosen: argparse.Namespace) -> GateDecision:
    """Judge every run of the folder and decide, each verdict and reason printed."""
    profile = chosen_profile(chosen.profile)
    baseline = None if chosen.baseline is None else load_baseline(chosen.baseline)
    plan, about = folder.plan(), _about(folder)
    pack = bootstrap.load_pack(chosen.workflow or about.workflow.partition("@")[0])
    judged = judge_folder(folder, bootstrap.default_evaluators(), pack)
    verdicts = tuple(_tried(verdict, about) for verdict in judged)
    _print(*(f"{verdict.status:<13} {verdict.scenario_id}" for verdict in verdicts))
    metrics = compute(verdicts, [run.located for run in plan.runs], plan, pack)
    decision = decide(profile.profile, metrics, verdicts, plan, baseline, about=about)
    _print(f"{decision.decision} by profile {profile.profile.profile}", *decision.reasons)
    return decision


def _about(folder: EvidenceFolder) -> About:
    """Return what ran, as the gate that wrote the folder said it."""
    try:
        about = TypeAdapter(About).validate_json(line(folder.manifest.get("about")))
    except ValidationError:
        found = "does not say what was run"
        hint = "judge evidence with the arh that wrote it"
        raise AuthoringError.of(found, file="manifest.json", field="about", hint=hint) from None
    return replace(about, evidence=folder.digest, runs_recorded=len(folder.manifest["runs"]))


def _tried(verdict: ScenarioVerdict, about: About) -> ScenarioVerdict:
    """Return the verdict with what the gate saw of an agent that does nothing; none acts here."""
    if about.idle_passes is None or verdict.role != "acceptance":
        return verdict
    return replace(verdict, idle_passes=verdict.scenario_id in about.idle_passes)


def _print(*lines: str) -> None:
    sys.stdout.writelines(f"{console(text)}\n" for text in lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh evaluate", description=__doc__)
    parser.add_argument("folder", type=Path, help="an evidence folder, or a report's folder")
    parser.add_argument(
        "--workflow", metavar="NAME", help="workflow pack (default: the one that was run)"
    )
    parser.add_argument("--profile", metavar="FILE", help="gate profile, by path or name")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="baseline to compare with")
    return parser
