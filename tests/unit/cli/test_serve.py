"""`arh serve` refuses what it could not serve, before anything runs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from arh import bootstrap
from arh.cli import serve
from arh.connect.mcp.messages import END_TOOL
from arh.errors import AuthoringError
from arh.records.execution import Tool

GOLDEN = "scenarios/support/golden/billing-incident-001.jsonl:1"
TWO_ACTORS = "scenarios/support/concurrency/account-limit-race-001.jsonl:1"


def test_a_tool_may_not_have_the_name_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client could not tell the two apart."""
    prepare = bootstrap.prepare

    def renamed(sources: bootstrap.Sources) -> bootstrap.Suite:
        suite = prepare(sources)
        pack = suite.pack
        last = pack.tools[-1]
        named = Tool(replace(last.manifest, name=END_TOOL), last.handler)
        tools = (*pack.tools[:-1], named)
        configuration = replace(suite.configuration, pack=replace(pack, tools=tools))
        return replace(suite, configuration=configuration)

    monkeypatch.setattr(bootstrap, "prepare", renamed)

    with pytest.raises(AuthoringError, match=f"a tool is named `{END_TOOL}`"):
        serve.main(["--scenario", GOLDEN])


def test_a_file_that_is_not_there_is_named_as_it_was() -> None:
    """With the option that named it, and both places where it was looked for."""
    with pytest.raises(AuthoringError) as refusal:
        serve.main(["--scenario", "none.jsonl:3"])

    said = str(refusal.value)
    assert said.startswith("none.jsonl:3: `--scenario`: there is no such file or folder; looked ")


def test_a_folder_of_scenarios_is_too_much() -> None:
    """One agent is served one scenario, and the message says how to name it."""
    with pytest.raises(AuthoringError, match=r"scenarios are there; name one as FILE:LINE"):
        serve.main(["--scenario", "scenarios/support/golden"])


def test_one_pipe_serves_one_task() -> None:
    """Several actors would each need a pipe; over HTTP each has an address."""
    with pytest.raises(AuthoringError, match="several actors or tasks"):
        serve.main(["--scenario", TWO_ACTORS, "--stdio"])


@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output")])
def test_a_file_is_no_client(tmp_path: Path, number: int, name: str) -> None:
    """Nobody would answer, which is no failure of an agent."""
    kept = os.dup(number)
    other = os.dup(1 - number)
    reading, writing = os.pipe()
    try:
        with (tmp_path / "said").open("w+b") as file:
            os.dup2((writing, reading)[number], 1 - number)
            os.dup2(file.fileno(), number)
            with pytest.raises(AuthoringError, match=f"standard {name} is a file"):
                serve.main(["--scenario", GOLDEN, "--stdio"])
    finally:
        os.dup2(kept, number)
        os.dup2(other, 1 - number)
        for each in (kept, other, reading, writing):
            os.close(each)
