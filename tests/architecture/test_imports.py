"""The import contracts hold, and each of them catches the violation that it is there for.

Violations are planted in a copy of the package and checked in other processes, since an import
graph is built once in a process.
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = ROOT / ".importlinter"
PREFIX = "importlinter:contract:"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


@dataclass(frozen=True)
class Violation:
    """A module with one import that the contract must catch; `mutual` plants the way back too."""

    contract: str
    importer: str
    imported: str
    mutual: bool = False

    def __str__(self) -> str:
        return f"{self.contract}: {self.importer} -> {self.imported}"


VIOLATIONS = [
    Violation("layers", "arh.errors", "arh.records.planted"),
    Violation("layers", "arh.ports.planted", "arh.foreign"),
    Violation("layers", "arh.bootstrap", "arh.cli.planted"),
    Violation("layers", "arh.stats.planted", "arh.render.planted"),
    Violation("layers", "arh.tools.planted", "arh.agent.planted"),
    Violation("layers", "arh.harness.planted", "arh.bootstrap"),
    Violation("layers", "arh.undeclared", "arh.errors"),
    Violation("acyclic", "arh.sim.one", "arh.sim.other", mutual=True),
    Violation("control", "arh.harness.running.planted", "arh.harness.judging.planted"),
    Violation("control", "arh.harness.evidence.planted", "arh.harness.running.planted"),
    Violation("control", "arh.harness.vocabulary.planted", "arh.harness.authoring.planted"),
    Violation("agent", "arh.agent.planted", "arh.canonical"),
    Violation("agent", "arh.agent.planted", "arh.ports.control"),
    Violation("agent", "arh.agent.planted", "arh.records.control.planted"),
    Violation("agent", "arh.agent.planted", "arh.an_addition_of_tomorrow"),
    Violation("blind", "arh.model.planted", "arh.records.control.planted"),
    Violation("blind", "arh.security.planted", "arh.ports.control"),
    Violation("blind", "arh.tools.planted", "arh.sim.planted"),
    Violation("blind", "arh.workflows.support.planted", "arh.harness.planted"),
    Violation("judge", "arh.harness.planted", "arh.tools.planted"),
    Violation("judge", "arh.decision.planted", "arh.state.planted"),
    Violation("judge", "arh.traces.planted", "arh.security.planted"),
    Violation("judge", "arh.render.planted", "arh.workflows.support.planted"),
    Violation("evaluators", "arh.harness.evaluators.one", "arh.harness.evaluators.other"),
    Violation("packs", "arh.workflows.one", "arh.workflows.other"),
    Violation("traces", "arh.traces.formats.planted", "arh.traces.judging.planted"),
    Violation("traces", "arh.traces.judging.planted", "arh.traces.comparing.planted"),
    Violation("traces", "arh.traces.undeclared", "arh.errors"),
    Violation("rules", "arh.traces.judging.rules.one", "arh.traces.judging.rules.other"),
    Violation("formats", "arh.traces.formats.one", "arh.traces.formats.other"),
    Violation("stats", "arh.stats.planted", "arh.canonical"),
    Violation("kits", "arh.testing.planted", "pytest"),
]


def test_every_contract_is_kept() -> None:
    """The tree as it stands breaks no contract."""
    done = lint(ROOT, source=ROOT / "src")

    assert done.returncode == 0, done.stdout


def test_every_contract_has_a_planted_violation() -> None:
    """A contract that no violation was planted for would be trusted without proof."""
    names = {name.removeprefix(PREFIX) for name in contracts() if name.startswith(PREFIX)}

    assert names == {violation.contract for violation in VIOLATIONS}


def test_one_import_is_ignored() -> None:
    """The one exception is the path that users type; a second one is a change of architecture."""
    ignored = {
        line.strip()
        for section in contracts().values()
        for line in section.get("ignore_imports", "").splitlines()
        if line.strip()
    }

    assert ignored == {"arh.harness.release_gate -> arh.bootstrap"}


def test_a_planted_violation_of_each_contract_is_caught(tmp_path: Path) -> None:
    """Each violation breaks its contract, and the message names the importer."""

    def outcome(number: int) -> str:
        violation = VIOLATIONS[number]
        folder = tmp_path / str(number)
        plant(violation, folder / "src")
        done = lint(folder, source=folder / "src", contract=violation.contract)
        if done.returncode == 0:
            return f"{violation}: not caught"
        if (
            violation.importer.removeprefix("arh.sim") not in done.stdout
        ):  # cycles are shown relative
            return f"{violation}: caught, but the message does not say where: {done.stdout}"
        return ""

    with ThreadPoolExecutor(max_workers=2) as pool:
        outcomes = list(pool.map(outcome, range(len(VIOLATIONS))))

    assert [text for text in outcomes if text] == []


def contracts() -> configparser.ConfigParser:
    """The contracts as import-linter reads them."""
    parser = configparser.ConfigParser()
    parser.read(CONTRACTS, "utf-8")
    return parser


def lint(
    folder: Path, *, source: Path, contract: str | None = None
) -> subprocess.CompletedProcess[str]:
    """import-linter has run in `folder` over the package below `source`, without a cache."""
    command = [str(LINT_IMPORTS), str(CONTRACTS), "--no-logo", "--no-cache"]
    if contract is not None:
        command += ["--contract", contract]
    path = os.pathsep.join([str(source), str(ROOT)])
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def plant(violation: Violation, source: Path) -> None:
    """`source` holds a copy of the package in which one module imports what it must not."""
    shutil.copytree(ROOT / "src" / "arh", source / "arh", ignore=shutil.ignore_patterns("*.pyc"))
    if violation.imported.startswith("arh."):
        module_file(source, violation.imported)
    add_import(source, violation.importer, violation.imported)
    if violation.mutual:
        add_import(source, violation.imported, violation.importer)


def add_import(source: Path, importer: str, imported: str) -> None:
    """The file of the importer ends with one more import."""
    with module_file(source, importer).open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")


def module_file(source: Path, module: str) -> Path:
    """The file of a module; it and the packages around it have been made where they were absent."""
    *packages, name = module.split(".")
    folder = source
    for package in packages:
        folder /= package
        folder.mkdir(exist_ok=True)
        folder.joinpath("__init__.py").touch()
    if folder.joinpath(name).is_dir():
        return folder / name / "__init__.py"
    file = folder / f"{name}.py"
    file.touch()
    return file
