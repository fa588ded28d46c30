"""Seeded defects are reachable from the self-test and from tests, and from nowhere else.

The conformance kit of packs, which makes agents that lie, has a command of its own, and the kill
matrix is a part of the self-test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "arh"
MAY = {"cli/against.py", "cli/check_pack.py", "cli/selftest.py"}


def test_only_the_self_test_imports_what_is_for_tests() -> None:
    """Nothing outside of `arh.testing` imports it, but for two commands."""
    importers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "testing" not in path.relative_to(SOURCE).parts
        and imports_testing(path.read_text("utf-8"))
    }

    assert importers == MAY


def test_only_the_workbench_writes_the_name_of_a_defect() -> None:
    """No other module sets the field that stamps evidence, so no option can plant anything."""
    setters = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "testing" not in path.relative_to(SOURCE).parts
        and any(word.arg == "defect" for word in keywords(path.read_text("utf-8")))
    }

    assert setters == set()


def test_an_import_in_any_form_is_found() -> None:
    """Plain, from, of the package itself, and inside of a function."""
    forms = (
        "import arh.testing.workbench",
        "from arh.testing.defects import agents",
        "from arh import testing",
        "def f():\n    from arh.testing import workbench",
    )

    assert [form for form in forms if not imports_testing(form)] == []
    assert not imports_testing("from arh.tools import testing_ground")


def imports_testing(source: str) -> bool:
    """True if a module imports something of `arh.testing`."""
    names = (name for node in ast.walk(ast.parse(source)) for name in imported(node))
    return any(name == "arh.testing" or name.startswith("arh.testing.") for name in names)


def imported(node: ast.AST) -> Iterator[str]:
    """Every module that a statement may import."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def keywords(source: str) -> Iterator[ast.keyword]:
    """Every keyword argument of every call."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from node.keywords
