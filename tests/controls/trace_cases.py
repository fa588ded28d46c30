"""Seeded defects of recorded traces: a clean trace, and one change after another to it.

Each case states the findings that its change causes, and no others. Most cases have a twin: a
change next to it that is right, and finds nothing. Trace and policy are edited by paths; `GONE`
removes what is there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arh.traces.authoring.policy import Policy
from arh.traces.judging.report import TraceReport
from arh.traces.judging.validator import validate_trace
from arh.traces.trace import Note, Trace

GONE = object()

TRACE: dict[str, Any] = {
    "trace_id": "t",
    "agent_name": "a",
    "workflow": "refunds",
    "steps": [
        {
            "step_id": "s1",
            "type": "tool_call",
            "tool_name": "lookup",
            "arguments": {"order_id": "ORD-1"},
            "output": {"state": "paid", "notes": ["gift"]},
            "latency_ms": 100,
            "cost_usd": 0.1,
            "input_tokens": 10,
            "output_tokens": 5,
        },
        {
            "step_id": "s2",
            "type": "tool_call",
            "tool_name": "refund",
            "arguments": {"order_id": "ORD-1", "amount": 5, "priority": "low", "memo": "late"},
            "output": "done",
            "latency_ms": 200,
            "cost_usd": 0.2,
            "input_tokens": 10,
            "output_tokens": 5,
        },
        {
            "step_id": "s3",
            "type": "model_response",
            "text": "Your refund is on its way.",
            "latency_ms": 300,
            "cost_usd": 0,
            "input_tokens": 20,
            "output_tokens": 10,
            "requires_grounding": True,
            "citations": [{"url": "https://docs.example/refunds"}],
        },
    ],
}
POLICY: dict[str, Any] = {
    "policy_id": "p",
    "allowed_tools": {
        "lookup": {"required_arguments": {"order_id": {"type": "str", "pattern": "ORD-[0-9]+"}}},
        "refund": {
            "required_arguments": {
                "order_id": "str",
                "amount": {"type": "float", "min": 1, "max": 100},
            },
            "optional_arguments": {
                "priority": {"type": "str", "enum": ["low", "high"]},
                "memo": "str",
                "count": "int",
                "urgent": "bool",
                "items": "list",
                "extra": "dict",
                "flag": {"enum": [1, None, [True]]},
            },
            "side_effect": True,
            "min_calls": 1,
            "max_calls": 2,
        },
    },
    "budgets": {
        "max_step_latency_ms": 300,
        "max_total_latency_ms": 600,
        "max_total_cost_usd": 0.3,
        "max_total_tokens": 60,
    },
    "unsafe_patterns": [r"password\s*:", r"\bwire transfer\b"],
    "grounding": {
        "require_citations": True,
        "min_citation_coverage": 1.0,
        "require_valid_citation_urls": True,
    },
    "sequence": {
        "required_tools": ["lookup"],
        "forbidden_tools": ["delete_account"],
        "call_order": ["lookup", "refund", "notify"],
    },
    "error_handling": {"require_retry_on_error": True, "max_attempts": 2},
    "completion": {"require_final_response": True, "max_steps": 6},
}


@dataclass(frozen=True)
class Case:
    """One change: of the trace, of the policy, and the findings that it causes as `rule@step`."""

    name: str
    expected: tuple[str, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    offered: tuple[str, ...] | None = None
    status: Mapping[int, str] = field(default_factory=dict)
    raw: Mapping[int, str] = field(default_factory=dict)

    def report(self, *, compat: bool = False) -> TraceReport:
        """The report on the changed trace by the changed policy."""
        document = edited(TRACE, self.trace)
        trace = Trace.from_dict(document)
        steps = list(trace.steps)
        for at, status in self.status.items():
            steps[at] = replaced(steps[at], status=status)
        for at, text in self.raw.items():
            steps[at] = replaced(steps[at], arguments=None, raw_arguments=text)
        trace = replaced(trace, steps=tuple(steps), notes=self.notes, offered_tools=self.offered)
        policy = Policy.from_dict(edited(POLICY, self.policy))
        return validate_trace(trace, policy, compat="0.2" if compat else None)

    def found(self, *, compat: bool = False) -> tuple[str, ...]:
        """The findings as `rule@step`, sorted."""
        findings = self.report(compat=compat).findings
        return tuple(sorted(f"{each.rule_id}@{each.step_id or '-'}" for each in findings))


def replaced(record: Any, **changes: Any) -> Any:  # noqa: ANN401 - any record
    """A copy of a frozen record with other values."""
    return replace(record, **changes)


def edited(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a document with the value at each path replaced, removed, or appended (`+`)."""
    value = copy.deepcopy(dict(document))
    for path, new in changes.items():
        at: Any = value
        *around, last = path.split("/")
        for step in around:
            at = at[int(step)] if isinstance(at, list) else at[step]
        if new is GONE:
            del at[int(last) if isinstance(at, list) else last]
        elif last == "+":
            at.append(copy.deepcopy(new))
        elif isinstance(at, list):
            at[int(last)] = copy.deepcopy(new)
        else:
            at[last] = copy.deepcopy(new)
    return value


