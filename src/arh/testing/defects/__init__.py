"""Seeded defects: things that are wrong on purpose, each with the check that must catch it.

`all_defects` returns every one of them. Only the self-test, tests and this package know of them.
"""

from __future__ import annotations

from arh.testing.defects import (
    agents,
    approvals,
    decision_points,
    evaluators,
    gateway,
    scripts,
    store,
)
from arh.testing.defects.planting import Catcher, Defect, Outcome

__all__ = ["Catcher", "Defect", "Outcome", "all_defects"]


def all_defects() -> tuple[Defect, ...]:
    """Return every seeded defect, group by group."""
    groups = (agents, scripts, decision_points, gateway, approvals, store, evaluators)
    return tuple(defect for group in groups for defect in group.DEFECTS)
