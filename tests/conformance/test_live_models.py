"""Every live adapter over a provider that misbehaves: a typed outcome, asked once, in time."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from arh.canonical import Json
from arh.errors import RunStopped
from arh.model.live.openai_chat import limit_name
from arh.model.live.replies import CONDUCT
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    ModelReply,
    Refusal,
    Served,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.messages import Message, ToolReply, ToolRequest, ToolSpec
from tests.conformance.provider_server import (
    ADAPTERS,
    KEY,
    NAME,
    STREAM,
    WHOLE,
    Behaviour,
    Said,
    chat_stream,
    chat_whole,
    cut,
    floods,
    hangs,
    messages_events,
    messages_whole,
    model_over,
    request,
    responses_stream,
    responses_whole,
    says,
    serving,
    streams,
    trickles,
)

LOOK = ToolSpec("look", "1", "Look something up.", Json.of({"type": "object", "properties": {}}))
TWO = Said(calls=(("c-1", "look", '{"b": 1}'), ("c-2", "look", '{"a": [2]}')))

every_adapter = pytest.mark.parametrize("adapter", sorted(ADAPTERS))


def answered(adapter: str, behaviour: Behaviour, *, bytes_max: int = 2**20) -> ModelReply:
    """The reply of a model whose provider behaves like this."""
    with serving(behaviour) as server:
        return model_over(server, adapter, bytes_max=bytes_max).complete(request())


@every_adapter
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_arrives_whole_with_what_the_server_says(adapter: str, *, streamed: bool) -> None:
    """Text, usage with cached tokens apart, the server's model and identifiers."""
    said = Said("All is well.")
    behaviour = STREAM[adapter](said) if streamed else says(WHOLE[adapter](said))

    reply = answered(adapter, behaviour)

    served = reply.served or Served()
    assert (Final("All is well."), Usage(50, 7, 20)) == (reply.decision, reply.usage)
    assert (f"{NAME}-2026-11-01", True, "") == (served.model, served.metered, served.trouble)
    assert f"{adapter}:{NAME}" == reply.model
    assert (served.first_ms is not None) == streamed
    assert 0 < reply.latency_ms <= 5_000
    assert served.reply_id
    assert served.fingerprint == ("fp_1" if adapter == "openai" else "")


@every_adapter
@pytest.mark.parametrize("streamed", [False, True])
def test_parallel_calls_keep_their_order(adapter: str, *, streamed: bool) -> None:
    """Two calls in one reply are two requests in the order of the reply."""
    behaviour = STREAM[adapter](TWO) if streamed else says(WHOLE[adapter](TWO))

    decision = answered(adapter, behaviour).decision

    assert isinstance(decision, Calls)
    assert [(r.call_id, r.tool, json.loads(r.arguments)) for r in decision.requests] == [
        ("c-1", "look", {"b": 1}),
        ("c-2", "look", {"a": [2]}),
    ]


@every_adapter
def test_a_streamed_call_keeps_its_argument_text(adapter: str) -> None:
    """What the model wrote is what the gateway parses: no re-writing in between."""
    decision = answered(adapter, STREAM[adapter](TWO)).decision

    assert isinstance(decision, Calls)
    assert [r.arguments for r in decision.requests] == ['{"b": 1}', '{"a": [2]}']


@every_adapter
def test_two_calls_with_one_id_are_malformed(adapter: str) -> None:
    """No reply to a tool could be told from the other's."""
    said = Said(calls=(("c-1", "look", "{}"), ("c-1", "look", "{}")))

    assert (
        Malformed("two calls with one id") == answered(adapter, says(WHOLE[adapter](said))).decision
    )
    for behaviour in (says(WHOLE[adapter](said)), STREAM[adapter](said)):
        assert Malformed("two calls with one id") == answered(adapter, behaviour).decision


@every_adapter
def test_a_refusal_is_one(adapter: str) -> None:
    """The provider's own sign of a refusal is never read as an answer."""
    said = Said("I cannot.", refusal="I cannot.")

    for behaviour in (says(WHOLE[adapter](said)), STREAM[adapter](said)):
        assert Refusal("I cannot.") == answered(adapter, behaviour).decision


@every_adapter
def test_an_empty_reply_is_malformed(adapter: str) -> None:
    """Nothing said is nothing decided."""
    assert Malformed("empty reply") == answered(adapter, says(WHOLE[adapter](Said()))).decision


