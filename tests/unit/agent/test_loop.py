"""The reference agent carries out decisions in order, and ends as its supervisor or model says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from arh.agent.loop import ReferenceAgent
from arh.canonical import Json
from arh.errors import RunStopped
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
from arh.records.messages import Message, ToolReply, ToolRequest, ToolSpec
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import AgentReport, BudgetRefused, ProgressLimits, ProgressStopped, Task
from tests.unit.agent.fakes import (
    GENEROUS,
    PATIENT,
    FakeSession,
    calls,
    executed,
    failed,
    request,
    task,
)


def run(session: FakeSession, job: Task | None = None) -> AgentReport:
    """The report of the reference agent on the task."""
    return ReferenceAgent().run(job or task(), session)


# --- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["All done.", Json.of({"message": "All done."})])
def test_a_final_answer_completes_the_task(answer: str | Json) -> None:
    """Text and envelopes are handed on as they are."""
    assert run(FakeSession([Final(answer)])) == AgentReport("completed", answer)


def test_a_refusal_is_a_safe_refusal() -> None:
    """The model's words are the response."""
    report = run(FakeSession([Refusal("I may not do that.")]))

    assert report == AgentReport("safely_refused", "I may not do that.")


def test_a_question_that_nobody_answers_ends_the_task() -> None:
    """The question is the response."""
    report = run(FakeSession([AskUser("Which account?")]))

    assert report == AgentReport("clarification_requested", "Which account?")


def test_an_answered_question_goes_on_in_the_same_conversation() -> None:
    """Question and answer are the next messages that the model sees."""
    session = FakeSession([AskUser("Which account?"), Final("done")], answers=["A-1007"])

    report = run(session)

    assert report.termination == "completed"
    assert session.asked[1][-2:] == (
        Message("assistant", "Which account?"),
        Message("user", "A-1007"),
    )


def test_a_run_that_is_stopped_from_outside_passes_through() -> None:
    """The agent does not survive what it must not survive."""

    def stop(_request: ToolRequest, _number: int) -> ToolOutcome:
        raise RunStopped("watchdog")

    with pytest.raises(RunStopped):
        run(FakeSession([calls("read")], stop))


# --- calls ---------------------------------------------------------------------------------------


def test_parallel_calls_are_made_in_order_and_answered_in_order() -> None:
    """One assistant message carries the requests, one tool message each the replies."""
    wanted = Calls((request("a", call_id="1"), request("b", call_id="2")), "looking")
    session = FakeSession([wanted, Final("done")], lambda r, _n: executed(r.tool, tool=r.tool))

    run(session)

    assert list(wanted.requests) == session.called
    assert session.asked[1][1:] == (
        Message("assistant", "looking", requests=wanted.requests),
        Message(
            "tool",
            '{"status":"executed","reason":"ok","result":"a"}',
            reply=ToolReply("1", "a", "executed", "ok", Json.of("a")),
        ),
        Message(
            "tool",
            '{"status":"executed","reason":"ok","result":"b"}',
            reply=ToolReply("2", "b", "executed", "ok", Json.of("b")),
        ),
    )


def test_the_model_never_sees_what_only_the_supervisor_may_know() -> None:
    """Milestones, beliefs and operation ids stay out of every message."""
    secret = ToolOutcome(
        "call-0001",
        "read",
        "1.0",
        "error",
        "timeout",
        operation_id="op-secret",
        commit_belief="unknown",
        delivery="timeout",
        marks=(Mark("milestone-secret", "target-secret"),),
    )
    session = FakeSession([calls("read"), Final("done")], lambda _r, _n: secret)

    run(session)

    shown = repr(session.asked)
    assert '"reason":"timeout"' in shown
    assert [word for word in ("secret", "unknown", "call-0001") if word in shown] == []


def test_a_call_gets_the_time_that_is_left() -> None:
    """So does a question to the model."""
    session = FakeSession([calls("read"), Final("done")], call_ms=300, model_ms=100)

    run(session, task(replace(GENEROUS, deadline_ms=1_000)))

    assert session.limits == [(1_000, None), (600, None)]
    assert session.timeouts == [900]


def test_a_retry_waits_first() -> None:
    """The back-off passes through the session's clock."""

    def outcome(_request: ToolRequest, number: int) -> ToolOutcome:
        return failed("timeout") if number < 3 else executed()

    session = FakeSession([calls("read"), calls("read"), calls("read"), Final("done")], outcome)

    assert run(session).termination == "completed"
    assert session.waits == [200, 400]


# --- budgets -------------------------------------------------------------------------------------


