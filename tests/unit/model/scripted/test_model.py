"""The scripted model follows its rules, sees only messages, and never guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from arh.canonical import Json, JsonValue, encode
from arh.errors import RunStopped
from arh.model.scripted.model import ScriptedModel
from arh.model.scripted.reader import read_script
from arh.model.scripted.script import Script
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    ModelRequest,
    Refusal,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import Message, ReplyStatus, ToolReply, ToolRequest, ToolSpec

YES: JsonValue = {"kind": "final_answer", "final_answer": "yes"}
NO: JsonValue = {"when": {}, "then": {"kind": "final_answer", "final_answer": "no"}}


def model(*rules: JsonValue, **more: JsonValue) -> ScriptedModel:
    """A model with these rules."""
    value: JsonValue = {"config_id": "scripted:one", "rules": list(rules), **more}
    script = read_script(encode(value), file="one.json")
    assert isinstance(script, Script), script
    return ScriptedModel(script)


def user(text: str) -> Message:
    """What the user says."""
    return Message("user", text)


def replied(
    tool: str,
    result: JsonValue = None,
    *,
    status: ReplyStatus = "executed",
    reason: str = "ok",
) -> Message:
    """The message of a finished call; only an executed one has a result."""
    frozen = Json.of(result) if status == "executed" else None
    return Message("tool", "shown", reply=ToolReply("req-1", tool, status, reason, frozen))


def asked(
    each: ScriptedModel,
    *messages: Message,
    timeout_ms: int = 1_000,
    output_tokens_max: int | None = None,
) -> ModelReply:
    """The reply to this conversation."""
    return each.complete(ModelRequest(tuple(messages), (), timeout_ms, output_tokens_max))


def says(then: JsonValue, *messages: Message, **more: JsonValue) -> Decision:
    """The decision of a model with a single rule, in this conversation."""
    return asked(model({"when": {}, "then": then}, **more), *messages).decision


def holds(when: JsonValue, messages: Sequence[Message]) -> bool:
    """True if a rule with these guards fires before one without any."""
    each = model({"when": when, "then": YES}, NO)
    return asked(each, *messages).decision == Final("yes")


def stopped(each: ScriptedModel, *messages: Message) -> tuple[str, str]:
    """The termination and detail that the model stops the run with."""
    with pytest.raises(RunStopped) as caught:
        asked(each, *messages)
    return caught.value.termination, caught.value.detail


# --- rules ---------------------------------------------------------------------------------------


def test_the_first_matching_rule_wins() -> None:
    """The order of the file decides, not how narrow a rule is."""
    each = model(
        {"when": {"turn": 1}, "then": {"kind": "refusal", "message": "first"}},
        {"when": {"user_contains": "b"}, "then": YES},
    )

    assert asked(each, user("b")).decision == Refusal("first")
    assert asked(each, user("a"), user("b")).decision == Final("yes")


CONVERSATION = (
    Message("system", "be brief"),
    user("Check A-1007, ÉTÉ"),
    replied("search", {"hits": ["x"]}),
    replied("read", {"id": "A-1007", "active": True, "n": 2, "rows": [{"k": None}]}),
    replied("read", {"id": "A-1007", "active": True, "n": 2, "rows": [{"k": None}]}),
)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"step": 3}, True),
        ({"step": 2}, False),
        ({"step": {"gte": 3}}, True),
        ({"step": {"gte": 4}}, False),
        ({"step": {"in": [1, 3]}}, True),
        ({"turn": 1}, True),
        ({"turn": 2}, False),
        ({"attempt": 2}, True),
        ({"attempt": 1}, False),
        ({"called.read": 2}, True),
        ({"called.search": 2}, False),
        ({"called.other": 0}, True),
        ({"last_tool": "read"}, True),
        ({"last_tool": {"in": ["search", "x"]}}, False),
        ({"last_status": "executed"}, True),
        ({"last_status": "error"}, False),
        ({"last_reason": "ok"}, True),
        ({"last_reason": "timeout"}, False),
        ({"result.active": True}, True),
        ({"result.active": 1}, False),
        ({"result.active": False}, False),
        ({"result.n": 2}, True),
        ({"result.n": "2"}, False),
        ({"result.n": {"gte": 2}}, True),
        ({"result.n": {"gte": 2.5}}, False),
        ({"result.active": {"gte": 0}}, False),
        ({"result.id": {"in": ["A-1", "A-1007"]}}, True),
        ({"result.id": {"contains": "a-10"}}, True),
        ({"result.id": {"contains": "a-11"}}, False),
        ({"result.rows": {"contains": '"k":null'}}, True),
        ({"result.rows": [{"k": None}]}, True),
        ({"result.rows.0.k": None}, True),
        ({"result.rows.0.k": {"exists": True}}, True),
        ({"result.rows.1.k": {"exists": True}}, False),
        ({"result.rows.x": {"exists": True}}, False),
        ({"result.missing": {"exists": False}}, True),
        ({"result.missing": None}, False),
        ({"result.id.deeper": {"exists": True}}, False),
        ({"user_contains": "check a-1007"}, True),
        ({"user_contains": ["A-1007", "été"]}, True),
        ({"user_contains": ["A-1007", "other"]}, False),
        ({"user_matches": "A-[0-9]{4}\\b"}, True),
        ({"user_matches": "^A-"}, False),
        ({"any_result_contains": "HITS"}, True),
        ({"any_result_contains": "misses"}, False),
        ({"step": 3, "turn": 1, "last_tool": "read"}, True),
        ({"step": 3, "turn": 1, "last_tool": "search"}, False),
    ],
)
def test_a_guard_asks_the_conversation(*, when: JsonValue, expected: bool) -> None:
    """Each kind of guard holds where it should, and its near miss does not."""
    assert holds(when, CONVERSATION) == expected


def test_a_call_that_was_not_executed_has_no_result() -> None:
    """An earlier result of the same tool is not mistaken for it, and the tool's run begins anew."""
    messages = (user("x"), replied("read", {"a": 1}), replied("read", status="error"))

    assert not holds({"result.a": 1}, messages)
    assert holds({"result.a": {"exists": False}, "attempt": 1, "called.read": 2}, messages)


