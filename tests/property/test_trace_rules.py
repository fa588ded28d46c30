"""Properties of judging recorded traces: what must not matter does not, and shortcuts are sound."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any
from unittest import mock

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from arh.canonical import JsonValue
from arh.errors import AuthoringError
from arh.traces.authoring.assertions import assertions_from_dict
from arh.traces.authoring.policy import Policy
from arh.traces.authoring.published import assertions_schema, policy_schema, trace_schema
from arh.traces.comparing.compare import compare_reports
from arh.traces.comparing.gate import evaluate_gate
from arh.traces.judging.facts import all_texts
from arh.traces.judging.report import TraceReport, report_document
from arh.traces.judging.rules import flow, safety, schema
from arh.traces.judging.validator import validate_trace
from arh.traces.trace import Trace
from tests.controls.trace_cases import POLICY, TRACE, edited

TEXTS = st.sampled_from(
    [
        "",
        "x",
        "fine\n",
        "PASSWORD: y",
        "pass\u200bword:",
        r"p\u0061ssword:",
        "wire\ttransfer",
        'é"\\',
    ]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 101), st.sampled_from([0.5, 5.0, 1e-12]), TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
AMOUNTS = st.sampled_from([None, 0, 0.1, 0.2, 100, 300.5])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["order_id", "amount", "priority", "memo", "count", "flag", "extra", "z"]),
    VALUES | st.sampled_from(["ORD-1", "low", 5]),
    max_size=5,
)
STEPS = st.one_of(
    st.fixed_dictionaries(
        {
            "step_id": st.sampled_from(["a", "b", "c"]),
            "type": st.just("tool_call"),
            "tool_name": st.sampled_from(["lookup", "refund", "rm", "delete_account", "", None]),
        },
        optional={
            "arguments": st.none() | ARGUMENTS,
            "output": VALUES,
            "status": st.sampled_from(["ok", "error"]),
            "error": TEXTS,
            "latency_ms": AMOUNTS,
            "cost_usd": AMOUNTS,
        },
    ),
    st.fixed_dictionaries(
        {"step_id": st.sampled_from(["d", "e"]), "type": st.just("model_response")},
        optional={
            "text": TEXTS,
            "requires_grounding": st.booleans(),
            "citations": st.lists(VALUES | st.just({"url": "https://a.example"}), max_size=2),
            "input_tokens": st.integers(0, 50),
            "metadata": st.dictionaries(TEXTS, VALUES, max_size=1),
        },
    ),
)
DOCUMENTS = st.lists(STEPS, max_size=6).map(lambda steps: {**TRACE, "steps": steps})
POLICIES = st.sampled_from(
    [
        POLICY,
        edited(POLICY, {"unsafe_patterns": ["^x$", r"wire\stransfer", "fine$"]}),
        edited(POLICY, {"error_handling": {"max_attempts": 1}, "allow_unlisted_tools": True}),
        {"policy_id": "p", "allow_unlisted_tools": True, "unsafe_patterns": ["pass", "é"]},
    ]
)


def judged(document: dict[str, Any], policy: dict[str, Any]) -> TraceReport:
    """The report on a document."""
    return validate_trace(Trace.from_dict(document), Policy.from_dict(policy))


def verdict(report: TraceReport) -> tuple[object, ...]:
    """What a verdict comes to, without names and texts."""
    rules = sorted(each.rule_id for each in report.findings)
    return (report.score, report.passed, report.citation_coverage, rules)


@given(DOCUMENTS, POLICIES)
def test_shortcuts_change_nothing(document: dict[str, Any], policy: dict[str, Any]) -> None:
    """A glance that finds nothing to look at agrees with looking at everything."""
    quick = judged(document, policy)
    with (
        mock.patch.object(safety, "_is_clean", return_value=False),
        mock.patch.object(flow, "_is_calm", return_value=False),
        mock.patch.object(schema, "_is_surely_right", return_value=False),
    ):
        careful = judged(document, policy)

    assert (careful.score, careful.passed, careful.findings) == (
        quick.score,
        quick.passed,
        quick.findings,
    )


@given(DOCUMENTS, POLICIES)
def test_the_order_of_keys_does_not_matter(
    document: dict[str, Any], policy: dict[str, Any]
) -> None:
    """Neither in the trace nor in the policy."""
    assert verdict(judged(document, policy)) == verdict(judged(turned(document), turned(policy)))


@given(DOCUMENTS, POLICIES)
def test_what_is_not_judged_does_not_matter(
    document: dict[str, Any], policy: dict[str, Any]
) -> None:
    """Names of trace, agent and workflow, the source, and keys that nobody knows."""
    other = {**document, "trace_id": "u", "agent_name": "b", "workflow": "v", "source": [1]}
    other = {**other, "more": 1, "steps": [{**each, "more": 1} for each in document["steps"]]}

    assert judged(document, policy).findings == judged(other, policy).findings


@given(DOCUMENTS, POLICIES)
def test_other_step_ids_change_names_only(document: dict[str, Any], policy: dict[str, Any]) -> None:
    """Ids that differ where they differed."""
    steps = [{**each, "step_id": f"{each['step_id']}-other"} for each in document["steps"]]

    assert verdict(judged(document, policy)) == verdict(
        judged({**document, "steps": steps}, policy)
    )


@given(DOCUMENTS, POLICIES, st.sampled_from(["", "x", "lookup"]))
def test_a_limit_that_is_lower_never_lets_more_through(
    document: dict[str, Any], policy: dict[str, Any], name: str
) -> None:
    """More rules, and stricter ones, find at least as much."""
    stricter = edited(
        policy, {"completion": {"max_steps": 1}, "sequence": {"forbidden_tools": [name]}}
    )
    before = {
        each.rule_id
        for each in judged(document, {**policy, "completion": {}, "sequence": {}}).findings
    }

    assert before <= {each.rule_id for each in judged(document, stricter).findings}


@given(DOCUMENTS, POLICIES)
def test_a_report_compares_equal_to_itself(
    document: dict[str, Any], policy: dict[str, Any]
) -> None:
    """Whatever was found, nothing is new."""
    report = report_document([judged(document, policy)])
    comparison = compare_reports(report, report)

    assert (comparison.new_findings, comparison.resolved_findings) == ([], [])
    assert evaluate_gate(comparison).passed


@given(st.lists(VALUES, max_size=4))
def test_all_texts_hold_every_text(values: list[JsonValue]) -> None:
    """Also those with quotes, line feeds and escapes in them."""
    from arh.traces.judging.facts import keys, strings  # noqa: PLC0415 - beside its use

    text = all_texts(values)

    assert all(each in text for value in values for each in (*strings(value), *keys(value)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
PATHS = [
    *("trace_id", "schema_version", "metadata", "steps", "steps/0", "steps/0/type"),
    *("steps/1/arguments", "steps/1/latency_ms", "steps/1/cost_usd", "steps/2/input_tokens"),
    *("steps/2/citations", "steps/2/requires_grounding", "steps/2/status", "steps/2/text"),
    *("steps/0/metadata", "steps/0/error", "steps/0/tool_name", "steps/0/output_tokens"),
]
POLICY_PATHS = [
    *("policy_id", "schema_version", "allow_unlisted_tools", "allowed_tools", "budgets"),
    *("allowed_tools/lookup", "allowed_tools/lookup/required_arguments/order_id"),
    *("allowed_tools/refund/side_effect", "allowed_tools/refund/max_calls", "grounding"),
    *("allowed_tools/refund/required_arguments/amount/min", "budgets/max_total_tokens"),
    *("allowed_tools/refund/optional_arguments/priority/enum", "budgets/max_total_cost_usd"),
    *("budgets/extra", "grounding/min_citation_coverage", "grounding/require_citations"),
    *("sequence/call_order", "sequence/required_tools", "error_handling/max_attempts"),
    *("completion", "completion/max_steps", "unsafe_patterns", "trusted_patterns", "extra"),
    *("assertions", "expected"),
]
CHANGES = st.one_of(
    SCALARS,
    st.sampled_from([1, 1.0, 0, -1, 2, 2**53, 10**20, "1.2", [], {}, ["a", "a"], ["a"], [1], "2"]),
    st.sampled_from([0.5, 1.5, float("nan"), float("inf"), [None], {"a": 1}, "tool_call", "ok"]),
    VALUES,
)


@cache
def validator(name: str) -> Any:  # noqa: ANN401 - the library's
    """The published schema, compiled."""
    made = {"trace": trace_schema, "policy": policy_schema, "assertions": assertions_schema}[name]
    return jsonschema_rs.validator_for(made(), offline=True)


def accepted(read: Any, document: object) -> bool:  # noqa: ANN401 - a reader
    """Whether a reader takes a document; it may refuse it in no other way than by saying so."""
    try:
        read(document)
    except AuthoringError:
        return False
    return True


def is_finite(document: object) -> bool:
    """Whether a value can be written as JSON at all."""
    if isinstance(document, float):
        return document == document and abs(document) != float("inf")  # noqa: PLR0124 - NaN
    if isinstance(document, dict):
        return all(map(is_finite, document.values()))
    return all(map(is_finite, document)) if isinstance(document, list) else True


@given(st.sampled_from(PATHS), CHANGES)
@settings(max_examples=200)
def test_the_trace_schema_and_the_reader_agree(path: str, value: Any) -> None:  # noqa: ANN401 - JSON
    """On every field, in both directions."""
    document = edited(TRACE, {path: value})
    if is_finite(document):
        assert validator("trace").is_valid(document) is accepted(Trace.from_dict, document)


@given(st.sampled_from(POLICY_PATHS), CHANGES)
@settings(max_examples=200)
def test_what_the_policy_schema_refuses_the_reader_refuses(path: str, value: Any) -> None:  # noqa: ANN401 - JSON
    """The reader knows more: patterns, minima and maxima, what is required and forbidden."""
    document = edited(POLICY, {path: value})
    if is_finite(document) and accepted(Policy.from_dict, document):
        assert validator("policy").is_valid(document)


ASSERTION_VALUES = st.one_of(
    SCALARS,
    st.sampled_from([[], ["a"], {}, {"tool": "a"}, {"blocked": ["a"]}, {"regex": "a"}, "pass"]),
    st.sampled_from([{"schema": {"required": ["a"]}}, [{"tool": "a"}], "fail", "ok", 2**32 - 1]),
)
ASSERTIONS = st.dictionaries(
    st.sampled_from(
        [
            *("tool", "min_calls", "status", "sequence", "allow_other_tools", "max", "first"),
            *("then", "trigger", "forbidden", "within", "test_tool_calls", "policy", "expect"),
            *("test_args", "test_trace_raw", "blocked", "regex", "schema", "tol"),
        ]
    ),
    ASSERTION_VALUES,
    max_size=4,
)
NAMES = st.sampled_from(
    [
        *("trace_must_call_tool", "trace_must_not_call_tool", "trace_tool_sequence", "args_valid"),
        *("trace_max_steps", "trace_before", "trace_after", "trace_never_after"),
        *("tool_blocklist", "sequence_valid", "trace_must"),
    ]
)


@given(NAMES, ASSERTIONS, st.booleans())
@settings(max_examples=200)
def test_what_the_schema_of_assertions_refuses_the_reader_refuses(
    name: str,
    body: dict[str, Any],
    recorded: bool,  # noqa: FBT001 - drawn
) -> None:
    """On both surfaces."""
    document: Any = {"expected": {name: body}} if recorded else [{"type": name, **body}]
    if accepted(assertions_from_dict, document):
        assert validator("assertions").is_valid(document)


@given(JSON)
def test_any_value_gets_an_answer(value: Any) -> None:  # noqa: ANN401 - JSON
    """No reader raises anything but its refusal."""
    for read in (Trace.from_dict, Policy.from_dict, assertions_from_dict):
        accepted(read, value)
        accepted(
            read, {**POLICY, **value} if isinstance(value, dict) else {**TRACE, "steps": value}
        )
    accepted(lambda document: compare_reports({"reports": []}, document), value)
    accepted(lambda document: compare_reports({"reports": []}, {"reports": document}), value)


@given(st.lists(JSON, max_size=3), JSON)
def test_any_recorded_value_is_judged(outputs: list[Any], argument: Any) -> None:  # noqa: ANN401 - JSON
    """Outputs and arguments are the recorder's choice."""
    steps = [
        {"step_id": at, "type": "tool_call", "tool_name": "lookup", "output": each}
        | {"arguments": {"order_id": argument, "memo": each}}
        for at, each in enumerate(outputs)
    ]
    with suppress(AuthoringError):
        report = judged({**TRACE, "steps": steps}, {**POLICY, "unsafe_patterns": ["0"]})
        assert report.to_dict()["trace_id"] == "t"


def turned(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value
