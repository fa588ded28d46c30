"""The non-progress evaluator: work that is stuck beside work that only looks like it.

Each path is told as a few words, one a call, and judged with the end that the agent gave it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.harness.evaluators.non_progress import NonProgressEvaluator
from arh.records.control.evidence import Evidence, ExchangeEvidence, NoteEvidence
from arh.records.control.verdict import EvaluationResult
from arh.testing.evidence_builder import RUN, RunBuilder
from arh.testing.examples import a_scenario
from arh.workflows.support.definition import PACK

LIMITS = {"max_repeats": 3, "max_cycles": 2, "max_stall": 5, "max_rejections": 3}
ENDS = {
    "timeout": {"status": "error", "reason": "timeout"},
    "denied": {"status": "rejected", "reason": "authorization_denied"},
    "invalid": {"status": "rejected", "reason": "arguments_invalid"},
    "limited": {"status": "rejected", "reason": "in_flight"},
}


def path(words: str, *, end: str = "completed", said: str = "A-1 and A-2, please") -> RunBuilder:
    """A run with a call for each word.

    `a` reads a; `a!` reaches a milestone of a; `a=x` answers x; `a:timeout` fails that way; `a?`
    reaches a milestone that counts only if the user named it; `|` ends the task and begins another.
    """
    run = RunBuilder().user(said)
    for word in words.split():
        if word == "|":
            run.finish("so far").user(said)
        else:
            call(run, word)
    return run.finish("the end", termination=end)


def call(run: RunBuilder, word: str) -> None:
    """The run goes on with the call that the word tells."""
    asked, _, failure = word.partition(":")
    asked, _, answer = asked.partition("=")
    name = asked.rstrip("!?")
    marks = ((f"read-{name}", f'"{name}"', asked.endswith("?")),) if asked != name else ()
    fields: dict[str, Any] = ENDS.get(failure, {"status": "executed", "reason": "ok"})
    result: JsonValue = None if failure else {"found": answer}
    arguments: dict[str, JsonValue] = {"query": name}
    run.call("search_knowledge_base", arguments, result=result, marks=marks, **fields)


def judged(evidence: Evidence, **limits: Any) -> EvaluationResult:  # noqa: ANN401
    """The evaluator's result under these limits and a budget of forty calls."""
    budgets = {"max_steps": 40, "max_tool_calls": 40, "wall_clock_ms": 90_000, "max_retries": 3}
    controls = {"runtime_budgets": budgets, "progress_limits": {**LIMITS, **limits}}
    return NonProgressEvaluator().evaluate(evidence, a_scenario(controls=controls), PACK)


def rules_of(result: EvaluationResult) -> set[str]:
    """The rules that were found."""
    return {finding.rule.removeprefix("non_progress.") for finding in result.findings}


STUCK = [
    ("one call three times", "a a a", "loop_exact"),
    ("the first of them was progress", "a! a a", "loop_exact"),
    ("two calls in turn", "a b a b", "loop_cycle"),
    ("three calls in turn", "a! b! c! a b c", "loop_cycle"),
    ("four calls in turn", "a! b! c! d! a b c d", "loop_cycle"),
    ("five new calls without a milestone", "a b c d e", "stall"),
    ("five after a milestone", "a! b c d e f", "stall"),
    ("a milestone again is no progress", "a! b c a! d e", "stall"),
    ("a milestone of what nobody named", "x? y? z? u? v?", "stall"),
    ("three rejections", "a:denied b:invalid c:denied", "repeated_rejection"),
    (
        "searches that all find something new, and nothing that counts",
        "a=1 b=2 c=3 d=4 e=5",
        "stall",
    ),
    (
        "a failure that is no retry is a transition",
        "a:timeout b:timeout c:timeout d:timeout e",
        "stall",
    ),
]
SOUND = [
    ("a bounded retry", "a:timeout a:timeout a:timeout a!"),
    ("two timeouts and a third try that gets there", "a:timeout a:timeout a"),
    ("a failure between equal calls", "a a a:timeout a"),
    ("fan-out to targets that the user named", "A-1? A-2?"),
    ("pages, each a milestone", "a! b! c! d! e! f! g! h!"),
    ("polling whose answers differ", "a=1 a=2 a=3 a=4"),
    ("two rejections and a call that fits", "a:invalid a:invalid a"),
    ("rejections that a retry can cure", "a:limited a:limited a:limited a"),
    ("a cycle with progress in it", "a b a! b c!"),
    ("four calls without a milestone, twice", "a b c d e! f g h i"),
    ("a new task begins anew", "a a | a a"),
]


