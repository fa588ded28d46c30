"""`arh validate`: judges recorded traces by a policy: 0 all pass, 1 one fails, 2 usage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from arh.cli import trace_options as options
from arh.traces.rendering.console import console_report
from arh.traces.rendering.run import TraceRun, run_text


def main(argv: Sequence[str]) -> int:
    """Print the report, write the files that were asked for, and return whether all pass."""
    chosen = _parser().parse_args(argv)
    return options.guarded(lambda: _validated(chosen))


def _validated(chosen: argparse.Namespace) -> int:
    run = options.judged(chosen, chosen.traces, is_placed=chosen.sarif_out is not None)
    if not chosen.quiet:
        sys.stdout.write(console_report(run))
    for unjudged in run.unjudged if chosen.quiet else ():
        sys.stderr.write(f"error: {unjudged}\n")
    is_whole = options.written(_writings(chosen, run), is_quiet=chosen.quiet)
    return options.PASSED if run.passed and is_whole else options.FAILED


def _writings(chosen: argparse.Namespace, run: TraceRun) -> Sequence[options.Writing]:
    return (
        (chosen.json_out, partial(run_text, run)),
        (chosen.md_out, partial(_markdown, run)),
        (chosen.junit_out, partial(_junit, run)),
        (chosen.sarif_out, partial(_sarif, run)),
        (chosen.html_out, partial(_html, run)),
    )


def _markdown(run: TraceRun) -> str:
    from arh.traces.rendering.markdown import markdown_report

    return markdown_report(run)


def _junit(run: TraceRun) -> str:
    from arh.traces.rendering.junit import junit_report

    return junit_report(run)


def _sarif(run: TraceRun) -> str:
    from arh.traces.rendering.sarif import sarif_report

    return sarif_report(run)


def _html(run: TraceRun) -> str:
    from arh.traces.rendering.html import html_report

    return html_report(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh validate", description=__doc__)
    parser.add_argument(
        "traces",
        nargs="+",
        metavar="PATH",
        help="files, folders, patterns, or - for standard input",
    )
    options.add_judging(parser, required=True)
    for kind in ("json", "md", "junit", "sarif", "html"):
        parser.add_argument(f"--{kind}-out", type=Path, metavar="FILE", help=f"write {kind} there")
    return parser
