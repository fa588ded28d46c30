"""What will be run: planned before anything runs, so that nothing can quietly go missing."""

from __future__ import annotations

from dataclasses import dataclass

from arh.records.control.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Located:
    """A scenario with the place it was read from (a path under the scenario root, and a line)."""

    scenario: Scenario
    path: str
    line: int
    digest: str

    @property
    def location(self) -> str:
        """`path:line`, as an editor opens it."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to come: its id and seed follow from the scenario's digest and the plan's seed."""

    run_id: str
    seed: int
    located: Located
    trial: int = 1


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A scenario that was loaded and will not be run or not be counted, and why."""

    scenario_id: str
    location: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All runs in order, all exclusions, and the digest that evidence must carry."""

    runs: tuple[PlannedRun, ...]
    exclusions: tuple[Exclusion, ...]
    digest: str
    seed: int
