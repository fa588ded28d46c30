"""The golden run: four tool calls, from the plan to evidence on disk and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arh import bootstrap
from arh.harness.authoring.plan import plan_runs
from arh.harness.evidence.evidence_store import EvidenceWriter
from arh.harness.evidence.output import RunOutput
from arh.harness.pipeline import Pipeline, run_one
from arh.harness.running.composition import compose
from arh.harness.running.runner import execute
from arh.harness.tracing import Tracing
from arh.records.control.plan import RunPlan

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios/support/golden/billing-incident-001.jsonl"
SEED = 1


class Golden:
    """The scenario, planned, and everything to run it with as often as one likes."""

    def __init__(self, folder: Path, scenarios: Path = SCENARIO, *, trials: int = 1) -> None:
        """Prepare as the gate does; evidence goes to `folder`."""
        suite = bootstrap.prepare(
            bootstrap.Sources(
                scenarios=str(scenarios),
                datasets=str(ROOT / "datasets"),
                fixtures=str(ROOT / "fixtures"),
            )
        )
        self.plan: RunPlan = plan_runs(suite.loaded.scenarios, seed=SEED, trials=trials)
        self.pipeline = bootstrap.pipeline(suite, self.plan, bootstrap.UnderTest())
        self.writer = EvidenceWriter(folder, self.plan, redact=self.pipeline.bench.redact)
        self.tracing = Tracing(folder.with_suffix(".telemetry.jsonl"), nonce="bench")
        self.traced = bootstrap.pipeline(
            suite, self.plan, bootstrap.UnderTest(), tracing=self.tracing
        )

    def executed(self) -> None:
        """Compose, execute and write the run."""
        self.writer.add(self.output())

    def judged(self) -> None:
        """Compose, execute, judge by every evaluator, and write the run."""
        self._judged(self.pipeline)

    def observed(self) -> None:
        """Do what `judged` does, collect the run's spans, hold them against it, and write them."""
        self._judged(self.traced)

    def close(self) -> None:
        """Finish the files."""
        self.tracing.close()
        self.writer.close({})

    def output(self) -> RunOutput:
        """Compose and execute the run."""
        bench = self.pipeline.bench
        return execute(compose(self.plan.runs[0], bench.pack, self.pipeline.catalogue), bench)

    def _judged(self, pipeline: Pipeline) -> None:
        done = run_one(self.plan.runs[0], pipeline)
        if isinstance(done, str) or done[1].status != "pass":
            raise RuntimeError(f"the golden run is to pass: {done}")
        self.writer.add(done[0])


def copies(folder: Path, count: int) -> Path:
    """Write the golden scenario under `count` ids, a line each, and return the folder of it."""
    line = SCENARIO.read_text(encoding="utf-8").strip()
    name = '"id":"golden-billing-incident-001"'
    if line.count(name) != 1:
        raise RuntimeError(f"expected {name} once in {SCENARIO}")
    rows: Sequence[str] = [
        line.replace(name, f'"id":"golden-copy-{number:05d}"') for number in range(1, count + 1)
    ]
    target = folder / "support" / "golden"
    target.mkdir(parents=True)
    (target / "copies.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder
