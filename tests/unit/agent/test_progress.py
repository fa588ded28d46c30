"""The non-progress analysis flags each kind of stuck agent and spares its busy twin."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from arh.agent.progress import Progress, action_of, names, values_of
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import ProgressLimits, ProgressStopped
from tests.unit.agent.fakes import executed, failed, request

EMPTY = executed({"results": []})
SHIPPED = ProgressLimits()
Step = tuple[str, ToolOutcome]


def fed(
    steps: Iterable[Step],
    limits: ProgressLimits = SHIPPED,
    *,
    said: str = "",
    retried: Iterable[int] = (),
) -> list[ProgressStopped | None]:
    """What the analysis says after each call; `retried` are the positions of retries."""
    progress = Progress(limits, now_ms=0)
    progress.heard(said)
    again = set(retried)
    return [
        progress.observe(
            action_of(request(*tool.split(" ", 1))), outcome, retried=at in again, now_ms=at
        )
        for at, (tool, outcome) in enumerate(steps)
    ]


def mark(target: str = "", *, justified: bool = False) -> Mark:
    """A milestone called step."""
    return Mark("step", target, justified)


# --- exact repetition ----------------------------------------------------------------------------


def test_three_identical_reads_are_a_loop_although_the_first_was_progress() -> None:
    """The third equal call with an equal result is flagged; its two predecessors are not."""
    read = executed({"id": 1}, mark())

    found = fed([("read", read)] * 3)

    assert found == [None, None, ProgressStopped("loop_exact", "3 equal calls in a row")]


def test_the_spelling_of_arguments_does_not_hide_a_repetition() -> None:
    """Spaces and the order of keys are not a difference."""
    spellings = ['read {"a":1,"b":2}', 'read {"b":2, "a":1}', 'read { "a": 1, "b": 2 }']

    found = fed([(spelling, executed(1)) for spelling in spellings])

    assert [f and f.pattern for f in found] == [None, None, "loop_exact"]


def test_productive_polling_is_no_loop() -> None:
    """Equal calls whose result changes, and whose changes are marked, may go on."""
    polls = [("poll", executed({"percent": n}, mark(str(n)))) for n in range(20)]

    assert fed(polls) == [None] * 20


def test_identical_timeouts_are_left_to_the_retry_policy() -> None:
    """Three retries that time out are no pattern, and neither is the success after them."""
    attempts = [("read", failed("timeout"))] * 4 + [("read", executed(1, mark()))]

    assert fed(attempts, retried=range(1, 5)) == [None] * 5


def test_a_limit_of_one_repeat_does_not_flag_a_single_call() -> None:
    """Nothing is repeated by being done once."""
    found = fed([("read", executed(1))] * 2, ProgressLimits(repeats_max=1))

    assert [f and f.pattern for f in found] == [None, "loop_exact"]


# --- cycles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_sequence_seen_twice_is_a_cycle_of_its_length(length: int) -> None:
    """The last call of the second round is flagged, and the detail names the length."""
    round_ = [(f"read{n}", executed(n, mark(str(n)))) for n in range(length)]

    found = fed(round_ * 2)

    detail = f"cycle of length {length} seen 2 times"
    assert found == [None] * (2 * length - 1) + [ProgressStopped("loop_cycle", detail)]


def test_a_cycle_that_reaches_a_milestone_each_round_is_work() -> None:
    """Reading and writing in turns, each write a new step, is not flagged."""
    steps: list[Step] = []
    for n in range(10):
        steps += [("next", executed("page")), ("store", executed("ok", mark(str(n))))]

    assert fed(steps) == [None] * 20


def test_two_operations_retried_in_turns_are_no_cycle() -> None:
    """A, B, A, B of timeouts is bounded by the retry policy of A and of B."""
    steps = [("a", failed("timeout")), ("b", failed("timeout"))] * 3

    assert fed(steps, retried=range(2, 6)) == [None] * 6


def test_a_cycle_needs_as_many_rounds_as_the_limit_says() -> None:
    """With a limit of three the second round is let through."""
    steps = [("a", executed(1)), ("b", executed(2))] * 3
    limits = ProgressLimits(cycles_max=3, stall_max=50)

    found = fed(steps, limits)

    detail = "cycle of length 2 seen 3 times"
    assert found == [None] * 5 + [ProgressStopped("loop_cycle", detail)]


def test_repetition_within_its_limit_is_not_called_a_cycle() -> None:
    """A, A, A, A has a period of two as well, but it is a repetition."""
    limits = ProgressLimits(repeats_max=6, stall_max=50)

    found = fed([("a", executed(1))] * 6, limits)

    assert [f and f.pattern for f in found] == [None] * 5 + ["loop_exact"]


# --- stall ---------------------------------------------------------------------------------------


def test_distinct_empty_searches_are_a_stall() -> None:
    """The fifth search that finds nothing is flagged, however new each of them is."""
    found = fed([(f'search {{"q":"{n}"}}', EMPTY) for n in range(5)])

    assert found == [None] * 4 + [ProgressStopped("stall", "5 transitions without a milestone")]


def test_novelty_without_a_milestone_is_a_stall() -> None:
    """Eight tickets under eight keys are activity, not progress."""
    tickets = [
        (f'ticket {{"idempotency_key":"k{n}"}}', executed({"ticket_id": f"TK-{n}"}))
        for n in range(8)
    ]

    assert [f and f.pattern for f in fed(tickets)][:5] == [None] * 4 + ["stall"]


def test_a_paged_search_is_no_stall() -> None:
    """Pages that differ and are each marked may go on for as long as there are pages."""
    pages = [(f'search {{"page":{n}}}', executed({"page": n}, mark(str(n)))) for n in range(12)]

    assert fed(pages) == [None] * 12


def test_three_misses_before_a_hit_are_no_stall() -> None:
    """A hit in time starts the count anew."""
    steps = [(f'search {{"q":"{n}"}}', EMPTY) for n in range(3)]
    hit = ('search {"q":"hit"}', executed({"results": [1]}, mark()))

    assert fed([*steps, hit, *steps]) == [None] * 7


def test_retries_of_one_operation_count_as_one_transition() -> None:
    """Six attempts at one call stay below a stall of five; five operations do not."""
    attempts = [("read", failed("timeout"))] * 6
    others = [(f"read{n}", failed("timeout")) for n in range(5)]

    assert fed(attempts, retried=range(1, 6)) == [None] * 6
    assert [f and f.pattern for f in fed(others)] == [None] * 4 + ["stall"]


# --- milestones ----------------------------------------------------------------------------------


def test_fan_out_over_accounts_that_the_user_named_is_progress() -> None:
    """Two justified targets are two milestones."""
    limits = ProgressLimits(stall_max=1)
    steps = [(f"read {n}", executed(n, mark(f'"{n}"', justified=True))) for n in ("A-1", "A-2")]

    assert fed(steps, limits, said="compare A-1 with a-2, please") == [None, None]


def test_fan_out_over_accounts_that_nobody_named_is_a_stall() -> None:
    """New identifiers alone are no progress: `A-1` is not named by `A-10` or `XA-1`."""
    steps = [(f"read {n}", executed(n, mark(f'"{n}"', justified=True))) for n in range(1, 6)]

    found = fed(steps, said="look at 10, 20, A-3, x4, 5_ and 50")

    assert [f and f.pattern for f in found] == [None] * 4 + ["stall"]


def test_a_mark_counts_once() -> None:
    """The same milestone reached again is no progress."""
    steps = [(f"read{n}", executed(n, mark("same"))) for n in range(6)]

    assert [f and f.pattern for f in fed(steps)] == [None] * 5 + ["stall"]


def test_a_target_may_be_named_later() -> None:
    """Once the user has named the account, reading it is progress."""
    progress = Progress(ProgressLimits(stall_max=2), now_ms=0)
    read = executed(1, mark('"A-1"', justified=True))

    before = progress.observe(action_of(request()), read, retried=False, now_ms=0)
    progress.heard("I mean A-1")
    after = progress.observe(action_of(request("other")), read, retried=False, now_ms=0)

    assert (before, after) == (None, None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("A-1007", True),
        ("(A-1007).", True),
        ("A-1007's bill", True),
        ("about A-1007-", True),
        ("A-10071 and A-1007", True),
        ("A-10071", False),
        ("BA-1007", False),
        ("X-A-1007", False),
        ("A-1007-2", False),
        ("A-1007_2", False),
        ("", False),
    ],
)
def test_a_target_is_named_as_a_whole_token(*, text: str, named: bool) -> None:
    """Neighbouring letters, digits, underscores and hyphens with more behind them belong to it."""
    assert names(text, "A-1007") == named


def test_nothing_names_an_empty_target() -> None:
    """A mark that demands justification but has no target never counts."""
    assert not names("anything", "")


@pytest.mark.parametrize(
    ("target", "values"),
    [
        ('"A-1007"', ("A-1007",)),
        ('"A-1007"|2', ("A-1007", "2")),
        ('"a|b"|"c"', ("a|b", "c")),
        ("A-1007", ("A-1007",)),
        ('"A" "B"', ('"A" "B"',)),
        ("", ("",)),
    ],
)
def test_a_target_is_read_as_json_values_between_bars(target: str, values: tuple[str, ...]) -> None:
    """What is not written like that is one value as it stands."""
    assert values_of(target) == values


# --- meters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        (
            ProgressLimits(model_calls_max=3),
            "3 model calls since the last milestone, limit 3",
        ),
        (ProgressLimits(tokens_max=90), "90 tokens since the last milestone, limit 90"),
        (ProgressLimits(elapsed_ms_max=50), "50 ms since the last milestone, limit 50"),
    ],
)
def test_a_meter_stops_a_planner_that_never_acts(limits: ProgressLimits, detail: str) -> None:
    """Model calls, tokens and time since the last milestone each have their limit."""
    progress = Progress(limits, now_ms=0)

    readings = []
    for now in (0, 20, 40, 50):
        readings.append(progress.read_meters(now))
        progress.decided(30)

    assert readings == [None, None, None, ProgressStopped("no_progress_meter", detail)]


def test_a_milestone_sets_the_meters_back() -> None:
    """What was spent before the last progress is no longer counted."""
    limits = ProgressLimits(model_calls_max=2, tokens_max=60, elapsed_ms_max=60)
    progress = Progress(limits, now_ms=0)

    readings = []
    for n in range(6):
        progress.decided(30)
        progress.observe(
            action_of(request()), executed(n, mark(str(n))), retried=False, now_ms=n * 50
        )
        readings.append(progress.read_meters(n * 50 + 40))

    assert readings == [None] * 6


# --- rejections ----------------------------------------------------------------------------------


def test_three_schema_rejections_in_a_row_are_flagged() -> None:
    """Whether the arguments differ or not, the pattern is the rejection and not the repetition."""
    invalid = failed("arguments_invalid", status="rejected")
    expected = ProgressStopped("repeated_rejection", "3 rejections in a row")

    assert fed([("read", invalid)] * 3) == [None, None, expected]
    assert fed([(f"read {n}", invalid) for n in range(3)]) == [None, None, expected]


def test_rejections_before_and_after_a_hit_are_not_in_a_row() -> None:
    """An executed call starts the count anew."""
    invalid = [(f"read {n}", failed("arguments_invalid", status="rejected")) for n in range(2)]

    assert fed([*invalid, ("read", executed(1, mark())), *invalid]) == [None] * 5


def test_rejections_that_a_retry_can_cure_are_left_to_the_retry_policy() -> None:
    """An authorisation service that does not answer is no repeated rejection."""
    away = failed("authorization_unavailable", status="rejected")

    assert fed([("read", away)] * 4, retried=range(1, 4)) == [None] * 4


# --- amplification -------------------------------------------------------------------------------

WASTEFUL = [(f"read{n}", executed(n, *([mark(str(n))] if n % 4 == 3 else []))) for n in range(12)]


def test_amplification_warns_once() -> None:
    """More executed calls for each milestone than allowed are worth a warning, not a stop."""
    found = fed(WASTEFUL, ProgressLimits(amplification_max=3))

    expected = ProgressStopped("amplification", "7 executed calls for 1 milestones", stops=False)
    assert found == [None] * 6 + [expected] + [None] * 5


def test_amplification_stops_if_told_so() -> None:
    """It is reachable with the shipped stall limit, since milestones come every fourth call."""
    found = fed(WASTEFUL, ProgressLimits(amplification_max=3, amplification_stops=True))

    assert found[6] == ProgressStopped("amplification", "7 executed calls for 1 milestones")


def test_work_within_the_ratio_is_not_amplified() -> None:
    """Four calls for each milestone are allowed where four are."""
    assert fed(WASTEFUL, ProgressLimits(amplification_max=4)) == [None] * 12


# --- actions -------------------------------------------------------------------------------------


def test_actions_are_equal_whatever_their_spelling() -> None:
    """Order of keys and blanks make no other action; other values, or another tool, do."""
    one = action_of(request("pay", '{"a":1,"b":2}'))

    assert one == action_of(request("pay", '{"b": 2, "a": 1}'))
    assert hash(one) == hash(action_of(request("pay", '{"b": 2, "a": 1}')))
    assert one != action_of(request("pay", '{"a":1,"b":3}'))
    assert one != action_of(request("buy", '{"a":1,"b":2}'))


def test_the_idempotency_key_names_the_operation() -> None:
    """Other arguments under the same key are another action of the same operation."""
    one = action_of(request("pay", '{"idempotency_key":"k","amount":1}'))
    two = action_of(request("pay", '{"idempotency_key":"k","amount":2}'))

    assert one.operation == two.operation
    assert one.arguments != two.arguments


@pytest.mark.parametrize(
    "arguments",
    ["", "{", "[1]", "null", '"text"', "[" * 100_000, '{"a":' * 65 + "1" + "}" * 65, "1" * 5_000],
)
def test_hostile_arguments_stand_for_themselves(arguments: str) -> None:
    """What is no small JSON object is compared as it is written, and never raises."""
    assert action_of(request("read", arguments)).arguments == arguments
