"""Seeded defects: things that are wrong on purpose, each with the check that must catch it.

`all_defects` returns every one of them. Only the self-test, tests and this package know of them.
"""

from __future__ import annotations

from arh.testing.defects import (
    agents,
    approvals,
    decision_points,
    evaluators,
    evidence,
    gates,
    gateway,
    metrics,
    scripts,
    store,
    suite,
)
from arh.testing.defects.planting import Catcher, Defect, Outcome

__all__ = ["Catcher", "Defect", "Outcome", "all_defects"]

_GROUPS = (
    agents,
    scripts,
    decision_points,
    gateway,
    approvals,
    store,
    evaluators,
    metrics,
    gates,
    evidence,
    suite,
)


def all_defects() -> tuple[Defect, ...]:
    """Return every seeded defect, group by group."""
    return tuple(defect for group in _GROUPS for defect in group.DEFECTS)
