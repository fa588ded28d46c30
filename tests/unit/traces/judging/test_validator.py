"""Scores are exact, reports bounded, and nothing that was recorded can bend a verdict."""

from __future__ import annotations

import itertools
import json
import time
from fractions import Fraction
from typing import Any

import pytest

from arh.traces.authoring.policy import Policy
from arh.traces.findings import KEPT_MAX
from arh.traces.judging.report import TraceReport, report_document, report_text
from arh.traces.judging.validator import validate_trace
from arh.traces.registry import SCORED
from arh.traces.trace import Trace, TraceRefused
from tests.controls.trace_cases import POLICY, TRACE, call, edited, said

SECTIONS = {
    "schema": {},
    "budget": {"budgets": POLICY["budgets"]},
    "safety": {"unsafe_patterns": ["password"]},
    "grounding": {"grounding": POLICY["grounding"]},
    "sequence": {"sequence": {"required_tools": ["lookup"]}},
    "flow": {"error_handling": {"max_attempts": 3}},
    "completion": {"completion": {"max_steps": 9}},
}
COMBINATIONS = [chosen for size in range(1, 8) for chosen in itertools.combinations(SCORED, size)]


def judged(steps: list[Any], fail_under: float = 70, **fields: Any) -> TraceReport:  # noqa: ANN401 - JSON
    """The report on steps by a policy of these fields."""
    trace = Trace.from_dict({**TRACE, "steps": steps})
    policy = Policy.from_dict({"policy_id": "p", "allow_unlisted_tools": True, **fields})
    return validate_trace(trace, policy, fail_under)


def perfect(chosen: tuple[str, ...], compat: Any = None) -> TraceReport:  # noqa: ANN401 - an option
    """The report on a trace to which exactly the chosen categories apply, and which is right."""
    steps = [call("s1", "lookup", {"a": 1}, text="fine")] if set(chosen) & {"schema"} else []
    steps += [
        said(
            "s2",
            "fine",
            requires_grounding="grounding" in chosen,
            citations=[{"url": "https://a.example"}],
        )
    ]
    fields: dict[str, Any] = {"policy_id": "p", "allow_unlisted_tools": True}
    for name in chosen:
        fields.update(SECTIONS[name])
    if "schema" not in chosen and "sequence" in chosen:
        fields["sequence"] = {"forbidden_tools": ["rm"]}
    if "schema" not in chosen and "flow" in chosen:
        steps = [call("s1", "lookup", {"a": 1}), *steps]
    return validate_trace(
        Trace.from_dict({**TRACE, "steps": steps}), Policy.from_dict(fields), 100, compat=compat
    )


@pytest.mark.parametrize("chosen", COMBINATIONS, ids=" ".join)
def test_a_perfect_trace_is_exactly_100(chosen: tuple[str, ...]) -> None:
    """Whichever categories apply; doubles miss it for many of them."""
    report = perfect(chosen)

    assert report.score == 100
    assert report.passed


def test_the_public_arithmetic_misses_100_where_it_always_did() -> None:
    """Under compatibility such traces fail at a threshold of 100, as they do there."""
    missed = [chosen for chosen in COMBINATIONS if perfect(chosen, "0.2").score != 100]

    assert len(missed) > 10


def test_a_score_is_the_weighted_mean_of_the_categories_that_apply() -> None:
    """Schema one half at 0.3, completion whole at 0.1: 62.5."""
    report = judged(
        [call("s1", None), call("s2", "a"), said("s3", "so")],
        completion={"require_final_response": True},
    )

    assert report.score == Fraction(125, 2)
    assert report.rounded_score == 62.5


def test_a_threshold_is_reached_exactly() -> None:
    """Two of three calls and nothing else: 66.67 passes 66.66 and not 66.67; errors fail anyway."""
    steps = [
        said(f"s{at}", "so", requires_grounding=True, citations=["x"] * (at < 2)) for at in range(3)
    ]

    assert judged(steps, 66.66).passed
    assert not judged(steps, 66.67).passed
    assert judged(steps).rounded_score == 66.67


def test_a_budget_that_cannot_be_checked_leaves_the_score_alone() -> None:
    """It warns, and weighs nothing."""
    steps = [{"step_id": "s", "type": "tool_call"}]
    report = judged(steps, budgets={"max_total_tokens": 5})

    assert report.score == 0
    assert [each.rule_id for each in report.findings] == ["ARH-SCH-002", "ARH-BUD-005"]


@pytest.mark.parametrize("value", [-1, 101, float("nan"), True, "70", None])
def test_a_threshold_is_a_score(value: Any) -> None:  # noqa: ANN401 - any value
    """From 0 to 100."""
    with pytest.raises(ValueError, match="expected a number from 0 to 100"):
        judged([], value)


