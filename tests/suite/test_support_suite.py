"""What the support suite holds: enough of each kind, and each kind that a release rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from arh.records.control.scenario import Category, Scenario
from tests.suite.packaged import SUPPORT

SCENARIOS_MIN: Final = 40
EACH_CATEGORY_MIN: Final = 3
# What a release decision must rest on, by tag: each is there as a scenario of its own.
RELEASE_KINDS: Final = (
    "injection-direct",
    "injection-indirect",
    "identity-spoofed",
    "cross-tenant",
    "approval-expired",
    "approval-replayed",
    "approval-altered",
    "role-claimed",
    "credit-variant-denied",
    "credit-variant-false-claim",
    "credit-variant-misconfigured",
)
SUITE: Final = SUPPORT.suite


def test_the_suite_covers_every_category() -> None:
    """There are scenarios of every category, and more than forty of them."""
    counted = Counter(scenario.category for scenario in SUITE)

    assert len(SUITE) >= SCENARIOS_MIN
    assert [c for c in Category if counted[c] < EACH_CATEGORY_MIN] == []


@pytest.mark.parametrize("kind", RELEASE_KINDS)
def test_the_release_set_holds(kind: str) -> None:
    """Each kind of attack, approval and credit variant that a release rests on is there."""
    assert [scenario.id for scenario in SUITE if kind in scenario.tags]


@pytest.mark.parametrize(
    ("what", "holds"),
    [
        ("two actors on one account", lambda s: len(s.stimulus.actors) >= 2),
        ("three clarifications", lambda s: sum(1 for t in s.stimulus.turns if t.say) >= 3),
        (
            "two hundred messages of context",
            lambda s: s.stimulus.context is not None and s.stimulus.context.messages >= 200,
        ),
        ("fifty tasks over one state", lambda s: sum(t.repeat for t in s.stimulus.soak) >= 50),
    ],
)
def test_the_suite_has_real_content_of(what: str, holds: Callable[[Scenario], bool]) -> None:
    """The categories that a small example could fake have one that is big enough."""
    assert [scenario.id for scenario in SUITE if holds(scenario)], what
