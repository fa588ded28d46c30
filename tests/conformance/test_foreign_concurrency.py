"""Foreign agents at work at the same time: a process each, one order, nothing left behind."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from arh.connect.json_lines import JsonLinesAgent
from arh.connect.strays import children
from arh.testing.workbench import Exercise, Tried, Workbench

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
BENCH = Workbench.own()
ONE_CASE = "concurrency-one-case-two-actors-seeded-001"
TWO_ACTORS = [
    each.scenario.id
    for each in BENCH.suite.loaded.scenarios
    if each.scenario.category == "concurrency" and each.scenario.role == "acceptance"
]
SAYS_ITS_PROCESS = """
import json, os, sys
task = json.loads(sys.stdin.readline())
print(json.dumps({"type": "ask", "id": 1, "message": f"process {os.getpid()}"}), flush=True)
sys.stdin.readline()
print(json.dumps({"type": "final", "answer": f"process {os.getpid()}"}), flush=True)
"""
HANGS_AS_PHONE = """
import json, sys, time
task = json.loads(sys.stdin.readline())
if task["actor"] == "phone":
    time.sleep(60)
print(json.dumps({"type": "final", "answer": "Done."}), flush=True)
"""


def support_agent() -> JsonLinesAgent:
    """Return the example agent, which asks the scenario's model and does what it says."""
    return JsonLinesAgent(shlex.join([sys.executable, str(EXAMPLES / "support_agent.py")]))


def written_agent(code: str, *, wall_ms_max: int = 10_000) -> JsonLinesAgent:
    """Return an agent that runs a program."""
    return JsonLinesAgent(shlex.join([sys.executable, "-c", code]), wall_ms_max=wall_ms_max)


def run(scenario: str, agent: JsonLinesAgent) -> Tried:
    """Run a scenario with one agent for all of its actors."""
    return BENCH.tried(Exercise(scenario, agent=agent, wall_ms_max=20_000))


@pytest.mark.parametrize("scenario", TWO_ACTORS)
def test_processes_pass_where_the_reference_agent_passes(scenario: str) -> None:
    """The baton orders what arrives, however fast the processes think."""
    assert run(scenario, support_agent()).verdict.status == "pass"


def test_two_executions_leave_the_same_bytes() -> None:
    """What two processes do at the same time is on record in the schedule's order."""
    first, second = (run(ONE_CASE, support_agent()) for _ in range(2))

    assert first.output.lines == second.output.lines


def test_each_actor_and_each_run_has_a_process_of_its_own() -> None:
    """Nothing that an agent keeps in memory can reach another actor, or the next run."""
    agent = written_agent(SAYS_ITS_PROCESS)
    finishes = [
        finish for _ in range(2) for finish in run(ONE_CASE, agent).output.evidence.finishes
    ]
    answers = [str(finish.answer) for finish in finishes]

    assert len(answers) == 4
    assert len(set(answers)) == 4


def test_one_that_hangs_takes_the_other_with_it() -> None:
    """The run is the agent's failure, and no process of either actor is left."""
    before = children()

    hung = run(ONE_CASE, written_agent(HANGS_AS_PHONE, wall_ms_max=400))

    assert hung.verdict.status == "fail"
    assert hung.output.evidence.termination == "hung"
    assert children() <= before
