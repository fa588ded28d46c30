"""The model endpoint speaks as the providers do, and tells nothing else.

Every test speaks plain HTTP, as the providers' libraries do; those libraries themselves are tried
in tests/frameworks.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from arh.canonical import Json
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    Refusal,
    Truncated,
    Unavailable,
)
from tests.conformance.endpoint_client import (
    CHAT,
    CONVERSATION,
    LOOK,
    MESSAGES,
    PATHS,
    PROSE,
    READ,
    RESPONSES,
    SAID,
    STREAM,
    WHOLE,
    Heard,
    error_of,
    events,
    question,
    serving,
)

CALLS = (
    ("req-0001", "get_account", {"account_id": "A-1007", "note": "a longer text here"}),
    ("req-0002", "get_policy", {"topic": "billing"}),
)
ENDS = {
    CHAT: {"stop": "stop", "calls": "tool_calls", "length": "length", "refusal": "stop refused"},
    RESPONSES: {
        "stop": "completed",
        "calls": "completed",
        "length": "incomplete max_output_tokens",
        "refusal": "completed refused",
    },
    MESSAGES: {
        "stop": "end_turn",
        "calls": "tool_use",
        "length": "max_tokens",
        "refusal": "refusal",
    },
}
DECISIONS: list[tuple[Decision, str, str, tuple[tuple[str, str, Any], ...]]] = [
    (Final(PROSE), "stop", PROSE, ()),
    (Final(Json.of({"message": "Done.", "n": 1})), "stop", '{"message":"Done.","n":1}', ()),
    (Final(""), "stop", "", ()),
    (AskUser("Which invoice do you mean?"), "stop", "Which invoice do you mean?", ()),
    (Calls((READ, LOOK)), "calls", "", CALLS),
    (Calls((READ,), "I look it up."), "calls", "I look it up.", CALLS[:1]),
    (Refusal("I will not do that."), "refusal", "I will not do that.", ()),
    (Truncated("cut at 10 tokens"), "length", "", ()),
]


PART = {"type": "text", "text": "x"}
CALLED = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
USED = {"type": "tool_use", "id": "c", "name": "f", "input": {}}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("decision", "end", "text", "calls"), DECISIONS)
def test_a_decision_has_the_providers_form_whole_and_as_a_stream(
    path: str,
    decision: Decision,
    end: str,
    text: str,
    calls: tuple[tuple[str, str, Any], ...],
) -> None:
    """Text, calls, reason to stop and usage arrive alike, in one object or in pieces."""
    more = {"stream_options": {"include_usage": True}} if path == CHAT else {}
    with serving(decision, decision) as client:
        whole = client.send(path, question(path))
        stream = client.send(path, question(path, stream=True, **more))

    expected = Heard(ENDS[path][end], text, calls)
    assert (whole.status, stream.status) == (200, 200)
    assert expected == WHOLE[path](whole.json())
    assert expected == STREAM[path](events(stream.body))


def test_a_stream_has_no_usage_that_nobody_asked_for() -> None:
    """Chat completions send usage in a stream on request only."""
    with serving(Final(PROSE)) as client:
        told = events(client.send(CHAT, question(CHAT, stream=True)).body)

    assert all("usage" not in json.loads(data) for _, data in told[:-1])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("decision", "statuses"),
    [
        (Unavailable("rate_limited", 2_500), (429, 429)),
        (Unavailable("dependency_error"), (503, 529)),
        (Unavailable("timeout"), (504, 504)),
        (Malformed("broken"), (502, 502)),
    ],
)
def test_a_model_that_gives_no_reply_is_the_providers_error(
    path: str, decision: Decision, statuses: tuple[int, int]
) -> None:
    """The client's library meets the status that it would meet in service."""
    with serving(decision) as client:
        reply = client.send(path, question(path))

    assert statuses[path == MESSAGES] == reply.status
    assert error_of(path, reply)
    assert ("3" if reply.status == 429 else None) == reply.headers.get("Retry-After")


def test_a_client_that_was_told_to_wait_has_waited_when_it_asks_again() -> None:
    """The wait passes on the run's clock, not on the machine's, and only what is left of it."""
    slow = Unavailable("rate_limited", 2_500)
    with serving(slow, Final("Done."), slow, Final("Done.")) as client:
        told = client.send(CHAT, question(CHAT))
        client.send(CHAT, question(CHAT))
        first = client.session.now
        client.send(CHAT, question(CHAT))
        client.session.wait(4_000)
        client.send(CHAT, question(CHAT))

    assert told.headers["Retry-After-Ms"] == "1"
    assert (first, client.session.now) == (2_500, 6_500)


