"""Nothing swallows what it does not know, outside the few places that are there for it.

`arh.foreign` is the border around code that is not ours, `arh.harness.running.errand` hands over
what a thread raised, and `arh.harness.exits` makes a crash an exit code. `arh.testing.defects`
plants defects, and swallowing a stop is one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "arh"
ALLOWED = {"foreign.py", "harness/running/errand.py", "harness/exits.py"}
PLANTED = "testing/defects/"
EVERYTHING = {"Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup"}


def test_only_the_borders_catch_everything() -> None:
    """The files that catch everything, or whose contexts swallow, are those that may."""
    names = {path: path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("**/*.py")}
    found = {
        name
        for path, name in names.items()
        if not name.startswith(PLANTED) and any(swallowed(path.read_text("utf-8")))
    }

    assert found == ALLOWED


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    f()\nexcept:\n    pass",
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (OSError, BaseException) as error:\n    pass",
        "try:\n    f()\nexcept builtins.Exception:\n    pass",
        "try:\n    f()\nexcept* Exception:\n    pass",
        "with suppress(Exception):\n    f()",
        "with contextlib.suppress(OSError, BaseException):\n    f()",
        "class C:\n    def __exit__(self, *_):\n        return True",
        "class C:\n    def __exit__(self, *_):\n        return self.done",
        "class C:\n    async def __aexit__(self, *_):\n        return not self.done",
    ],
)
def test_each_way_to_swallow_is_found(source: str) -> None:
    """A bare handler, one for everything, a suppressor, and a context that may answer true."""
    assert len(list(swallowed(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    f()\nexcept (OSError, ValueError):\n    pass",
        "with suppress(OSError):\n    f()",
        "class C:\n    def __exit__(self, *_):\n        self.close()",
        "class C:\n    def __exit__(self, *_):\n        return None",
        "class C:\n    def __exit__(self, *_):\n        return False",
    ],
)
def test_what_is_known_may_be_caught(source: str) -> None:
    """Exceptions that are named are expected, and a context that answers false lets all pass."""
    assert list(swallowed(source)) == []


def swallowed(source: str) -> Iterator[ast.AST]:
    """The places of a source where an exception of any kind may end."""
    return filter(swallows, ast.walk(ast.parse(source)))


def swallows(node: ast.AST) -> bool:
    """Whether an exception of any kind may end here."""
    match node:
        case ast.ExceptHandler(type=kind):
            return kind is None or not EVERYTHING.isdisjoint(names_in(kind))
        case ast.Call(func=function, args=kinds):
            caught = set().union(*map(names_in, kinds))
            return "suppress" in names_in(function) and not EVERYTHING.isdisjoint(caught)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name in {"__exit__", "__aexit__"} and any(map(may_be_true, ast.walk(node)))
        case _:
            return False


def may_be_true(node: ast.AST) -> bool:
    """Whether a node returns anything but nothing or false."""
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    return not (isinstance(node.value, ast.Constant) and not node.value.value)


def names_in(node: ast.expr) -> set[str]:
    """The last part of each name that an expression holds."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
