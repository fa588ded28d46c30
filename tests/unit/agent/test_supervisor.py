"""The supervisor permits what fits into the budgets and says what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arh.agent.supervisor import Permit, Stop, Supervisor, back_off_ms
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import BudgetRefused, Budgets, ProgressLimits, ProgressStopped
from tests.unit.agent.fakes import GENEROUS, PATIENT, executed, failed, request


def supervisor(budgets: Budgets = GENEROUS, limits: ProgressLimits = PATIENT) -> Supervisor:
    """A supervisor of a task that begins at 1000 ms."""
    return Supervisor(budgets, limits, now_ms=1_000)


def refused(budget: str, limit: int, needed: int, *, overrun: bool = False) -> BudgetRefused:
    """The note of a refusal."""
    return BudgetRefused(budget, limit, needed, overrun=overrun)


def done(
    watch: Supervisor, outcome: ToolOutcome, arguments: str = "{}", *, now_ms: int = 1_000
) -> Permit | Stop:
    """The answer to a request; if it is a permit, the call has been made."""
    permit = watch.before_call(request("read", arguments), now_ms=now_ms)
    if isinstance(permit, Permit):
        watch.after_call(permit, outcome, now_ms=now_ms)
    return permit


def note_of(stop: object) -> object:
    """The note of a stop, or whatever else it is."""
    return stop.note if isinstance(stop, Stop) else stop


# --- before a decision ---------------------------------------------------------------------------


def test_a_step_more_than_allowed_is_refused() -> None:
    """Two steps are taken, the third is not."""
    watch = supervisor(replace(GENEROUS, steps_max=2))

    stops = [note_of(watch.before_decision(now_ms=1_000, input_tokens=1)) for _ in range(3)]

    assert stops == [None, None, refused("step_budget", 2, 3)]


def test_the_deadline_counts_from_the_start_of_the_task() -> None:
    """It is reached at its last millisecond and comes before every other budget."""
    watch = supervisor(replace(GENEROUS, deadline_ms=500, steps_max=1))

    stops = [note_of(watch.before_decision(now_ms=at, input_tokens=1)) for at in (1_499, 1_500)]

    assert stops == [None, refused("deadline", 500, 500)]


def test_a_request_that_cannot_fit_is_not_made() -> None:
    """Estimated input and largest output must fit into the tokens that are left."""
    watch = supervisor(replace(GENEROUS, tokens_max=100, output_tokens_max=40))

    fits = watch.before_decision(now_ms=1_000, input_tokens=60)
    watch.after_decision(now_ms=1_000, tokens=30)
    does_not = watch.before_decision(now_ms=1_000, input_tokens=31)

    assert (fits, note_of(does_not)) == (None, refused("token_budget", 100, 101))


def test_without_a_cap_the_answer_may_use_what_is_left() -> None:
    """The model is told how much that is; there must be at least one token."""
    watch = supervisor(replace(GENEROUS, tokens_max=100))
    watch.after_decision(now_ms=1_000, tokens=30)

    assert watch.output_tokens_max(50) == 20
    assert watch.before_decision(now_ms=1_000, input_tokens=69) is None
    assert note_of(watch.before_decision(now_ms=1_000, input_tokens=70)) == refused(
        "token_budget", 100, 101
    )


def test_meters_are_read_after_the_budgets() -> None:
    """A used-up step budget is named even where a meter has run out too."""
    limits = replace(PATIENT, model_calls_max=1)
    watch, poor = supervisor(limits=limits), supervisor(replace(GENEROUS, steps_max=1), limits)
    for each in (watch, poor):
        each.before_decision(now_ms=1_000, input_tokens=1)
        each.after_decision(now_ms=1_000, tokens=1)

    stop, other = (each.before_decision(now_ms=1_000, input_tokens=1) for each in (watch, poor))

    assert isinstance(stop, Stop)
    assert stop.termination == "no_progress_meter"
    assert note_of(other) == refused("step_budget", 1, 2)


# --- after a decision ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now_ms", "tokens", "found"),
    [
        (1_500, 100, None),
        (1_501, 100, refused("deadline", 500, 501, overrun=True)),
        (1_500, 101, refused("token_budget", 100, 101, overrun=True)),
        (1_501, 101, refused("deadline", 500, 501, overrun=True)),
    ],
)
def test_what_a_decision_spent_beyond_a_limit_is_an_overrun(
    now_ms: int, tokens: int, found: BudgetRefused | None
) -> None:
    """Exactly the limit is allowed."""
    watch = supervisor(replace(GENEROUS, deadline_ms=500, tokens_max=100))

    assert note_of(watch.after_decision(now_ms=now_ms, tokens=tokens)) == found


# --- calls ---------------------------------------------------------------------------------------


def test_a_call_more_than_allowed_is_refused() -> None:
    """Calls that the gateway rejects count as well."""
    watch = supervisor(replace(GENEROUS, tool_calls_max=2))
    rejected = failed("authorization_denied", status="rejected")

    answers = [done(watch, rejected, f'{{"n":{n}}}') for n in range(3)]

    assert [isinstance(answer, Permit) for answer in answers] == [True, True, False]
    assert note_of(answers[2]) == refused("tool_call_budget", 2, 3)


def test_a_call_after_the_deadline_is_refused() -> None:
    """The last millisecond is too late."""
    watch = supervisor(replace(GENEROUS, deadline_ms=500))

    assert isinstance(done(watch, executed(), now_ms=1_499), Permit)
    assert note_of(done(watch, executed(), now_ms=1_500)) == refused("deadline", 500, 500)


def test_an_overrun_is_named_before_a_pattern() -> None:
    """Budgets have their say before loop analysis."""
    watch = supervisor(replace(GENEROUS, deadline_ms=500), replace(PATIENT, stall_max=1))
    permit = watch.before_call(request(), now_ms=1_000)
    assert isinstance(permit, Permit)

    stop = watch.after_call(permit, executed(), now_ms=1_501)

    assert note_of(stop) == refused("deadline", 500, 501, overrun=True)


def test_a_pattern_stops_and_a_warning_does_not() -> None:
    """A stop carries its termination; a warning is only a note."""
    stuck = supervisor(limits=replace(PATIENT, stall_max=1))
    noisy = supervisor(limits=replace(PATIENT, amplification_max=1))

    found = []
    for watch in (stuck, noisy):
        done(watch, executed(1, tool="a"), '{"n":1}') if watch is noisy else None
        permit = watch.before_call(request(), now_ms=1_000)
        assert isinstance(permit, Permit)
        found.append(watch.after_call(permit, executed(), now_ms=1_000))

    stall = ProgressStopped("stall", "1 transitions without a milestone")
    warning = ProgressStopped("amplification", "2 executed calls for 0 milestones", stops=False)
    assert found == [Stop("stall", stall, 0, 0), warning]


# --- retries -------------------------------------------------------------------------------------


def test_retries_are_backed_off_and_bounded() -> None:
    """Three retries wait longer and longer; the fourth is refused."""
    watch = supervisor(replace(GENEROUS, retries_max=3))

    answers = [done(watch, failed("timeout")) for _ in range(5)]

    waits = [(a.retried, a.wait_ms) for a in answers if isinstance(a, Permit)]
    assert waits == [(False, 0), (True, 200), (True, 400), (True, 800)]
    assert note_of(answers[4]) == refused("retry_budget", 3, 4)


def test_a_retry_that_succeeds_ends_the_count() -> None:
    """Two timeouts and a success are spared, and the next call is no retry."""
    watch = supervisor(replace(GENEROUS, retries_max=2))
    outcomes = [failed("timeout"), failed("timeout"), executed(), executed()]

    answers = [done(watch, outcome) for outcome in outcomes]

    assert [a.retried for a in answers if isinstance(a, Permit)] == [False, True, True, False]


def test_other_arguments_under_the_same_key_are_a_retry() -> None:
    """The key names the logical operation."""
    watch = supervisor(replace(GENEROUS, retries_max=1))
    spellings = [f'{{"idempotency_key":"k","n":{n}}}' for n in range(3)]

    answers = [done(watch, failed("timeout"), spelling) for spelling in spellings]

    assert note_of(answers[2]) == refused("retry_budget", 1, 2)


def test_other_operations_are_counted_apart() -> None:
    """Each operation has its own retries."""
    watch = supervisor(replace(GENEROUS, retries_max=1))

    answers = [done(watch, failed("timeout"), f'{{"n":{n % 3}}}') for n in range(6)]

    assert all(isinstance(answer, Permit) for answer in answers)


def test_the_failure_may_say_when_to_come_back() -> None:
    """A rate limit's own time is waited, if it fits into the time left."""
    watch = supervisor(replace(GENEROUS, deadline_ms=5_000))
    done(watch, failed("rate_limited", retry_after_ms=4_000))

    first = watch.before_call(request("read"), now_ms=1_000)
    second = watch.before_call(request("read"), now_ms=2_000)

    assert isinstance(first, Permit)
    assert first.wait_ms == 4_000
    assert note_of(second) == refused("deadline", 5_000, 5_000)


@pytest.mark.parametrize(
    ("attempt", "asked", "waits"),
    [(1, None, 200), (2, None, 400), (6, None, 5_000), (1_000, None, 5_000), (1, 7, 7), (1, -5, 0)],
)
def test_back_off_doubles_up_to_its_cap(attempt: int, asked: int | None, waits: int) -> None:
    """What the failure asks for is honoured instead."""
    assert back_off_ms(attempt, asked) == waits


def test_stops_say_what_led_to_them() -> None:
    """The detail is short and made of numbers."""
    watch = supervisor(replace(GENEROUS, deadline_ms=500, steps_max=1))
    watch.before_decision(now_ms=1_000, input_tokens=1)

    steps = watch.before_decision(now_ms=1_000, input_tokens=1)
    late = watch.after_decision(now_ms=1_700, tokens=1)

    assert isinstance(steps, Stop)
    assert isinstance(late, Stop)
    assert (steps.detail, late.detail) == ("limit 1, needed 2", "limit 500, used 700")
