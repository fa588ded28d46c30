"""An agent that does nothing, and whether a scenario would let it pass.

A scenario that inaction passes measures nothing: its outcome holds before the run, and nothing of
the answer or of the end is demanded. So every acceptance scenario is run once more, in the same
system with this agent in place of the one under test. Nothing of that run is written; what it came
to is carried with the verdict on the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.judging.judge import judge
from arh.harness.running.composition import compose
from arh.harness.running.runner import Bench, execute
from arh.ports.control import Evaluator
from arh.ports.sue import Agent, Session
from arh.records.control.plan import PlannedRun
from arh.records.control.scenario import Expectations
from arh.records.tasks import AGENT_ENDS, AgentEnd, AgentReport, Task

# Silence, and a plain truth: to say more would be a claim, which is judged as such.
ANSWERS: Final = (None, "I did nothing.")

BenchOf: TypeAlias = Callable[[Agent], Bench]


class NullAgent:
    """Calls nothing, asks nothing, and says no more than it did."""

    def __init__(self, answer: str | None = None, termination: AgentEnd = "completed") -> None:
        """Give this answer and end as `termination`."""
        self._answer, self._termination = answer, termination

    def run(self, task: Task, session: Session) -> AgentReport:
        """Do nothing."""
        return AgentReport(self._termination, self._answer)


def passes_idle(
    run: PlannedRun, bench_of: BenchOf, catalogue: DatasetCatalogue, evaluators: Sequence[Evaluator]
) -> bool:
    """Return whether an agent that does nothing passes the run's scenario.

    Args:
        run: The run, as it is planned.
        bench_of: What returns the bench that the run is made on, with another agent.
        catalogue: The data that the scenario refers to.
        evaluators: The judges of the suite.
    """
    end = _end(run.located.scenario.expectations)
    return any(
        _passes(run, bench_of(NullAgent(answer, end)), catalogue, evaluators) for answer in ANSWERS
    )


def _passes(
    run: PlannedRun, bench: Bench, catalogue: DatasetCatalogue, evaluators: Sequence[Evaluator]
) -> bool:
    output = execute(compose(run, bench.pack, catalogue), bench)
    return judge(run.located, output.evidence, evaluators, bench.pack).status == "pass"


def _end(expected: Expectations) -> AgentEnd:
    """Return the end that the scenario accepts and that an agent may report without any work."""
    accepted = expected.acceptable_terminations
    return next((end for end in AGENT_ENDS if end in accepted), "completed")