@pytest.mark.parametrize("path", PATHS)
def test_the_same_conversation_reaches_the_model_whatever_its_form(path: str) -> None:
    """Roles, calls, and the outcome that each result stands for are read from every form alike."""
    limit = {CHAT: "max_completion_tokens", RESPONSES: "max_output_tokens", MESSAGES: "max_tokens"}
    with serving(Final("Done.")) as client:
        reply = client.send(path, {"model": "any", **SAID[path], limit[path]: 77})

    assert reply.status == 200, reply.body
    assert client.session.asked == [CONVERSATION]
    assert client.session.limits == [77]


@pytest.mark.parametrize(
    ("shown", "failed", "expected"),
    [
        ('{"plan":"pro"}', False, ("executed", "ok", {"plan": "pro"})),
        ("It is on the pro plan.", False, ("executed", "ok", "It is on the pro plan.")),
        ('{"status":"active","n":1}', False, ("executed", "ok", {"status": "active", "n": 1})),
        ('{"status":"error","reason":"timeout"}', False, ("error", "timeout", None)),
        (
            '{"type":"text","text":"{\\"status\\":\\"rejected\\",\\"reason\\":\\"no_grant\\"}"}',
            False,
            ("rejected", "no_grant", None),
        ),
        (
            '[{"type":"text","text":"{\\"plan\\":\\"pro\\"}"}]',
            False,
            ("executed", "ok", {"plan": "pro"}),
        ),
        ("Traceback: it broke", True, ("error", "error", None)),
        ('{"status":"rejected","reason":"no_grant"}', True, ("rejected", "no_grant", None)),
    ],
)
def test_a_result_is_what_the_client_shows_the_model_of_it(
    shown: str, failed: int, expected: tuple[str, str, object]
) -> None:
    """An outcome that is passed on is one again; anything else is an executed call's result."""
    use = {"type": "tool_use", "id": "c-1", "name": "get_account", "input": {}}
    result = {
        "type": "tool_result",
        "tool_use_id": "c-1",
        "content": shown,
        "is_error": bool(failed),
    }
    said = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    with serving(Final("Done.")) as client:
        reply = client.send(MESSAGES, question(MESSAGES, messages=said))

    assert reply.status == 200, reply.body
    read = client.session.asked[0][-1]
    assert read.content == shown
    assert read.reply is not None
    assert expected == (
        read.reply.status,
        read.reply.reason,
        None if read.reply.result is None else read.reply.result.value(),
    )


def user(content: object) -> list[dict[str, object]]:
    """Return a conversation of one message."""
    return [{"role": "user", "content": content}]


IMAGE = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
BAD: list[tuple[str, dict[str, object], str]] = [
    (CHAT, {"messages": user(IMAGE)}, "messages[0].content: "),
    (CHAT, {"messages": user(5)}, "messages[0].content"),
    (CHAT, {"messages": []}, "messages"),
    (CHAT, {"messages": [{"role": "root", "content": "x"}]}, "messages[0]"),
    (CHAT, {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}, "no call"),
    (CHAT, {"messages": [{"role": "assistant", "function_call": {"name": "f"}}]}, "function_call"),
    (CHAT, {"n": 2}, "n: "),
    (CHAT, {"model": 7}, "model"),
    (CHAT, {"stream": "yes"}, "stream"),
    (CHAT, {"max_tokens": 0}, "max_tokens"),
    (CHAT, {"tools": [{"type": "custom"}]}, "tools[0].type"),
    (CHAT, {"tool_choice": "none"}, "tool_choice"),
    (CHAT, {"functions": [{"name": "f"}]}, "functions"),
    (CHAT, {"modalities": ["audio"]}, "modalities[0]"),
    (RESPONSES, {"input": []}, "input"),
    (RESPONSES, {"input": [{"type": "reasoning", "summary": []}]}, "input[0]"),
    (RESPONSES, {"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"),
    (RESPONSES, {"input": user([{"type": "input_image", "image_url": "x"}])}, "input[0].content"),
    (RESPONSES, {"tools": [{"type": "web_search"}]}, "tools[0].type"),
    (RESPONSES, {"tools": [{"type": "mcp", "server_url": "http://x"}]}, "tools[0].type"),
    (RESPONSES, {"previous_response_id": "resp-1"}, "previous_response_id"),
    (RESPONSES, {"background": True}, "background"),
    (MESSAGES, {"max_tokens": None}, "max_tokens"),
    (MESSAGES, {"messages": user([{"type": "image", "source": {}}])}, "messages[0].content[0]"),
    (MESSAGES, {"messages": user([{"type": "document"}])}, "messages[0].content[0]"),
    (MESSAGES, {"messages": [{"role": "system", "content": "x"}]}, "messages[0].role"),
    (
        MESSAGES,
        {"messages": user([{"type": "tool_use", "id": "a", "name": "b", "input": {}}])},
        "user",
    ),
    (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "w"}]}, "tools[0].type"),
    (MESSAGES, {"tool_choice": {"type": "none"}}, "tool_choice"),
    (MESSAGES, {"mcp_servers": [{"url": "http://x"}]}, "mcp_servers"),
]