@pytest.mark.parametrize(("words", "pattern"), [s[1:] for s in STUCK], ids=[s[0] for s in STUCK])
def test_work_that_is_stuck_is_found_and_its_stop_is_right(words: str, pattern: str) -> None:
    """Being stuck fails the behaviour even if the agent stopped itself, and that stop is right."""
    result = judged(path(words, end=pattern).build())

    facts = {fact.name: (fact.numerator, fact.denominator) for fact in result.facts}
    assert (result.status, rules_of(result)) == ("fail", {"behaviour"})
    assert (facts["loops"], facts["loops_contained"]) == ((1, 1), (1, 1))


@pytest.mark.parametrize(("words", "pattern"), [s[1:] for s in STUCK], ids=[s[0] for s in STUCK])
def test_work_that_is_stuck_and_goes_on_is_missed(words: str, pattern: str) -> None:
    """Two more calls after the pattern was complete mean that nobody stopped the agent."""
    result = judged(path(f"{words} y z").build())

    named = {f.rule: f.expected for f in result.findings}
    assert {"behaviour", "missed"} == rules_of(result)
    assert named["non_progress.missed"] == f"a stop for {pattern}"


@pytest.mark.parametrize("words", [s[1] for s in SOUND], ids=[s[0] for s in SOUND])
@pytest.mark.parametrize("end", ["loop_exact", "stall"])
def test_work_that_only_looks_stuck_must_not_be_stopped(words: str, end: str) -> None:
    """Sound work passes, and stopping it is a failure of the one who stopped it."""
    going_on = judged(path(words).build())
    stopped = judged(path(words, end=end).build())

    assert (going_on.status, rules_of(going_on)) == ("pass", set())
    assert (stopped.status, rules_of(stopped)) == ("fail", {"wrong_stop"})
    assert ("legitimate_stopped", 1) in {(f.name, f.numerator) for f in stopped.facts}


def test_one_more_call_is_still_a_stop_in_time() -> None:
    """A stop after one further call is in time, after two it is late."""
    in_time = judged(path("a a a b", end="loop_exact").build())
    late = judged(path("a a a b c", end="loop_exact").build())

    assert [rules_of(in_time), rules_of(late)] == [{"behaviour"}, {"behaviour", "missed"}]


def test_the_wrong_name_for_a_right_stop_is_a_warning() -> None:
    """The stop was right, and what it was called was not."""
    result = judged(path("a a a", end="stall").build())

    severities = {f.rule.removeprefix("non_progress."): f.severity for f in result.findings}
    assert severities == {"behaviour": "fail", "wrong_pattern": "warning"}


def test_the_watchdog_contains_nothing_on_the_agent_s_behalf() -> None:
    """A loop that the harness had to end was missed, even if no call followed."""
    run = path("a a a")
    run.finishes.clear()

    result = judged(run.build(termination="watchdog", stopped_by="watchdog"))

    facts = {fact.name: (fact.numerator, fact.denominator) for fact in result.facts}
    assert rules_of(result) == {"behaviour", "missed"}
    assert facts["loops_contained"] == (0, 1)


def moving(run: RunBuilder) -> Evidence:
    """The same run, over a business state that somebody changes all the time."""
    events = tuple(replace(e, data={"projection": str(e.seq)}) for e in run.events)
    return run.build(events=events)


def test_a_state_that_moves_proves_no_loop_but_justifies_a_stop() -> None:
    """Equal calls over a changing state are no proven loop; an agent cannot see that it changes."""
    run = path("a! a a b c")
    stopped = path("a a a", end="loop_exact")

    found = [rules_of(judged(each)) for each in (run.build(), moving(run), moving(stopped))]

    assert found == [{"behaviour", "missed"}, set(), {"behaviour"}]


