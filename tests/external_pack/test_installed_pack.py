"""A workflow pack of another distribution, in an environment of its own: found, listed, gated.

The environment holds the wheel of arh and the wheel of a pack that `arh new workflow` wrote, and
nothing of this tree. A second pack in it is broken in a way that only loading shows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from arh.scaffold.workflow import write_workflow

ROOT = Path(__file__).resolve().parents[2]
TODAY = "2026-11-01"
TIMEOUT_S = 60
BREAKS = "raise ZeroDivisionError\n"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Elsewhere:
    """An environment, and the folder of the pack that is installed in it."""

    scripts: Path
    site: Path
    folder: Path

    def typed(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment does in the pack's folder."""
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return subprocess.run(
            [str(self.scripts / words[0]), *words[1:]],
            cwd=self.folder,
            env=surroundings,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """The environment with both wheels.

    Its further dependencies are this environment's, as in the tests of the installed arh.
    """
    folder = tmp_path_factory.mktemp("external")
    pack, _ = write_workflow("supplies", folder, today=TODAY)
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    scripts, site = Path(paths["scripts"]), Path(paths["purelib"])
    wheels = [built(ROOT, folder / "arh"), built(pack, folder / "pack")]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    install = ["--python", str(scripts / "python"), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, *install, *map(str, wheels)], check=True, capture_output=True)
    own = sysconfig.get_paths()["purelib"]
    site.joinpath("dependencies.pth").write_text(f"{own}\n", "utf-8")
    shutil.rmtree(pack / "src")
    return Elsewhere(scripts, site, pack)


def built(tree: Path, into: Path) -> Path:
    """The wheel of a tree."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    into.mkdir()
    subprocess.run([*build, "--directory", str(into)], cwd=tree, check=True, capture_output=True)
    (wheel,) = into.glob("*.whl")
    return wheel


def test_it_is_listed_with_where_it_comes_from(elsewhere: Elsewhere) -> None:
    """Beside the packs that come with arh."""
    done = elsewhere.typed("arh", "packs")

    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {"supplies", "support"} <= set(lines)
    assert lines["supplies"].endswith("supplies-workflow 1.0)")


def test_it_conforms_and_passes_the_gate(elsewhere: Elsewhere) -> None:
    """With its own scenarios, datasets and scripts, which lie in the working folder."""
    checked = elsewhere.typed("arh", "check-pack", "supplies")
    gated = elsewhere.typed("arh", "gate", "--workflow", "supplies")

    scorecard = json.loads((elsewhere.folder / "reports/latest/scorecard.json").read_bytes())
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    assert (gated.returncode, gated.stderr) == (0, ""), gated.stdout
    assert scorecard["about"]["workflow"] == "supplies@1.0"
    assert (scorecard["decision"], scorecard["about"]["root"]) == ("pass", "working")


def test_its_tests_and_scenarios_run_under_pytest(elsewhere: Elsewhere) -> None:
    """The kit, the handlers' tests, and each scenario as a test."""
    done = elsewhere.typed("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "36 passed" in done.stdout


def test_each_control_of_it_is_missed_by_a_scenario(elsewhere: Elsewhere) -> None:
    """The kill matrix of a pack as it is written has no survivor."""
    done = elsewhere.typed("arh", "selftest", "--against", "supplies", "--json-out", "kills.json")

    matrix = json.loads((elsewhere.folder / "kills.json").read_bytes())
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert {row["status"] for row in matrix["rows"]} == {"killed", "not applicable"}


def test_what_depends_on_the_order_of_a_set_is_found(elsewhere: Elsewhere) -> None:
    """It is the same in every run of one process, so it takes another process to see it."""
    tools = elsewhere.site / "supplies_workflow" / "tools.py"
    sound = tools.read_text("utf-8")
    row = 'return {name: row[name] for name in ("item_id", "name", "price", "status")}'
    assert row in sound
    tools.write_text(sound.replace(row, f"{row} | {{'name': ' '.join(set('abcdefgh'))}}"), "utf-8")

    done = elsewhere.typed("arh", "check-pack", "supplies")
    tools.write_text(sound, "utf-8")

    assert (done.returncode, done.stderr) == (1, "")
    assert "FAIL  world-repeats" in done.stdout
    assert "another process makes another run of it" in done.stdout
    assert done.stdout.count("FAIL") == 1


def test_a_broken_pack_is_named_and_hides_no_other(elsewhere: Elsewhere) -> None:
    """It is an error wherever it is asked for, and the others are listed all the same."""
    elsewhere.site.joinpath("broken_workflow.py").write_text(BREAKS, "utf-8")
    described = elsewhere.site / "broken_workflow-2.0.dist-info"
    described.mkdir()
    described.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken-workflow\nVersion: 2.0\n", "utf-8"
    )
    described.joinpath("entry_points.txt").write_text(
        "[arh.workflows]\nbroken = broken_workflow:pack\n", "utf-8"
    )

    listed = elsewhere.typed("arh", "packs")
    gated = elsewhere.typed("arh", "gate", "--workflow", "broken")
    other = elsewhere.typed("arh", "check-pack", "supplies")

    named = "workflow pack broken (broken-workflow 2.0) does not load: ZeroDivisionError"
    assert (listed.returncode, gated.returncode, other.returncode) == (2, 2, 0)
    assert "broken BROKEN (broken-workflow 2.0)" in listed.stdout
    assert "supplies 1.0: " in listed.stdout
    assert named in listed.stderr
    assert named in gated.stderr
