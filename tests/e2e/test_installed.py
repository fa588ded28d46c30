"""arh as its users get it: a wheel in an environment of its own, used from an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIRST_VERDICT_S_MAX = 5

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel, and the folder from which it is used."""

    scripts: Path
    folder: Path

    def command(self, name: str, *words: str) -> subprocess.Popen[str]:
        """Start a program of the environment in the folder."""
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return subprocess.Popen(
            [str(self.scripts / name), *words],
            cwd=self.folder,
            env={**surroundings, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built from this tree and installed without the tree.

    Its dependencies are this environment's: one line in a `.pth` file lets them be found, and does
    not let the editable install be found, whose own `.pth` file is not read that way.
    """
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run([*pip, *build], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    python = Path(paths["scripts"]) / "python"
    install = ["install", "-q", "--no-deps", str(wheel)]
    subprocess.run([*pip, "--python", str(python), *install], check=True, capture_output=True)
    own = sysconfig.get_paths()["purelib"]
    Path(paths["purelib"], "dependencies.pth").write_text(f"{own}\n", "utf-8")
    empty = folder / "empty"
    empty.mkdir()
    return Installed(Path(paths["scripts"]), empty)


def test_the_installed_package_is_the_wheels(installed: Installed) -> None:
    """Nothing of the tree is imported, and the console script answers."""
    where, _ = installed.command("python", "-c", "import arh; print(arh.__file__)").communicate()
    version, _ = installed.command("arh", "--version").communicate()

    assert Path(where.strip()).is_relative_to(installed.scripts.parent)
    assert version.startswith("arh ")


def test_the_gate_decides_on_the_packaged_suite_at_once(installed: Installed) -> None:
    """From an empty folder: the first verdict within seconds, a pass at the end, a report here."""
    began = time.monotonic()
    gate = installed.command("python", "-m", "arh.harness.release_gate")
    assert gate.stdout is not None
    first = next(line for line in gate.stdout if line.startswith(("PASS", "FAIL")))
    first_s = time.monotonic() - began
    _, complaints = gate.communicate()

    scorecard = json.loads((installed.folder / "reports/latest/scorecard.json").read_bytes())
    assert (gate.returncode, complaints) == (0, "")
    assert first.startswith("PASS ")
    assert first_s < FIRST_VERDICT_S_MAX
    assert (scorecard["decision"], scorecard["about"]["root"]) == ("pass", "packaged")


def test_a_packaged_scenario_is_run_by_the_name_that_reports_use(installed: Installed) -> None:
    """`arh run` finds it below the packaged suite, whichever workflow it is of."""
    for place in ("support/golden/billing-incident-001", "expense/golden/travel-paid-001"):
        run = installed.command("arh", "run", f"{place}.jsonl:1")

        told, complaints = run.communicate()

        assert (run.returncode, complaints) == (0, "")
        assert "verdict  pass" in told
