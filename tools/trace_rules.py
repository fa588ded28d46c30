"""Writes the reference of the rules on recorded traces, `docs/trace-rules.md`, from their table.

Run it after a change to a rule: `python tools/trace_rules.py`. A test holds the page to what this
writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from arh.traces.registry import RULES, SCORED, WEIGHTS, Category, Rule

PAGE = Path(__file__).resolve().parents[1] / "docs" / "trace-rules.md"
CATEGORIES: dict[Category, str] = {
    "schema": "each tool call against the schema of its tool; a call is one check",
    "budget": "what a trace may take, cost and use; a check for each limit that has data",
    "safety": "unsafe patterns; each text is a check",
    "grounding": "what is cited; the score is the coverage",
    "sequence": "which tools, how often, in which order",
    "flow": "retries, retry storms, repeated side effects",
    "completion": "how a trace ends and how long it is",
    "reading": "where the recording itself says less than a verdict would suggest",
    "assertion": "inline assertions",
}
HEAD = """\
# Rules on recorded traces

This page is written from the table of rules: `python tools/trace_rules.py`.

An id never changes its meaning, category or severity, and is never used again. A finding that is an
**error** fails its trace whatever the score. A *warning* or *info* never does. Rules marked **+**
are ours: the public specification does not have them, they leave the score alone, and
`--compat 0.2` leaves them out. [Trace policies](trace-policies.md) says what turns each rule on.

## The score

A category's score is the share of its checks that hold. The score of a trace is their weighted
mean over the categories that apply, computed exactly: a perfect trace has 100 and nothing else. A
trace passes if no finding is an error and its score is at least the threshold, which is 70 unless
`--fail-under` says otherwise. A category without a single check does not apply.
"""


def main() -> None:
    """The page is written anew."""
    PAGE.write_text(page_text(), encoding="utf-8", newline="\n")
    print(PAGE)


def page_text() -> str:
    """The page: weights, then the rules of each category."""
    return "\n".join(
        [HEAD, *_weights(), *(line for each in CATEGORIES for line in _category(each))]
    )


def _weights() -> Iterator[str]:
    yield "| category | weight |"
    yield "| --- | --- |"
    for category in SCORED:
        yield f"| {category} | {WEIGHTS[category] / 100:g} |"
    yield ""


def _category(category: Category) -> Iterator[str]:
    rules = [rule for rule in RULES.values() if rule.category == category]
    yield f"## {category.capitalize()}"
    yield ""
    yield f"{CATEGORIES[category].capitalize()}."
    yield ""
    yield "| rule | severity | meaning | what to do |"
    yield "| --- | --- | --- | --- |"
    for rule in sorted(rules, key=lambda each: each.id):
        yield f"| {_name(rule)} | {rule.severity} | {rule.meaning} | {rule.remedy} |"
    yield ""


def _name(rule: Rule) -> str:
    return f'<a id="{rule.id.lower()}"></a>{rule.id}{"" if rule.published else " **+**"}'


if __name__ == "__main__":
    main()
