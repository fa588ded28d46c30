"""`arh verify DIR`.

Says whether the evidence in a folder is whole, and names the first bad entry. In a report's folder
it is also held against the scorecard, which names the manifest that it was decided on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from arh.errors import safe
from arh.harness.evidence.evidence_store import EvidenceFolder, verify

OK, BAD = 0, 1


def main(argv: Sequence[str]) -> int:
    """Return 0 if every entry follows from the one before and nothing is missing, else 1."""
    named = _parser().parse_args(argv).folder
    folder = evidence_folder(named)
    problems = (*verify(folder), *_other_evidence(named, folder))
    for problem in problems:
        sys.stdout.write(f"{safe(problem)}\n")
    if problems:
        return BAD
    runs = len(EvidenceFolder(folder).manifest["runs"])
    sys.stdout.write(f"whole: {runs} runs, every entry follows from the one before\n")
    return OK


def _other_evidence(report: Path, folder: Path) -> Iterator[str]:
    """Yield that the report's scorecard was not decided on this evidence, if so."""
    scorecard = report / "scorecard.json"
    if folder == report or not scorecard.is_file():
        return
    try:
        decided_on = json.loads(scorecard.read_bytes())["about"]["evidence"]
    except (ValueError, KeyError, TypeError):
        yield f"{scorecard.name}: cannot be read"
        return
    if decided_on != EvidenceFolder(folder).digest:
        yield f"{scorecard.name}: decided on other evidence than lies here"


def evidence_folder(named: Path) -> Path:
    """Return the evidence folder itself, or the one inside a report's folder."""
    inner = named / "evidence"
    return inner if inner.is_dir() else named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh verify", description=__doc__)
    parser.add_argument("folder", type=Path, help="an evidence folder, or a report's folder")
    return parser