def test_a_step_budget_stops_before_the_model_is_asked() -> None:
    """Two steps are two questions."""
    session = FakeSession([calls("read")])

    report = run(session, task(replace(GENEROUS, steps_max=2)))

    assert report == AgentReport("step_budget", detail="limit 2, needed 3")
    assert len(session.asked) == 2
    assert session.notes == [BudgetRefused("step_budget", 2, 3)]


def test_every_call_that_a_budget_forbids_is_on_record() -> None:
    """The forbidden call and those behind it each get a note, and none reaches the gateway."""
    wanted = calls("a", "b", "c")
    session = FakeSession([wanted])

    report = run(session, task(replace(GENEROUS, tool_calls_max=1)))

    assert report.termination == "tool_call_budget"
    assert [r.tool for r in session.called] == ["a"]
    assert session.notes == [
        BudgetRefused("tool_call_budget", 1, 2, wanted.requests[1]),
        BudgetRefused("tool_call_budget", 1, 2, wanted.requests[2]),
    ]


def test_calls_proposed_by_an_overrunning_decision_are_on_record_and_not_made() -> None:
    """The overrun is noted once, then each call."""
    wanted = calls("a")
    session = FakeSession([wanted], usage=Usage(90, 20))

    report = run(session, task(replace(GENEROUS, tokens_max=100)))

    assert report.termination == "token_budget"
    assert session.called == []
    assert session.notes == [
        BudgetRefused("token_budget", 100, 110, overrun=True),
        BudgetRefused("token_budget", 100, 110, wanted.requests[0]),
    ]


def test_calls_behind_a_pattern_are_on_record_and_not_made() -> None:
    """The pattern is noted, then what was not made because of it."""
    wanted = calls("a", "b")
    session = FakeSession([wanted])

    report = run(session, task(progress=replace(PATIENT, stall_max=1)))

    assert report.termination == "stall"
    assert session.notes == [
        ProgressStopped("stall", "1 transitions without a milestone"),
        BudgetRefused("stall", 0, 0, wanted.requests[1]),
    ]


def test_a_late_answer_is_no_answer() -> None:
    """An overrun ends the task without the response that came too late."""
    session = FakeSession([Final("done")], model_ms=2_000)

    report = run(session, task(replace(GENEROUS, deadline_ms=1_000)))

    assert report == AgentReport("deadline", detail="limit 1000, used 2000")
    assert session.notes == [BudgetRefused("deadline", 1_000, 2_000, overrun=True)]


def test_one_slow_call_is_the_supervisors_deadline() -> None:
    """A call that ignores its time ends the task at once, before another call or question."""
    session = FakeSession([calls("a", "b")], call_ms=25_000)

    report = run(session, task(replace(GENEROUS, deadline_ms=15_000)))

    assert report.termination == "deadline"
    assert (len(session.asked), len(session.called)) == (1, 1)


