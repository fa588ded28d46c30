"""A model adapter of another distribution, in an environment of its own: found, held, under test.

The environment holds the wheels of arh and of the adapter in `examples/model_adapter`, and nothing
of this tree.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "model_adapter"
LINES_MAX = 40
TIMEOUT_S = 60
LIVE = (
    *("--live", "--sanitised", "--price", "1,1", "--max-cost-usd", "1"),
    *("--max-model-calls", "9", "--max-tokens", "99999", "--max-minutes", "1"),
)
KIT = """
from arh.records.models import ModelSettings
from arh.testing.model_kit import Adapter, violations
from arh_parrot_model import make
settings = ModelSettings("parrot", "polly")
print(violations(Adapter(lambda: make(settings), deterministic=True)))
"""

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Elsewhere:
    """An environment, and an empty folder to work in."""

    scripts: Path
    folder: Path

    def typed(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment does."""
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
    """The environment with both wheels; its further dependencies are this environment's."""
    folder = tmp_path_factory.mktemp("adapter")
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    scripts, site = Path(paths["scripts"]), Path(paths["purelib"])
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    for source in (ROOT, EXAMPLE):
        subprocess.run([*pip, *build, str(source)], check=True, capture_output=True)
    install = ["--python", str(scripts / "python"), "install", "-q", "--no-deps", "--no-index"]
    wheels = [str(path) for path in folder.glob("*.whl")]
    subprocess.run([*pip, *install, *wheels], check=True, capture_output=True)
    own = sysconfig.get_paths()["purelib"]
    (site / "dependencies.pth").write_text(f"{own}\n", "utf-8")
    empty = folder / "empty"
    empty.mkdir()
    return Elsewhere(scripts, empty)


def test_the_example_is_short() -> None:
    """An adapter is some forty lines, and most of them are words."""
    lines = (EXAMPLE / "arh_parrot_model.py").read_text("utf-8").splitlines()

    assert len([line for line in lines if line.strip()]) <= LINES_MAX


def test_the_adapter_passes_the_kit(elsewhere: Elsewhere) -> None:
    """The kit is a part of the wheel and needs no test runner."""
    done = elsewhere.typed("python", "-c", KIT)

    assert (done.stdout, done.stderr, done.returncode) == ("()\n", "", 0)


def test_the_adapter_is_found_by_its_entry_point(elsewhere: Elsewhere) -> None:
    """It acts through the gateway and is judged as any model is."""
    scenario = "support/golden/billing-incident-001.jsonl:1"
    done = elsewhere.typed("arh", "run", scenario, "--model", "parrot:polly", *LIVE)

    assert done.returncode == 1
    assert "model: calls get_account" in done.stdout
    assert "outcome: fail" in done.stdout
    assert "live model: calls 2 of 9" in done.stdout
    assert "the server says that polly answered" in done.stdout


def test_it_is_a_live_model_like_any_other(elsewhere: Elsewhere) -> None:
    """Nobody's code runs without the user's flags, and a wrong name is helped."""
    scenario = "support/golden/billing-incident-001.jsonl:1"
    bare = elsewhere.typed("arh", "run", scenario, "--model", "parrot:polly")
    wrong = elsewhere.typed("arh", "run", scenario, "--model", "parot:polly", *LIVE)

    assert (bare.returncode, wrong.returncode) == (2, 2)
    assert "a live model needs --live" in bare.stderr
    assert "did you mean `parrot`?" in wrong.stderr
