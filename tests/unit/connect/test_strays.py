"""What an agent leaves behind is found where the system lets us, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arh.connect.strays import adopts, children, kill_strays
from arh.errors import RunStopped
from arh.sim.clock import wall_ms
from tests.unit.connect.test_json_lines import gone, run

pytestmark = pytest.mark.skipif(not adopts(), reason="the system lets no process adopt orphans")

DAEMON = """
import os, sys, time
sys.stdin.readline()
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.write(write, str(os.getpid()).encode())
        for stream in (0, 1, 2, read, write):
            os.close(stream)
        time.sleep(600)
    os._exit(0)
print('{"type": "final", "answer": "' + os.read(read, 20).decode() + '"}', flush=True)
"""


def test_a_daemon_of_the_agent_is_killed_when_the_task_is_over() -> None:
    """It forked twice and began a session of its own, and nobody would have waited for it."""
    report = run(DAEMON)

    assert report.termination == "completed"
    assert gone(int(str(report.response)))


HOLDER = """
import os, sys, time
sys.stdin.readline()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print('{"type": "wait", "ms": 1, "id": "' + "x" * 500_000 + '"}', flush=True)
time.sleep(600)
"""


def test_a_daemon_that_holds_the_pipe_unread_holds_up_nobody() -> None:
    """The answer finds no room, and the agent's end frees none: its time is over all the same."""
    began = wall_ms()

    with pytest.raises(RunStopped, match="hung"):
        run(HOLDER, wall_ms_max=1_000)

    assert wall_ms() - began < 20_000


def test_a_child_of_ours_is_left_alone() -> None:
    """Whether it was there before, or belongs to our own session."""
    sleep = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    before = subprocess.Popen(sleep, stdin=subprocess.PIPE, start_new_session=True)
    known = children()
    inside = subprocess.Popen(sleep, stdin=subprocess.PIPE)
    try:
        killed = kill_strays(known)

        assert (killed, before.poll(), inside.poll()) == (0, None, None)
        assert (before.pid in known, inside.pid in children()) == (True, False)
    finally:
        for process in (before, inside):
            process.kill()
            process.communicate()


def test_what_a_stray_started_goes_with_it(tmp_path: Path) -> None:
    """However many there are of them."""
    started = tmp_path / "pids"
    code = (
        "import os, time\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        f"        open({str(started)!r}, 'a').write(f'{{os.getpid()}} ')\n"
        "        time.sleep(600)\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )
    known = children()
    stray = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True
    )
    assert stray.stdout is not None
    stray.stdout.readline()
    while len(started.read_text().split() if started.exists() else ()) < 3:
        os.sched_yield()

    killed = kill_strays(known)

    assert killed >= 1
    assert all(gone(int(pid)) for pid in started.read_text().split())
    stray.wait()
    stray.stdout.close()
