"""An environment of its own with the wheels of arh and of one other distribution."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60


@dataclass(frozen=True)
class Elsewhere:
    """An environment, where its packages are, and the folder to work in."""

    scripts: Path
    site: Path
    folder: Path

    def typed(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment does in the folder."""
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


def installed(tree: Path, into: Path, folder: Path) -> Elsewhere:
    """The environment, made in `into`, with arh and the tree's distribution, to work in `folder`.

    Its further dependencies are this environment's, as in the tests of the installed arh.
    """
    environment = into / "environment"
    venv.create(environment, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    scripts, site = Path(paths["scripts"]), Path(paths["purelib"])
    wheels = [_built(ROOT, into / "arh"), _built(tree, into / "other")]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    install = ["--python", str(scripts / "python"), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, *install, *map(str, wheels)], check=True, capture_output=True)
    own = sysconfig.get_paths()["purelib"]
    site.joinpath("dependencies.pth").write_text(f"{own}\n", "utf-8")
    return Elsewhere(scripts, site, folder)


def _built(tree: Path, into: Path) -> Path:
    """The wheel of a tree."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    into.mkdir()
    subprocess.run([*build, "--directory", str(into)], cwd=tree, check=True, capture_output=True)
    (wheel,) = into.glob("*.whl")
    return wheel
