"""How costs grow: with the scenarios of a suite, and with the records of a state.

`python -m benchmarks.scaling COUNT` runs a suite of that many scenarios in a process of its own,
since a process never gives back the most memory that it ever held.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

from arh.bootstrap import Composer
from arh.canonical import Json
from arh.harness.composition import Composition, compose
from arh.harness.environment import RunEnvironment, Silent
from arh.harness.evidence_store import verify
from arh.harness.pipeline import run_suite
from arh.harness.recorder import RunRecorder
from arh.ports.sue import Gateway
from arh.records.messages import ToolRequest
from arh.records.setup import SeedRecord
from arh.sim.clock import VirtualClock
from benchmarks.golden import ROOT, Golden, copies
from benchmarks.measuring import Row, cheapest, cpu_us

SMALL, LARGE, LARGEST = 60, 600, 2400
FEW, MANY = 10, 10_000
KIB = 1024


def suite_rows() -> list[Row]:
    """Return what suites of growing size cost for each scenario, and how much memory they hold."""
    small, large, largest = (_measured(size) for size in (SMALL, LARGE, LARGEST))
    grown = (largest["rss_kib"] - large["rss_kib"]) / KIB
    speed = large["lines"] / large["verify_us"] * 1e6
    return [
        Row(f"{LARGE} scenarios / {SMALL}, CPU for each", large["us"] / small["us"], 1.1),
        Row(f"{LARGEST} scenarios / {LARGE}, CPU for each", largest["us"] / large["us"], 1.1),
        Row(f"memory of {LARGEST} scenarios over {LARGE}", grown, 10, "MiB"),
        Row("a scenario of a suite, read, run, judged, written", large["us"], unit="us"),
        Row("verify, entries a second", speed, unit="/s"),
    ]


def record_row() -> Row:
    """Return what an action costs among many records in proportion to few."""
    with tempfile.TemporaryDirectory() as folder:
        golden = Golden(Path(folder))
        works = {str(size): _Actions(golden, size) for size in (FEW, MANY)}
        best = cheapest(works)
    name = f"an action on {MANY:,} records / on {FEW}"
    return Row(name, best[str(MANY)] / best[str(FEW)], 1.5, note=f"{best[str(FEW)]:.0f} us")


class _Actions:
    """Called again and again, each time opens one more ticket in a state of that many records.

    The state is made anew after as many calls as leave its size about what it was.
    """

    def __init__(self, golden: Golden, size: int) -> None:
        self._golden, self._size = golden, size
        self._numbers = count(1)
        self._gateway = self._seeded()

    def __call__(self) -> None:
        number = next(self._numbers)
        arguments = {
            "account_id": "A-1007",
            "category": "billing_incident",
            "summary": "charged twice",
            "proposed_action": "credit_review",
            "idempotency_key": f"key-{number:08d}",
        }
        text = Json.of(arguments).data.decode()
        request = ToolRequest(f"call-{number}", "create_ticket", text)
        outcome = self._gateway.call(request, timeout_ms=1000)
        if outcome.status != "executed":
            raise RuntimeError(f"the action is to succeed: {outcome.reason}")

    def _seeded(self) -> Gateway:
        bench = self._golden.pipeline.bench
        run = compose(self._golden.plan.runs[0], bench.pack, self._golden.pipeline.catalogue)
        setup = replace(run.setup, seeds=(*run.setup.seeds, *self._more(run)))
        clock = VirtualClock()
        recorder = RunRecorder(setup.run_id, "", clock)
        environment = RunEnvironment(clock, (), recorder, lambda _point: None, Silent())
        if not isinstance(bench.build, Composer):
            raise TypeError("expected the composer of the composition root")
        return bench.build(setup, environment).gateway(setup.actors[0].actor)

    def _more(self, run: Composition) -> list[SeedRecord]:
        account = next(seed for seed in run.setup.seeds if seed.collection == "accounts")
        return [
            replace(account, key=f"A-9{number:07d}")
            for number in range(max(0, self._size - len(run.setup.seeds)))
        ]


def _measured(size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scaling", str(size)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _suite(size: int) -> dict[str, float]:
    """Read, run, judge and write a suite of that size; the first of three passes is a warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        source = copies(Path(folder) / "scenarios", size)
        passes = max(3, 600 // size) if size <= LARGE else 2
        best = min(_pass(source, Path(folder) / f"e{n}", size) for n in range(passes))
        last = Path(folder) / f"e{passes - 1}"
        lines = sum(part.read_bytes().count(b"\n") for part in last.glob("part-*.jsonl"))
        rss_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        verify_us, problems = cpu_us(lambda: verify(last))
        if problems:
            raise RuntimeError(problems[0])
    return {"us": best, "rss_kib": rss_kib, "lines": lines, "verify_us": verify_us}


def _pass(source: Path, evidence: Path, size: int) -> float:
    began = time.process_time_ns()
    golden = Golden(evidence, source)
    verdicts = run_suite(golden.plan, golden.pipeline, golden.writer)
    golden.writer.close({})
    spent = (time.process_time_ns() - began) / 1000
    if [verdict.status for verdict in verdicts] != ["pass"] * size:
        raise RuntimeError("every copy of the golden scenario is to pass")
    return spent / size


if __name__ == "__main__":
    print(json.dumps(_suite(int(sys.argv[1]))))
