"""The README's ten minutes: every step as it stands there, in an environment that holds nothing."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
SECTION = "Gate your own agent in ten minutes"
EXIT = re.compile(r"\s+# exit (\d+)$")

pytestmark = pytest.mark.slow


def blocks() -> list[tuple[str, str]]:
    """Return the language and text of each block of the section, in order."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.split(f"## {SECTION}\n", 1)[1].split("\n## ", 1)[0]
    tokens = MarkdownIt().parse(section)
    return [(token.info, token.content) for token in tokens if token.type == "fence"]


class Newcomer:
    """Somebody with an empty folder and an empty environment, who types what is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = folder / "environment"
        venv.create(environment, with_pip=False, symlinks=os.name != "nt")
        paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
        self.scripts, self.site = Path(paths["scripts"]), Path(paths["purelib"])
        own = sysconfig.get_paths()["purelib"]
        self.site.joinpath("dependencies.pth").write_text(f"{own}\n", "utf-8")

    def types(self, line: str) -> None:
        """Do what a line says, and see that it ends as it says."""
        expected = EXIT.search(line)
        words = shlex.split(EXIT.sub("", line))
        if words[0] == "cd":
            self.folder = self.folder / words[1]
            return
        done = self.installs(words[2:]) if words[:2] == ["pip", "install"] else self.runs(words)
        code = int(expected[1]) if expected else 0
        assert done.returncode == code, f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"

    def installs(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Install without an index: arh from this tree, and what lies in the folder."""
        named = ["--no-deps", str(ROOT)] if words == ["agentic-reliability-harness"] else words
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        offline = ["--no-index", "--no-deps", "--no-build-isolation"]
        target = ["--python", str(self.scripts / "python"), "install", "-q", *offline]
        return self.done([*pip, *target, *named])

    def runs(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment."""
        return self.done([str(self.scripts / words[0]), *words[1:]])

    def done(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the folder, with the environment's programs first on the path."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        path = f"{self.scripts}{os.pathsep}{kept.get('PATH', '')}"
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**kept, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=240,
        )


def test_every_step_works(tmp_path: Path) -> None:
    """In the order of the page, each line with the exit code that it names."""
    newcomer = Newcomer(tmp_path)
    found = blocks()

    assert [language for language, _ in found] == ["console", "python", "console"]
    for language, text in found:
        if language == "python":
            newcomer.folder.joinpath("my_agent.py").write_text(text, "utf-8")
            continue
        for line in text.splitlines():
            newcomer.types(line.removeprefix("$ "))
