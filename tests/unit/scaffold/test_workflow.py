"""What `arh new workflow` writes, and what it refuses."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from arh.errors import AuthoringError, WriteFailure
from arh.scaffold.workflow import check_name, workflow_files, write_workflow
from tests.unit.scaffold.written import NAME, TODAY

GOOD = ("ab", "supplies", "invoice_review", "a1", "x" * 30)
BAD = (
    "",
    "a",
    "x" * 31,
    "Supplies",
    "1st",
    "_x",
    "a-b",
    "a b",
    "..",
    "../up",
    "a/b",
    "/x",
    "a.b",
    "a\nb",
    "a\x00b",
    "café",
    "class",
    "import",
    "con",
    "lpt1",
    "arh",
    "@NAME@",
)


@pytest.mark.parametrize("name", GOOD)
def test_a_plain_name_is_taken(name: str) -> None:
    """Letters, digits and underscores, a letter first."""
    check_name(name)


@pytest.mark.parametrize("name", BAD)
def test_any_other_name_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written for a name that is no identifier, or leads out of the folder."""
    with pytest.raises(AuthoringError, match="`NAME`"):
        write_workflow(name, tmp_path, today=TODAY)

    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """A folder, a file or a dangling link of that name stays as it is."""
    for kind in ("folder", "file", "link"):
        place = tmp_path / kind
        place.mkdir()
        occupy(place / NAME, kind)

        with pytest.raises(AuthoringError, match="exists already"):
            write_workflow(NAME, place, today=TODAY)

        assert [path.name for path in place.iterdir()] == [NAME]


def occupy(path: Path, kind: str) -> None:
    """Something lies at the path."""
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine", "utf-8")
    else:
        path.symlink_to("nowhere")


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    """The folder to write into is not made up."""
    with pytest.raises(AuthoringError, match="no such folder"):
        write_workflow(NAME, tmp_path / "nowhere", today=TODAY)


def test_what_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is no defect of arh, and no pack either."""
    make = Path.mkdir

    def full(path: Path, *given: Any, **options: Any) -> None:  # noqa: ANN401 - passed on
        if path.name != NAME:
            raise OSError(28, "No space left on device")
        make(path, *given, **options)

    monkeypatch.setattr(Path, "mkdir", full)

    with pytest.raises(WriteFailure, match="cannot be written: No space left on device"):
        write_workflow(NAME, tmp_path, today=TODAY)


def test_what_was_written_is_what_is_said(tmp_path: Path) -> None:
    """The files are listed exactly as they lie there, and no token is left in any of them."""
    root, paths = write_workflow(NAME, tmp_path, today=TODAY)

    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert found == {str(path) for path in paths}
    assert [path for path in found if "@" in path or path.endswith(".tmpl")] == []
    assert [path for path in found if "@NAME@" in (root / path).read_text("utf-8")] == []
    assert [path for path in found if "@TODAY@" in (root / path).read_text("utf-8")] == []


def test_it_has_all_that_a_pack_needs() -> None:
    """Entry point, sources, data, scripts, tests, and scenarios of each kind."""
    files = {str(file.path): file.text for file in workflow_files("invoice_review", today=TODAY)}
    project = tomllib.loads(files["pyproject.toml"])

    assert project["project"]["name"] == "invoice-review-workflow"
    assert project["project"]["entry-points"]["arh.workflows"] == {
        "invoice_review": "invoice_review_workflow:pack"
    }
    for folder in ("golden", "negative", "recovery", "control", "adversarial", "boundary"):
        assert [p for p in files if p.startswith(f"scenarios/invoice_review/{folder}/")], folder
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text)


def test_its_readme_asks_for_the_contract() -> None:
    """Every part of the workflow and risk contract is a question."""
    (readme,) = (f.text for f in workflow_files(NAME, today=TODAY) if str(f.path) == "README.md")
    asked = (
        "Objective",
        "Authoritative state",
        "Allowed effects",
        "Prohibited effects",
        "Identity and tenants",
        "Reversibility",
        "Approvals",
        "Limits",
        "Failure",
        "Threats",
        "Sensitive data",
        "Latency, capacity, cost",
        "Owner",
    )

    assert [part for part in asked if f"**{part}.**" not in readme] == []


def test_its_code_is_in_good_order(tmp_path: Path) -> None:
    """A linter and a formatter with common rules find nothing in it."""
    root, _ = write_workflow(NAME, tmp_path, today=TODAY)
    ruff = [sys.executable, "-m", "ruff"]
    chosen = ["--isolated", "--no-cache", "--line-length", "100"]
    lint = [
        *ruff,
        "check",
        *chosen,
        "--select",
        "E,F,I,B,UP,D,RUF,SIM,PT",
        "--config",
        "lint.pydocstyle.convention = 'google'",
        str(root),
    ]
    shape = [*ruff, "format", "--check", *chosen, str(root)]

    for command in (lint, shape):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
        assert done.returncode == 0, done.stdout