def test_the_estimate_covers_prompt_tools_requests_and_results() -> None:
    """Every character that the next request holds is counted, four to a token, rounded up."""
    tool = ToolSpec("read", "1.0", "reads", Json.of({}))
    job = replace(
        task(replace(GENEROUS, tokens_max=1_000), said="u" * 10),
        tools=(tool,),
        system_prompt="s" * 20,
    )
    session = FakeSession([calls('read{"a":1}'), Final("done")], usage=Usage(1, 1))

    run(session, job)

    first = 10 + 20 + len("read") + len("reads") + len("{}")
    second = first + len('read{"a":1}') + len('{"status":"executed","reason":"ok","result":null}')
    left = [limit for _, limit in session.limits]
    assert left == [1_000 - -(-first // 4), 998 - -(-second // 4)]


# --- a model that fails --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "detail", "waits"),
    [
        (Truncated(), "model: truncated reply, 3 times", []),
        (Malformed(), "model: malformed reply, 3 times", []),
        (Calls(()), "model: malformed reply, 3 times", []),
        (Unavailable("timeout"), "model: timeout, 3 times", [200, 400]),
        (Unavailable("rate_limited", 7), "model: rate_limited, 3 times", [7, 7]),
    ],
)
def test_a_model_that_keeps_failing_is_a_dependency_that_is_not_available(
    decision: Decision, detail: str, waits: list[int]
) -> None:
    """It is asked again as often as retries are allowed, and nothing in its replies is acted on."""
    session = FakeSession([decision])

    report = run(session, task(replace(GENEROUS, retries_max=2)))

    assert report == AgentReport("dependency_unavailable", detail=detail)
    assert (len(session.asked), session.waits, session.called) == (3, waits, [])


def test_a_model_that_recovers_is_forgiven() -> None:
    """Failures count in a row, each of them is a step."""
    decisions: list[Decision] = [
        Unavailable("timeout"),
        calls("a"),
        Malformed(),
        Truncated(),
        Final("done"),
    ]
    session = FakeSession(decisions)

    assert run(session, task(replace(GENEROUS, retries_max=2, steps_max=5))).response == "done"


def test_waiting_for_a_model_never_outlives_the_deadline() -> None:
    """A back-off that does not fit is not begun."""
    session = FakeSession([Unavailable("rate_limited", 900)], model_ms=200)

    report = run(session, task(replace(GENEROUS, deadline_ms=1_000)))

    detail = "model: rate_limited, and no time left to ask again"
    assert report == AgentReport("dependency_unavailable", detail=detail)
    assert session.now == 200


# --- non-progress through the loop ---------------------------------------------------------------


def test_identical_reads_end_as_an_exact_loop() -> None:
    """Three equal reads are made, no fourth."""
    session = FakeSession([calls("read")])

    report = run(session, task(progress=ProgressLimits()))

    assert report == AgentReport("loop_exact", detail="3 equal calls in a row")
    assert session.notes == [ProgressStopped("loop_exact", "3 equal calls in a row")]


def test_a_planner_that_never_acts_ends_at_its_meter() -> None:
    """Questions to the user are no progress."""
    session = FakeSession([AskUser("And now?")], answers=["go on"] * 50)

    report = run(session, task(progress=replace(PATIENT, model_calls_max=4)))

    assert report.termination == "no_progress_meter"
    assert len(session.asked) == 4


def test_a_warning_does_not_end_the_task() -> None:
    """Amplification is noted and the work goes on."""
    session = FakeSession([calls("a"), calls("b"), Final("done")])

    report = run(session, task(progress=replace(PATIENT, amplification_max=1)))

    assert report.termination == "completed"
    assert [note for note in session.notes if isinstance(note, ProgressStopped)] == [
        ProgressStopped("amplification", "2 executed calls for 0 milestones", stops=False)
    ]


def test_targets_named_in_an_answer_are_justified() -> None:
    """Reading the account that the user named when asked is progress."""

    def outcome(_request: ToolRequest, _number: int) -> ToolOutcome:
        return executed(1, Mark("account_loaded", '"A-2222"', justified=True))

    decisions: list[Decision] = [AskUser("Which?"), calls("read"), Final("done")]
    job = task(progress=replace(PATIENT, stall_max=1))

    named = run(FakeSession(decisions, outcome, answers=["A-2222"]), job)
    unnamed = run(FakeSession(decisions, outcome, answers=["any"]), job)

    assert (named.termination, unnamed.termination) == ("completed", "stall")


# --- prompt and telemetry ------------------------------------------------------------------------


def test_prompt_and_contract_are_one_system_message() -> None:
    """Without either there is none."""
    session, plain = FakeSession(), FakeSession()
    contract = Json.of({"type": "object"})

    run(session, replace(task(), system_prompt="Be brief.", output_contract=contract))
    run(plain)

    (system, user), alone = session.asked[0], plain.asked[0]
    assert (system.role, user) == ("system", Message("user", "help A-1007"))
    assert system.content.startswith("Be brief.\n\n")
    assert system.content.endswith('{"type":"object"}')
    assert alone == (user,)


class Recorded:
    """A telemetry port that keeps what it is told."""

    def __init__(self) -> None:
        self.numbers = 0
        self.spans: list[tuple[object, ...]] = []

    def reserve(self) -> int:
        """The next number."""
        self.numbers += 1
        return self.numbers

    def span(
        self,
        number: int,
        name: str,
        *,
        parent: int,
        start_ms: int,
        end_ms: int,
        attributes: Mapping[str, str | int | bool],
        error: str = "",
    ) -> None:
        """The span is kept."""
        self.spans.append((number, name, parent, start_ms, end_ms, dict(attributes), error))


def test_each_step_is_a_span_with_its_model_call_inside() -> None:
    """A reply that cannot be acted on is an error of the model call, not of the step."""
    telemetry = Recorded()
    decisions: list[Decision] = [calls("read"), Truncated(), Final("done")]
    session = FakeSession(decisions, call_ms=5, model_ms=10, usage=Usage(3, 2))

    ReferenceAgent(telemetry).run(task(), session)

    tokens = {"input_tokens": 3, "output_tokens": 2}
    assert telemetry.spans == [
        (2, "model_call", 1, 0, 10, {"decision": "calls", **tokens}, ""),
        (1, "agent_step", 0, 0, 15, {"step": 1, "decision": "calls"}, ""),
        (4, "model_call", 3, 15, 25, {"decision": "truncated", **tokens}, "truncated"),
        (3, "agent_step", 0, 15, 25, {"step": 2, "decision": "truncated"}, ""),
        (6, "model_call", 5, 25, 35, {"decision": "final", **tokens}, ""),
        (5, "agent_step", 0, 25, 35, {"step": 3, "decision": "final"}, ""),
    ]
