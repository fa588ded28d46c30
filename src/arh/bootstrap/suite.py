"""A suite that was read and checked as a whole: where it comes from, and what judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from arh.bootstrap.packs import Configuration, configure, load_pack, pack_names
from arh.errors import AuthoringError
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.roots import Root, find_root
from arh.harness.authoring.scenario_loader import LoadedSuite, load_scenarios
from arh.harness.evaluators.fault_handling import FaultHandlingEvaluator
from arh.harness.evaluators.grounding import GroundingEvaluator
from arh.harness.evaluators.guardrails import GuardrailsEvaluator
from arh.harness.evaluators.non_progress import NonProgressEvaluator
from arh.harness.evaluators.outcome import OutcomeEvaluator
from arh.harness.evaluators.response import ResponseEvaluator
from arh.harness.evaluators.trajectory import TrajectoryEvaluator
from arh.harness.vocabulary.rules import RULES
from arh.model.scripted.scripts import load_scripts
from arh.ports.control import Evaluator
from arh.records.control.scenario import Category
from arh.records.packs import WorkflowPack

SEED = 20_260_101
WORKFLOW = "support"
_CATEGORIES = frozenset(str(category) for category in Category)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a suite comes from: what the user named, else the working folder, else the packaged.

    Without a `workflow` it is the one that the scenarios' folders name, else the default.
    """

    scenarios: str | None = None
    datasets: str | None = None
    fixtures: str | None = None
    workflow: str | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite that was read and checked as a whole, ready to be planned and run."""

    configuration: Configuration
    catalogue: DatasetCatalogue
    loaded: LoadedSuite
    roots: Mapping[str, Root]
    evaluators: tuple[Evaluator, ...]

    @property
    def pack(self) -> WorkflowPack:
        """The workflow that the scenarios are for."""
        return self.configuration.pack

    def reading(self, scenarios: Path) -> Suite:
        """Return the suite with the scenarios of a folder, a file, or one line (`FILE:LINE`).

        Raises:
            AuthoringError: Anything is wrong with any of them; everything is listed.
        """
        loaded = load_scenarios(
            scenarios,
            pack=self.pack,
            scripts=self.configuration.scripts.by_id,
            catalogue=self.catalogue,
            rules=RULES,
            others=_others(self.pack.name),
        )
        return replace(self, loaded=loaded)


def prepare(sources: Sources) -> Suite:
    """Read and check everything that a run needs; nothing has run when this raises.

    Raises:
        AuthoringError: Anything anywhere is wrong; everything is listed.
    """
    flags = {name: getattr(sources, name) for name in ("scenarios", "datasets", "fixtures")}
    roots = {name: find_root(name, flag) for name, flag in flags.items()}
    scenarios = roots["scenarios"].path
    suite = ground(roots, sources.workflow or workflow_at(scenarios))
    _require_suite(suite)
    return suite.reading(scenarios)


def _require_suite(suite: Suite) -> None:
    """Refuse a workflow that comes without scenarios, where the user named and has none.

    Raises:
        AuthoringError: Neither the working folder nor arh has a suite of it.
    """
    root, name = suite.roots["scenarios"], suite.pack.name
    if root.kind in ("packaged", "repository") and not (root.path / name).is_dir():
        found = f"there are no scenarios of {name} here"
        hint = "change to the folder of its pack, or name one with --scenarios"
        raise AuthoringError.of(found, field="--scenarios", hint=hint)


def workflow_at(place: Path) -> str:
    """Return the workflow of the scenarios at a place, by its folder; else the default one.

    It is the folder that holds the category's, the named folder itself, or the only one in it.
    """
    installed = pack_names()
    path = place.absolute()
    at = max((i for i, part in enumerate(path.parts) if part in _CATEGORIES), default=0)
    above = path.parts[at - 1] if at else path.name
    if above in installed:
        return above
    below = [name for name in installed if (path / name).is_dir()]
    return below[0] if len(below) == 1 else WORKFLOW


def _others(workflow: str) -> frozenset[str]:
    return frozenset(pack_names()) - {workflow}


def ground(roots: Mapping[str, Root], workflow: str) -> Suite:
    """Return a suite that has everything but its scenarios.

    Raises:
        AuthoringError: There is no such workflow, or a model script is wrong.
    """
    return grounded(load_pack(workflow), roots)


def grounded(pack: WorkflowPack, roots: Mapping[str, Root]) -> Suite:
    """Return a suite that has everything but its scenarios, for a pack that is at hand.

    Raises:
        AuthoringError: The pack contradicts itself, or a model script is wrong.
    """
    scripts = load_scripts(roots["fixtures"].path, others=_others(pack.name))
    configuration = configure(pack, scripts)
    catalogue = DatasetCatalogue(roots["datasets"].path, pack)
    return Suite(configuration, catalogue, LoadedSuite((), ""), roots, default_evaluators())


def default_evaluators() -> tuple[Evaluator, ...]:
    """Return the evaluators of every run, in the order of reports."""
    return (
        OutcomeEvaluator(),
        TrajectoryEvaluator(),
        GuardrailsEvaluator(),
        ResponseEvaluator(),
        GroundingEvaluator(),
        FaultHandlingEvaluator(),
        NonProgressEvaluator(),
    )
