"""What it costs to start the commands: the CPU time of a process that does nothing else.

Modules are compiled once, to a folder of ours, whatever the environment says of writing bytecode: a
user's second start finds them compiled too.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from benchmarks.golden import ROOT, SCENARIO
from benchmarks.measuring import Row

TRIES = 5
LOADED = (
    "from arh.harness import release_gate as gate;"
    "gate.prepared(gate.parser().parse_args(['--scenarios', {path!r}]))"
)


def start_rows() -> list[Row]:
    """Return what the commands cost from process start to the first thing they could do."""
    load = LOADED.format(path=str(SCENARIO))
    with tempfile.TemporaryDirectory() as cache:
        version = cpu_ms(["-m", "arh", "--version"], cache)
        usage = cpu_ms(["-m", "arh", "--help"], cache)
        gate = cpu_ms(["-c", load], cache)
    return [
        Row("arh --version", version, 150, "ms"),
        Row("arh --help", usage, 150, "ms"),
        Row("start of the gate", gate, 500, "ms", "one scenario read"),
    ]


def cpu_ms(words: list[str], cache: str) -> float:
    """Return the least CPU time of a few starts, the process's own and the system's for it."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return min(_once(words, environment) for _ in range(TRIES))


def _once(words: list[str], environment: dict[str, str]) -> float:
    before = _children_s()
    command = [sys.executable, *words]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    return (_children_s() - before) * 1000


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
