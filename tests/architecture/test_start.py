"""Starting arh, and having it installed beside pytest, costs little.

What a command does not need is imported when it is needed. A user waits for `arh --help`, and the
plugin is loaded by every pytest run in the environment.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "arh"
HEAVY = {"asyncio", "jsonschema_rs", "opentelemetry", "pydantic", "re2", "structlog"}


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(not SOURCE.joinpath(file).exists(), reason=f"no {file} yet"),
        )
        for name, file in (
            ("arh", "__init__.py"),
            ("arh.cli.main", "cli/main.py"),
            ("arh.pytest_plugin", "pytest_plugin.py"),
        )
    ],
)
def test_importing_it_imports_nothing_heavy(module: str) -> None:
    """No library that takes noticeable time is among the imported modules."""
    assert imported_by(f"import {module}") & HEAVY == set()


def test_a_heavy_import_is_seen() -> None:
    """The same look finds a library that is imported."""
    assert imported_by("import asyncio") & HEAVY == {"asyncio"}


def imported_by(statement: str) -> set[str]:
    """The top-level names of all modules that a fresh interpreter imports for the statement.

    The site module is left out: what `.pth` files of an environment import is not ours.
    """
    command = [sys.executable, "-X", "importtime", "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    names = [line.rpartition("|")[2].strip() for line in lines]
    ours = names[names.index("site") + 1 :]
    return {name.partition(".")[0] for name in ours}
