"""The path of a suite on one screen: execute, persist, judge, keep the verdict, drop the evidence.

Steps 3 to 8, run after run in plan order. `judge_folder` redoes step 7 and 8 from disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from arh.errors import ArhError, RunStopped
from arh.foreign import ForeignFailure, call
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.setup import to_fault_plans
from arh.harness.evidence.evidence import build_evidence
from arh.harness.evidence.evidence_store import EvidenceFolder, EvidenceWriter, StoredRun
from arh.harness.evidence.output import RunOutput
from arh.harness.evidence.written_scenarios import judged_by
from arh.harness.judging.judge import broken, judge
from arh.harness.null_agent import BenchOf, passes_idle
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.harness.tracing import Tracing
from arh.ports.control import Evaluator
from arh.records.control.plan import Located, PlannedRun, RunPlan
from arh.records.control.verdict import ScenarioVerdict
from arh.records.packs import WorkflowPack

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What a suite is run with; `replay` returns the command that runs one scenario alike.

    `idle` returns the bench with another agent: on it, an agent that does nothing is tried.
    """

    bench: Bench
    catalogue: DatasetCatalogue
    evaluators: Sequence[Evaluator]
    replay: Callable[[Located], str] = lambda located: f"arh run {located.location}"
    tracing: Tracing | None = None
    idle: BenchOf | None = None


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
        idle, replay = tried_idle(run, pipeline), pipeline.replay(run.located)
        verdict = replace(verdict, replay=replay, idle_passes=idle)
        told(verdict)
        verdicts.append(verdict)
    return tuple(verdicts)


def run_one(run: PlannedRun, pipeline: Pipeline) -> tuple[RunOutput, ScenarioVerdict] | str:
    """Execute and judge one run; return the failure's name where it was ours."""
    output = _ours(lambda: _executed(run, pipeline))
    if isinstance(output, str):
        return output
    kept = _ours(lambda: judged_by(run, pipeline.bench.redact))
    return kept if isinstance(kept, str) else (output, _verdict(kept, pipeline, output))


def _one(run: PlannedRun, pipeline: Pipeline, writer: EvidenceWriter) -> ScenarioVerdict:
    """Execute, persist, judge: a defect of ours in judging loses no evidence."""
    output = _ours(lambda: _executed(run, pipeline))
    if isinstance(output, str):
        return broken(run.located, run.run_id, output)
    writer.add(output)
    return _verdict(writer.as_written(run), pipeline, output)


def tried_idle(run: PlannedRun, pipeline: Pipeline) -> bool | None:
    """Return whether inaction passes an acceptance scenario, `None` where it was not tried."""
    bench_of = pipeline.idle
    if bench_of is None or run.located.scenario.role != "acceptance":
        return None
    catalogue, evaluators = pipeline.catalogue, pipeline.evaluators
    found = _ours(lambda: passes_idle(run, bench_of, catalogue, evaluators))
    return None if isinstance(found, str) else found


def _executed(run: PlannedRun, pipeline: Pipeline) -> RunOutput:
    return execute(compose(run, pipeline.bench.pack, pipeline.catalogue), pipeline.bench)


def _verdict(run: PlannedRun, pipeline: Pipeline, output: RunOutput) -> ScenarioVerdict:
    return _or_broken(run, lambda: _judged(run, pipeline, output))


def _or_broken(run: PlannedRun, judged: Callable[[], ScenarioVerdict]) -> ScenarioVerdict:
    verdict = _ours(judged)
    return broken(run.located, run.run_id, verdict) if isinstance(verdict, str) else verdict


def _judged(run: PlannedRun, pipeline: Pipeline, output: RunOutput) -> ScenarioVerdict:
    pack = pipeline.bench.pack
    verdict = judge(run.located, output.evidence, pipeline.evaluators, pack)
    if pipeline.tracing is None:
        return verdict
    return replace(verdict, results=(*verdict.results, pipeline.tracing.judged(output)))


def _ours(work: Callable[[], T]) -> T | str:
    """Return what a part of the harness made, or the name of its failure: the suite goes on."""
    try:
        done = call("harness", work)
    except (ArhError, RunStopped) as error:
        return f"the harness failed: {type(error).__name__}"
    return f"the harness failed: {done.type_name}" if isinstance(done, ForeignFailure) else done


def judge_folder(
    folder: EvidenceFolder,
    evaluators: Sequence[Evaluator],
    pack: WorkflowPack,
) -> Iterator[ScenarioVerdict]:
    """Judge every run of a folder anew, by the scenarios that lie in it.

    A run whose events have fields of types that no run writes gets the verdict `error`.
    """
    runs = {run.run_id: run for run in folder.plan().runs}
    for stored in folder.runs():
        run = runs[stored.run_id]
        yield _or_broken(run, partial(_judged_anew, run, stored, evaluators, pack))


def _judged_anew(
    run: PlannedRun, stored: StoredRun, evaluators: Sequence[Evaluator], pack: WorkflowPack
) -> ScenarioVerdict:
    faults = to_fault_plans(run.located.scenario)
    evidence = build_evidence(stored.run_id, stored.lines, stored.initial, faults=faults)
    return judge(run.located, evidence, evaluators, pack)