def test_only_the_last_user_message_is_asked() -> None:
    """Guards on the user's words look at the latest ones, turns count them all."""
    messages = (user("first"), Message("assistant", "which?"), user("second"))

    assert holds({"user_contains": "second", "turn": 2}, messages)
    assert not holds({"user_contains": "first"}, messages)


def test_guards_on_nothing_do_not_hold() -> None:
    """Before the first message there is nothing to be equal to."""
    assert not holds({"user_contains": "a"}, ())
    assert not holds({"last_tool": "a"}, (user("a"),))


def test_text_without_a_utf8_form_is_searched_all_the_same() -> None:
    """A lone surrogate never raises."""
    assert holds({"user_matches": "end$"}, (user("\ud800 end"),))


# --- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "decision"),
    [
        (YES, Final("yes")),
        ({"kind": "final_answer", "envelope": {"m": 1}}, Final(Json.of({"m": 1}))),
        ({"kind": "final_answer", "final_answer": {"m": 1}}, Final(Json.of({"m": 1}))),
        ({"kind": "ask_user", "message": "which?"}, AskUser("which?")),
        ({"kind": "refusal", "message": "no"}, Refusal("no")),
        ({"kind": "truncated"}, Truncated()),
        ({"kind": "malformed", "detail": "no JSON"}, Malformed("no JSON")),
        ({"kind": "unavailable", "reason": "timeout"}, Unavailable("timeout")),
        (
            {"kind": "unavailable", "reason": "rate_limited", "retry_after_ms": 5},
            Unavailable("rate_limited", 5),
        ),
        (
            {"kind": "tool_call", "tool": "a", "arguments": {"b": 1, "a": [2]}, "text": "hm"},
            Calls((ToolRequest("req-0001", "a", '{"a":[2],"b":1}'),), "hm"),
        ),
        (
            {"kind": "tool_call", "tool": "a", "raw_arguments": '{"a": {{'},
            Calls((ToolRequest("req-0001", "a", '{"a": {{'),)),
        ),
        (
            {
                "kind": "tool_calls",
                "calls": [{"tool": "a", "arguments": {}}, {"tool": "b", "raw_arguments": ""}],
            },
            Calls((ToolRequest("req-0001", "a", "{}"), ToolRequest("req-0002", "b", ""))),
        ),
    ],
)
def test_each_kind_becomes_its_decision(then: JsonValue, decision: Decision) -> None:
    """Arguments are JSON text, raw ones exactly as they are written."""
    assert says(then, user("x")) == decision


