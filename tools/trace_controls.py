"""Runs the seeded cases of recorded traces and writes what they measure, `docs/trace-controls.md`.

Run it after a change to a rule or a case: `python -m tools.trace_controls`. A test holds the page
to what this writes, so that no figure on it is anybody's belief.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from arh.traces.comparing.compare import compare_reports
from arh.traces.comparing.gate import evaluate_gate
from arh.traces.registry import RULES
from tests.controls.trace_cases import CASES
from tests.controls.trace_regressions import SCENARIOS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "trace-controls.md"
HEAD = """\
# What the rules on recorded traces catch

This page is written by a run: `python -m tools.trace_controls`.

Each case is a clean trace with one change. A defect has to be found at its step, and nothing else
may be; its twin is a change next to it that is right, and has to stay clean.
"""


def main() -> None:
    """The page is written anew."""
    PAGE.write_text(page_text(), encoding="utf-8", newline="\n")
    print(PAGE)


def page_text() -> str:
    """Return the page: the sums, each rule, then the gate on regressions."""
    return "\n".join([HEAD, *_sums(), *_rules(), *_regressions()])


def _sums() -> Iterator[str]:
    hits, missed, invented = (counts.total() for counts in _judged())
    twins = sum(not case.expected for case in CASES)
    yield "| | |"
    yield "| --- | --- |"
    yield f"| cases | {len(CASES)}, {twins} of them without a defect |"
    yield f"| precision | {_share(hits, hits + invented)} |"
    yield f"| recall | {_share(hits, hits + missed)} |"
    yield ""


def _rules() -> Iterator[str]:
    hits, missed, invented = _judged()
    yield "## Each rule"
    yield ""
    yield "| rule | found | missed | made up |"
    yield "| --- | --- | --- | --- |"
    for rule in sorted(RULES):
        if rule in hits or rule in missed or rule in invented:
            yield f"| {rule} | {hits[rule]} | {missed[rule]} | {invented[rule]} |"
        else:
            yield f"| {rule} | tried by a test of its own | | |"
    yield ""


def _regressions() -> Iterator[str]:
    yield "## The gate on two reports"
    yield ""
    yield "| scenario | should pass | passes | with `--compat 0.2` |"
    yield "| --- | --- | --- | --- |"
    for name, old, new, passes, _ in SCENARIOS:
        ours = evaluate_gate(compare_reports(old, new)).passed
        public = evaluate_gate(compare_reports(old, new, compat="0.2")).passed
        yield f"| {name.replace('_', ' ')} | {_word(passes)} | {_word(ours)} | {_word(public)} |"
    yield ""


def _judged() -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return, for each rule, how many findings were right, missed and made up."""
    hits, missed, invented = Counter[str](), Counter[str](), Counter[str]()
    for case in CASES:
        expected, found = Counter(case.expected), Counter(case.found())
        hits += _by_rule(expected & found)
        missed += _by_rule(expected - found)
        invented += _by_rule(found - expected)
    return hits, missed, invented


def _by_rule(findings: Counter[str]) -> Counter[str]:
    counts = Counter[str]()
    for finding, count in findings.items():
        counts[finding.partition("@")[0]] += count
    return counts


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f} ({part} of {whole})"


def _word(is_so: bool) -> str:  # noqa: FBT001 - a column of the table
    return "yes" if is_so else "no"


if __name__ == "__main__":
    main()