@every_adapter
@pytest.mark.parametrize(
    ("calls", "decision"),
    [
        ([("c", "ask_user", '{"question": "Which account?"}')], AskUser("Which account?")),
        ([("c", "decline", '{"message": "Not allowed."}')], Refusal("Not allowed.")),
        ([("c", "ask_user", '{"question": ""}')], Malformed("ask_user with nothing said")),
        (
            [("c", "ask_user", '{"q": "x", "r": 1}')],
            Malformed("ask_user with other arguments than its own"),
        ),
        (
            [("c", "ask_user", '{"question": "x"}'), ("d", "look", "{}")],
            Malformed("ask_user beside other calls"),
        ),
    ],
)
def test_a_model_asks_and_declines_by_tools(
    adapter: str, calls: list[tuple[str, str, str]], decision: Decision
) -> None:
    """A question is a question because the model says so, not because of its prose."""
    said = Said(calls=tuple(calls))

    assert decision == answered(adapter, STREAM[adapter](said)).decision


STATUSES = [
    (429, {"retry-after": "2"}, Unavailable("rate_limited", 2_000)),
    (429, {"retry-after": "999999999"}, Unavailable("rate_limited", 3_600_000)),
    (429, {"retry-after": "soon"}, Unavailable("rate_limited")),
    (500, {}, Unavailable("dependency_error")),
    (503, {}, Unavailable("dependency_error")),
    (400, {}, Unavailable("dependency_error")),
]


@every_adapter
@pytest.mark.parametrize(("status", "headers", "decision"), STATUSES)
def test_a_failing_server_is_asked_once(
    adapter: str, status: int, headers: dict[str, str], decision: Decision
) -> None:
    """The agent's own retries are the only ones, and it learns when to come again."""
    failing = says({"error": {"message": KEY}}, status=status, **headers)
    with serving(failing) as server:
        reply = model_over(server, adapter).complete(request())

        assert decision == reply.decision
        assert Served(trouble=f"status {status}", metered=True) == reply.served
        assert len(server.asked) == 1


@every_adapter
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusing_provider_ends_the_run_and_is_not_asked_again(adapter: str, status: int) -> None:
    """A wrong key or an unknown model is nobody's behaviour; 77 runs do not ask 77 times."""
    with serving(says({"error": {"message": f"bad key {KEY}"}}, status=status)) as server:
        model = model_over(server, adapter)
        for _ in range(2):
            with pytest.raises(RunStopped) as stop:
                model.complete(request())

            assert stop.value.termination == "live_outage"
            assert KEY not in str(stop.value)
        assert len(server.asked) == 1


@every_adapter
@pytest.mark.parametrize("behaviour", [hangs, trickles])
def test_the_time_limit_holds_whatever_the_server_does(adapter: str, behaviour: Behaviour) -> None:
    """A server that never ends costs what the request leaves, and no more."""
    with serving(behaviour) as server:
        model = model_over(server, adapter)
        began = time.monotonic()
        reply = model.complete(request(timeout_ms=300))

        assert time.monotonic() - began < 2
    assert Unavailable("timeout") == reply.decision
    assert reply.latency_ms == 300


@every_adapter
def test_without_time_nothing_is_sent(adapter: str) -> None:
    """A request whose time is over costs no call."""
    with serving(says({})) as server:
        reply = model_over(server, adapter).complete(request(timeout_ms=0))

        assert (Unavailable("timeout"), []) == (reply.decision, server.asked)


@every_adapter
def test_a_reply_that_is_cut_short_is_truncated(adapter: str) -> None:
    """Half a reply is not acted on, even if the half reads well."""
    reply = answered(adapter, cut(WHOLE[adapter](Said("All is well."))))

    assert Truncated("the reply ended early") == reply.decision
    assert (reply.served or Served()).trouble == "the reply ended early"


@every_adapter
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "cut short"),
        (b"<html>down</html>", "malformed"),
        (b'{"id": "a", "id": "b"}', "duplicate key"),
        (b'{"id": NaN}', "malformed"),
        (b'{"id": "\\ud800"}', "lone surrogate"),
        (b'{"id": "a"} {"id": "b"}', "trailing text"),
        (b"[" * 300, "too deep"),
        (b"[]", "its shape"),
        (b"null", "its shape"),
    ],
)
def test_bad_json_is_malformed(adapter: str, body: bytes, reason: str) -> None:
    """An SDK raises here, or takes it; we name what is wrong, and nothing of the content."""
    decision = answered(adapter, says(body)).decision

    assert Malformed(f"a reply that is no such reply: {reason}") == decision