def test_sums_are_exact() -> None:
    """0.1 and 0.2 are 0.3, and a limit of 0.3 is kept; one more millionth is not."""
    steps = [call("a", "x", cost_usd=0.1), call("b", "x", cost_usd=0.2)]
    limit = {"max_total_cost_usd": 0.3}

    assert judged(steps, budgets=limit).passed
    assert judged(steps, budgets=limit).total_cost_usd == 0.3
    assert not judged([*steps, call("c", "x", cost_usd=1e-12)], budgets=limit).passed


def test_a_message_never_says_that_a_number_exceeds_itself() -> None:
    """Figures are written out."""
    (found,) = judged(
        [call("a", "x", latency_ms=2500.4)], budgets={"max_total_latency_ms": 2500}
    ).findings

    assert found.message == "the steps sum up to 2500.4 ms, more than 2500 ms"


def test_findings_are_bounded_and_their_rest_is_counted() -> None:
    """The verdict rests on all of them."""
    steps = [call(f"s{at}", "rm") for at in range(KEPT_MAX + 7)]
    report = judged(steps, sequence={"forbidden_tools": ["rm"]})

    assert len(report.findings) == KEPT_MAX
    assert report.to_dict()["findings_cut"] == {"ARH-SEQ-002": 7}
    assert not report.passed


def test_long_values_do_not_reach_a_report() -> None:
    """A megabyte of argument, of id and of tool name gives a small report; ids stay distinct."""
    long = "x" * 2**20
    steps = [
        call(f"{long}{at}", long, {"a": long, long: 1}, status="error", error=long)
        for at in range(2)
    ]
    report = judged(
        steps,
        allowed_tools={long: {"optional_arguments": {"a": {"pattern": "y", "enum": ["z"]}}}},
        error_handling={"require_retry_on_error": True},
        unsafe_patterns=["x+"],
    )

    assert len(report_text([report])) < 50_000
    assert len({each.step_id for each in report.findings}) == 2


def test_a_secret_that_is_found_is_not_repeated() -> None:
    """Neither where a pattern matches nor where an argument is refused."""
    arguments = {"key": "hunter2-secret"}
    report = judged(
        [call("s", "a", arguments, output="the hunter2-secret")],
        allowed_tools={"a": {"required_arguments": {"key": {"enum": ["x"], "pattern": "[0-9]+"}}}},
        unsafe_patterns=["hunter[0-9]"],
    )

    assert len(report.findings) == 4
    assert "hunter2" not in report_text([report])


def test_names_cannot_forge_a_line() -> None:
    """Line ends and escapes in names are shown as such."""
    report = judged(
        [call("s\n::error::", "a\x1b[2J\nPASS", {"b\n": 1})], allow_unlisted_tools=False
    )

    assert all("\n" not in each.message and "\x1b" not in each.message for each in report.findings)


def test_a_report_is_json_with_the_published_keys() -> None:
    """Finite numbers, keys in order, ASCII; totals of an empty trace are zero as all others are."""
    empty = judged([])
    document = json.loads(report_text([empty, judged(TRACE["steps"])]))

    assert list(document) == ["schema_version", "summary", "reports"]
    assert list(document["reports"][1]) == [
        "trace_id",
        "agent_name",
        "workflow",
        "policy_id",
        "score",
        "passed",
        "total_latency_ms",
        "total_cost_usd",
        "citation_coverage",
        "findings",
        "total_tokens",
        "policy_digest",
    ]
    assert list(document["reports"][0]["findings"][0]) == [
        "severity",
        "category",
        "message",
        "step_id",
        "rule_id",
        "expected",
        "observed",
        "subject",
    ]
    assert document["summary"] == {
        "total_traces": 2,
        "passed_traces": 1,
        "failed_traces": 1,
        "average_score": 100.0,
    }
    assert '"total_latency_ms": 0.0' in report_text([empty])


def test_a_report_of_no_traces_has_no_average() -> None:
    """Zero, as published."""
    assert report_document([])["summary"] == {
        "total_traces": 0,
        "passed_traces": 0,
        "failed_traces": 0,
        "average_score": 0.0,
    }


def test_a_lone_surrogate_is_reported_in_ascii() -> None:
    """Whoever builds a trace by hand may hold one; the report is written all the same."""
    report = judged([said("s\udcb2", "secret \ud800")], unsafe_patterns=["secret"])

    assert report_text([report]).isascii()
    assert report.findings[0].rule_id == "ARH-SAF-001"


@pytest.mark.parametrize("depth", [50, 5_000])
def test_depth_does_not_matter(depth: int) -> None:
    """Text at the bottom is found, or the trace is refused; nothing overflows."""
    value: Any = "password"
    for _ in range(depth):
        value = [value]
    report = judged([call("s", "a", {"x": 1}, output=value)], unsafe_patterns=["password"])

    assert [each.rule_id for each in report.findings] == ["ARH-SAF-001"]


