"""The example of a remote tool, as a reader runs it: its service is a process of its own.

The pack is made known by the metadata of an installed distribution, in a folder on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "remote"
GOLDEN = "scenarios/desk/golden/tickets.jsonl"
WIRE = "scenarios/desk/recovery/wire.jsonl"
TIMEOUT_S = 120

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the example with its distribution's metadata beside the package."""
    copy = tmp_path / "remote"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", "reports"))
    metadata = copy / "desk_workflow-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: desk-workflow\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[arh.workflows]\ndesk = desk_workflow:pack\n")
    return copy


@contextmanager
def desk(folder: Path, *flags: str) -> Iterator[str]:
    """Run the example's service and return its address."""
    command = [sys.executable, str(folder / "desk_service.py"), "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            yield service.stdout.readline().strip()
        finally:
            service.terminate()


def typed(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what a command of arh does in the example's folder."""
    surroundings = {
        **os.environ,
        "ARH_SERVICE_DESK": url,
        "ARH_STATE_DESK": url,
        "PYTHONPATH": str(folder),
    }
    return subprocess.run(
        [sys.executable, "-m", "arh", *words],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


def test_every_scenario_of_the_example_passes(folder: Path) -> None:
    """Every run passes with every fault delivered, and its evidence is judged alike from disk."""
    with desk(folder) as url:
        done = typed(folder, url, "gate", "--workflow", "desk")
        again = typed(folder, url, "evaluate", "reports/latest", "--workflow", "desk")
        verified = typed(folder, url, "verify", "reports/latest")

    assert done.returncode == 3, done.stdout + done.stderr  # it exercises no guardrail
    assert "runs with a verdict 7/7" in done.stdout
    assert "faults delivered 6/6" in done.stdout
    assert done.stdout.count("PASS ") == 7
    assert again.returncode == 3, again.stdout + again.stderr
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert sum(line.startswith("pass ") for line in again.stdout.splitlines()) == 6


def test_a_desk_that_lies_fails(folder: Path) -> None:
    """The desk answers with a ticket and files none: its own state says so."""
    with desk(folder, "--lies") as url:
        done = typed(folder, url, "run", f"{GOLDEN}:1", "--workflow", "desk")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "found no row" in done.stdout


def test_a_desk_that_forgets_keys_fails(folder: Path) -> None:
    """A request that the network delivers twice is two tickets there."""
    with desk(folder, "--forgets") as url:
        done = typed(folder, url, "run", f"{WIRE}:4", "--workflow", "desk")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "found 2" in done.stdout


def test_without_a_desk_nothing_is_decided(folder: Path) -> None:
    """A state that cannot be read leaves the run indeterminate, exit code 3."""
    done = typed(folder, "http://127.0.0.1:9", "run", f"{GOLDEN}:1", "--workflow", "desk")

    assert done.returncode == 3, done.stdout + done.stderr
    assert "was not read at its consistency point" in done.stdout


def test_the_readers_example_conforms() -> None:
    """The source of twenty lines does all that a source must."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "readers" / "orders.py")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "6 checks hold\n")