def test_request_ids_go_on_through_the_conversation() -> None:
    """No two requests of a conversation share an id."""
    before = Message(
        "assistant", "", requests=(ToolRequest("req-0001", "a", "{}"), ToolRequest("x", "a", "{}"))
    )

    decision = says({"kind": "tool_call", "tool": "a", "arguments": {}}, user("x"), before)

    assert decision == Calls((ToolRequest("req-0003", "a", "{}"),))


def test_templates_are_filled_from_results_and_the_users_words() -> None:
    """A lone template keeps its type, one within text is written out."""
    then: JsonValue = {
        "kind": "tool_call",
        "tool": "a",
        "arguments": {
            "n": "{{result.n}}",
            "list": ["{{ result.rows.0 }}"],
            "other": "{{results.find.id}}",
            "text": "for {{who}}: {{result.n}}, {{result.rows}}",
        },
    }
    messages = (
        user("I am customer C-1 and C-2"),
        replied("find", {"id": "old"}),
        replied("find", {"id": "new"}),
        replied("find", status="error"),
        replied("read", {"n": 3, "rows": [{"k": True}]}),
        user("thanks"),
    )

    decision = says(then, *messages, bind={"who": "customer (C-[0-9]+)"})

    assert decision == Calls(
        (
            ToolRequest(
                "req-0001",
                "a",
                '{"list":[{"k":true}],"n":3,"other":"new","text":"for C-1: 3, [{\\"k\\":true}]"}',
            ),
        )
    )


def test_envelopes_questions_and_refusals_are_filled_as_well() -> None:
    """Whatever is said may hold templates."""
    found = (user("x"), replied("read", {"id": "R-1", "n": 2}))

    assert says({"kind": "final_answer", "envelope": {"refs": ["{{result.id}}"]}}, *found) == Final(
        Json.of({"refs": ["R-1"]})
    )
    assert says({"kind": "final_answer", "final_answer": "{{result.n}}"}, *found) == Final("2")
    assert says({"kind": "ask_user", "message": "{{result.id}}?"}, *found) == AskUser("R-1?")
    assert says({"kind": "refusal", "message": "not {{result.id}}"}, *found) == Refusal("not R-1")


def test_what_a_template_brings_in_is_not_a_template() -> None:
    """Text of a result cannot ask for other results."""
    found = (user("x"), replied("read", {"a": "{{result.b}}", "b": "secret"}))

    assert says({"kind": "refusal", "message": "<{{result.a}}>"}, *found) == Refusal(
        "<{{result.b}}>"
    )


# --- mismatch ------------------------------------------------------------------------------------


def test_no_matching_rule_stops_the_run() -> None:
    """The detail says which script, and where the conversation stands."""
    each = model({"when": {"step": 0}, "then": YES})

    assert stopped(each, user("x"), replied("read", status="rejected", reason="not_found")) == (
        "fixture_mismatch",
        "scripted:one: no rule for step 1, turn 1, after read: rejected not_found",
    )


def test_a_mismatch_answer_is_never_given() -> None:
    """`on_mismatch` is part of the published format and not of a conversation."""
    each = model({"when": {"step": 5}, "then": YES}, on_mismatch=YES)

    assert stopped(each, user("x")) == (
        "fixture_mismatch",
        "scripted:one: no rule for step 0, turn 1, before any call",
    )


