"""How a command ends when the system ends it: in order, as an interrupt does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from arh.harness.exits import INTERRUPTED, guarded
from tests.unit.connect.test_json_lines import gone

ROOT = Path(__file__).resolve().parents[3]
SCENARIO = "scenarios/support/golden/billing-incident-001.jsonl:1"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_us_is_an_interrupt(number: signal.Signals) -> None:
    """What stands in `finally` is done, and afterwards the signal means what it did."""
    before = signal.signal(number, signal.SIG_DFL)
    done = []

    def command(_words: Sequence[str]) -> int:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            done.append(number)
        return 0

    try:
        assert guarded(command, []) == INTERRUPTED
        assert ([number], signal.SIG_DFL) == (done, signal.getsignal(number))
    finally:
        signal.signal(number, before)


def test_a_signal_that_somebody_ignores_stays_ignored() -> None:
    """As under `nohup`."""

    def command(_words: Sequence[str]) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return 7

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert guarded(command, []) == 7
    finally:
        signal.signal(signal.SIGHUP, before)


def test_no_agent_is_left_at_work(tmp_path: Path) -> None:
    """A job that is cancelled ends with all that it started."""
    note = tmp_path / "pid"
    (tmp_path / "agent.py").write_text(
        f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    agent = f"{sys.executable} {tmp_path / 'agent.py'}"
    words = [sys.executable, "-m", "arh", "run", SCENARIO, "--agent", agent]
    with subprocess.Popen(words, cwd=ROOT, stdout=-3, stderr=-3) as process:
        while not (note.exists() and note.read_text()):
            time.sleep(0.02)

        process.terminate()

        assert process.wait(30) == INTERRUPTED
    assert gone(int(note.read_text()))
