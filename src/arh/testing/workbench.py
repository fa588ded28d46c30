"""A workbench for tests of a suite: run one scenario with any one part of it exchanged.

Everything else stays as it is deployed: the same loader, runner, gateway, store and evaluators.
What is exchanged is an argument, so that a test names exactly the defect that it plants. A planted
defect is stamped into the evidence as `defect`; no option of any command reaches this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arh import bootstrap
from arh.canonical import JsonValue, encode, line
from arh.errors import AuthoringError
from arh.harness.composition import Composition, compose
from arh.harness.judge import judge
from arh.harness.plan import plan_runs
from arh.harness.runner import Bench, RunOutput, execute
from arh.model.script_reader import read_script
from arh.model.scripts import Scripts
from arh.ports.control import Evaluator
from arh.ports.sue import Agent
from arh.records.control.plan import Located, PlannedRun, RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import ScenarioVerdict

Patch = Callable[[dict[str, Any]], None]
Compose = Callable[[bootstrap.Configuration, bootstrap.AgentFactory], bootstrap.Composer]


@dataclass(frozen=True, slots=True)
class Tried:
    """One run on the workbench: what it left and how it was judged."""

    located: Located
    output: RunOutput
    verdict: ScenarioVerdict

    @property
    def rules(self) -> frozenset[str]:
        """The rules of every finding, expected ones left out."""
        return frozenset(f.rule for r in self.verdict.results for f in r.findings)


@dataclass(frozen=True, slots=True)
class Workbench:
    """A suite to try things on."""

    suite: bootstrap.Suite

    @classmethod
    def of(cls, sources: bootstrap.Sources = bootstrap.Sources()) -> Workbench:  # noqa: B008 - frozen
        """Return the workbench of a suite; by default the one that comes with arh."""
        return cls(bootstrap.prepare(sources))

    def located(self, scenario_id: str) -> Located:
        """Return a scenario of the suite.

        Raises:
            KeyError: There is none of this id.
        """
        for located in self.suite.loaded.scenarios:
            if located.scenario.id == scenario_id:
                return located
        raise KeyError(scenario_id)

    def run(
        self,
        scenario_id: str,
        *,
        patch: Patch | None = None,
        script: Mapping[str, JsonValue] | None = None,
        agent: Agent | None = None,
        composer: Compose | None = None,
        evaluators: Sequence[Evaluator] | None = None,
        defect: str = "",
    ) -> Tried:
        """Run one scenario with what is given in place of the deployed part.

        Args:
            scenario_id: A scenario of the suite.
            patch: Changes the scenario's JSON value in place before it is read.
            script: A model script's JSON value, whatever its `config_id`.
            agent: The agent under test.
            composer: Makes the composer, as a subclass that exchanges a control does.
            evaluators: Judge instead of the suite's own.
            defect: The name that the evidence is stamped with.
        """
        located = patched(self.located(scenario_id), patch)
        plan = plan_runs((located,), seed=1)
        bench = self._bench(located, plan, script=script, agent=agent, composer=composer)
        output = execute(self._composition(plan.runs[0], defect), bench)
        judges = self.suite.evaluators if evaluators is None else evaluators
        return Tried(located, output, judge(located, output.evidence, judges, self.suite.pack))

    def _composition(self, run: PlannedRun, defect: str) -> Composition:
        made = compose(run, self.suite.pack, self.suite.catalogue)
        return replace(made, setup=replace(made.setup, defect=defect))

    def _bench(
        self,
        located: Located,
        plan: RunPlan,
        *,
        script: Mapping[str, JsonValue] | None,
        agent: Agent | None,
        composer: Compose | None,
    ) -> Bench:
        configuration = self.suite.configuration
        if script is not None:
            name = located.scenario.reproducibility.model_configuration
            scripts = exchanged(configuration.scripts, name, script)
            configuration = replace(configuration, scripts=scripts)
        factory = bootstrap.reference_agent if agent is None else _always(agent)
        make = bootstrap.Composer if composer is None else composer
        return Bench(make(configuration, factory), self.suite.pack, plan.digest, wall_ms_max=5_000)


def patched(located: Located, patch: Patch | None) -> Located:
    """Return a scenario with its JSON value changed.

    It is read again as strictly as from a file.
    """
    if patch is None:
        return located
    value = located.scenario.model_dump(mode="json", exclude_unset=True)
    patch(value)
    return replace(located, scenario=Scenario.model_validate_json(encode(value)))


def exchanged(scripts: Scripts, config_id: str, value: Mapping[str, JsonValue]) -> Scripts:
    """Return the scripts with one of them exchanged.

    Raises:
        AuthoringError: The given script is wrong.
    """
    read = read_script(line({**value, "config_id": config_id}), file="given")
    if isinstance(read, tuple):
        raise AuthoringError(*read)
    return Scripts({**scripts.by_id, config_id: read})


def _always(agent: Agent) -> bootstrap.AgentFactory:
    return lambda _actor, _telemetry: agent
