"""A callable that ends the process does not say how the command ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN = str(ROOT / "scenarios" / "support" / "golden" / "billing-incident-001.jsonl")
SUITE = [f"--{name}={ROOT / name}" for name in ("datasets", "fixtures")]
RUN = ["-m", "arh", "run", GOLDEN]
GATE = ["-m", "arh.harness.release_gate", "--scenarios", GOLDEN]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is inherited there")


def command(folder: Path, words: list[str], code: str) -> list[str]:
    """Return the command with an agent that is this code."""
    agent = f"import os, time\ndef agent(task, session):\n    {code}\n"
    folder.joinpath("written_agent.py").write_text(agent, encoding="utf-8")
    return [sys.executable, *words, *SUITE, "--agent", "written_agent:agent"]


def done(folder: Path, words: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        command(folder, words, code),
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("words", [RUN, GATE], ids=["run", "gate"])
def test_ending_the_process_is_no_pass(tmp_path: Path, words: list[str]) -> None:
    """Nobody is left to decide, and the exit code is that of a crash."""
    ended = done(tmp_path, words, "os._exit(0)")

    assert ended.returncode == 4
    assert "the process ended before the command had decided" in ended.stderr


@pytest.mark.parametrize(("code", "expected"), [(1, 1), (3, 3)])
def test_another_exit_code_is_no_pass_anyway(tmp_path: Path, code: int, expected: int) -> None:
    """Whoever ends the process with a failure has failed."""
    assert done(tmp_path, RUN, f"os._exit({code})").returncode == expected


def test_a_signal_is_a_crash(tmp_path: Path) -> None:
    """Also one that the agent sends itself."""
    assert done(tmp_path, RUN, "os.kill(os.getpid(), 9)").returncode == 4


def test_a_pass_is_confirmed() -> None:
    """The honest callable passes as before."""
    agent = ["--agent", "examples.agents.callable_agent:SupportAgent"]
    ended = subprocess.run(
        [sys.executable, *RUN, *SUITE, *agent],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == 0


def test_an_interrupt_ends_both(tmp_path: Path) -> None:
    """No process stays behind when the one that the user started is told to end."""
    pids = tmp_path / "pid"
    code = f"open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with subprocess.Popen(command(tmp_path, RUN, code), cwd=tmp_path) as process:
        until = time.monotonic() + 30
        while not (pids.exists() and pids.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130

    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)