@every_adapter
def test_wrong_types_are_malformed(adapter: str) -> None:
    """The SDKs take a number for an id and an object for a text; we do not."""
    reply = answered(adapter, says(WHOLE[adapter](Said("x"), id=5)))

    assert Malformed("a reply that is no such reply: its field id") == reply.decision


@every_adapter
def test_a_bad_event_makes_a_stream_malformed(adapter: str) -> None:
    """Also if good events follow."""
    for bad in (b"{", b'{"type": 1, "choices": 5}'):
        decision = answered(adapter, streams(bad, {"type": "ping", "choices": []})).decision

        assert isinstance(decision, Malformed)


@every_adapter
def test_a_stream_without_an_end_is_truncated(adapter: str) -> None:
    """A stream that just stops ends with no error in any SDK."""
    endless = {
        "openai": chat_stream(Said("All is"), finish=None, done=False),
        "openai-responses": streams({"type": "response.output_text.delta", "delta": "All"}),
        "anthropic": streams(*messages_events(Said("All is"))[:-1]),
    }

    assert isinstance(answered(adapter, endless[adapter]).decision, Truncated)
    assert isinstance(answered(adapter, streams()).decision, (Truncated, Malformed))


@every_adapter
def test_an_error_in_a_stream_is_an_outage(adapter: str) -> None:
    """A provider that gives up half way has not answered."""
    reply = answered(adapter, streams({"type": "error", "error": {"message": "overloaded"}}))

    assert Unavailable("dependency_error") == reply.decision
    assert (reply.served or Served()).trouble == "error in the stream"


@every_adapter
def test_a_huge_body_is_not_read(adapter: str) -> None:
    """Bytes beyond the limit end the exchange."""
    reply = answered(adapter, floods, bytes_max=100_000)

    assert Truncated("a body that is not taken") == reply.decision


@every_adapter
def test_a_huge_error_body_is_not_read(adapter: str) -> None:
    """SDKs read the body of an error whole; ours ends at the limit."""
    reply = answered(adapter, says(b"x" * 300_000, status=500), bytes_max=100_000)

    assert isinstance(reply.decision, (Unavailable, Truncated))


@every_adapter
def test_a_compressed_body_is_not_unpacked(adapter: str) -> None:
    """We ask for plain bytes; what comes packed could be any size."""
    reply = answered(adapter, says(b"\x1f\x8b", content_encoding="gzip"))

    assert Unavailable("dependency_error") == reply.decision
    assert (reply.served or Served()).trouble == "a body that is not taken"


@every_adapter
def test_a_redirect_is_not_followed(adapter: str) -> None:
    """The key and the data go to the address that the user named."""
    with (
        serving(says(WHOLE[adapter](Said("x")))) as other,
        serving(says(b"", status=307, location=other.url)) as server,
    ):
        reply = model_over(server, adapter).complete(request())

        assert Unavailable("dependency_error") == reply.decision
        assert other.asked == []


@every_adapter
def test_proxy_variables_are_ignored(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens to be in the environment does not see the traffic."""
    with serving(says(b"", status=502)) as proxy, serving(STREAM[adapter](Said("x"))) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)

        assert Final("x") == model_over(server, adapter).complete(request()).decision
        assert proxy.asked == []


@every_adapter
def test_the_proxy_of_the_environment_is_used_if_asked(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: where the user trusts the environment, the traffic goes where it says."""
    with serving(STREAM[adapter](Said("by proxy"))) as proxy, serving(says({})) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        model = model_over(server, adapter, trust_environment=True)

        assert Final("by proxy") == model.complete(request()).decision
        assert (server.asked, len(proxy.asked)) == ([], 1)


@every_adapter
@pytest.mark.parametrize("count", [-1, 10**12, 1.5, True, "7"])
def test_a_usage_that_cannot_be_is_malformed(adapter: str, count: object) -> None:
    """A server that gives tokens back would buy calls beyond every ceiling."""
    names = {"openai": "prompt_tokens"}
    usage = {"input_tokens": 1, "output_tokens": 1, "completion_tokens": 1, "prompt_tokens": 1}
    usage[names.get(adapter, "input_tokens")] = count  # type: ignore[assignment]  # wrong on purpose

    reply = answered(adapter, says(WHOLE[adapter](Said("x"), usage=usage)))

    assert isinstance(reply.decision, Malformed)
    assert (Usage(), False) == (reply.usage, (reply.served or Served()).metered)


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("", "max_completion_tokens"),
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.openai.com.example.org/v1", "max_tokens"),
        ("http://127.0.0.1:8080/v1", "max_tokens"),
    ],
)
def test_the_limit_of_a_reply_has_the_name_that_its_server_knows(base_url: str, name: str) -> None:
    """A limit under an unknown name is ignored, and a ceiling with it."""
    assert name == limit_name(base_url)


