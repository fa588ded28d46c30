"""`arh selftest`: plants every seeded defect and shows what caught it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from arh.errors import safe
from arh.testing.defects import Defect
from arh.testing.selftest import Trial, chosen, selftest
from arh.testing.workbench import Workbench

OK, BAD = 0, 1


def main(argv: Sequence[str]) -> int:
    """Print a line for each defect; 0 if all were caught and every twin came out clean, else 1."""
    options = _parser().parse_args(argv)
    defects = chosen(options.only)
    width = max(len(defect.id) for defect in defects)
    if options.list:
        sys.stdout.writelines(f"{_about(defect, width)}\n" for defect in defects)
        return OK
    trials = [_told(trial, width) for trial in selftest(defects, Workbench.own())]
    missed = sum(not trial.is_caught for trial in trials)
    sys.stdout.write(f"{len(trials)} defects planted, {len(trials) - missed} caught\n")
    return BAD if missed else OK


def _told(trial: Trial, width: int) -> Trial:
    defect = trial.defect
    by = f"caught by {defect.caught_by}" if trial.is_caught else trial.status
    sys.stdout.write(f"{defect.id:<{width}}  {safe(by)}\n")
    if not trial.is_caught:
        expected = f"must be caught by {defect.caught_by}; {trial.detail}"
        sys.stdout.write(f"{'':<{width}}  {safe(defect.breaks)}\n")
        sys.stdout.write(f"{'':<{width}}  {safe(expected)}\n")
    return trial


def _about(defect: Defect, width: int) -> str:
    return f"{defect.id:<{width}}  {safe(defect.breaks)} ({safe(str(defect.caught_by))})"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh selftest", description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="defects by id, with * and ?"
    )
    parser.add_argument("--list", action="store_true", help="list the defects and plant none")
    return parser
