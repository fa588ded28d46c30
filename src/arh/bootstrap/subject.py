"""What a scorecard says of the configuration that a plan is run with."""

from __future__ import annotations

from collections.abc import Iterator

from arh import __version__
from arh.bootstrap.prompt import prompt_bundle
from arh.bootstrap.suite import Suite
from arh.bootstrap.under_test import UnderTest
from arh.canonical import digest
from arh.records.control.plan import RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.scorecard import About
from arh.records.packs import WorkflowPack


def about(
    suite: Suite, plan: RunPlan, under_test: UnderTest, *, as_of: str, partial: bool
) -> About:
    """Return what a scorecard says of the configuration that a plan is run with."""
    configuration, pack = suite.configuration, suite.pack
    scenarios = [run.located.scenario for run in plan.runs]
    models = sorted({name for scenario in scenarios for name in _models(scenario)})
    policies = sorted({name for scenario in scenarios for name in _policies(scenario, pack)})
    return About(
        arh=__version__,
        as_of=as_of,
        partial=partial,
        workflow=f"{pack.name}@{pack.version}",
        agent=under_test.agent.name,
        model=under_test.models.name(models),
        scripted=under_test.models.scripted,
        mode=under_test.models.mode,
        model_digest=under_test.models.digest(models, configuration.scripts),
        prompt_digest=prompt_bundle(pack, under_test.agent.name, under_test.models).digest,
        tools_digest=configuration.registry.digest,
        policy=", ".join(policies),
        policy_digest=digest([configuration.policies[name].digest for name in policies]),
        root=suite.roots["scenarios"].kind,
        scenarios_digest=suite.loaded.digest,
        datasets_digest=digest(dict(suite.catalogue.digests)),
        plan_digest=plan.digest,
        seed=plan.seed,
        evaluators=tuple((each.id, each.version) for each in suite.evaluators),
        tools=tuple((t.manifest.name, t.manifest.version) for t in pack.tools),
    )


def _models(scenario: Scenario) -> Iterator[str]:
    default = scenario.reproducibility.model_configuration
    yield from (each.model_configuration or default for each in scenario.stimulus.actors)
    if not scenario.stimulus.actors:
        yield default


def _policies(scenario: Scenario, pack: WorkflowPack) -> Iterator[str]:
    named = scenario.trusted_environment.authorization_policy_refs
    yield named[0] if named else pack.policies[0][0]
