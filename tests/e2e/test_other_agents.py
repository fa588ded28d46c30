"""Agents in other languages, as their authors would write them, judged by the command."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN = "scenarios/support/golden/billing-incident-001.jsonl"
AGENTS = {
    "python": (sys.executable, "examples/agents/support_agent.py"),
    "node": ("node", "examples/agents/support_agent.mjs"),
    "shell": ("sh", "examples/agents/support_agent.sh"),
}


@pytest.mark.parametrize("language", AGENTS)
def test_an_agent_in_any_language_passes(language: str) -> None:
    """The protocol is lines of JSON: whatever writes them can be judged."""
    program, script = AGENTS[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")

    done = judged(shlex.join([program, script]))

    assert done.returncode == 0, done.stdout
    assert "create_ticket A-1007: allowed -> committed TK-0001 -> claimed completed" in done.stdout


def judged(agent: str) -> subprocess.CompletedProcess[str]:
    """Run the golden scenario with an agent."""
    return subprocess.run(
        [sys.executable, "-m", "arh", "run", GOLDEN, "--agent", agent],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def test_a_callable_passes() -> None:
    """A dotted name with a colon is Python, called in process."""
    done = judged("examples.agents.callable_agent:SupportAgent")

    assert done.returncode == 0, done.stdout


def test_a_lying_callable_fails() -> None:
    """It is judged by the state, as a process is."""
    done = judged("examples.agents.callable_agent:claims_all_is_done")

    assert done.returncode == 1


def test_a_callable_that_is_not_there_is_a_usage_error() -> None:
    """Nothing has run, and the message names the option."""
    done = judged("examples.agents.callable_agent:Nobody")

    assert done.returncode == 2
    assert "--agent" in done.stderr
    assert "does not load: AttributeError" in done.stderr
