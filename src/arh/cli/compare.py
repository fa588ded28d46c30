"""`arh compare`: judges what became of traces since a baseline: 0 the gate passes, 1 it fails."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from arh.cli import trace_options as options
from arh.errors import AuthoringError, safe
from arh.traces.comparing.compare import compare_reports
from arh.traces.comparing.gate import MODES, comparison_document, evaluate_gate
from arh.traces.rendering.comparison import console_comparison, markdown_comparison
from arh.traces.rendering.run import run_document

REPORT_BYTES_MAX: Final = 512 * 2**20


def main(argv: Sequence[str]) -> int:
    """Print the comparison, write the files that were asked for, and return the gate."""
    parser = _parser()
    chosen = parser.parse_args(argv)
    _check(parser, chosen)
    return options.guarded(lambda: _compared(chosen))


def _compared(chosen: argparse.Namespace) -> int:
    baseline = _document(chosen.baseline)
    if chosen.candidate is None:
        candidate: object = run_document(options.judged(chosen, chosen.traces))
    else:
        candidate = _document(chosen.candidate)
    comparison = compare_reports(baseline, candidate, compat=chosen.compat)
    gate = evaluate_gate(
        comparison,
        chosen.fail_on,
        chosen.max_score_drop,
        allow_removed=chosen.allow_removed,
        allow_policy_change=chosen.allow_policy_change,
        compat=chosen.compat,
    )
    if not chosen.quiet:
        sys.stdout.write(console_comparison(comparison, gate))
    for unjudged in comparison.unjudged if chosen.quiet else ():
        sys.stderr.write(f"error: {safe(unjudged)}\n")
    is_whole = options.written(
        (
            (chosen.json_out, lambda: json.dumps(comparison_document(comparison, gate), indent=2)),
            (chosen.md_out, lambda: markdown_comparison(comparison, gate)),
            (chosen.candidate_json_out, lambda: json.dumps(candidate, indent=2)),
        ),
        is_quiet=chosen.quiet,
    )
    # What was not judged fails the command under `--fail-on never` too: the input was not there.
    passed = gate.passed and not comparison.unjudged and is_whole
    return options.PASSED if passed else options.FAILED


def _document(path: Path) -> object:
    """Return a report's value.

    Raises:
        AuthoringError: It cannot be read, or is no JSON.
    """
    data = options.bytes_of(path, REPORT_BYTES_MAX)
    value = options.json_of(data, str(path), REPORT_BYTES_MAX)
    if not isinstance(value, dict):
        raise AuthoringError.of("this is no report", file=str(path))
    return value


def _check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if chosen.candidate is not None and (chosen.traces or chosen.policy):
        parser.error("--candidate is a report: give it, or PATH... with --policy")
    if chosen.candidate is None and not chosen.traces:
        parser.error("nothing to compare: give --candidate, or PATH... with --policy")
    if chosen.traces and not chosen.policy:
        parser.error("PATH... needs --policy")
    if chosen.max_score_drop is not None and chosen.fail_on != "regressions":
        parser.error("--max-score-drop has an effect only with --fail-on regressions")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("arh compare", description=__doc__)
    add = parser.add_argument
    add("--baseline", type=Path, required=True, metavar="REPORT", help="JSON of arh validate")
    add("--candidate", type=Path, metavar="REPORT", help="JSON of arh validate")
    add("traces", nargs="*", metavar="PATH", help="recordings to judge now")
    options.add_judging(parser, required=False)
    add("--fail-on", choices=MODES, default="regressions", help="what fails (default regressions)")
    add(
        "--max-score-drop",
        type=options.score,
        metavar="N",
        help="most points that the score of a trace may fall",
    )
    add("--allow-removed", action="store_true", help="let traces be gone")
    add("--allow-policy-change", action="store_true", help="compare although the policy changed")
    add("--json-out", type=Path, metavar="FILE", help="write the comparison")
    add("--md-out", type=Path, metavar="FILE", help="write the comparison as a page")
    add("--candidate-json-out", type=Path, metavar="FILE", help="write the candidate's report")
    return parser
