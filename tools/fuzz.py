"""Lets a coverage-guided fuzzer choose what the readers of recordings are given.

`make fuzz` starts it after the property tests, `make fuzz TARGETS="traces-gemini"` for a part. Each
target has so many seconds (FUZZ_SECONDS, default 60), one second for an input, and a gigabyte. What
breaks is kept in `.venv-fuzz/found/`, with the command that shows it again. The fuzzer comes into
an environment of its own and needs Linux.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools import environment
from tools.environment import ROOT

LOCK = ROOT / "tools" / "fuzz.lock"
FOLDER = ROOT / ".venv-fuzz"
SECONDS = os.environ.get("FUZZ_SECONDS", "60")
LIMITS = ("-timeout=1", "-rss_limit_mb=1024", "-max_len=65536", "-print_final_stats=1")


def main(names: list[str]) -> int:
    """Every chosen target has been fuzzed; 1 if one of them broke."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = environment.ensure(FOLDER, python=sys.executable, version=version, lock=LOCK)
    chosen = names or _listed(interpreter)
    broken = [name for name in chosen if not _fuzzed(interpreter, name)]
    print(f"broken: {', '.join(broken)}" if broken else f"{len(chosen)} targets, none broke")
    return 1 if broken else 0


def _listed(interpreter: Path) -> list[str]:
    show = "from tests.fuzzing.targets import targets; print(*targets())"
    done = subprocess.run(
        [str(interpreter), "-c", show], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def _fuzzed(interpreter: Path, name: str) -> bool:
    """One target has been fuzzed in a process of its own; false if it broke."""
    corpus, found = FOLDER / "corpus" / name, FOLDER / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    print(f"\n== {name}", flush=True)
    command = [
        str(interpreter),
        "-m",
        "tools.fuzz_one",
        name,
        str(corpus),
        *LIMITS,
        f"-max_total_time={SECONDS}",
        f"-artifact_prefix={found}/",
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
