"""`arh lint PATH`: checks scenarios without running them, and warns of those that prove little."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date

from arh import bootstrap
from arh.cli import options
from arh.errors import safe
from arh.harness.lint import lint
from arh.sim.clock import today


def main(argv: Sequence[str]) -> int:
    """Print every warning; with --strict, a warning makes the exit code 1. Errors exit with 2."""
    chosen = _parser().parse_args(argv)
    suite = bootstrap.prepare(options.sources(chosen, scenarios=chosen.path))
    warnings = lint(suite.loaded, pack=suite.pack, catalogue=suite.catalogue, as_of=chosen.as_of)
    for warning in warnings:
        sys.stdout.write(f"{safe(str(warning))}\n")
    count = len(suite.loaded.scenarios)
    sys.stdout.write(f"{count} scenarios, {len(warnings)} warnings\n")
    return 1 if warnings and chosen.strict else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh lint", description=__doc__)
    parser.add_argument("path", nargs="?", metavar="PATH", help="folder, file or FILE:LINE")
    options.add_sources(parser, scenarios=False)
    parser.add_argument("--strict", action="store_true", help="let warnings fail")
    parser.add_argument(
        "--as-of", type=date.fromisoformat, default=today(), metavar="DATE", help="review date"
    )
    return parser
