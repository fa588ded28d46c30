"""The replay of non-progress and the agent's own analysis agree, over any work.

They were written apart from one statement of what non-progress is, so a mistake in one of them
shows as a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from hypothesis import given
from hypothesis import strategies as st

from arh.agent.progress import Progress, action_of
from arh.canonical import Json, JsonValue
from arh.harness.judging.progress_replay import replay
from arh.harness.judging.segments import segments_of
from arh.records.control.scenario import ProgressLimits
from arh.records.messages import ToolRequest
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import ProgressLimits as AgentLimits
from arh.testing.evidence_builder import RunBuilder

Status = Literal["executed", "rejected", "error"]


@dataclass(frozen=True)
class Step:
    """One call: what it asks, how it ends, and the milestone that it reaches, if any."""

    asked: str
    end: tuple[Status, str]
    answer: int
    mark: str
    justified: bool


OK: tuple[Status, str] = ("executed", "ok")
ENDS: list[tuple[Status, str]] = [
    OK,
    OK,
    ("rejected", "authorization_denied"),
    ("rejected", "in_flight"),
    ("error", "timeout"),
    ("error", "not_found"),
]
STEPS = st.builds(
    Step,
    asked=st.sampled_from("abc"),
    end=st.sampled_from(ENDS),
    answer=st.integers(0, 1),
    mark=st.sampled_from(["", "", "", "A-1", "A-2", "A-10"]),
    justified=st.booleans(),
)
LIMITS = st.builds(
    ProgressLimits,
    max_repeats=st.integers(1, 4),
    max_cycles=st.integers(1, 3),
    max_stall=st.integers(1, 9),
    max_rejections=st.integers(1, 4),
    max_amplification=st.none() | st.integers(1, 3),
    amplification_stops=st.booleans(),
)
SAID = "A-1 and A-10, please"


@given(st.lists(STEPS, min_size=1, max_size=25), LIMITS)
def test_the_replay_finds_the_first_stop_that_the_agent_finds(
    steps: list[Step], limits: ProgressLimits
) -> None:
    """Both name the same pattern at the same call, or neither names any."""
    run = RunBuilder().user(SAID)
    for step in steps:
        marks = ((step.mark, f'"{step.mark}"', step.justified),) if step.mark else ()
        run.call(
            "get_account",
            {"query": step.asked},
            status=step.end[0],
            reason=step.end[1],
            result={"answer": step.answer},
            marks=marks,
        )
    segment = segments_of(run.build())[0]

    due = replay(segment, limits, {}, {}, ended_ms=0).due

    found = None if due is None else (due.pattern, [c.seq for c in segment.calls].index(due.seq))
    assert found == _agent_s(steps, limits)


def _agent_s(steps: list[Step], limits: ProgressLimits) -> tuple[str, int] | None:
    """Return the agent's own first stop: its pattern and the number of its call."""
    progress = Progress(
        AgentLimits(
            repeats_max=limits.max_repeats,
            cycles_max=limits.max_cycles,
            stall_max=limits.max_stall,
            rejections_max=limits.max_rejections,
            amplification_max=limits.max_amplification,
            amplification_stops=limits.amplification_stops,
        ),
        now_ms=0,
    )
    progress.heard(SAID)
    failed: set[object] = set()
    for number, step in enumerate(steps):
        arguments = Json.of(cast("JsonValue", {"query": step.asked})).data.decode()
        action = action_of(ToolRequest("c", "get_account", arguments))
        outcome = _outcome(step)
        retried = action.operation in failed
        (failed.add if _may_retry(outcome) else failed.discard)(action.operation)
        stop = progress.observe(action, outcome, retried=retried, now_ms=0)
        if stop is not None and stop.stops:
            return stop.pattern, number
    return None


def _outcome(step: Step) -> ToolOutcome:
    mark = Mark(step.mark, f'"{step.mark}"', step.justified)
    return ToolOutcome(
        call_id="c",
        tool="get_account",
        version="1.1",
        status=step.end[0],
        reason=step.end[1],
        result=Json.of({"answer": step.answer}),
        marks=(mark,) if step.mark else (),
    )


def _may_retry(outcome: ToolOutcome) -> bool:
    return outcome.status != "executed" and outcome.retryable