@pytest.mark.parametrize(("path", "wrong", "named"), BAD)
def test_what_it_does_not_know_is_refused_by_name_and_never_left_out(
    path: str, wrong: dict[str, object], named: str
) -> None:
    """A 400 in the provider's form names the field; the model is asked nothing."""
    with serving(Final("Done.")) as client:
        reply = client.send(path, {**question(path), **wrong})

    assert reply.status == 400
    kind, message = error_of(path, reply)
    assert kind == "invalid_request_error"
    assert named in message
    assert client.session.asked == []


@pytest.mark.parametrize("path", PATHS)
def test_what_only_steers_sampling_is_taken_and_changes_nothing(path: str) -> None:
    """Libraries send settings that a run's model has no use for."""
    more = {
        "temperature": 1.0,
        "top_p": 0.5,
        "metadata": {"a": "b"},
        "user": "u",
        "parallel_tool_calls": True,
        "tools": [{"type": "function", "function": {"name": "f"}, "name": "f"}],
        "stop": None,
    }
    if path == MESSAGES:
        more["tools"] = [{"name": "f", "input_schema": {}}, {"type": "custom", "name": "g"}]
    with serving(Final("Done.")) as client:
        assert client.send(path, question(path, **more)).status == 200


@pytest.mark.parametrize("path", PATHS)
def test_neither_reply_nor_error_tells_anything_of_the_script(path: str) -> None:
    """A reply names the model that was asked for; a script without an opinion just ends the run."""
    with serving(Final(PROSE)) as client:
        replies = [
            client.send("/v1/models", question(path), method="GET"),
            client.send(path, question(path)),
            client.send(path, question(path, messages=5, input=5)),
            client.send(path, question(path)),
        ]

    assert [reply.status for reply in replies] == [501, 200, 400, 503]
    assert replies[1].json()["model"] == "gpt-5"
    assert error_of(path, replies[3])[1] == "the run has ended"
    told = b"".join(repr(reply).encode() + reply.body for reply in replies).lower()
    for word in (b"script", b"golden", b"rule", b"step 7", b"fixture", b"python", b"arh"):
        assert word not in told


def test_ids_and_times_are_the_runs_own() -> None:
    """The same run gives the same bytes, however often it is executed."""
    with serving(*(decision for decision, *_ in DECISIONS)) as client:
        first = [client.send(path, question(path)).body for path in (*PATHS, *PATHS)]
    with serving(*(decision for decision, *_ in DECISIONS)) as client:
        again = [client.send(path, question(path)).body for path in (*PATHS, *PATHS)]

    assert first == again
    assert len({json.loads(body)["id"] for body in first}) == len(first)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {"messages": [{"role": "user", "content": [PART] * 60_000}]}),
        (CHAT, {"messages": [{"role": "user", "content": "x"}] * 60_000}),
        (RESPONSES, {"input": [CALLED] * 40_000}),
        (RESPONSES, {"input": [{"role": "user", "content": "x"}, CALLED] * 20_000}),
        (MESSAGES, {"messages": [{"role": "user", "content": [PART] * 60_000}]}),
        (MESSAGES, {"messages": [{"role": "assistant", "content": [USED] * 40_000}]}),
        (CHAT, {"messages": [{"role": "nobody"}] * 60_000}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_largest_body_is_read_in_time_that_its_length_explains(
    path: str, body: dict[str, object]
) -> None:
    """Megabytes of small parts take no more than a moment, whether they are good or bad."""
    with serving(Final("Done.")) as client:
        began = time.process_time()
        reply = client.send(path, {**question(path), **body})
        took_s = time.process_time() - began

    assert reply.status in {200, 400}
    assert took_s < 10  # of this process, which holds both ends; a busy machine adds nothing
