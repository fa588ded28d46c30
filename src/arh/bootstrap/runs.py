"""What the runs of a plan need: pipelines, tracing, and the command that repeats one run."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path

from arh.bootstrap.suite import SEED, WORKFLOW, Suite
from arh.bootstrap.system import Composer
from arh.bootstrap.under_test import CallableUnderTest, UnderTest
from arh.harness.authoring.plan import plan_runs
from arh.harness.authoring.roots import Root
from arh.harness.evidence.recorder import keep_all
from arh.harness.null_agent import BenchOf
from arh.harness.pipeline import Pipeline, tried_idle
from arh.harness.running.runner import Bench
from arh.harness.running.watchdog import AgentThread
from arh.harness.tracing import Tracing
from arh.ports.sue import Agent
from arh.records.control.evidence import StateView
from arh.records.control.plan import Located, RunPlan
from arh.sim.clock import epoch_ns
from arh.telemetry.otlp import exporter
from arh.telemetry.redaction import Redactor

OTLP_ENDPOINT = "ARH_OTLP_ENDPOINT"
REDACTION_KEY = "ARH_REDACTION_KEY"


def pipeline(
    suite: Suite, plan: RunPlan, under_test: UnderTest, *, tracing: Tracing | None = None
) -> Pipeline:
    """Return everything that the runs of a plan need; without `tracing` no span is collected."""
    agent, models = under_test.agent, under_test.models
    composer = Composer(suite.configuration, agent.factory(), agent.name, models)
    redactor = Redactor(suite.pack, key=os.environ.get(REDACTION_KEY, "").encode())
    bench = Bench(composer, suite.pack, plan.digest, redact=redactor)
    walls = [wall for wall in (agent.wall_s_max, models.wall_s_max) if wall is not None]
    if walls:
        bench.clock, bench.task_ms_max = "hybrid", sum(walls) * 1000
    if isinstance(agent, CallableUnderTest):
        # A process is ended at its limit, and the watchdog stands behind that. This has no other.
        bench.wall_ms_max = 0
    if tracing is not None:
        bench.telemetry = tracing.port
    replay, idle = replayer(suite, plan, under_test), idle_bench(suite, plan)
    return Pipeline(bench, suite.catalogue, suite.evaluators, replay, tracing, idle)


def idle_bench(suite: Suite, plan: RunPlan) -> BenchOf:
    """Return what makes the bench of a plan with another agent, for runs that leave nothing."""
    states: dict[str, tuple[bytes, StateView]] = {}
    thread = AgentThread()

    def bench_of(agent: Agent) -> Bench:
        composer = Composer(suite.configuration, lambda _actor, _telemetry: agent, "null")
        bench = Bench(composer, suite.pack, plan.digest, redact=keep_all)
        bench.states, bench.thread = states, thread
        return bench

    return bench_of


def idle_of(suite: Suite) -> tuple[str, ...]:
    """Return the acceptance scenarios of a suite, by id, that an agent passes by doing nothing."""
    plan = plan_runs(suite.loaded.scenarios, seed=SEED)
    one = pipeline(suite, plan, UnderTest())
    found = {run.located.scenario.id for run in plan.runs if tried_idle(run, one)}
    return tuple(sorted(found))


def trace_to(folder: Path, *, wanted: bool) -> Tracing | None:
    """Return the tracing of a suite if it is wanted, or if the environment names a collector."""
    endpoint = os.environ.get(OTLP_ENDPOINT, "")
    if not wanted and not endpoint:
        return None
    sender = exporter(endpoint) if endpoint else None
    nonce = hashlib.sha256(f"{epoch_ns()}:{os.getpid()}".encode()).hexdigest()
    return Tracing(folder / "telemetry.jsonl", nonce=nonce, exporter=sender)


def replayer(suite: Suite, plan: RunPlan, under_test: UnderTest) -> Callable[[Located], str]:
    """Return what names the command that runs one scenario of a plan again, exactly alike."""
    named = {
        "datasets": _flagged(suite.roots["datasets"]),
        "fixtures": _flagged(suite.roots["fixtures"]),
        "workflow": suite.pack.name if suite.pack.name != WORKFLOW else None,
        "seed": str(plan.seed) if plan.seed != SEED else None,
        **under_test.agent.options,
        **under_test.models.options,
    }
    given = {name: value for name, value in named.items() if value is not None}
    options = "".join(_typed(name, value) for name, value in given.items())
    root = suite.roots["scenarios"]
    folder = root.path if root.kind == "flag" and root.path.is_dir() else None

    def replay(located: Located) -> str:
        place = located.location if folder is None else f"{folder}/{located.location}"
        return f"arh run {shlex.quote(place)}{options}"

    return replay


def _typed(name: str, value: str) -> str:
    """Return an option as it is typed; an empty value is that of an option that takes none."""
    return f" --{name} {shlex.quote(value)}" if value else f" --{name}"


def _flagged(root: Root) -> str | None:
    return str(root.path) if root.kind == "flag" else None