@every_adapter
def test_cookies_are_not_kept(adapter: str) -> None:
    """No run leaves anything with the client that another run sends."""
    with serving(says(WHOLE[adapter](Said("x")), set_cookie="session=1")) as server:
        model = model_over(server, adapter)
        model.complete(request())
        model.complete(request())

        assert all("cookie" not in asked.headers for asked in server.asked)


ESCAPED = f"\\u{ord(KEY[0]):04x}"


@every_adapter
def test_a_reply_that_holds_the_key_is_not_taken(adapter: str) -> None:
    """However a server echoes the key, nothing of the reply goes on."""
    echoes = (
        Said(f"Your key is {KEY}."),
        Said(calls=(("c-1", "look", json.dumps({"q": KEY})),)),
        Said(calls=((KEY, "look", "{}"),)),
        Said(calls=(("c-1", "look", json.dumps({"q": KEY}).replace(KEY[0], ESCAPED)),)),
        Said(json.dumps({"q": KEY}).replace(KEY[0], ESCAPED)),
    )
    for said in echoes:
        reply = answered(adapter, says(WHOLE[adapter](said)))

        assert Malformed("the reply holds the key") == reply.decision
    reply = answered(adapter, says(WHOLE[adapter](Said("x"), model=KEY), x_request_id=KEY))

    assert KEY not in repr(reply)


@every_adapter
def test_no_server_is_an_outage(adapter: str) -> None:
    """Nobody at the address."""
    with serving(says({})) as gone:
        nobody = gone.url
    with serving(says({})) as server:
        server.url = nobody
        reply = model_over(server, adapter).complete(request())

    assert Unavailable("dependency_error") == reply.decision
    assert (reply.served or Served()).trouble == "no connection"


@pytest.mark.parametrize(
    ("behaviour", "decision"),
    [
        (says(chat_whole(Said("x"), finish="length")), Truncated("length")),
        (says(chat_whole(Said("x"), finish="content_filter")), Truncated("content_filter")),
        (says(chat_whole(Said("x"), finish=None)), Truncated("no finish reason")),
        (says(chat_whole(Said("x"), finish="odd")), Malformed("an unknown finish reason")),
        (
            says(chat_whole(Said("x"), finish="tool_calls")),
            Malformed("calls were announced and none came"),
        ),
        (
            says(chat_whole(Said("x"), choices=[])),
            Malformed("0 choices where one was asked for"),
        ),
        (chat_stream(Said("x"), finish="length"), Truncated("length")),
        (chat_stream(Said("x"), done=False), Final("x")),
        (
            streams({"choices": [{"index": 1, "delta": {"content": "x"}}]}),
            Malformed("several choices where one was asked for"),
        ),
    ],
)
def test_how_a_completion_ends_decides(behaviour: Behaviour, decision: Decision) -> None:
    """Only what ended by itself is acted on; a stream may leave out its last word, not its end."""
    assert decision == answered("openai", behaviour).decision


@pytest.mark.parametrize(
    ("behaviour", "decision"),
    [
        (
            says(responses_whole(Said("x"), status="incomplete")),
            Truncated("length"),
        ),
        (
            responses_stream(
                Said("x"), status="incomplete", incomplete_details={"reason": "content_filter"}
            ),
            Truncated("content_filter"),
        ),
        (says(responses_whole(Said("x"), status="failed")), Unavailable("dependency_error")),
        (says(responses_whole(Said("x"), status="queued")), Malformed("an unknown status")),
        (
            says(responses_whole(Said(), output=[{"type": "web_search_call"}])),
            Malformed("an output that was not asked for"),
        ),
    ],
)
def test_how_a_response_ends_decides(behaviour: Behaviour, decision: Decision) -> None:
    """Only a completed response is acted on."""
    assert decision == answered("openai-responses", behaviour).decision


