"""A local model's replies are actions: read strictly, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from arh.canonical import Json
from arh.errors import AuthoringError
from arh.model.live.local import LocalProvider, LocalServer, actions, file_name
from arh.model.live.model import Line, LiveModel
from arh.model.live.providers import Endpoint
from arh.model.live.replies import CONDUCT
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Final,
    Malformed,
    Refusal,
    Truncated,
)
from arh.records.messages import Message, ToolReply, ToolRequest, ToolSpec
from arh.records.models import ModelSettings
from tests.conformance.provider_server import (
    Behaviour,
    Said,
    chat_stream,
    chat_whole,
    request,
    says,
    serving,
)

LOOK = ToolSpec(
    "look",
    "1",
    "Look something up.",
    Json.of({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}),
)
SETTINGS = ModelSettings("local", "tiny.gguf@1")


def answered(behaviour: Behaviour) -> tuple[Decision, dict[str, Any]]:
    """The decision of a local model whose server behaves like this, and what it was asked."""
    conversation = (
        Message("system", "Help."),
        Message("user", "Hello"),
        Message("assistant", "", (ToolRequest("c-1", "look", '{"key": "a"}'),)),
        Message("tool", "", reply=ToolReply("c-1", "look", "executed", "ok", Json.of([1]))),
        Message("assistant", "Which one?"),
        Message("user", "This one."),
    )
    with serving(behaviour) as server:
        provider = LocalProvider(Endpoint(f"{server.url}/v1"))
        server.clients.append(provider)
        reply = LiveModel(Line(provider, SETTINGS)).complete(request(*conversation, tools=(LOOK,)))
        return reply.decision, server.asked[0].body


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ('{"answer": "Done."}', Final("Done.")),
        (
            '{"tool": "look", "arguments": {"key": "a"}}',
            Calls((ToolRequest("chatcmpl-1", "look", '{"key":"a"}'),)),
        ),
        ('{"tool": "ask_user", "arguments": {"question": "Which?"}}', AskUser("Which?")),
        ('{"tool": "decline", "arguments": {"message": "No."}}', Refusal("No.")),
        ('{"answer": ""}', Malformed("empty reply")),
        ("Done.", Malformed("an action that is no JSON: malformed")),
        ('{"answer": "a", "answer": "b"}', Malformed("an action that is no JSON: duplicate key")),
        ('{"answer": 1}', Malformed("an action that is neither a call nor an answer")),
        ('{"tool": "look"}', Malformed("an action that is neither a call nor an answer")),
        (
            '{"answer": "a", "tool": "look", "arguments": {}}',
            Malformed("an action that is neither a call nor an answer"),
        ),
    ],
)
def test_a_reply_is_one_action(text: str, decision: Decision) -> None:
    """Streamed or whole; whatever is none is malformed."""
    for behaviour in (says(chat_whole(Said(text))), chat_stream(Said(text))):
        assert decision == answered(behaviour)[0]


def test_half_an_action_is_not_acted_on() -> None:
    """A reply that met its token limit is cut off, even if it reads well so far."""
    whole = chat_whole(Said('{"answer": "Done."}'), finish="length")

    assert Truncated("length") == answered(says(whole))[0]


def test_the_conversation_is_texts_and_the_reply_is_held_to_a_schema() -> None:
    """Small models have no form of their own for calls and replies."""
    _, body = answered(says(chat_whole(Said('{"answer": "x"}'))))

    assert [m["role"] for m in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    texts = [m["content"] for m in body["messages"]]
    assert "look: Look something up." in texts[0]
    assert json.loads(texts[2]) == {"tool": "look", "arguments": {"key": "a"}}
    assert texts[3] == 'look replied: {"status":"executed","reason":"ok","result":[1]}'
    assert "tools" not in body
    assert body["response_format"]["json_schema"]["schema"] == actions((LOOK, *CONDUCT))


@pytest.mark.parametrize(
    ("action", "fits"),
    [
        ({"tool": "look", "arguments": {"key": "a"}}, True),
        ({"tool": "look", "arguments": {"key": "a" * 121}}, False),
        ({"answer": "x"}, True),
        ({"answer": ""}, False),
        ({"answer": "x" * 481}, False),
        ({"tool": "look", "arguments": {}}, False),
        ({"tool": "other", "arguments": {"key": "a"}}, False),
        ({"tool": "look", "arguments": {"key": "a"}, "answer": "x"}, False),
        ({}, False),
    ],
)
def test_the_schema_of_an_action_takes_one_and_nothing_else(
    action: dict[str, Any],
    fits: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A tool that is not offered cannot be called at all."""
    schema = jsonschema_rs.validator_for(actions((LOOK,)), offline=True)

    assert schema.is_valid(action) is fits


def test_a_file_that_is_no_model_starts_no_server(tmp_path: Path) -> None:
    """Nor does one that is not there; both are said before anything runs."""
    path = tmp_path / "model.gguf"
    path.write_bytes(b"no model")

    with pytest.raises(AuthoringError, match="no server came up"):
        LocalServer(path)
    with pytest.raises(AuthoringError, match="there is no such file"):
        LocalServer(tmp_path / "gone.gguf")


def test_a_model_file_is_named_by_its_content(tmp_path: Path) -> None:
    """No path of the machine goes into evidence, and another file is another model."""
    for folder, data in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.gguf").write_bytes(data)

    one, same, other = (file_name(tmp_path / name / "m.gguf") for name in "abc")
    assert one == same == "m.gguf@6b86b273ff34"
    assert one != other
