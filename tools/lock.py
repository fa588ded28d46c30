"""Writes requirements.lock anew: pins and hashes for every supported Python, and no address.

The resolver (uv) is installed into an environment of its own and is needed here only: what it
writes is installed with pip.
"""

from __future__ import annotations

import subprocess
import sys

from tools.environment import LOCK, ROOT, interpreter_of

RESOLVER = "uv==0.13.9"
FOLDER = ROOT / ".venv-lock"


def main() -> int:
    """The lock has been written, holds hashes and no address (0), or is refused (1)."""
    interpreter = interpreter_of(FOLDER)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    subprocess.run([str(interpreter), "-m", "pip", "install", "-qq", RESOLVER], check=True)
    compile_lock = [str(interpreter), "-m", "uv", "pip", "compile", "pyproject.toml"]
    options = ["--extra", "dev", "--universal", "--python-version", "3.11", "--generate-hashes"]
    silence = ["--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links"]
    output = ["--quiet", "--upgrade", "--output-file", LOCK.name]
    subprocess.run([*compile_lock, *options, *silence, *output], cwd=ROOT, check=True)
    text = LOCK.read_text("utf-8")
    if "://" in text or "--hash=sha256:" not in text:
        print(f"{LOCK.name} holds an address or no hash: do not commit it", file=sys.stderr)
        return 1
    print(f"{LOCK.name} holds {text.count('==')} pins; review the difference before committing it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
