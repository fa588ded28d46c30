"""Whatever models, tools and users do, the reference agent ends within its budgets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arh.agent.loop import ReferenceAgent
from arh.canonical import Json
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    Refusal,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import ToolRequest
from arh.records.outcomes import Mark, Reason, ToolOutcome
from arh.records.tasks import BUDGETS, NON_PROGRESS, BudgetRefused, Budgets, ProgressLimits
from tests.unit.agent.fakes import FakeSession, task

SMALL = st.integers(1, 8)
MAYBE = st.none() | st.integers(1, 200)
ARGUMENTS = st.sampled_from(
    ["{}", '{"a":1}', '{"a":2}', "{", '{"idempotency_key":"k","a":1}', '{"idempotency_key":"k"}']
)
REQUESTS = st.builds(
    ToolRequest, st.sampled_from(["req-1", "req-2"]), st.sampled_from(["a", "b"]), ARGUMENTS
)
DECISIONS: st.SearchStrategy[Decision] = st.one_of(
    st.builds(Calls, st.lists(REQUESTS, max_size=4).map(tuple)),
    st.builds(AskUser, st.just("which?")),
    st.builds(Truncated),
    st.builds(Malformed),
    st.builds(Unavailable, st.just("timeout"), st.none() | st.integers(-1, 500)),
    st.builds(Refusal, st.just("no")) | st.builds(Final, st.just("done")),
)
MARKS = st.builds(Mark, st.sampled_from(["m", "n"]), st.sampled_from(["", "1", "A-1007"]))
OUTCOMES = st.builds(
    ToolOutcome,
    st.just("call-0001"),
    st.sampled_from(["a", "b"]),
    st.just("1.0"),
    st.sampled_from(["executed", "rejected", "error"]),
    st.sampled_from(list(Reason)),
    st.none() | st.integers(0, 3).map(Json.of),
    retry_after_ms=st.none() | st.integers(0, 300),
    marks=st.lists(MARKS, max_size=2).map(tuple),
)
BUDGETED = st.builds(
    Budgets,
    steps_max=SMALL,
    tool_calls_max=SMALL,
    deadline_ms=st.integers(1, 3_000),
    tokens_max=MAYBE,
    output_tokens_max=MAYBE,
    retries_max=st.integers(0, 3),
)
LIMITED = st.builds(
    ProgressLimits,
    repeats_max=SMALL,
    cycles_max=SMALL,
    stall_max=SMALL,
    rejections_max=SMALL,
    model_calls_max=MAYBE,
    tokens_max=MAYBE,
    elapsed_ms_max=MAYBE,
    amplification_max=MAYBE,
    amplification_stops=st.booleans(),
)
EXPECTED = {
    "completed",
    "clarification_requested",
    "safely_refused",
    "dependency_unavailable",
    *BUDGETS,
    *NON_PROGRESS,
}


@st.composite
def sessions(draw: st.DrawFn) -> FakeSession:
    """A session that repeats its last decision for ever and cycles through its outcomes."""
    outcomes = draw(st.lists(OUTCOMES, min_size=1, max_size=6))
    return FakeSession(
        draw(st.lists(DECISIONS, min_size=1, max_size=12)),
        lambda _request, number: outcomes[number % len(outcomes)],
        answers=["A-1007"] * draw(st.integers(0, 30)),
        call_ms=draw(st.integers(0, 900)),
        model_ms=draw(st.integers(0, 900)),
        usage=draw(st.builds(Usage, st.integers(0, 40), st.integers(0, 40))),
    )


@given(session=sessions(), budgets=BUDGETED, limits=LIMITED)
def test_every_run_ends_within_its_budgets(
    session: FakeSession, budgets: Budgets, limits: ProgressLimits
) -> None:
    """Steps and calls are never exceeded, and the deadline by one call or one question at most."""
    report = ReferenceAgent().run(task(budgets, limits), session)

    assert report.termination in EXPECTED
    assert len(session.asked) <= budgets.steps_max
    assert len(session.called) <= budgets.tool_calls_max
    assert session.now <= budgets.deadline_ms + 900
    assert all(timeout > 0 for timeout in session.timeouts)


@given(session=sessions(), budgets=BUDGETED, limits=LIMITED)
def test_no_attempt_is_lost(session: FakeSession, budgets: Budgets, limits: ProgressLimits) -> None:
    """Every call that the model asked for was either made or is noted as refused, in order."""
    asked: list[ToolRequest] = []
    complete = session.complete

    def listening(*args: object, **kwargs: object) -> object:
        reply = complete(*args, **kwargs)  # type: ignore[arg-type]
        if isinstance(reply.decision, Calls):
            asked.extend(reply.decision.requests)
        return reply

    session.complete = listening  # type: ignore[assignment, method-assign]
    ReferenceAgent().run(task(budgets, limits), session)

    noted = [
        note.request
        for note in session.notes
        if isinstance(note, BudgetRefused) and note.request is not None
    ]
    assert asked == session.called + noted