def call(step_id: str, tool: str | None, arguments: Any = None, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A tool call."""
    return {
        "step_id": step_id,
        "type": "tool_call",
        "tool_name": tool,
        "arguments": arguments,
        "latency_ms": 0,
        "cost_usd": 0,
        "input_tokens": 0,
        **fields,
    }


def said(step_id: str, text: str | None, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A response of the model."""
    return {
        "step_id": step_id,
        "type": "model_response",
        "text": text,
        "latency_ms": 0,
        "cost_usd": 0,
        "input_tokens": 0,
        **fields,
    }


LOOKUP = {"order_id": "ORD-1"}
REFUND = TRACE["steps"][1]["arguments"]
LAST = TRACE["steps"][2]
ARGS = "steps/1/arguments"
UNLIMITED = {"error_handling/max_attempts": 9, "allowed_tools/refund/max_calls": 9}
NO_EFFECT = {"allowed_tools/refund/side_effect": False}


def before_last(*steps: dict[str, Any]) -> dict[str, Any]:
    """The change that puts steps before the last one."""
    return {"steps": [*TRACE["steps"][:2], *steps, LAST]}


def schema_cases() -> list[Case]:
    """Arguments and tools."""
    return [
        Case("clean"),
        Case("unlisted", ("ARH-SCH-001@x",), before_last(call("x", "Lookup", LOOKUP))),
        Case(
            "unlisted_allowed",
            (),
            before_last(call("x", "Lookup", LOOKUP)),
            {"allow_unlisted_tools": True},
        ),
        Case("no_name", ("ARH-SCH-002@x",), before_last(call("x", None))),
        Case("empty_name", ("ARH-SCH-002@x",), before_last(call("x", ""))),
        Case("a_name", (), before_last(call("x", "lookup", {"order_id": "ORD-2"}))),
        Case("argument_missing", ("ARH-SCH-003@s2",), {f"{ARGS}/amount": GONE}),
        Case("optional_missing", (), {f"{ARGS}/priority": GONE}),
        Case("two_missing", ("ARH-SCH-003@s2",) * 2, {ARGS: {}}),
        Case("null_is_no_value", ("ARH-SCH-004@s2",), {f"{ARGS}/amount": None}),
        Case("text_for_number", ("ARH-SCH-004@s2",), {f"{ARGS}/amount": "5"}),
        Case("true_for_number", ("ARH-SCH-004@s2",), {f"{ARGS}/amount": True}),
        Case("integer_for_float", (), {f"{ARGS}/amount": 7}),
        Case("float_for_integer", ("ARH-SCH-004@s2",), {f"{ARGS}/count": 5.0}),
        Case("integer", (), {f"{ARGS}/count": 5}),
        Case("number_for_flag", ("ARH-SCH-004@s2",), {f"{ARGS}/urgent": 1}),
        Case("flag", (), {f"{ARGS}/urgent": False}),
        Case("object_for_list", ("ARH-SCH-004@s2",), {f"{ARGS}/items": {}}),
        Case("list", (), {f"{ARGS}/items": []}),
        Case("list_for_object", ("ARH-SCH-004@s2",), {f"{ARGS}/extra": []}),
        Case("object", (), {f"{ARGS}/extra": {}}),
        Case("undeclared", ("ARH-SCH-005@s2",), {f"{ARGS}/colour": "red"}),
        Case("declared", (), {f"{ARGS}/memo": "red"}),
        Case(
            "unknown_type",
            ("ARH-SCH-006@s2",),
            policy={"allowed_tools/refund/optional_arguments/memo": "strng"},
        ),
        Case(
            "unknown_type_still_checked",
            ("ARH-SCH-006@s2", "ARH-SCH-007@s2"),
            policy={
                "allowed_tools/refund/optional_arguments/memo": {"type": "strng", "enum": ["x"]}
            },
        ),
        Case("not_in_enum", ("ARH-SCH-007@s2",), {f"{ARGS}/priority": "LOW"}),
        Case("in_enum", (), {f"{ARGS}/priority": "high"}),
        Case("true_is_not_one", ("ARH-SCH-007@s2",), {f"{ARGS}/flag": True}),
        Case("one_is_one", (), {f"{ARGS}/flag": 1.0}),
        Case("null_in_enum", (), {f"{ARGS}/flag": None}),
        Case("nested_true", ("ARH-SCH-007@s2",), {f"{ARGS}/flag": [1]}),
        Case("nested", (), {f"{ARGS}/flag": [True]}),
        Case(
            "part_matches",
            ("ARH-SCH-008@s1",),
            {"steps/0/arguments/order_id": "see ORD-1"},
        ),
        Case(
            "line_feed_after_match", ("ARH-SCH-008@s1",), {"steps/0/arguments/order_id": "ORD-1\n"}
        ),
        Case("whole_matches", (), {"steps/0/arguments/order_id": "ORD-77"}),
        Case("below", ("ARH-SCH-009@s2",), {f"{ARGS}/amount": 0.99}),
        Case("at_minimum", (), {f"{ARGS}/amount": 1}),
        Case("above", ("ARH-SCH-009@s2",), {f"{ARGS}/amount": 100.01}),
        Case("at_maximum", (), {f"{ARGS}/amount": 100}),
        Case("huge", ("ARH-SCH-009@s2",), {f"{ARGS}/amount": 10**400}),
        Case("same_ids", ("ARH-SCH-010@s1",), {"steps/1/step_id": "s1"}),
        Case("other_ids", (), {"steps/1/step_id": "s1 "}),
    ]


def budget_cases() -> list[Case]:
    """Limits, and figures that are not recorded."""
    none = {f"steps/{at}/{name}": GONE for at in range(3) for name in ("latency_ms",)}
    costs = {f"steps/{at}/cost_usd": GONE for at in range(3)}
    tokens = {
        f"steps/{at}/{name}": GONE for at in range(3) for name in ("input_tokens", "output_tokens")
    }
    return [
        Case(
            "slow_step",
            ("ARH-BUD-001@s2", "ARH-BUD-002@-"),
            {"steps/1/latency_ms": 300.5},
        ),
        Case("step_at_limit", (), {"steps/1/latency_ms": 300, "steps/2/latency_ms": 200}),
        Case("slow_trace", ("ARH-BUD-002@-",), {"steps/0/latency_ms": 100.4}),
        Case("trace_at_limit", (), {"steps/0/latency_ms": 99.6, "steps/1/latency_ms": 200.4}),
        Case("dear", ("ARH-BUD-003@-",), {"steps/2/cost_usd": 0.000001}),
        Case("cost_at_limit", (), {"steps/0/cost_usd": 0.2, "steps/1/cost_usd": 0.1}),
        Case("many_tokens", ("ARH-BUD-004@-",), {"steps/2/output_tokens": 11}),
        Case("tokens_at_limit", (), {"steps/2/output_tokens": 9, "steps/1/output_tokens": 6}),
        Case("no_tokens", ("ARH-BUD-005@-",), tokens),
        Case("no_tokens_no_budget", (), tokens, {"budgets/max_total_tokens": GONE}),
        Case("no_latency", ("ARH-BUD-006@-",), none),
        Case(
            "no_latency_no_budget",
            (),
            none,
            {"budgets/max_total_latency_ms": GONE, "budgets/max_step_latency_ms": GONE},
        ),
        Case("no_cost", ("ARH-BUD-007@-",), costs),
        Case("no_cost_no_budget", (), costs, {"budgets/max_total_cost_usd": GONE}),
        Case("partial_latency", ("ARH-BUD-008@-",), {"steps/0/latency_ms": GONE}),
        Case("partial_cost", ("ARH-BUD-008@-",), {"steps/0/cost_usd": GONE}),
        Case(
            "partial_tokens",
            ("ARH-BUD-008@-",),
            {"steps/0/input_tokens": GONE, "steps/0/output_tokens": GONE},
        ),
        Case("one_kind_of_tokens", (), {"steps/0/input_tokens": GONE}),
    ]


def safety_cases() -> list[Case]:
    """Unsafe text: where the specification looks, and where it does not."""
    bad, fine = "the PASSWORD : hunter2", "the password is not told"
    return [
        Case("in_text", ("ARH-SAF-001@s3",), {"steps/2/text": bad}),
        Case("not_in_text", (), {"steps/2/text": fine}),
        Case("in_output", ("ARH-SAF-001@s2",), {"steps/1/output": bad}),
        Case("in_nested_output", ("ARH-SAF-001@s1",), {"steps/0/output": {"a": [{"b": bad}]}}),
        Case("not_in_nested_output", (), {"steps/0/output": {"a": [{"b": fine}]}}),
        Case("in_arguments", ("ARH-SAF-001@s2",), {f"{ARGS}/memo": bad}),
        Case("not_in_arguments", (), {f"{ARGS}/memo": fine}),
        Case("in_error", ("ARH-SAF-001@s2",), {"steps/1/error": bad, "steps/1/status": "ok"}),
        Case("two_patterns", ("ARH-SAF-001@s3",) * 2, {"steps/2/text": f"{bad}, wire transfer"}),
        Case("in_key", ("ARH-SAF-002@s1",), {"steps/0/output": {"password:": 1}}),
        Case("not_in_key", (), {"steps/0/output": {"password": ":"}}),
        Case(
            "in_tool_name",
            ("ARH-SAF-002@x",),
            before_last(call("x", "password:")),
            {"allow_unlisted_tools": True},
        ),
        Case("in_citation", ("ARH-SAF-002@s3",), {"steps/2/citations/0/note": bad}),
        Case("in_metadata", ("ARH-SAF-002@s3",), {"steps/2/metadata": {"thought": bad}}),
        Case("escaped", ("ARH-SAF-002@s3",), {"steps/2/text": r"{\"p\u0061ssword\u003a\""}),
        Case("zero_width", ("ARH-SAF-002@s3",), {"steps/2/text": "pass\u200bword: x"}),
        Case("full_width", ("ARH-SAF-002@s3",), {"steps/2/text": "ｐａｓｓｗｏｒｄ： x"}),
        Case("other_script", (), {"steps/2/text": "пароль: “x”"}),
        Case(
            "in_unread_content",
            ("ARH-SAF-002@-", "ARH-TRC-003@-"),
            notes=(Note("thinking", "a block", "messages[1]", content=bad),),
        ),
        Case(
            "pattern_over_two_texts",
            (),
            {"steps/0/output": ["wire", "transfer"]},
            {"unsafe_patterns": [r"wire\stransfer"]},
        ),
        Case(
            "anchored_pattern",
            ("ARH-SAF-001@s1",),
            {"steps/0/output": ["x", "secret"]},
            {"unsafe_patterns": ["^secret$"]},
        ),
        Case(
            "end_before_line_feed",
            ("ARH-SAF-001@s3",),
            {"steps/2/text": "the secret\n"},
            {"unsafe_patterns": ["secret$"]},
        ),
        Case(
            "no_end_before_text",
            (),
            {"steps/2/text": "the secret\n."},
            {"unsafe_patterns": ["secret$"]},
        ),
    ]


def grounding_cases() -> list[Case]:
    """Citations."""
    url = "steps/2/citations/0/url"
    return [
        Case("uncited", ("ARH-GRD-001@s3", "ARH-GRD-002@-"), {"steps/2/citations": []}),
        Case("needs_none", (), {"steps/2/citations": [], "steps/2/requires_grounding": False}),
        Case(
            "null_is_no_citation",
            ("ARH-GRD-001@s3", "ARH-GRD-002@-", "ARH-GRD-003@s3"),
            {"steps/2/citations": [None]},
        ),
        Case(
            "coverage_low",
            ("ARH-GRD-001@x", "ARH-GRD-002@-"),
            before_last(said("x", "so", requires_grounding=True)),
            {"grounding/min_citation_coverage": 0.51},
        ),
        Case(
            "coverage_at_minimum",
            ("ARH-GRD-001@x",),
            before_last(said("x", "so", requires_grounding=True)),
            {"grounding/min_citation_coverage": 0.5},
        ),
        Case("scheme", ("ARH-GRD-003@s3",), {url: "ftp://docs.example"}),
        Case("no_host", ("ARH-GRD-003@s3",), {url: "https:///refunds"}),
        Case("broken_host", ("ARH-GRD-003@s3",), {url: "http://["}),
        Case("url_is_no_text", ("ARH-GRD-003@s3",), {url: 5}),
        Case("text", ("ARH-GRD-003@s3",), {"steps/2/citations": ["the manual"]}),
        Case("blank_source", ("ARH-GRD-003@s3",), {"steps/2/citations": [{"source": "  "}]}),
        Case("source", (), {"steps/2/citations": [{"source": "the manual"}]}),
        Case("upper_case", (), {url: "HTTPS://DOCS.example:8080"}),
        Case(
            "not_asked_for",
            (),
            {url: "ftp://docs.example"},
            {"grounding/require_valid_citation_urls": False},
        ),
        Case("on_a_call", (), {"steps/1/requires_grounding": True}),
    ]


def sequence_cases() -> list[Case]:
    """Which tools, how often, in which order."""
    swapped = {"steps": [TRACE["steps"][1], TRACE["steps"][0], LAST]}
    notify = call("x", "notify")
    allow = {"allow_unlisted_tools": True}
    return [
        Case(
            "required_missing",
            ("ARH-SEQ-001@-",),
            policy={"sequence/required_tools": ["lookup", "notify"]},
        ),
        Case(
            "required_called",
            (),
            before_last(notify),
            {**allow, "sequence/required_tools": ["lookup", "notify"]},
        ),
        Case(
            "required_failed_counts",
            (),
            before_last(call("x", "notify", status="error"), call("y", "notify")),
            {**allow, "sequence/required_tools": ["notify"]},
        ),
        Case(
            "forbidden",
            ("ARH-SEQ-002@x", "ARH-SEQ-002@y"),
            before_last(call("x", "delete_account"), call("y", "delete_account")),
            allow,
        ),
        Case("other_name", (), before_last(call("x", "delete_accounts")), allow),
        Case("order", ("ARH-SEQ-003@s2",), swapped),
        Case(
            "order_of_pairs",
            ("ARH-SEQ-003@x", "ARH-SEQ-003@x"),
            {"steps": [notify, *TRACE["steps"]]},
            allow,
        ),
        Case("repeats_do_not_count", (), before_last(call("x", "lookup", {"order_id": "ORD-9"}))),
        Case("never_called", (), policy={"sequence/call_order": ["notify", "lookup"]}),
        Case(
            "too_often",
            ("ARH-SEQ-004@-",),
            before_last(
                call("x", "refund", {**REFUND, "amount": 6}),
                call("y", "refund", {**REFUND, "amount": 7}),
            ),
        ),
        Case("often_enough", (), before_last(call("x", "refund", {**REFUND, "amount": 6}))),
        Case("too_rarely", ("ARH-SEQ-005@-",), policy={"allowed_tools/refund/min_calls": 2}),
        Case(
            "never",
            ("ARH-SEQ-005@-",),
            policy={"allowed_tools/notify": {"min_calls": 1}},
        ),
    ]


def flow_cases() -> list[Case]:
    """Retries, storms and repeated effects."""
    again = call("x", "refund", REFUND)
    look = call("x", "lookup", LOOKUP)
    return [
        Case("not_retried", ("ARH-FLW-001@s2",), {"steps/1/status": "error"}),
        Case(
            "retried",
            (),
            {"steps": [TRACE["steps"][0], {**TRACE["steps"][1], "error": "busy"}, again, LAST]},
        ),
        Case(
            "other_tool_is_no_retry",
            ("ARH-FLW-001@s2",),
            {
                "steps": [
                    TRACE["steps"][0],
                    {**TRACE["steps"][1], "error": "busy"},
                    {**look, "arguments": {"order_id": "ORD-2"}},
                    LAST,
                ]
            },
        ),
        Case("storm", ("ARH-FLW-002@y",), before_last(look, {**look, "step_id": "y"})),
        Case(
            "no_storm",
            (),
            before_last(look, {**look, "step_id": "y", "arguments": {"order_id": "ORD-2"}}),
        ),
        Case("effect_repeated", ("ARH-FLW-003@x",), before_last(again)),
        Case(
            "effect_repeated_with_keys_in_another_order",
            ("ARH-FLW-003@x",),
            before_last({**again, "arguments": dict(reversed(REFUND.items()))}),
        ),
        Case(
            "effect_repeated_with_another_number",
            ("ARH-FLW-003@x",),
            before_last({**again, "arguments": {**REFUND, "amount": 5.0}}),
        ),
        Case("effect_differs", (), before_last({**again, "arguments": {**REFUND, "amount": 6}})),
        Case("no_effect", (), before_last(again), NO_EFFECT),
        Case(
            "effect_repeated_twice",
            ("ARH-FLW-003@x", "ARH-FLW-003@y"),
            before_last(again, {**again, "step_id": "y"}),
            UNLIMITED,
        ),
        Case(
            "effect_may_have_happened",
            ("ARH-FLW-003@x", "ARH-TRC-004@s2"),
            before_last(again),
            status={1: "unknown"},
        ),
        Case(
            "nested_arguments",
            ("ARH-FLW-003@x",),
            {
                "steps": [
                    TRACE["steps"][0],
                    {**TRACE["steps"][1], "arguments": {**REFUND, "extra": {"a": [1]}}},
                    {**again, "arguments": {**REFUND, "extra": {"a": [1.0]}}},
                    LAST,
                ]
            },
        ),
    ]


def completion_cases() -> list[Case]:
    """The end, and the length."""
    return [
        Case(
            "ends_with_call",
            ("ARH-CMP-001@x",),
            {"steps/+": call("x", "lookup", {"order_id": "ORD-2"})},
        ),
        Case("blank_end", ("ARH-CMP-001@x",), {"steps/+": said("x", " \n")}),
        Case("silent_end", ("ARH-CMP-001@x",), {"steps/+": said("x", None)}),
        Case("failed_end", ("ARH-CMP-001@x",), {"steps/+": said("x", "so", status="error")}),
        Case("good_end", (), {"steps/+": said("x", "so")}),
        Case("too_long", ("ARH-CMP-002@-",), policy={"completion/max_steps": 2}),
        Case("long_enough", (), policy={"completion/max_steps": 3}),
    ]


def reading_cases() -> list[Case]:
    """Where the recording says too little."""
    return [
        Case(
            "empty",
            (
                *("ARH-CMP-001@-", "ARH-SEQ-001@-", "ARH-SEQ-005@-", "ARH-TRC-001@-"),
                *("ARH-BUD-005@-", "ARH-BUD-006@-", "ARH-BUD-007@-"),
            ),
            {"steps": []},
        ),
        Case(
            "unparsed",
            ("ARH-SCH-003@s1", "ARH-TRC-002@s1"),
            raw={0: '{"order_id": "ORD'},
        ),
        Case(
            "unparsed_and_unsafe",
            ("ARH-SAF-002@s1", "ARH-SCH-003@s1", "ARH-TRC-002@s1"),
            raw={0: '{"memo": "password: hunter2"'},
        ),
        Case(
            "unmapped",
            ("ARH-TRC-003@s2",),
            notes=(Note("image", "not read", "messages[2].content[0]", "s2"),),
        ),
        Case("no_result", ("ARH-TRC-004@s1",), status={0: "unknown"}),
    ]


def assertion_cases() -> list[Case]:
    """Inline assertions, each broken and kept."""

    def asserted(name: str, broken: str, step: str = "-", offered: Any = None, **body: Any) -> Case:  # noqa: ANN401 - JSON
        expected = (f"{broken}@{step}",) if broken else ()
        return Case(name, expected, policy={"assertions": [body]}, offered=offered)

    fails, idle = "ARH-ASR-001", "ARH-ASR-002"
    must, mustnt, order = "trace_must_call_tool", "trace_must_not_call_tool", "trace_tool_sequence"
    sel = {"tool": "refund", "args_match": {"order_id": "ORD-1", "amount": "[0-9]"}}
    other = {"tool": "refund", "args_match": {"order_id": "ORD-2"}}
    schema = {"required": ["amount"], "properties": {"amount": {"maximum": 30}}}
    block = {"blocked": ["rm"]}
    return [
        asserted("must", fails, type=must, tool="notify"),
        asserted("must_twice", fails, type=must, tool="refund", min_calls=2),
        asserted("must_kept", "", type=must, tool="refund"),
        asserted("must_ok", "", type=must, tool="refund", status="ok"),
        asserted("must_error", fails, type=must, tool="refund", status="error"),
        asserted("must_not", fails, "s2", type=mustnt, tool="refund"),
        asserted("must_not_kept", "", type=mustnt, tool="rm"),
        asserted("must_not_idle", idle, offered=("lookup",), type=mustnt, tool="rm"),
        asserted("must_not_offered", "", offered=("rm",), type=mustnt, tool="rm"),
        asserted("order", fails, type=order, sequence=["refund", "lookup"], allow_other_tools=True),
        asserted("order_kept", "", type=order, sequence=["refund"], allow_other_tools=True),
        asserted("exact", fails, "s2", type=order, sequence=["lookup"], allow_other_tools=False),
        asserted(
            "exact_kept", "", type=order, sequence=["lookup", "refund"], allow_other_tools=False
        ),
        asserted("no_calls", fails, "s1", type=order, sequence=[], allow_other_tools=False),
        asserted("max_steps", fails, type="trace_max_steps", max=2),
        asserted("max_steps_kept", "", type="trace_max_steps", max=3),
        asserted("before", fails, "s1", type="trace_before", first="refund", then="lookup"),
        asserted("before_kept", "", type="trace_before", first="lookup", then=sel),
        asserted("before_idle", idle, type="trace_before", first="lookup", then=other),
        asserted("after", fails, "s2", type="trace_after", trigger=sel, then="lookup"),
        asserted("after_kept", "", type="trace_after", trigger="lookup", then=sel, within=1),
        asserted("after_idle", idle, type="trace_after", trigger=other, then="lookup"),
        asserted("never", fails, "s2", type="trace_never_after", trigger="lookup", forbidden=sel),
        asserted("never_kept", "", type="trace_never_after", trigger="lookup", forbidden=other),
        asserted("never_idle", idle, type="trace_never_after", trigger=other, forbidden="lookup"),
        asserted(
            "blocklist", fails, type="tool_blocklist", test_tool_calls=["a", "rm"], policy=block
        ),
        asserted("blocklist_kept", "", type="tool_blocklist", test_tool_calls=["a"], policy=block),
        asserted(
            "blocklist_expected",
            "",
            type="tool_blocklist",
            test_tool_calls=["rm"],
            policy=block,
            expect="fail",
        ),
        asserted(
            "arguments", fails, type="args_valid", tool="t", test_args={}, policy={"schema": schema}
        ),
        asserted(
            "arguments_kept",
            "",
            type="args_valid",
            tool="t",
            test_args={"amount": 30},
            policy=schema,
        ),
        asserted(
            "arguments_expected",
            fails,
            type="args_valid",
            tool="t",
            test_args={"amount": 30},
            policy=schema,
            expect="fail",
        ),
        asserted(
            "names",
            fails,
            type="sequence_valid",
            test_trace_raw=[{"tool": "a"}, {"tool_name": "b"}],
            policy={"regex": "^b"},
        ),
        asserted(
            "names_kept",
            "",
            type="sequence_valid",
            test_trace_raw=[{"tool": "a"}, {"tool_name": "b"}],
            policy={"regex": "^a b$"},
        ),
        *expected_cases(schema),
    ]


def expected_cases(schema: dict[str, Any]) -> list[Case]:
    """The same names under `expected`, over the recorded calls."""

    def case(name: str, broken: str, **checks: Any) -> Case:  # noqa: ANN401 - JSON
        return Case(f"expected_{name}", (broken,) if broken else (), policy={"expected": checks})

    return [
        case("blocklist", "ARH-ASR-001@s2", tool_blocklist={"blocked": ["refund"]}),
        case("blocklist_kept", "", tool_blocklist={"blocked": ["rm"]}),
        case("names", "ARH-ASR-001@-", sequence_valid={"regex": "refund lookup"}),
        case("names_kept", "", sequence_valid={"regex": "^lookup refund$"}),
        case("arguments", "ARH-ASR-001@s1", args_valid={"tool": "lookup", "schema": schema}),
        case("arguments_kept", "", args_valid={"tool": "refund", "schema": schema}),
        case("arguments_idle", "ARH-ASR-002@-", args_valid={"tool": "rm", "schema": schema}),
        case("steps", "ARH-ASR-001@-", trace_max_steps={"max": 1}),
    ]


CASES: list[Case] = [
    *schema_cases(),
    *budget_cases(),
    *safety_cases(),
    *grounding_cases(),
    *sequence_cases(),
    *flow_cases(),
    *completion_cases(),
    *reading_cases(),
    *assertion_cases(),
]
