"""What judging recorded traces costs: beside the public tool, growing, in memory, at the start."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from arh.traces.authoring.policy import Policy
from arh.traces.judging.validator import validate_trace
from arh.traces.reading.source import read_traces
from benchmarks.golden import ROOT
from benchmarks.measuring import Row, cpu_us
from benchmarks.starts import cpu_ms
from benchmarks.trace_workload import POLICY, trace
from tools import environment

TRACES, STEPS = 2_000, 20
LONG, LONGER = 10_000, 100_000
FULL = 60_000  # with texts of full length; more would not be read
KINDS = ("clean", "failing", "distinct")
ROUNDS = 3
READ = Policy.from_dict(POLICY)
PEAK = """
import sys
from arh.cli.validate import main
main([sys.argv[1], "--policy", sys.argv[2], "--quiet"])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def trace_rows() -> Iterator[Row]:
    """Yield every figure."""
    yield from _peer_rows()
    yield from (_growth_row(kind) for kind in KINDS)
    if sys.platform == "linux":
        yield from _memory_rows()
    yield _start_row()


def _peer_rows() -> Iterator[Row]:
    """Yield our share of the public tool's CPU time for the same traces with the same verdicts."""
    texts = [trace(f"t{n}", STEPS) for n in range(TRACES)]
    ours, passed = _judged_s([text.encode() for text in texts])
    step = f"{ours / TRACES / STEPS * 1e6:.1f} us a step"
    yield Row("2,000 traces of 20 steps", ours, None, "s", step)
    peer = _peer(texts)
    if peer is None:
        yield Row("the public tool is not installed here", 0)
        return
    seconds, theirs = peer
    if theirs != passed:
        raise AssertionError(f"{passed} traces pass here and {theirs} there")
    yield Row("ours / the public tool", ours / seconds, 1 / 3, "x", f"{seconds:.2f} s there")


def _judged_s(texts: list[bytes]) -> tuple[float, int]:
    """Return the least CPU seconds of judging all, and how many pass."""
    best, passed = math.inf, 0
    for _ in range(ROUNDS):
        us, passed = cpu_us(lambda: sum(_passes(text) for text in texts))
        best = min(best, us / 1e6)
    return best, passed


def _passes(text: bytes) -> bool:
    return all(validate_trace(each, READ).passed for each in read_traces(text, "t.json"))


def _peer(texts: list[str]) -> tuple[float, int] | None:
    """Return what the public tool needed, and how many pass; `None` where it cannot be had."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    lock = ROOT / "benchmarks" / "peer.lock"
    try:
        interpreter = environment.ensure(
            ROOT / ".venv-peer", python=sys.executable, version=own, lock=lock, with_arh=False
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    lines = "\n".join([json.dumps(POLICY), *texts])
    script = str(ROOT / "benchmarks" / "peer.py")
    done = subprocess.run(
        [str(interpreter), script], input=lines, capture_output=True, text=True, check=True
    )
    seconds, passed = json.loads(done.stdout)
    return float(seconds), int(passed)


def _growth_row(kind: str) -> Row:
    """Return the exponent by which cost grows with the steps of one trace: 1 is linear."""
    texts = [trace("t", steps, kind, brief=True).encode() for steps in (LONG, LONGER)]
    short, long = (_judged_s([text])[0] for text in texts)
    exponent = math.log(long / short) / math.log(LONGER / LONG)
    note = f"{long:.2f} s for {LONGER:,}"
    return Row(f"exponent of growth, {kind} steps", exponent, 1.1, "", note)


def _memory_rows() -> Iterator[Row]:
    """Yield what a long trace takes in proportion to its file, a short one's memory taken off."""
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.json"
        policy.write_text(json.dumps(POLICY), "utf-8")
        least, _ = _peak(Path(folder) / "short.json", trace("t", 1), policy)
        peak, size = _peak(Path(folder) / "long.json", trace("t", FULL), policy)
        yield Row(f"memory / file, {FULL:,} steps", (peak - least) / size, 4, "x", _mib(peak))
        peak, size = _peak(Path(folder) / "brief.json", trace("t", LONGER, brief=True), policy)
        yield Row(f"the same, {LONGER:,} brief steps", (peak - least) / size, None, "x", _mib(peak))


def _peak(path: Path, text: str, policy: Path) -> tuple[int, int]:
    """Return the most memory that the command held, in bytes, and the size of the file."""
    path.write_text(text, "utf-8")
    command = [sys.executable, "-c", PEAK, str(path), str(policy)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024, path.stat().st_size


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"


def _start_row() -> Row:
    """Return what judging one trace costs from the start, beside an import that is hard to beat."""
    with tempfile.TemporaryDirectory() as folder:
        recorded, policy = Path(folder) / "t.json", Path(folder) / "policy.json"
        recorded.write_text(trace("t", STEPS), "utf-8")
        policy.write_text(json.dumps(POLICY), "utf-8")
        cache = os.path.join(folder, "cache")  # noqa: PTH118 - an environment variable's text
        words = ["-m", "arh", "validate", str(recorded), "--policy", str(policy), "--quiet"]
        ours = cpu_ms(words, cache)
        beside = cpu_ms(["-c", "from pydantic import BaseModel"], cache)
    return Row("arh validate / import of pydantic", ours / beside, 2, "x", f"{ours:.0f} ms")
