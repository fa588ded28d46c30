"""What the tests of commands share: a copy of the suite, and the commands in processes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = ("scenarios", "datasets", "fixtures", "profiles")
AS_OF = "2026-11-01"


@dataclass(frozen=True)
class Project:
    """A folder with a suite in it, where somebody types commands."""

    folder: Path

    def arh(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type `arh` and these words."""
        return self.typed(sys.executable, "-m", "arh", *words)

    def gate(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type the gate's long form, at a given date."""
        long = (sys.executable, "-m", "arh.harness.release_gate", "--as-of", AS_OF)
        return self.typed(*long, *words)

    def typed(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Type a command."""
        return subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def scorecard(self, report: str = "reports/latest") -> dict[str, Any]:
        """The scorecard of a report."""
        value: dict[str, Any] = json.loads((self.folder / report / "scorecard.json").read_bytes())
        return value

    def change(self, place: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the one scenario of a file below `scenarios/support`."""
        path = self.folder / "scenarios" / "support" / place
        value = json.loads(path.read_bytes())
        change(value)
        path.write_text(json.dumps(value) + "\n", "utf-8")


def copied(folder: Path) -> Project:
    """A project with a copy of the suite that comes with arh."""
    for name in SUITE:
        shutil.copytree(ROOT / name, folder / name)
    return Project(folder)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project of the test's own."""
    return copied(tmp_path)


@pytest.fixture(scope="session")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose gate has passed and left its report; tests only read it."""
    project = copied(tmp_path_factory.mktemp("passed"))
    done = project.gate("--save-baseline", "baseline.json")
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    return project
