"""Functions and files stay small enough to be read in one go.

The limits are far above what we aim at (about ten lines and three hundred): they catch what got
out of hand, not what is a little long.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.glob("src/**/*.py"))
FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 800


def test_no_function_is_too_long() -> None:
    """Every function in src has at most 60 lines, its docstring not counted."""
    long = [finding for path in SOURCES for finding in long_functions(path.read_text("utf-8"))]

    assert long == []


def test_no_file_is_too_long() -> None:
    """Every file in src has at most 800 lines."""
    lengths = {path.relative_to(ROOT).as_posix(): line_count(path) for path in SOURCES}

    assert {name: n for name, n in lengths.items() if n > FILE_LINES_MAX} == {}


def test_a_long_function_is_found() -> None:
    """A body of 60 lines is found, one of 59 is not, and a docstring does not matter."""
    body = "    x = 1\n"
    long = "def long():\n" + body * FUNCTION_LINES_MAX
    fitting = "def fitting():\n" + body * (FUNCTION_LINES_MAX - 1)
    explained = 'def explained():\n    """\n' + "    why\n" * 100 + '    """\n' + body

    assert long_functions(long + fitting + explained) == ["long: 61 lines"]


def long_functions(source: str) -> list[str]:
    """The functions and methods over the limit, nested ones too, each with its length."""
    return [
        f"{node.name}: {length} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := function_length(node)) > FUNCTION_LINES_MAX
    ]


def function_length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from `def` to the end, without the docstring's."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node) is not None:
        docstring = node.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def line_count(path: Path) -> int:
    """The lines of a file."""
    return len(path.read_text("utf-8").splitlines())
