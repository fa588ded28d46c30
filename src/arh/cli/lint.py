"""`arh lint PATH`: checks scenarios, and warns of those that prove little.

Of every acceptance scenario, one run is made with an agent that does nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date

from arh import bootstrap
from arh.errors import safe
from arh.harness.authoring.lint import lint
from arh.sim.clock import today


def main(argv: Sequence[str]) -> int:
    """Print every warning; a grave one, or any with --strict, makes the exit code 1.

    What cannot be loaded exits with 2.
    """
    chosen = _parser().parse_args(argv)
    suite = bootstrap.prepare(bootstrap.sources(chosen, scenarios=chosen.path))
    warnings = lint(
        suite.loaded,
        pack=suite.pack,
        catalogue=suite.catalogue,
        as_of=chosen.as_of,
        idle=bootstrap.idle_of(suite),
    )
    for warning in warnings:
        sys.stdout.write(f"{safe(str(warning))}\n")
    count = len(suite.loaded.scenarios)
    sys.stdout.write(f"{count} scenarios, {len(warnings)} warnings\n")
    grave = [warning for warning in warnings if warning.is_error or chosen.strict]
    return 1 if grave else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh lint", description=__doc__)
    parser.add_argument("path", nargs="?", metavar="PATH", help="folder, file or FILE:LINE")
    bootstrap.add_sources(parser, scenarios=False)
    parser.add_argument("--strict", action="store_true", help="let warnings fail")
    parser.add_argument(
        "--as-of", type=date.fromisoformat, default=today(), metavar="DATE", help="review date"
    )
    return parser
