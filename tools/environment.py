"""Makes a virtual environment hold exactly what requirements.lock pins, and arh itself, editable.

Runs before anything is installed, so it uses the standard library only. `make` starts it for
`.venv`; `tools.check` uses it for the other Pythons. A stamp inside the environment records what
was installed: as long as the lock, the packaging tables of pyproject.toml and the Python are the
same, a second call installs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
MUTATION_LOCK = ROOT / "tools" / "mutation.lock"
STAMP = ".arh-installed"


def ensure(
    folder: Path, *, python: str, version: str, lock: Path = LOCK, with_arh: bool = True
) -> Path:
    """The environment in `folder` matches the lock; its interpreter is returned.

    `python` is the command that makes a new environment, `version` its "major.minor". An agent's
    environment is one without arh. Raises CalledProcessError if an installer fails: the stamp is
    written last, so the next call tries again.
    """
    interpreter = interpreter_of(folder)
    stamp = folder / STAMP
    wanted = fingerprint(version, lock, with_arh=with_arh)
    if interpreter.exists() and stamp.exists() and stamp.read_text("utf-8") == wanted:
        stamp.touch()
        return interpreter
    started = time.monotonic()
    print(f"installing into {_shown(folder)} with Python {version} ...", flush=True)
    if version_of(str(interpreter)) != version:
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
    _install(interpreter, lock, with_arh=with_arh)
    stamp.write_text(wanted, "utf-8")
    print(f"installed into {_shown(folder)} in {time.monotonic() - started:.0f} s", flush=True)
    return interpreter


def fingerprint(version: str, lock: Path, *, with_arh: bool = True) -> str:
    """A digest that changes exactly when something must be installed anew."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packaging = [pyproject["build-system"], pyproject["project"], pyproject["tool"]["hatch"]]
    packaging = packaging if with_arh else []
    digest = hashlib.sha256(lock.read_bytes())
    digest.update(json.dumps([version, packaging], sort_keys=True).encode())
    return digest.hexdigest() + "\n"


def interpreter_of(folder: Path) -> Path:
    """The path of the interpreter in the environment `folder`, whether or not it exists."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def version_of(python: str) -> str | None:
    """The "major.minor" of a command, or None if it is no Python that can make environments.

    The command is run: a version manager's shim can be on the path for a Python that it refuses
    to start, and some distributions ship Python without what an environment needs.
    """
    show = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", show], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _install(interpreter: Path, lock: Path, *, with_arh: bool) -> None:
    pip = [str(interpreter), "-m", "pip", "--disable-pip-version-check", "install", "-qq"]
    # The lock is complete, so nothing is left to resolve; hatchling and editables are in it, so
    # arh itself is installed without a second, isolated environment.
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(lock)], check=True)
    if with_arh:
        editable = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
        subprocess.run([*pip, *editable], check=True)


def _shown(folder: Path) -> str:
    return os.path.relpath(folder, ROOT)


if __name__ == "__main__":
    ensure(
        ROOT / sys.argv[1],
        python=sys.executable,
        version=f"{sys.version_info.major}.{sys.version_info.minor}",
    )
