"""Whatever silences a checker says why, on its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src"
PRAGMA = re.compile(r"#\s*(?:type:\s*ignore|noqa|pragma:|fmt:\s*off|pyright:|mypy:)")
REASONED = re.compile(
    r"(?:# type: ignore\[[a-z, -]+\])?(?:  )?(?:# noqa: [A-Z0-9, ]+?)?"
    r"(?: - |  # )(?!noqa|type:)[\w`].*"
)


def test_every_pragma_has_its_reason() -> None:
    """A reader sees what the checker would have said, and why it does not matter here."""
    found = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in sorted(PACKAGE.glob("**/*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if not is_reasoned(line)
    ]

    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "x = 1",
        "x = 1  # noqa: S105 - no password",
        "x = 1  # noqa: S105, E501 - no password",
        "x = f(y)  # type: ignore[arg-type]  # a row is an object",
        "import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - seldom needed",
    ],
)
def test_a_line_with_a_reason_is_accepted(line: str) -> None:
    """After the last pragma of the line."""
    assert is_reasoned(line)


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # noqa",
        "x = 1  # noqa: S105",
        "x = 1  # noqa: S105 -",
        "x = f(y)  # type: ignore",
        "x = f(y)  # type: ignore  # whatever",
        "x = f(y)  # type: ignore[arg-type]",
        "x = f(y)  # type: ignore[arg-type]  # noqa: PLR2004",
        "# mypy: ignore-errors",
        "# fmt: off",
    ],
)
def test_a_line_without_one_is_found(line: str) -> None:
    """A bare pragma, one that names no rule, one for a whole file."""
    assert not is_reasoned(line)


def is_reasoned(line: str) -> bool:
    """Whether a line silences nothing, or says why."""
    first = PRAGMA.search(line)
    return first is None or REASONED.fullmatch(line, first.start()) is not None
