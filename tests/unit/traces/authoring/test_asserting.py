"""What an assertion says of what it judged, and when it was exercised."""

from __future__ import annotations

from typing import Any

import pytest

from arh.traces.authoring.asserting import Call, Outcome, Recorded, Selector
from arh.traces.authoring.assertions import assertions_from_dict

CALLS = (
    Call("look", {"id": "A-1", "n": 5, "deep": {"a": [1]}}, "ok", "s1"),
    Call("pay", {"id": "A-1"}, "error", "s2"),
    Call("pay", None, "ok", "s3"),
    Call("pay", {"id": "A-2"}, "unknown", "s4"),
)


def outcome(calls: tuple[Call, ...] = CALLS, offered: Any = None, **body: Any) -> Outcome:  # noqa: ANN401 - JSON
    """The outcome of one assertion over calls, or of one under `expected` without a type."""
    document: Any = [body] if "type" in body else {"expected": body}
    (assertion,) = assertions_from_dict(document)
    recorded = Recorded(calls, len(calls), None if offered is None else frozenset(offered))
    return assertion.body.judge(recorded)


@pytest.mark.parametrize(
    ("status", "count"), [("any", 3), ("ok", 1), ("error", 1), ("unknown", 1), (None, 3)]
)
def test_a_status_selects_calls(status: str | None, count: int) -> None:
    """Without one, calls that failed count as calls."""
    found = outcome(type="trace_must_call_tool", tool="pay", min_calls=4, status=status)

    assert found.observed == f"{count} calls"


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ({"id": "A-1"}, True),
        ({"id": "A-"}, False),
        ({"n": "5"}, True),
        ({"deep": r'\{"a": \[1\]\}'}, True),
        ({"id": "A-.", "n": "6"}, False),
        ({"missing": ".*"}, False),
    ],
)
def test_all_conditions_have_to_match_whole_arguments(
    conditions: dict[str, str],
    holds: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """An argument that is not there matches nothing; what is no text is matched as JSON."""
    selector = {"tool": "look", "args_match": conditions}
    found = outcome(type="trace_never_after", trigger=selector, forbidden="pay")

    assert found.exercised is holds
    assert found.holds is not holds


def test_messages_say_what_was_meant() -> None:
    """The conditions, the span, and of many calls the first ones."""
    selector = {"tool": "pay", "args_match": {"id": "A.*"}, "status": "ok"}
    found = outcome(type="trace_after", trigger="look", then=selector, within=2)
    many = tuple(Call(f"t{at}") for at in range(11))
    exact = outcome(many, type="trace_tool_sequence", sequence=["t0"], allow_other_tools=False)

    assert found.expected == (
        "a call of `pay` where `id` matches `A.*` and status ok after each of `look` within 2 calls"
    )
    assert (found.observed, found.anchor) == ("call 1 has none", "s1")
    assert exact.observed.endswith("`t7` and 3 more")
    assert outcome(type="trace_after", trigger="look", then="pay").expected == (
        "a call of `pay` after each of `look`"
    )


def test_within_counts_calls() -> None:
    """The call right after is within one."""
    assert outcome(type="trace_after", trigger="look", then="pay", within=1).holds
    far = outcome(CALLS[:1] + CALLS[:1] + CALLS[1:], type="trace_after", trigger="look", then="pay")
    near: dict[str, Any] = {"type": "trace_after", "trigger": "look", "then": "pay", "within": 1}

    assert far.holds
    assert not outcome(CALLS[:1] + CALLS[:1] + CALLS[1:], **near).holds


def test_a_tool_may_be_its_own_trigger() -> None:
    """Then each call needs another one after it, which the last has not."""
    assert outcome(type="trace_after", trigger="pay", then="pay").anchor == "s4"
    assert outcome(type="trace_never_after", trigger="pay", forbidden="pay").anchor == "s3"
    assert outcome(type="trace_before", first="pay", then="pay").anchor == "s2"


def test_what_was_called_was_exercised() -> None:
    """Also with another status than the one that is asked for, and whatever was on offer."""
    body: dict[str, Any] = {"type": "trace_must_not_call_tool", "tool": "look", "status": "error"}

    assert outcome(offered=["x"], **body).exercised is True
    assert outcome(offered=["look"], **{**body, "tool": "rm"}).exercised is False
    assert outcome(**{**body, "tool": "rm"}).exercised is None
    assert outcome((), type="trace_max_steps", max=3).exercised is False


def test_a_blocklist_over_no_calls_says_nothing_of_exercise() -> None:
    """Over some calls, and over an example, it was exercised."""
    blocked: dict[str, Any] = {"tool_blocklist": {"blocked": ["rm"]}}

    assert outcome((), **blocked).exercised is None
    assert outcome(**blocked).exercised is True


def test_the_first_call_out_of_sequence_is_named() -> None:
    """A call too many, or another one than is due; one too few has no step."""
    body: dict[str, Any] = {"type": "trace_tool_sequence", "allow_other_tools": False}

    assert outcome(CALLS[:2], sequence=["look"], **body).anchor == "s2"
    assert outcome(CALLS[:2], sequence=["pay", "look"], **body).anchor == "s1"
    assert outcome(CALLS[:1], sequence=["look", "pay"], **body).anchor is None


@pytest.mark.parametrize("amount", [100, 100.0, "100"])
def test_a_number_is_the_same_however_it_is_written(amount: Any) -> None:  # noqa: ANN401 - JSON
    """A recorder that writes 100.0 evades no condition on 100, and 100.5 is none of it."""
    forbidden = Selector("pay", (("amount", "100"),))

    assert forbidden.selects(Call("pay", {"amount": amount}))
    assert not forbidden.selects(Call("pay", {"amount": 100.5}))
    assert Selector("pay", (("amount", r"100\.0"),)).selects(Call("pay", {"amount": 100.0}))
