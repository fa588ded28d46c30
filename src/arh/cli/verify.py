"""`arh verify DIR`.

Says whether the evidence in a folder is whole, and names the first bad entry.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arh.errors import safe
from arh.harness.evidence_store import EvidenceFolder, verify

OK, BAD = 0, 1


def main(argv: Sequence[str]) -> int:
    """Return 0 if every entry follows from the one before and nothing is missing, else 1."""
    folder = evidence_folder(_parser().parse_args(argv).folder)
    problems = verify(folder)
    for problem in problems:
        sys.stdout.write(f"{safe(problem)}\n")
    if problems:
        return BAD
    runs = len(EvidenceFolder(folder).manifest["runs"])
    sys.stdout.write(f"whole: {runs} runs, every entry follows from the one before\n")
    return OK


def evidence_folder(named: Path) -> Path:
    """Return the evidence folder itself, or the one inside a report's folder."""
    inner = named / "evidence"
    return inner if inner.is_dir() else named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh verify", description=__doc__)
    parser.add_argument("folder", type=Path, help="an evidence folder, or a report's folder")
    return parser
