"""Rule ids are public: what one of them has ever meant, it means for good."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from arh.harness.vocabulary.rules import RULES, Rule, conclude, finding
from arh.records.control.verdict import LEVELS, Finding

SNAPSHOT = Path(__file__).resolve().parents[2] / "snapshot" / "finding_rules.txt"


def lines() -> list[str]:
    """One line a rule: id, evaluator, level, severity, meaning."""
    rules = sorted(RULES.values(), key=lambda rule: rule.id)
    return [f"{r.id} | {r.evaluator} | {r.level} | {r.severity} | {r.meaning}" for r in rules]


def test_no_published_rule_changed_or_vanished() -> None:
    """A rule that must say something else gets a new id; the old line stays as it is."""
    published = SNAPSHOT.read_text("utf-8").splitlines()

    assert [line for line in published if line not in lines()] == []


def test_every_rule_is_published() -> None:
    """A new rule is added to the snapshot, in order, in the change that brings it."""
    assert SNAPSHOT.read_text("utf-8").splitlines() == lines()


def test_a_rule_is_well_formed() -> None:
    """Its id reads `family.what_is_true`, and its meaning is one line, like every message."""
    for rule in RULES.values():
        assert re.fullmatch(r"[a-z_]+\.[a-z0-9_]+", rule.id)
        assert rule.level in LEVELS
        assert rule.severity in {"fail", "indeterminate", "warning"}
        assert rule.meaning.isprintable()
        assert not rule.meaning.endswith(".")


def test_no_two_rules_mean_the_same() -> None:
    """Two ids with one meaning would be one rule too many."""
    meanings = Counter(rule.meaning for rule in RULES.values())

    assert [meaning for meaning, count in meanings.items() if count > 1] == []


def test_a_finding_takes_level_and_severity_from_its_rule() -> None:
    """And names each event once."""
    rule = RULES["guardrails.bypass"]

    assert finding(rule.id, "m", expected="a", found="b", events=["e2", "e1", "", "e2"]) == (
        Finding(rule.id, rule.level, rule.severity, "m", "a", "b", ("e2", "e1"))
    )


def test_an_unknown_rule_cannot_be_reported() -> None:
    """Not even by mistake."""
    with pytest.raises(KeyError):
        finding("outcome.unheard_of", "m")


def test_a_failure_outweighs_doubt_and_doubt_outweighs_a_pass() -> None:
    """A warning weighs nothing."""
    failure, doubt, warning = (
        finding(rule, "m")
        for rule in ("guardrails.bypass", "guardrails.fail_closed", "outcome.duplicate_effect")
    )

    assert conclude([warning, doubt, failure], "pass") == "fail"
    assert conclude([warning, doubt], "pass") == "indeterminate"
    assert conclude([warning], "not_exercised") == "not_exercised"
    assert isinstance(RULES["guardrails.bypass"], Rule)
