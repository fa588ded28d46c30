"""How costs grow: with the scenarios of a suite, and with the records of a state.

`python -m benchmarks.scaling SCENARIOS TRIALS` runs a suite of that many scenarios, each that many
times, in a process of its own: a process never gives back the most memory that it ever held.

Memory is compared between equally many scenarios that run once and four times: what is loaded is
held until all of it was checked, what was run is not to be held at all, its verdict apart.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from arh.canonical import Json
from arh.harness.evidence.evidence_store import EvidenceFolder, verify
from arh.harness.evidence.recorder import RunRecorder
from arh.harness.pipeline import run_suite
from arh.harness.running.composition import compose
from arh.harness.running.environment import RunEnvironment
from arh.ports.sue import Gateway
from arh.records.messages import ToolRequest
from arh.sim.clock import VirtualClock
from benchmarks.golden import ROOT, Golden, copies
from benchmarks.measuring import BATCHES, Row, cpu_us

SMALL, LARGE, LARGEST = 60, 600, 2400
FEW, MANY = 10, 10_000
ACTIONS = 20


def suite_rows() -> list[Row]:
    """Return what suites of growing size cost for each scenario, and how much memory they hold."""
    small, large, largest = (_measured(size) for size in (SMALL, LARGE, LARGEST))
    again = _measured(LARGE, trials=LARGEST // LARGE)
    held = (again["rss_kib"] - large["rss_kib"]) / (LARGEST - LARGE)
    loaded = (largest["rss_kib"] - again["rss_kib"]) / (LARGEST - LARGE)
    speed = large["lines"] / large["verify_us"] * 1e6
    return [
        Row(f"{LARGE} scenarios / {SMALL}, CPU for each", large["us"] / small["us"], 1.1, "x"),
        Row(f"{LARGEST} scenarios / {LARGE}, CPU for each", largest["us"] / large["us"], 1.1, "x"),
        Row("memory for one more run: its verdict", held, 10, "KiB"),
        Row("memory for one more scenario, as it was read", loaded, unit="KiB"),
        Row("a scenario read, run, judged, written", large["us"], unit="us"),
        Row("verify, entries a second", speed, unit="/s"),
    ]


def record_row() -> Row:
    """Return what an action costs among many records in proportion to few."""
    with tempfile.TemporaryDirectory() as folder:
        golden = Golden(Path(folder))
        best = {FEW: math.inf, MANY: math.inf}
        for _ in range(BATCHES):
            for size, us in best.items():
                best[size] = min(us, _action_us(golden, size))
    name = f"an action on {MANY:,} records / on {FEW}"
    return Row(name, best[MANY] / best[FEW], 1.5, "x", f"{best[MANY]:.0f} us")


def _action_us(golden: Golden, size: int) -> float:
    """Return the CPU microseconds of opening a ticket in a fresh state of about that many records.

    Each action adds records of its own, so there are few of them.
    """
    gateway = _seeded(golden, size)
    _act(gateway, range(1))
    return cpu_us(lambda: _act(gateway, range(1, ACTIONS + 1)))[0] / ACTIONS


def _act(gateway: Gateway, numbers: Iterable[int]) -> None:
    for number in numbers:
        arguments = {
            "account_id": "A-1007",
            "category": "billing_incident",
            "summary": "charged twice",
            "proposed_action": "credit_review",
            "idempotency_key": f"key-{number:08d}",
        }
        text = Json.of(arguments).data.decode()
        outcome = gateway.call(ToolRequest(f"c-{number}", "create_ticket", text), timeout_ms=1000)
        if outcome.status != "executed":
            raise RuntimeError(f"the action is to succeed: {outcome.reason}")


def _seeded(golden: Golden, size: int) -> Gateway:
    bench = golden.pipeline.bench
    composition = compose(golden.plan.runs[0], bench.pack, golden.pipeline.catalogue)
    setup = composition.setup
    account = next(seed for seed in setup.seeds if seed.collection == "accounts")
    others = (replace(account, key=f"A-9{number:07d}") for number in range(size))
    setup = replace(setup, seeds=(*setup.seeds, *others))
    clock = VirtualClock()
    recorder = RunRecorder(setup.run_id, "", clock, redact=bench.redact)
    environment = RunEnvironment(clock, (), recorder, lambda _point: None, None)
    return bench.build(setup, environment).gateway(setup.actors[0].actor)


def _measured(size: int, *, trials: int = 1) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scaling", str(size), str(trials)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _suite(size: int, trials: int) -> dict[str, float]:
    """Read, run, judge and write such a suite a few times, and verify the last folder."""
    with tempfile.TemporaryDirectory() as folder:
        source = copies(Path(folder) / "scenarios", size)
        passes = max(3, LARGE // size)
        folders = [Path(folder) / f"evidence-{number}" for number in range(passes)]
        best = min(_pass(source, evidence, trials) for evidence in folders)
        rss_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        lines = sum(stored.entry["lines"] for stored in EvidenceFolder(folders[-1]).runs())
        verify_us, problems = cpu_us(lambda: verify(folders[-1]))
        if problems:
            raise RuntimeError(problems[0])
    return {"us": best, "rss_kib": rss_kib, "lines": lines, "verify_us": verify_us}


def _pass(source: Path, evidence: Path, trials: int) -> float:
    """Return the CPU microseconds of one run, reading and writing included."""
    began = time.process_time_ns()
    golden = Golden(evidence, source, trials=trials)
    verdicts = run_suite(golden.plan, golden.pipeline, golden.writer)
    golden.close()
    spent = (time.process_time_ns() - began) / 1000
    if any(verdict.status != "pass" for verdict in verdicts):
        raise RuntimeError("every copy of the golden scenario is to pass")
    return spent / len(verdicts)


if __name__ == "__main__":
    print(json.dumps(_suite(*map(int, sys.argv[1:]))))
