"""What it costs to start the commands: the CPU time of a process that does nothing else."""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.golden import ROOT, SCENARIO
from benchmarks.measuring import Row

TRIES = 5
LOADED = (
    "from arh.harness import release_gate as gate;"
    "gate.prepared(gate.parser().parse_args(['--scenarios', {path!r}]))"
)


def start_rows() -> list[Row]:
    """Return what the commands cost from process start to the first thing they could do."""
    python = [sys.executable]
    load = LOADED.format(path=str(SCENARIO))
    return [
        Row("arh --version", _cpu_ms([*python, "-m", "arh", "--version"]), 150, "ms"),
        Row("arh --help", _cpu_ms([*python, "-m", "arh", "--help"]), 150, "ms"),
        Row("start of the gate", _cpu_ms([*python, "-c", load]), 500, "ms", "one scenario read"),
    ]


def _cpu_ms(command: list[str]) -> float:
    """Return the least CPU time of a few tries, the process's own and the system's for it."""
    return min(_once(command) for _ in range(TRIES))


def _once(command: list[str]) -> float:
    before = _children_s()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return (_children_s() - before) * 1000


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
