"""`arh selftest`: plants every seeded defect and shows what caught it.

With `--against` it asks the same of another suite: it breaks one control at a time of the
pack's own configuration, and shows which of its scenarios noticed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from arh import bootstrap
from arh.cli.against import against
from arh.errors import AuthoringError, safe
from arh.testing.defects import Defect
from arh.testing.selftest import Trial, chosen, selftest
from arh.testing.workbench import Workbench

OK, BAD = 0, 1
_OF_A_PACK = (
    "scenarios",
    "datasets",
    "fixtures",
    "agent",
    "agent_mcp",
    "first",
    "md_out",
    "html_out",
    "json_out",
)


def main(argv: Sequence[str]) -> int:
    """Print a line for each defect; 0 if all were caught and every twin came out clean, else 1."""
    options = _parser().parse_args(argv)
    if options.against is not None:
        return against(options)
    _refuse_stray(options)
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


def _refuse_stray(options: argparse.Namespace) -> None:
    """Refuse what only means something against a pack.

    Raises:
        AuthoringError: Such an option was given without one.
    """
    for name in _OF_A_PACK:
        if getattr(options, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            found = "there is nothing that it could mean without --against"
            raise AuthoringError.of(found, field=flag, hint="name a pack: --against PACK")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh selftest", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="defects, or controls with --against, by id, with * and ?",
    )
    parser.add_argument("--list", action="store_true", help="list them and plant none")
    parser.add_argument(
        "--against",
        metavar="PACK_OR_AGENT",
        help="break the controls of this workflow's configuration, or those around this agent",
    )
    bootstrap.add_sources(parser, workflow=False)
    bootstrap.add_agent(parser)
    parser.add_argument(
        "--first",
        action="store_true",
        default=None,
        help="run no further scenario once one has noticed, as for an agent that is slow",
    )
    for form, about in (("md", "Markdown"), ("html", "one HTML page"), ("json", "JSON")):
        help_ = f"write the kill matrix as {about}"
        parser.add_argument(f"--{form}-out", type=Path, metavar="FILE", help=help_)
    return parser