@pytest.mark.parametrize("depth", [50, 100_000])
def test_a_deep_argument_is_compared_all_the_same(depth: int) -> None:
    """With the values that are allowed, and with the pattern of an assertion."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    selector = {"tool": "a", "args_match": {"x": r"\[.*"}}
    report = judged(
        [call("s", "a", {"x": value})],
        allowed_tools={"a": {"optional_arguments": {"x": {"enum": [["y"]]}}}},
        assertions=[{"type": "trace_never_after", "trigger": selector, "forbidden": "b"}],
    )

    assert report.findings[0].rule_id == "ARH-SCH-007"


def test_arguments_that_are_no_json_are_refused() -> None:
    """Where they have to be compared."""
    steps = [call("s", "a", {"x": [object()]}), call("t", "a", {"x": [object()]})]

    with pytest.raises(TraceRefused, match=r"steps\[0\].arguments"):
        judged(steps, error_handling={"max_attempts": 1})


@pytest.mark.parametrize(
    "fields",
    [
        {"error_handling": {"require_retry_on_error": True, "max_attempts": 1}},
        {"sequence": {"call_order": [f"t{at}" for at in range(999, -1, -1)]}},
        {"unsafe_patterns": ["(a+)+$", r"\s+$", r"\bwire\s+transfer\b.*\burgent\b"]},
        {"allowed_tools": {f"t{at}": {"side_effect": True, "max_calls": 1} for at in range(1000)}},
    ],
)
def test_a_long_hostile_trace_takes_linear_time(fields: dict[str, Any]) -> None:
    """Errors everywhere, an order that is all reversed, text made for backtracking."""
    steps = [
        call(f"s{at}", f"t{at}", {"a": "a" * 40 + "!"}, status="error", output=" " * 400 + "x")
        for at in range(4_000)
    ]
    started = time.process_time()
    judged(steps, **fields)

    assert time.process_time() - started < 5


def test_the_seeded_document_is_clean() -> None:
    """What other tests change is right before they change it."""
    report = validate_trace(Trace.from_dict(edited(TRACE, {})), Policy.from_dict(POLICY))

    assert (report.passed, report.score, report.findings) == (True, 100, ())


def test_an_order_that_is_broken_in_part_costs_that_part() -> None:
    """One of three pairs: a third of the category."""
    steps = [call("1", "a"), call("2", "c"), call("3", "b")]
    report = judged(steps, sequence={"call_order": ["a", "b", "c"]})

    assert report.score == 100 * (30 + Fraction(25 * 2, 3)) / 55
    assert report.findings[0].observed == "`c` is call 2, `b` is call 3"


def test_findings_say_what_was_expected_and_found() -> None:
    """Bounds, types and places are written out; what is right beside them is not found."""
    spec = {
        "low": {"type": "int", "min": 1},
        "high": {"max": 2.5},
        "both": {"type": "float", "min": 1, "max": 2},
        "kind": "str",
    }
    arguments = {"low": 0, "high": 3, "both": 2, "kind": None}
    report = judged(
        [call("s", "a", arguments, output="so a key: x")],
        allowed_tools={"a": {"optional_arguments": spec}},
        unsafe_patterns=["KEY:"],
    )

    assert [(each.rule_id, each.expected, each.observed) for each in report.findings] == [
        ("ARH-SCH-009", ">= 1", "0"),
        ("ARH-SCH-009", "<= 2.5", "3"),
        ("ARH-SCH-004", "str", "null"),
        ("ARH-SAF-001", "no match of `KEY:`", "characters 6 to 9 of the output"),
    ]


@pytest.mark.parametrize("name", ["max_step_latency_ms", "max_total_latency_ms"])
def test_one_latency_budget_is_enough_to_be_checked_in_part(name: str) -> None:
    """Either of the two."""
    steps = [call("s", "a"), call("t", "a", latency_ms=None)]
    (found,) = judged(steps, budgets={name: 5}).findings

    assert (found.rule_id, found.observed) == ("ARH-BUD-008", "1")


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_name": "pass\u200bword"},
        {"arguments": {"pass\u200bword": 1}},
        {"output": {"ｐａｓｓｗｏｒｄ": 1}},
        {"citations": [{"q": "pass\u200bword"}]},
        {"metadata": {"q": "pass\u200bword"}},
        {"output": "pass\ufe0fword"},
        {"output": "pass\u034fword"},
        {"output": r"\ud835\udc29assword"},
        {"output": "password \u0131s"},
        {"output": "password \u0130s"},
    ],
)
def test_no_disguise_hides_an_unsafe_text(fields: dict[str, Any]) -> None:
    """Wherever it stands: characters that nothing shows, look-alikes, escaped pairs."""
    step = {"step_id": "s1", "type": "tool_call", "tool_name": "look", **fields}

    disguised = judged([step], unsafe_patterns=["password( is|$)"])
    twin = judged([step], unsafe_patterns=["passport"])

    assert [each.rule_id for each in disguised.findings] == ["ARH-SAF-002"]
    assert twin.passed
