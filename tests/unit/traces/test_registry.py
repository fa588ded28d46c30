"""Rule ids are public: none changes its meaning, category or severity, and none is used again."""

from __future__ import annotations

from pathlib import Path

from arh.traces.registry import NEW, RULES, SCORED, WEIGHTS

SNAPSHOT = Path(__file__).resolve().parents[2] / "snapshot" / "trace_rules.txt"


def test_every_rule_is_as_it_was() -> None:
    """A line may be added, and none changed or taken away."""
    now = "".join(
        f"{rule.id} | {rule.category} | {rule.severity} | {rule.meaning}\n"
        for rule in RULES.values()
    )

    assert now == SNAPSHOT.read_text("utf-8")


def test_the_published_rules_are_31() -> None:
    """And ours leave the score alone."""
    assert sum(1 for rule in RULES.values() if rule.published) == 31
    assert not any(rule.scored or rule.published for rule in NEW)


def test_ids_belong_to_their_categories() -> None:
    """Three letters for each category, and one weight for each that is scored."""
    letters = {rule.category: rule.id[4:7] for rule in RULES.values()}

    assert all(rule.id[4:7] == letters[rule.category] for rule in RULES.values())
    assert tuple(WEIGHTS) == SCORED
