"""Writes the locks anew: pins and hashes for every supported Python, and no address.

requirements.lock serves users of the repository and CI, tools/mutation.lock only `make mutation`,
whose libraries nobody else should have to install, and each lock of tests/frameworks the
environment of one framework, whose ranges stand beside it. The resolver (uv) is installed into an
environment of its own and is needed here only: what it writes is installed with pip.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.environment import LOCK, MUTATION_LOCK, ROOT, interpreter_of

RESOLVER = "uv==0.13.9"
FOLDER = ROOT / ".venv-lock"
FRAMEWORKS = sorted(ROOT.glob("tests/frameworks/locks/*.in"))
LOCKS = {LOCK: ("dev",), MUTATION_LOCK: ("dev", "mutation")}


def main() -> int:
    """Every lock has been written, with hashes and without an address (0), or is refused (1)."""
    interpreter = interpreter_of(FOLDER)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    subprocess.run([str(interpreter), "-m", "pip", "install", "-qq", RESOLVER], check=True)
    options = {lock: _extras(extras) for lock, extras in LOCKS.items()}
    options |= {ranges.with_suffix(".lock"): [_named(ranges)] for ranges in FRAMEWORKS}
    for lock, sources in options.items():
        resolve(interpreter, lock, sources)
        text = lock.read_text("utf-8")
        if "://" in text or "--hash=sha256:" not in text:
            print(f"{lock.name} holds an address or no hash: do not commit it", file=sys.stderr)
            return 1
        print(f"{lock.name} holds {text.count('==')} pins; review the difference, then commit it")
    return 0


def resolve(interpreter: Path, lock: Path, sources: list[str]) -> None:
    """The lock holds the newest releases that the ranges of its sources allow."""
    command = [str(interpreter), "-m", "uv", "pip", "compile", "--quiet", *sources]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
    command += ["--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links"]
    command += ["--output-file", str(lock.relative_to(ROOT))]
    subprocess.run(command, cwd=ROOT, check=True)


def _extras(extras: tuple[str, ...]) -> list[str]:
    return ["pyproject.toml", *(f"--extra={extra}" for extra in extras)]


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.exit(main())
