"""Two executions of one suite leave the same bytes, whatever surrounds them.

Hash seed, time zone, locale, working folder, order of the files on disk and the Python may differ;
evidence, scorecard, pages, JUnit and console may not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAKING = Path(__file__).with_name("leaking.py")
SUITE = ("scenarios", "datasets", "fixtures", "profiles")
HERE = {"PYTHONHASHSEED": "1", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}
# As little help as Python can get: an ASCII locale that it may not improve.
THERE = {
    "PYTHONHASHSEED": "4242",
    "TZ": "Pacific/Kiritimati",
    "LC_ALL": "POSIX",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}
AS_OF = ("--as-of", "2026-11-01")


@pytest.mark.slow
def test_a_suite_leaves_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    """All files of the report and the console's lines are equal, name by name."""
    here = report(suite_in(tmp_path / "here"), HERE)
    there = report(suite_in(tmp_path / "a" / "place far away", backwards=True), THERE)

    assert {"scorecard.json", "scorecard.md", "junit.xml", "evidence/manifest.json"} <= set(here)
    assert [name for name in here | there if here.get(name) != there.get(name)] == []


@pytest.mark.slow
def test_a_suite_leaves_the_same_bytes_under_every_python(tmp_path: Path) -> None:
    """Also where another version of Python orders, hashes and prints."""
    others = other_pythons()
    if not others:
        pytest.skip("no environment of another Python is here: make test makes them")
    own = report(suite_in(tmp_path / "own"), HERE)

    for number, python in enumerate(others):
        other = report(suite_in(tmp_path / str(number)), THERE, python=python)
        assert [name for name in own | other if own.get(name) != other.get(name)] == []


@pytest.mark.slow
def test_a_leak_into_evidence_is_seen() -> None:
    """A memory address in a tool's result makes two processes differ, and nothing else does."""
    clean = [roots("clean", seed) for seed in ("1", "2")]
    leaking = [roots("leak", seed) for seed in ("1", "2")]

    assert clean[0] == clean[1]
    assert all(one != other for one, other in zip(*leaking, strict=True))


def suite_in(folder: Path, *, backwards: bool = False) -> Path:
    """A copy of the suite; backwards, its files were created in the opposite order."""
    files = sorted(path for name in SUITE for path in (ROOT / name).rglob("*") if path.is_file())
    for path in reversed(files) if backwards else files:
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return folder


def report(folder: Path, surroundings: dict[str, str], *, python: str = "") -> dict[str, bytes]:
    """Run the gate in the folder and return every file that it left, by name."""
    done = subprocess.run(
        [python or sys.executable, "-m", "arh.harness.release_gate", *AS_OF],
        cwd=folder,
        env={**os.environ, **surroundings},
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 1, 3}, done.stderr.decode()
    latest = folder / "reports" / "latest"
    files = {
        path.relative_to(latest).as_posix(): path.read_bytes()
        for path in latest.rglob("*")
        if path.is_file()
    }
    return {**files, "console": done.stdout}


def roots(mode: str, seed: str) -> list[str]:
    """The chain roots of the golden runs, from a process with this hash seed."""
    done = subprocess.run(
        [sys.executable, str(LEAKING), mode],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def other_pythons() -> list[str]:
    """The interpreters of this repository's other environments that have arh."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    show = "import arh, sys; print('%d.%d' % sys.version_info[:2])"
    found: dict[str, str] = {}
    for python in sorted(ROOT.glob(".venv*/bin/python")):
        done = subprocess.run(
            [str(python), "-c", show], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), str(python))
    return [python for version, python in found.items() if version != own]