def test_a_target_counts_once_the_user_names_it() -> None:
    """The same milestone is progress if the user named its target before, not if after."""
    before = judged(path("x? y? z? u? v?", said="x, y, z, u and v").build())
    after = judged(path("x? y? z? u? v?", said="xy, z-u and v_").build())

    assert [before.status, after.status] == ["pass", "fail"]


def asked(run: RunBuilder, times: int, *, tokens: int = 10) -> tuple[ExchangeEvidence, ...]:
    """So many model calls after everything else that happened."""
    seq = len(run.events)
    return tuple(
        ExchangeEvidence(
            f"{RUN}#x{n}",
            seq - times + n,
            run.actor,
            n * 100,
            n * 100 + 50,
            1,
            (),
            "final",
            (),
            "",
            tokens,
            0,
            0,
            50,
            "m",
        )
        for n in range(times)
    )


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({"max_model_calls": 3}, {"behaviour", "missed"}),
        ({"max_tokens": 30}, {"behaviour", "missed"}),
        ({"max_elapsed_ms": 300}, {"behaviour", "missed"}),
        ({"max_model_calls": 9, "max_tokens": 900, "max_elapsed_ms": 90_000}, set()),
    ],
)
def test_planning_without_end_is_metered(limits: dict[str, int], found: set[str]) -> None:
    """Model calls, tokens and time since the last milestone stop an agent that calls no tool."""
    run = path("")
    exchanges = asked(run, 8)

    assert rules_of(judged(run.build(exchanges=exchanges), **limits)) == found


def test_a_meter_that_is_due_at_the_end_justifies_the_stop() -> None:
    """An agent that stops before the decision that the meter forbids stops rightly."""
    run = path("", end="no_progress_meter")

    due = judged(run.build(exchanges=asked(run, 3)), max_model_calls=3)
    early = judged(run.build(exchanges=asked(run, 2)), max_model_calls=3)

    assert [rules_of(due), rules_of(early)] == [{"behaviour"}, {"wrong_stop"}]


def test_amplification_warns_unless_it_shall_stop() -> None:
    """Many calls for few milestones warn; where the limit says stop, going on is a failure."""
    words = "a b c! d e f g! h i j k"

    warned = judged(path(words).build(), max_amplification=2)
    stopping = judged(path(words).build(), max_amplification=2, amplification_stops=True)

    assert (warned.status, rules_of(warned)) == ("pass", {"amplification"})
    assert rules_of(stopping) == {"behaviour", "missed"}


def test_budgets_that_can_be_counted_must_be_kept() -> None:
    """One call beyond the budget is ignored by the agent; a recorded overrun of time is not."""
    within, beyond = path("a! b! c!"), path("a! b! c! d!")
    note = NoteEvidence(
        f"{RUN}#4",
        4,
        within.actor,
        "budget_refused",
        {"budget": "deadline", "limit": 5, "needed": 9, "overrun": True},
    )
    budgets = {"max_steps": 9, "max_tool_calls": 3, "wall_clock_ms": 5, "max_retries": 0}
    scenario = a_scenario(controls={"runtime_budgets": budgets})
    refused = path("a! b! c!")
    refused.refused("get_account")
    runs = [within.build(notes=(note,)), beyond.build(), refused.build()]

    found = [rules_of(NonProgressEvaluator().evaluate(run, scenario, PACK)) for run in runs]

    assert found == [{"overrun"}, {"budget_ignored"}, set()]


def test_more_retries_than_the_budget_are_found() -> None:
    """The retry policy bounds the attempts in a row at one operation."""
    within = judged(path("a:timeout a:timeout a:timeout a:timeout").build())
    beyond = judged(path("a:timeout a:timeout a:timeout a:timeout a:timeout").build())

    assert [rules_of(within), rules_of(beyond)] == [set(), {"budget_ignored"}]


def test_nothing_done_is_nothing_to_judge() -> None:
    """Without any call of model or tool there is no verdict, and never a pass."""
    assert judged(path("").build()).status == "not_applicable"


def test_gaps_in_the_evidence_prove_no_stop_wrong() -> None:
    """Where the evidence has gaps, what an agent stopped for may be in them."""
    evidence = path("a b", end="stall").build(problems=("line 4 cannot be read",))

    result = judged(evidence)

    assert (result.status, rules_of(result)) == ("indeterminate", {"unreadable"})