@pytest.mark.parametrize("expression", ["result.a", "results.read.a", "name"])
def test_a_template_without_a_value_stops_the_run(expression: str) -> None:
    """There is no default and no empty text."""
    then: JsonValue = {"kind": "refusal", "message": "{{" + expression + "}}"}
    each = model({"when": {}, "then": then}, bind={"name": "my name is (.+)"})

    termination, detail = stopped(each, user("x"))

    assert termination == "fixture_mismatch"
    assert f"rules[0] needs `{expression}`" in detail


# --- costs ---------------------------------------------------------------------------------------


def test_costs_are_the_rules_then_the_scripts_then_estimates() -> None:
    """Each number on its own."""
    messages = (user("u" * 9),)
    own: JsonValue = {"when": {}, "then": YES, "usage": {"output_tokens": 7}, "latency_ms": 40}

    stated = asked(model(own, defaults={"input_tokens": 5, "latency_ms": 9}), *messages)
    estimated = asked(model({"when": {}, "then": YES}), *messages)

    assert (stated.usage, stated.latency_ms) == (Usage(5, 7), 40)
    assert (estimated.usage, estimated.latency_ms) == (Usage(3, 1), 0)
    assert estimated.model == "scripted:one"


def test_tool_definitions_are_part_of_the_input() -> None:
    """They are read with every request."""
    tools = (ToolSpec("read", "1.0", "12345", Json.of({})),)
    each = model({"when": {}, "then": YES})

    reply = each.complete(ModelRequest((user("u"),), tools, 1_000))

    assert reply.usage == Usage(3, 1)


def test_an_answer_that_takes_too_long_has_not_arrived() -> None:
    """The model gets the time that is left and not more."""
    each = model({"when": {}, "then": YES, "latency_ms": 500})

    late = asked(each, user("x"), timeout_ms=499)

    assert (late.decision, late.latency_ms, late.usage) == (Unavailable("timeout"), 499, Usage(1))
    assert asked(each, user("x"), timeout_ms=500).decision == Final("yes")


def test_an_answer_that_is_too_long_is_cut_off() -> None:
    """Its tokens are those that it was allowed."""
    each = model({"when": {}, "then": YES, "usage": {"output_tokens": 20}})

    cut = asked(each, user("x"), output_tokens_max=19)

    assert (cut.decision, cut.usage) == (Truncated("cut at 19 tokens"), Usage(1, 19))
    assert asked(each, user("x"), output_tokens_max=20).decision == Final("yes")


# --- one model, many conversations ---------------------------------------------------------------


def test_the_same_conversation_gets_the_same_reply_whatever_came_before() -> None:
    """What is kept between requests never shows, even if a conversation is rewritten in between."""
    rules: list[JsonValue] = [
        {"when": {"any_result_contains": "x"}, "then": YES},
        {"when": {"called.read": {"gte": 2}}, "then": {"kind": "refusal", "message": "two"}},
        NO,
    ]
    grown = [CONVERSATION[: n + 1] for n in range(len(CONVERSATION))]
    other = (*CONVERSATION[:2], replied("search", {"hits": []}), *CONVERSATION[3:])
    each = model(*rules)

    replies = [asked(each, *messages) for messages in (*grown, other, CONVERSATION, grown[1])]

    fresh = [
        asked(model(*rules), *messages) for messages in (*grown, other, CONVERSATION, grown[1])
    ]
    assert replies == fresh


def test_equal_messages_that_were_made_anew_are_the_same_conversation() -> None:
    """Identity of objects does not matter, content does."""
    each = model({"when": {"step": 1}, "then": YES}, NO)
    asked(each, user("x"))

    assert asked(each, replace(user("x")), replied("read")).decision == Final("yes")


def test_what_was_captured_is_looked_up_anew_when_the_user_speaks() -> None:
    """A conversation that grew by a message of the user is not answered from the last one."""
    then: JsonValue = {"kind": "final_answer", "final_answer": "{{account}}"}
    each = model({"when": {}, "then": then}, bind={"account": "(A-[0-9]+)"})

    first = asked(each, user("about A-1"))
    second = asked(each, user("about A-1"), user("no, A-2"))

    assert (first.decision, second.decision) == (Final("A-1"), Final("A-2"))
