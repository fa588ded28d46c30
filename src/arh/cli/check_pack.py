"""`arh check-pack NAME`: checks that a workflow pack conforms, one line a check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from arh import bootstrap
from arh.canonical import line
from arh.errors import safe
from arh.testing.pack_bench import PackBench
from arh.testing.pack_kit import CHECKS, Checked, PackCheck

OK, BAD = 0, 1
PROBLEMS_MAX = 20


def main(argv: Sequence[str]) -> int:
    """Print every check; one that fails makes the exit code 1, what cannot be loaded 2."""
    chosen = _parser().parse_args(argv)
    suite = bootstrap.prepare(bootstrap.sources(chosen))
    bench = PackBench(suite, elsewhere=bootstrap.roots_elsewhere)
    if chosen.roots:
        return _roots(bench)
    width = max(len(check.name) for check in CHECKS)
    failed = 0
    for check in CHECKS:
        checked = check.run(bench)
        failed += bool(checked.problems)
        sys.stdout.writelines(f"{safe(told)}\n" for told in _lines(check, checked, width))
    total, name = len(CHECKS), safe(bench.pack.name)
    sys.stdout.write(f"{name}: {total - failed} of {total} checks hold\n")
    return BAD if failed else OK


def _roots(bench: PackBench) -> int:
    """Print the root of each run's evidence: what another process compares with its own."""
    roots = {one.run.run_id: one.output.root for one in bench.runs}
    sys.stdout.write(f"{line(roots).decode()}\n")
    return OK


def _lines(check: PackCheck, checked: Checked, width: int) -> Iterator[str]:
    """Yield the line of a check, then what is wrong, where it was not tried, and what to do."""
    status = "FAIL" if checked.problems else "ok"
    yield f"{status:<4}  {check.name:<{width}}  {check.says} ({checked.seen})"
    more = len(checked.problems) - PROBLEMS_MAX
    yield from (f"      {problem}" for problem in checked.problems[:PROBLEMS_MAX])
    if more > 0:
        yield f"      and {more} more"
    if checked.left_out:
        yield f"      nothing to try on {', '.join(checked.left_out)}"
    if checked.problems:
        yield f"      do: {check.remedy}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh check-pack", description=__doc__)
    parser.add_argument("workflow", metavar="NAME", help="the workflow pack")
    bootstrap.add_sources(parser, workflow=False)
    parser.add_argument(bootstrap.ROOTS_FLAG, action="store_true", help=argparse.SUPPRESS)
    return parser
