"""The golden scenario on a bench whose redaction and telemetry a test chooses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from arh import bootstrap
from arh.canonical import encode
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.recorder import Redact, keep_all
from arh.harness.evidence.written_scenarios import written_scenario
from arh.harness.judging.judge import judge
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.model.scripted.reader import read_script
from arh.model.scripted.scripts import Scripts
from arh.ports.sue import Agent, Telemetry
from arh.records.control.plan import RunPlan
from arh.records.control.scenario import Scenario
from arh.records.control.verdict import ScenarioVerdict
from arh.records.packs import WorkflowPack
from arh.telemetry.redaction import Redactor
from arh.telemetry.spans import SpanBuffer

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = "scenarios/support/golden/billing-incident-001.jsonl"
SCRIPT = "fixtures/support/model_scripts/golden_billing_incident.json"

Patch = Callable[[dict[str, Any]], None]


@dataclass
class Run:
    """One run, how it was judged, the spans that were reported during it, and what ran."""

    output: RunOutput
    verdict: ScenarioVerdict
    buffer: SpanBuffer
    suite: bootstrap.Suite
    plan: RunPlan
    under_test: bootstrap.UnderTest
    redact: Redact

    @property
    def text(self) -> str:
        """Everything that was written, as one text."""
        return b"\n".join(self.output.lines).decode()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the written events of a kind."""
        lines = [json.loads(line) for line in self.output.lines]
        return [line for line in lines if line["kind"] == kind]


@dataclass
class Golden:
    """What a test changes of the golden run."""

    path: str = GOLDEN
    pack: Callable[[WorkflowPack], WorkflowPack] = lambda pack: pack
    scenario: Patch = lambda _value: None
    script: Patch | None = None
    agent: Agent | None = None
    redact: Callable[[WorkflowPack], Redact] = field(default=Redactor)
    telemetry: Callable[[SpanBuffer], Telemetry] = lambda buffer: buffer
    command: str | None = None
    models: bootstrap.ModelsUnderTest = field(default_factory=bootstrap.ScriptedModels)

    def run(self) -> Run:
        """Execute and judge it."""
        suite = suite_of(self.path)
        pack = self.pack(suite.pack)
        configuration = bootstrap.configure(pack, self._scripts(suite.configuration.scripts))
        located = suite.loaded.scenarios[0]
        value = located.scenario.model_dump(mode="json", exclude_unset=True)
        self.scenario(value)
        located = replace(located, scenario=Scenario.model_validate_json(encode(value)))
        plan = plan_runs((located,), seed=1)
        buffer = SpanBuffer(plan.runs[0].run_id)
        under_test = replace(bootstrap.UnderTest.of(self.command), models=self.models)
        bench = Bench(
            bootstrap.Composer(configuration, self._agent(), under_test.agent.name, self.models),
            pack,
            plan.digest,
            redact=self.redact(pack),
            telemetry=lambda _run_id: self.telemetry(buffer),
        )
        output = execute(compose(plan.runs[0], pack, suite.catalogue), bench)
        _, written = written_scenario(plan.runs[0], bench.redact)
        verdict = judge(written.located, output.evidence, suite.evaluators, pack)
        replay = bootstrap.replayer(suite, plan, under_test)(located)
        ran = replace(suite, configuration=configuration)
        verdict = replace(verdict, replay=replay)
        return Run(output, verdict, buffer, ran, plan, under_test, bench.redact)

    def _agent(self) -> bootstrap.AgentFactory:
        agent = self.agent
        if agent is None:
            return bootstrap.reference_agent
        return lambda _actor, _telemetry: agent

    def _scripts(self, scripts: Scripts) -> Scripts:
        if self.script is None:
            return scripts
        value = json.loads((ROOT / SCRIPT).read_bytes())
        self.script(value)
        read = read_script(encode(value), file="given")
        assert not isinstance(read, tuple), read
        return Scripts({**scripts.by_id, value["config_id"]: read})


@cache
def suite_of(path: str) -> bootstrap.Suite:
    """Return the suite of one scenario file of this repository."""
    return bootstrap.prepare(
        bootstrap.Sources(
            scenarios=str(ROOT / path),
            datasets=str(ROOT / "datasets"),
            fixtures=str(ROOT / "fixtures"),
        )
    )


def unredacted(_pack: WorkflowPack) -> Redact:
    """Return a redaction that keeps everything."""
    return keep_all


def sensitive(tool: str, *fields: str) -> Callable[[WorkflowPack], WorkflowPack]:
    """Return what declares fields of a tool sensitive."""

    def change(pack: WorkflowPack) -> WorkflowPack:
        tools = tuple(
            replace(t, manifest=replace(t.manifest, sensitive_fields=fields))
            if t.manifest.name == tool
            else t
            for t in pack.tools
        )
        return replace(pack, tools=tools)

    return change
