"""Runs agents of well-known frameworks, unchanged, as the agent under test.

`make test-frameworks` starts it. Each framework has an environment of its own, without arh, that is
kept from run to run (`.venv-framework-langgraph`); its agent is one of examples/frameworks/. The
tests are in tests/frameworks, which the ordinary run leaves out. What they observe becomes the
table of docs/agents-frameworks.md: a table that no longer says what was seen is a failure, and
`python -m tools.frameworks --write` puts it right.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import environment
from tools.environment import ROOT

PAGE = ROOT / "docs" / "agents-frameworks.md"
BEGIN, END = "<!-- table: make test-frameworks -->", "<!-- end of table -->"
OBSERVED = "ARH_FRAMEWORKS_OBSERVED"
LOCKS = ROOT / "tests" / "frameworks" / "locks"
# No framework but a model: llama.cpp's bindings and the file of a small model, 230 MB together.
LOCAL_MODEL = "local-model"


@dataclass(frozen=True)
class Framework:
    """A library, the lock of its environment, and the agent that is made with it."""

    name: str
    title: str
    package: str
    lock: str
    over_mcp: bool = False

    @property
    def agent(self) -> Path:
        """The agent's file."""
        return ROOT / "examples" / "frameworks" / f"{self.name}_agent.py"

    @property
    def interpreter(self) -> Path:
        """The interpreter of the environment, whether or not it exists."""
        return environment.interpreter_of(ROOT / f".venv-framework-{self.lock}")


FRAMEWORKS = (
    Framework("openai_sdk", "OpenAI library", "openai", "libraries"),
    Framework("anthropic_sdk", "Anthropic library", "anthropic", "libraries"),
    Framework("openai_agents", "OpenAI Agents SDK", "openai-agents", "openai-agents"),
    Framework(
        "openai_agents_mcp",
        "the same, with tools over MCP",
        "openai-agents",
        "openai-agents",
        over_mcp=True,
    ),
    Framework("pydantic_ai", "Pydantic AI", "pydantic-ai-slim", "pydantic-ai"),
    Framework("langgraph", "LangGraph", "langgraph", "langgraph"),
)


def main(arguments: list[str]) -> int:
    """Every framework has been tried, and the page says what was seen (0), or not (1)."""
    install()
    with tempfile.TemporaryDirectory() as folder:
        tests = [sys.executable, "-m", "pytest", "-ra", "--numprocesses", "2", "tests/frameworks"]
        given = {**os.environ, OBSERVED: folder}
        if subprocess.call(tests, cwd=ROOT, env=given, stdin=subprocess.DEVNULL):
            return 1
        table = "\n".join(table_lines(observed(Path(folder))))
    print(f"\n{table}\n")
    return written(table) if "--write" in arguments else compared(table)


def install() -> None:
    """Every environment matches its lock; two are made at a time."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"

    def made(lock: str) -> Path:
        return environment.ensure(
            ROOT / f".venv-framework-{lock}",
            python=sys.executable,
            version=version,
            lock=LOCKS / f"{lock}.lock",
            with_arh=False,
        )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(made, sorted({LOCAL_MODEL, *(framework.lock for framework in FRAMEWORKS)})))


def observed(folder: Path) -> dict[str, dict[str, str]]:
    """What the tests saw of each framework, by its name: columns and cells."""
    seen: dict[str, dict[str, str]] = {framework.name: {} for framework in FRAMEWORKS}
    for path in sorted(folder.glob("*.json")):
        seen[path.name.partition(".")[0]] |= json.loads(path.read_text("utf-8"))
    return seen


def table_lines(seen: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The table as Markdown: one column a framework, one row a thing that was observed."""
    versions = [pinned(framework) for framework in FRAMEWORKS]
    titles = [f.title for f in FRAMEWORKS]
    yield f"| | {' | '.join(titles)} |"
    yield f"| --- |{' --- |' * len(FRAMEWORKS)}"
    yield f"| release | {' | '.join(versions)} |"
    rows = list(dict.fromkeys(row for cells in seen.values() for row in cells))
    for row in rows:
        cells = [seen[framework.name].get(row, "not tried") for framework in FRAMEWORKS]
        yield f"| {row} | {' | '.join(cells)} |"


def pinned(framework: Framework) -> str:
    """The release that the lock pins."""
    for line in (LOCKS / f"{framework.lock}.lock").read_text("utf-8").splitlines():
        name, sign, rest = line.partition("==")
        if sign and name == framework.package:
            return rest.split()[0]
    raise LookupError(f"{framework.lock}.lock pins no {framework.package}")


def compared(table: str) -> int:
    """The page's table is what was seen (0), or not (1)."""
    text = PAGE.read_text("utf-8")
    if text == replaced(text, table):
        return 0
    print(f"the table of {PAGE.relative_to(ROOT)} is not what was seen: run", file=sys.stderr)
    print("python -m tools.frameworks --write", file=sys.stderr)
    return 1


def written(table: str) -> int:
    """The page's table is what was seen (0)."""
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), table), "utf-8")
    return 0


def replaced(text: str, table: str) -> str:
    """The page with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise LookupError(f"the page has no place for the table: {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
