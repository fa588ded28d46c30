"""Runs every check, in plain words, and stops at the first that fails.

`make test` starts `all`, `make lint` starts `lint`. Each step prints its command, so that it can
be repeated by itself. The suite runs on the environment's own Python first, then on every other
supported Python that is found, each in an environment of its own (`.venv-3.12`). Two variables
change that: ARH_TEST_PYTHONS ("3.11 3.13", or empty) names the other Pythons to use, and
ARH_TEST_WORKERS the number of test processes.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools import environment
from tools.environment import ROOT

SUPPORTED = ("3.11", "3.12", "3.13")
CODE_FOLDERS = ("src", "tests", "tools", "benchmarks")
# Snapshots are compared as plain values: a check proposes no new ones.
SNAPSHOTS = ("--inline-snapshot=disable",)
SUMMARY = re.compile(r"^(?:=+ )?(.*\b\d+ \w+.* in \d[\d.]*s.*?)(?: =+)?$")
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")


@dataclass(frozen=True)
class Step:
    """One command, and the name under which it appears."""

    name: str
    command: list[str]
    is_test: bool = False


@dataclass
class Report:
    """What ran, how long it took, and what each test run said of itself."""

    seconds: dict[str, float] = field(default_factory=dict)
    test_lines: dict[str, str] = field(default_factory=dict)

    def run(self, step: Step) -> bool:
        """The step's output has been passed on line by line; its success is returned."""
        print(f"\n== {step.name}: {_typed(step.command)}", flush=True)
        started = time.monotonic()
        with subprocess.Popen(
            step.command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                if step.is_test and (summary := SUMMARY.match(line.strip())):
                    self.test_lines[step.name] = summary[1]
        self.seconds[step.name] = time.monotonic() - started
        return process.returncode == 0

    def close(self, *, failed: Step | None) -> None:
        """The closing summary has been printed; its last line counts tests over all Pythons."""
        print("\n== summary")
        for name, seconds in self.seconds.items():
            verdict = "FAILED" if failed is not None and name == failed.name else "ok"
            print(
                f"{name:28} {verdict:7} {seconds:6.1f} s  {self.test_lines.get(name, '')}".rstrip()
            )
        if failed is None:
            print(f"all checks passed in {sum(self.seconds.values()):.0f} s")
        else:
            print(f"stopped at the first failure; repeat it with: {_typed(failed.command)}")
        if self.test_lines:
            print(_counted(self.test_lines.values()))


def main(arguments: list[str]) -> int:
    """Every step has passed (0), or one has failed and is the last that ran (1)."""
    steps = {"all": all_steps, "lint": lint_steps}[arguments[0] if arguments else "all"]
    report = Report()
    for step in steps():
        if not report.run(step):
            report.close(failed=step)
            return 1
    report.close(failed=None)
    return 0


def all_steps() -> Iterator[Step]:
    """The checks of the code, the suite on each Python, the checks of the workflows."""
    yield from code_steps()
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    # Made before any test runs: one compares what each Python of the repository writes.
    others = {
        version: environment.ensure(ROOT / f".venv-{version}", python=python, version=version)
        for version, python in sorted(other_pythons(own).items())
    }
    yield test_step(own, Path(sys.executable))
    for version, interpreter in others.items():
        yield test_step(version, interpreter, "-m", "not slow")
    yield from workflow_steps()


def lint_steps() -> Iterator[Step]:
    """All checks that run no code of the project."""
    yield from code_steps()
    yield from workflow_steps()


def code_steps() -> Iterator[Step]:
    """Format, rules, types and imports."""
    folders = [name for name in CODE_FOLDERS if any(ROOT.joinpath(name).rglob("*.py"))]
    yield Step("format", _module("ruff", "format", "--check", "."))
    yield Step("rules", _module("ruff", "check", "."))
    yield Step("types", _module("mypy", *folders))
    yield Step("imports", [str(Path(sys.executable).with_name("lint-imports")), "--no-logo"])


def workflow_steps() -> Iterator[Step]:
    """The schemas and the security of what runs in CI; nothing is fetched for it."""
    workflows = sorted(ROOT.glob(".github/workflows/*.yml"))
    actions = sorted(ROOT.glob("action.yml"))
    for kind, files in (("workflows", workflows), ("actions", actions)):
        if files:
            names = [path.relative_to(ROOT).as_posix() for path in files]
            schema = f"vendor.github-{kind}"
            yield Step(
                f"{kind}: schema", _module("check_jsonschema", "--builtin-schema", schema, *names)
            )
    if workflows or actions:
        zizmor = str(Path(sys.executable).with_name("zizmor"))
        inputs = [".github", *(path.name for path in actions)]
        yield Step(
            "workflows: security", [zizmor, "--offline", "--no-progress", "--color=never", *inputs]
        )


def test_step(version: str, interpreter: Path, *selection: str) -> Step:
    """The suite on one Python, under a name that says which."""
    workers = os.environ.get("ARH_TEST_WORKERS", "2")
    command = [
        str(interpreter),
        "-m",
        "pytest",
        "-ra",
        "--numprocesses",
        workers,
        *SNAPSHOTS,
        *selection,
    ]
    return Step(f"tests on Python {version}", command, is_test=True)


def other_pythons(own: str) -> dict[str, str]:
    """The commands of the other supported Pythons that work here, by version."""
    wanted = os.environ.get("ARH_TEST_PYTHONS", " ".join(SUPPORTED)).replace(",", " ").split()
    found = {}
    for version in wanted:
        if version == own:
            continue
        command = find_python(version)
        if command:
            found[version] = command
    return found


def find_python(version: str) -> str | None:
    """A command that starts this version, from the path or from a version manager's folder."""
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = [f"python{version}"]
    candidates += [str(path) for path in sorted(managed.glob(f"{version}.*/bin/python"))]
    return next((name for name in candidates if environment.version_of(name) == version), None)


def _module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, *arguments]


def _typed(command: list[str]) -> str:
    """The command as a person would type it from the top of the repository."""
    program = Path(command[0])
    if program.is_relative_to(ROOT):
        program = program.relative_to(ROOT)
    return shlex.join([str(program), *command[1:]])


def _counted(lines: Iterable[str]) -> str:
    counts: Counter[str] = Counter()
    for line in lines:
        for number, outcome in COUNT.findall(line):
            counts["failed" if outcome.startswith("error") else outcome] += int(number)
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
