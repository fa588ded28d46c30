"""`arh evaluate DIR`: judges the evidence in a folder anew, without running anything."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arh import bootstrap
from arh.cli.verify import evidence_folder
from arh.errors import safe
from arh.harness.evidence_store import EvidenceFolder, verify
from arh.harness.exits import FAIL, INCONCLUSIVE, PASS
from arh.harness.pipeline import judge_folder
from arh.records.control.verdict import ScenarioVerdict


def main(argv: Sequence[str]) -> int:
    """Print a line for each run.

    0 if all are as they should be, 1 if one fails, 3 if one is open.
    """
    chosen = _parser().parse_args(argv)
    folder = evidence_folder(chosen.folder)
    problems = verify(folder)
    for problem in problems:
        sys.stdout.write(f"{safe(problem)}\n")
    stored = EvidenceFolder(folder)
    pack = bootstrap.load_pack(chosen.workflow)
    verdicts = tuple(judge_folder(stored, bootstrap.default_evaluators(), pack))
    for verdict in verdicts:
        sys.stdout.write(f"{verdict.status:<13} {verdict.scenario_id}\n")
    return INCONCLUSIVE if problems else _code(verdicts)


def _code(verdicts: Sequence[ScenarioVerdict]) -> int:
    statuses = {verdict.status for verdict in verdicts if verdict.role == "acceptance"}
    if "fail" in statuses:
        return FAIL
    return PASS if statuses == {"pass"} else INCONCLUSIVE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh evaluate", description=__doc__)
    parser.add_argument("folder", type=Path, help="an evidence folder, or a report's folder")
    parser.add_argument("--workflow", default="support", metavar="NAME", help="workflow pack")
    return parser
