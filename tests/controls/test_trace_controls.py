"""Every rule on recorded traces catches its seeded defects and spares their correct twins."""

from __future__ import annotations

from collections import Counter

import pytest

from arh.traces.registry import RULES
from tests.controls.trace_cases import CASES, Case

BY_PROCESS = {"ARH-SAF-003"}  # needs another process: tests/unit/traces/test_regex_worker.py


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_has_exactly_its_findings(case: Case) -> None:
    """What was planted is found at its step, and nothing else is."""
    assert tuple(sorted(case.expected)) == case.found()


def test_precision_and_recall_are_whole() -> None:
    """Over all cases and findings, none is missed and none is made up."""
    hits = misses = inventions = 0
    for case in CASES:
        expected, found = Counter(case.expected), Counter(case.found())
        hits += (expected & found).total()
        misses += (expected - found).total()
        inventions += (found - expected).total()

    assert len(CASES) >= 80
    assert (misses, inventions) == (0, 0)
    assert hits == hits + misses == hits + inventions


def test_every_rule_has_a_defect_and_the_suite_has_twins() -> None:
    """No rule is only believed to work."""
    caught = {rule.partition("@")[0] for case in CASES for rule in case.expected}

    assert RULES.keys() - BY_PROCESS == caught
    assert sum(1 for case in CASES if not case.expected) >= 40


def test_names_are_unique_within_a_category() -> None:
    """A failing case can be found again; the two surfaces of assertions share some names."""
    counts = Counter(case.name for case in CASES)

    assert {name for name, count in counts.items() if count > 2} == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_compatibility_leaves_out_our_rules_and_no_other(case: Case) -> None:
    """What is published is found under both; what is ours only by default."""
    assertions = {"ARH-ASR-001", "ARH-ASR-002"}
    by_value = {
        "true_is_not_one",
        "nested_true",
        "null_is_no_citation",
        "effect_repeated_with_another_number",
        "nested_arguments",
        "cost_at_limit",
        "trace_at_limit",
        "clean",
    }
    kept = [
        each
        for each in sorted(case.expected)
        if RULES[each.partition("@")[0]].published or each.partition("@")[0] in assertions
    ]
    found = [each for each in case.found(compat=True) if each != "ARH-BUD-003@-"]

    if case.name not in by_value:
        assert [each for each in kept if each != "ARH-BUD-003@-"] == found
