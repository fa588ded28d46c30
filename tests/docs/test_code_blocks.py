"""Every example that a reader can copy works: the code blocks of README.md and docs/ are run.

- `python` blocks are run, each by itself.
- `console` blocks: each line that starts with `$ ` is run by a shell and must exit 0, or N where
  the line ends with `# exit N`. A line that ends with a backslash goes on in the next. Other lines
  show output and are not compared.
- `json`, `jsonl` and `yaml` blocks are read strictly: no duplicate key, no NaN.

All blocks of one page share one fresh copy of the repository as their working folder, and the
interpreter that runs the tests comes first on the path. The comment `<!-- not run: reason -->` on
the line before a block excludes it; blocks in other languages are only shown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jiter
import pytest
from markdown_it import MarkdownIt
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
)
NOT_RUN = re.compile(r"^<!-- not run: \S.* -->$")
EXIT = re.compile(r"#\s*exit (\d+)\s*$")
SECONDS_MAX = 240
NOT_COPIED = shutil.ignore_patterns(
    ".*_cache", ".git", ".hypothesis", ".venv*", "__pycache__", "mutants", "reports"
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line of its first fence."""

    language: str
    text: str
    line: int


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_block_works(page: str, tmp_path: Path) -> None:
    """Each block that is not excluded does what its language promises."""
    folder = tmp_path / "copy"
    shutil.copytree(ROOT, folder, ignore=NOT_COPIED)
    failures = [
        f"{page}:{block.line}: {failure}"
        for block in runnable_blocks(ROOT.joinpath(page).read_text("utf-8"))
        if (failure := CHECKS.get(block.language, only_shown)(block.text, folder))
    ]

    assert failures == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    """Links inside the repository name files and folders that exist."""
    text = ROOT.joinpath(page).read_text("utf-8")
    targets = {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)}
    local = {target for target in targets if target and "://" not in target}

    assert {
        target for target in local if not ROOT.joinpath(page).parent.joinpath(target).exists()
    } == set()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "assert 1 + 1 == 2", None),
        ("python", "assert 1 + 1 == 3", "AssertionError"),
        ("console", "$ true\nany output\n$ exit 3  # exit 3", None),
        ("console", "$ exit 3", "exited 3, not 0"),
        ("console", "$ test -n \\\n  ''", "exited 1, not 0"),
        ("console", "no command", "no line starts with `$ `"),
        ("json", '{"a": 1}', None),
        ("json", '{"a": 1, "a": 2}', "uplicate"),
        ("json", '{"a": NaN}', "expected"),
        ("jsonl", '{"a": 1}\n{"a": 2}', None),
        ("jsonl", '{"a": 1}\n{', "line 2"),
        ("yaml", "a: 1", None),
        ("yaml", "a: 1\na: 2", "duplicate key"),
        ("text", "anything {", None),
    ],
)
def test_a_broken_block_is_caught(
    language: str, text: str, expected: str | None, tmp_path: Path
) -> None:
    """The checks accept what works and say what does not."""
    failure = CHECKS.get(language, only_shown)(text, tmp_path)

    assert (expected is None and failure is None) or (expected or "?") in (failure or "")


def test_a_block_is_excluded_by_a_comment_with_a_reason() -> None:
    """The comment counts directly before its block only, and not without a reason."""
    text = """\
<!-- not run: takes an hour -->
```console
$ excluded
```

<!-- not run: -->
```console
$ kept
```
"""

    assert runnable_blocks(text) == [Block("console", "$ kept\n", 7)]


def runnable_blocks(text: str) -> list[Block]:
    """The fenced blocks of a page in order, without the excluded ones."""
    lines = text.splitlines()
    return [
        Block(token.info.partition(" ")[0], token.content, token.map[0] + 1)
        for token in MarkdownIt().parse(text)
        if token.type == "fence" and token.map is not None
        if token.map[0] == 0 or not NOT_RUN.match(lines[token.map[0] - 1].strip())
    ]


def run_python(text: str, folder: Path) -> str | None:
    """None if the block runs to its end; else what it printed last."""
    done = run([sys.executable, "-c", text], folder)
    return None if done.returncode == 0 else done.stdout[-2000:]


def run_console(text: str, folder: Path) -> str | None:
    """None if each command exits as it should; else the first that does not."""
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, flags=re.MULTILINE)
    if not commands:
        return "no line starts with `$ `"
    for command in commands:
        expected = int(match[1]) if (match := EXIT.search(command)) else 0
        done = run(["sh", "-c", command], folder)
        if done.returncode != expected:
            return f"`{command}` exited {done.returncode}, not {expected}: {done.stdout[-2000:]}"
    return None


def read_json(text: str, _folder: Path) -> str | None:
    """None if the text is one strict JSON value; else the reader's message."""
    try:
        jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError as error:
        return str(error)
    return None


def read_jsonl(text: str, folder: Path) -> str | None:
    """None if each line that is not blank is one strict JSON value."""
    failures = (
        f"line {number}: {failure}"
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and (failure := read_json(line, folder))
    )
    return next(failures, None)


def read_yaml(text: str, _folder: Path) -> str | None:
    """None if the text is YAML without duplicate keys; else the reader's message."""
    try:
        YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        return str(error)
    return None


def only_shown(_text: str, _folder: Path) -> None:
    """Blocks in other languages promise nothing."""


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command has run in the folder with this interpreter's environment first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(folder / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


CHECKS: dict[str, Callable[[str, Path], str | None]] = {
    "console": run_console,
    "json": read_json,
    "jsonl": read_jsonl,
    "python": run_python,
    "yaml": read_yaml,
}
