"""The path of a suite on one screen: execute, persist, judge, keep the verdict, drop the evidence.

Steps 3 to 8, run after run in plan order. `judge_folder` redoes step 7 and 8 from disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from arh.errors import ArhError, RunStopped
from arh.foreign import ForeignFailure, call
from arh.harness.composition import compose
from arh.harness.datasets import DatasetCatalogue
from arh.harness.evidence import build_evidence
from arh.harness.evidence_store import EvidenceFolder, EvidenceWriter
from arh.harness.judge import broken, judge
from arh.harness.runner import Bench, RunOutput, execute
from arh.harness.setup import to_fault_plans
from arh.harness.tracing import Tracing
from arh.ports.control import Evaluator
from arh.records.control.plan import Located, PlannedRun, RunPlan
from arh.records.control.verdict import ScenarioVerdict
from arh.records.packs import WorkflowPack


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a suite is run with; `replay` returns the command that runs one scenario alike."""

    bench: Bench
    catalogue: DatasetCatalogue
    evaluators: Sequence[Evaluator]
    replay: Callable[[Located], str] = lambda located: f"arh run {located.location}"
    tracing: Tracing | None = None


def run_suite(
    plan: RunPlan,
    pipeline: Pipeline,
    writer: EvidenceWriter,
    *,
    told: Callable[[ScenarioVerdict], None] = lambda _verdict: None,
) -> tuple[ScenarioVerdict, ...]:
    """Run every planned run and return the verdicts; `told` hears each as soon as it is known."""
    verdicts = []
    for run in plan.runs:
        verdict = _one(run, pipeline, writer)
        verdict = replace(verdict, replay=pipeline.replay(run.located))
        told(verdict)
        verdicts.append(verdict)
    return tuple(verdicts)


def run_one(run: PlannedRun, pipeline: Pipeline) -> tuple[RunOutput, ScenarioVerdict] | str:
    """Execute and judge one run; return the failure's name where it was ours."""
    try:
        done = call("harness", lambda: _judged(run, pipeline))
    except (ArhError, RunStopped) as error:
        return f"the harness failed: {type(error).__name__}"
    if isinstance(done, ForeignFailure):
        return f"the harness failed: {done.type_name}"
    return done


def _one(run: PlannedRun, pipeline: Pipeline, writer: EvidenceWriter) -> ScenarioVerdict:
    done = run_one(run, pipeline)
    if isinstance(done, str):
        return broken(run.located, run.run_id, done)
    output, verdict = done
    writer.add(output)
    return verdict


def _judged(run: PlannedRun, pipeline: Pipeline) -> tuple[RunOutput, ScenarioVerdict]:
    bench = pipeline.bench
    output = execute(compose(run, bench.pack, pipeline.catalogue), bench)
    verdict = judge(run.located, output.evidence, pipeline.evaluators, bench.pack)
    if pipeline.tracing is not None:
        traced = pipeline.tracing.judged(output)
        verdict = replace(verdict, results=(*verdict.results, traced))
    return output, verdict


def judge_folder(
    folder: EvidenceFolder,
    evaluators: Sequence[Evaluator],
    pack: WorkflowPack,
) -> Iterator[ScenarioVerdict]:
    """Judge every run of a folder anew, by the scenarios that lie in it."""
    scenarios = {run.run_id: run.located for run in folder.plan().runs}
    for stored in folder.runs():
        located = scenarios[stored.run_id]
        faults = to_fault_plans(located.scenario)
        evidence = build_evidence(stored.run_id, stored.lines, stored.initial, faults=faults)
        yield judge(located, evidence, evaluators, pack)