@pytest.mark.parametrize(
    ("behaviour", "decision"),
    [
        (says(messages_whole(Said("x"), stop="max_tokens")), Truncated("max_tokens")),
        (says(messages_whole(Said("x"), stop=None)), Truncated("no stop reason")),
        (says(messages_whole(Said("x"), stop="odd")), Malformed("an unknown stop reason")),
        (
            says(messages_whole(Said("x"), stop="tool_use")),
            Malformed("calls were announced and none came"),
        ),
        (streams(*messages_events(Said("x"), stop="max_tokens")), Truncated("max_tokens")),
        (
            says(messages_whole(Said(), content=[{"type": "server_tool_use"}])),
            Malformed("an output that was not asked for"),
        ),
        (
            streams(
                messages_events(Said("x"))[0],
                {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta"}},
            ),
            Malformed("blocks of a stream do not fit together"),
        ),
    ],
)
def test_how_a_message_ends_decides(behaviour: Behaviour, decision: Decision) -> None:
    """Only what ended by itself is acted on."""
    assert decision == answered("anthropic", behaviour).decision


CONVERSATION = (
    Message("system", "Help."),
    Message("user", "Hello"),
    Message(
        "assistant", "", (ToolRequest("c-1", "look", '{"a": 1}'), ToolRequest("c-2", "look", "{"))
    ),
    Message("tool", "one", reply=ToolReply("c-1", "look", "executed", "ok")),
    Message("tool", "two", reply=ToolReply("c-2", "look", "rejected", "malformed")),
)


def sent(adapter: str) -> dict[str, Any]:
    """The body that a conversation with calls is sent as."""
    with serving(says(WHOLE[adapter](Said("x")))) as server:
        model = model_over(server, adapter, parameters=Json.of({"temperature": 0}))
        model.complete(request(*CONVERSATION, tools=(LOOK,), output_tokens_max=99))
        (asked,) = server.asked

    assert KEY in (asked.headers.get("authorization", ""), asked.headers.get("x-api-key", "")) or (
        asked.headers["authorization"] == f"Bearer {KEY}"
    )
    return asked.body


def test_a_conversation_in_the_form_of_chat_completions() -> None:
    """Roles, calls, replies, tools and limits as the provider names them."""
    body = sent("openai")

    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert body["messages"][2]["tool_calls"][1]["function"] == {"name": "look", "arguments": "{"}
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "c-1", "content": "one"}
    assert [t["function"]["name"] for t in body["tools"]] == ["look", *(c.name for c in CONDUCT)]
    assert (body["model"], body["max_tokens"], body["temperature"]) == (NAME, 99, 0)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_a_conversation_in_the_form_of_responses() -> None:
    """Items, calls and outputs as the provider names them; nothing is stored there."""
    body = sent("openai-responses")

    assert body["instructions"] == "Help."
    assert [item.get("type", item.get("role")) for item in body["input"]] == [
        "user",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert (body["store"], body["max_output_tokens"], body["temperature"]) == (False, 99, 0)
    assert [t["name"] for t in body["tools"]] == ["look", *(c.name for c in CONDUCT)]


def test_a_conversation_in_the_form_of_messages() -> None:
    """Turns that alternate, calls with objects, replies to parallel calls in one turn."""
    body = sent("anthropic")

    assert body["system"] == "Help."
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert [block["input"] for block in body["messages"][1]["content"]] == [
        {"a": 1},
        {"arguments": "{"},
    ]
    assert [block["is_error"] for block in body["messages"][2]["content"]] == [False, True]
    assert (body["max_tokens"], body["temperature"]) == (99, 0)
    assert [t["name"] for t in body["tools"]] == ["look", *(c.name for c in CONDUCT)]


@every_adapter
def test_the_same_request_is_sent_as_the_same_body(adapter: str) -> None:
    """Nothing of the time, the process or an earlier request is in it."""
    assert sent(adapter) == sent(adapter)
