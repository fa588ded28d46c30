"""A plain HTTP client of the model endpoint, a session behind it, and readers of its answers."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from arh.canonical import Json
from arh.connect.model_endpoint.endpoint import Asked, ModelEndpoint
from arh.errors import RunStopped
from arh.records.decisions import Decision, ModelReply, Usage
from arh.records.messages import Message, ToolReply, ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.tasks import Budgets, Note, Task

TASK = Task(
    task_id="task-0001",
    actor="anna",
    messages=(Message("user", "Account A-1007 was charged twice."),),
    tools=(),
    budgets=Budgets(steps_max=4, tool_calls_max=4, deadline_ms=10_000),
)
# Whatever an answer holds: a test that reads it wrong fails.
Answered: TypeAlias = Any
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
PATHS = (CHAT, RESPONSES, MESSAGES)
READ = ToolRequest("req-0001", "get_account", '{"account_id":"A-1007","note":"a longer text here"}')
LOOK = ToolRequest("req-0002", "get_policy", '{"topic":"billing"}')
USAGE = Usage(120, 9, 20)
PROSE = "A-1007 is on the pro plan, and nothing was changed in the account."


@dataclass
class Session:
    """A session that answers from a list, wherever it is used, and remembers what it was asked."""

    decisions: list[Decision]
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)
    now: int = 0

    def complete(
        self,
        messages: tuple[Message, ...],
        *,
        timeout_ms: int,
        output_tokens_max: int | None = None,
    ) -> ModelReply:
        """Give the next decision."""
        assert timeout_ms == max(0, TASK.budgets.deadline_ms - self.now)
        self.asked.append(messages)
        self.limits.append(output_tokens_max)
        if not self.decisions:
            raise RunStopped("fixture_mismatch", "scripted:golden-001: no rule for step 7")
        return ModelReply(self.decisions.pop(0), USAGE, 0, "scripted:golden-001")

    def now_ms(self) -> int:
        """No time passes but by waiting."""
        return self.now

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.now += ms

    def call(self, request: ToolRequest, *, timeout_ms: int) -> ToolOutcome:
        """No request to a model gets here."""
        raise AssertionError(request)

    def ask(self, message: str) -> Message | None:
        """No request to a model gets here."""
        raise AssertionError(message)

    def note(self, note: Note) -> None:
        """No request to a model gets here."""
        raise AssertionError(note)


@dataclass(frozen=True)
class Reply:
    """What a client got."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Answered:
        """Return the body's value."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    """Speaks to one endpoint, with the run's key unless told otherwise."""

    endpoint: ModelEndpoint
    session: Session

    def send(
        self,
        path: str,
        body: object,
        headers: Mapping[str, str | None] | None = None,
        method: str = "POST",
    ) -> Reply:
        """Return the reply to one request on a connection of its own."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.endpoint.key}", **(headers or {})}
        host = self.endpoint.origin.removeprefix("http://")
        with closing(http.client.HTTPConnection(host, timeout=10)) as connection:
            sent = {name: value for name, value in given.items() if value is not None}
            connection.request(method, path, data, sent)
            got = connection.getresponse()
            return Reply(got.status, dict(got.getheaders()), got.read())


@contextmanager
def serving(*decisions: Decision) -> Iterator[Client]:
    """Open an endpoint before a model that decides so; a run that stops answers nobody."""
    session = Session(list(decisions))

    def settle(asked: Asked) -> None:
        try:
            asked.settle(session, TASK)
        except RunStopped:
            threading.Thread(target=endpoint.close).start()

    endpoint = ModelEndpoint(settle)
    with closing(endpoint):
        yield Client(endpoint, session)


def question(path: str, **more: object) -> dict[str, object]:
    """Return the smallest body that a path takes."""
    body: dict[str, object] = {"model": "gpt-5", **more}
    said = [{"role": "user", "content": "Hello."}]
    if path == RESPONSES:
        return {"input": said, **body}
    return {"messages": said, **({"max_tokens": 512} if path == MESSAGES else {}), **body}


def error_of(path: str, reply: Reply) -> tuple[str, str]:
    """Return type and message of an error in the form of the path's provider."""
    body = reply.json()
    if path == MESSAGES:
        assert {"type", "error"} == set(body)
        assert body["type"] == "error"
        assert {"type", "message"} == set(body["error"])
    else:
        assert {"message", "type", "param", "code"} == set(body["error"])
    return body["error"]["type"], body["error"]["message"]


@dataclass(frozen=True)
class Heard:
    """What a client makes of an answer, whoever's form it has."""

    end: str
    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
    usage: tuple[int, int] = (120, 9)


def chat_heard(body: Answered) -> Heard:
    """Read a chat completion."""
    (choice,) = body["choices"]
    message = choice["message"]
    refused = message["refusal"]
    return Heard(
        choice["finish_reason"] + (" refused" if refused else ""),
        refused or message["content"] or "",
        tuple(
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls", [])
        ),
        (body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]),
    )


def responses_heard(body: Answered) -> Heard:
    """Read a response."""
    parts = [p for item in body["output"] if item["type"] == "message" for p in item["content"]]
    cut = body["incomplete_details"]
    refused = any(part["type"] == "refusal" for part in parts)
    return Heard(
        body["status"] + (f" {cut['reason']}" if cut else "") + (" refused" if refused else ""),
        "".join(part.get("text", part.get("refusal", "")) for part in parts),
        tuple(
            (item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in body["output"]
            if item["type"] == "function_call"
        ),
        (body["usage"]["input_tokens"], body["usage"]["output_tokens"]),
    )


def messages_heard(body: Answered) -> Heard:
    """Read a message."""
    usage = body["usage"]
    return Heard(
        body["stop_reason"],
        "".join(block["text"] for block in body["content"] if block["type"] == "text"),
        tuple(
            (block["id"], block["name"], block["input"])
            for block in body["content"]
            if block["type"] == "tool_use"
        ),
        (usage["input_tokens"] + usage["cache_read_input_tokens"], usage["output_tokens"]),
    )


def events(body: bytes) -> list[tuple[str, str]]:
    """Return the names and data of server-sent events."""
    told = []
    for block in body.decode().removesuffix("\n\n").split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        told.append((lines.get("event", ""), lines["data"]))
    return told


def chat_streamed(told: list[tuple[str, str]]) -> Heard:
    """Put the chunks of a chat completion together."""
    assert told[-1] == ("", "[DONE]")
    chunks = [json.loads(data) for _, data in told[:-1]]
    message: dict[str, Any] = {"content": "", "refusal": "", "tool_calls": []}
    reason = None
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta, reason = choice["delta"], choice["finish_reason"]
            message["content"] += delta.get("content") or ""
            message["refusal"] += delta.get("refusal") or ""
            for call in delta.get("tool_calls", []):
                if "id" in call:
                    message["tool_calls"].append(call)
                else:
                    known = message["tool_calls"][call["index"]]
                    known["function"]["arguments"] += call["function"]["arguments"]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    choice = {"finish_reason": reason, "message": message}
    return chat_heard({"choices": [choice], "usage": chunks[-1]["usage"]})


def responses_streamed(told: list[tuple[str, str]]) -> Heard:
    """Check that the pieces of a response are the parts of its last event, and read that."""
    read = [json.loads(data) for _, data in told]
    assert [name for name, _ in told] == [one["type"] for one in read]
    assert [one["sequence_number"] for one in read] == list(range(len(read)))
    pieces = [one["delta"] for one in read if one["type"].endswith(".delta")]
    whole = read[-1]["response"]
    items = [one["item"] for one in read if one["type"] == "response.output_item.done"]
    assert whole["output"] == items
    told_texts = [
        item.get("arguments") or "".join(p.get("text", p.get("refusal")) for p in item["content"])
        for item in items
    ]
    assert "".join(pieces) == "".join(told_texts)
    return responses_heard(whole)


def messages_streamed(told: list[tuple[str, str]]) -> Heard:
    """Put the events of a message together."""
    read = [json.loads(data) for _, data in told]
    assert [name for name, _ in told] == [one["type"] for one in read]
    blocks: list[dict[str, Any]] = []
    for one in read:
        if one["type"] == "content_block_start":
            blocks.append({**one["content_block"], "json": ""})
        elif one["type"] == "content_block_delta":
            delta = one["delta"]
            blocks[one["index"]]["json"] += delta.get("partial_json", "")
            if "text" in delta:
                blocks[one["index"]]["text"] += delta["text"]
        elif one["type"] == "content_block_stop" and blocks[one["index"]]["type"] == "tool_use":
            blocks[one["index"]]["input"] = json.loads(blocks[one["index"]]["json"])
    assert [one["type"] for one in read if not one["type"].startswith("content_block")] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    end = read[-2]
    return messages_heard(
        {"stop_reason": end["delta"]["stop_reason"], "content": blocks, "usage": end["usage"]}
    )


WHOLE = {CHAT: chat_heard, RESPONSES: responses_heard, MESSAGES: messages_heard}
STREAM = {CHAT: chat_streamed, RESPONSES: responses_streamed, MESSAGES: messages_streamed}


CONVERSATION = (
    Message("system", "You are a support agent."),
    Message("user", "Account A-1007 was charged twice."),
    Message("assistant", "I look it up.", (READ, LOOK)),
    Message(
        "tool",
        '{"status":"executed","reason":"ok","result":{"plan":"pro"}}',
        reply=ToolReply("req-0001", "get_account", "executed", "ok", Json.of({"plan": "pro"})),
    ),
    Message(
        "tool",
        '{"status":"rejected","reason":"authorization_denied","result":null}',
        reply=ToolReply("req-0002", "get_policy", "rejected", "authorization_denied"),
    ),
    Message("user", "And now?\nPlease."),
)
SAID: dict[str, dict[str, object]] = {
    CHAT: {
        "messages": [
            {"role": "developer", "content": "You are a support agent."},
            {"role": "user", "content": [{"type": "text", "text": CONVERSATION[1].content}]},
            {
                "role": "assistant",
                "content": "I look it up.",
                "tool_calls": [
                    {
                        "id": r.call_id,
                        "type": "function",
                        "function": {"name": r.tool, "arguments": r.arguments},
                    }
                    for r in (READ, LOOK)
                ],
            },
            {"role": "tool", "tool_call_id": "req-0001", "content": CONVERSATION[3].content},
            {
                "role": "tool",
                "tool_call_id": "req-0002",
                "content": [{"type": "text", "text": CONVERSATION[4].content}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "And now?"},
                    {"type": "text", "text": "Please."},
                ],
            },
        ]
    },
    RESPONSES: {
        "instructions": "You are a support agent.",
        "input": [
            {"role": "user", "content": CONVERSATION[1].content},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg-1",
                "content": [{"type": "output_text", "text": "I look it up.", "annotations": []}],
            },
            *(
                {
                    "type": "function_call",
                    "call_id": r.call_id,
                    "name": r.tool,
                    "arguments": r.arguments,
                }
                for r in (READ, LOOK)
            ),
            {
                "type": "function_call_output",
                "call_id": "req-0001",
                "output": CONVERSATION[3].content,
            },
            {
                "type": "function_call_output",
                "call_id": "req-0002",
                "output": [{"type": "input_text", "text": CONVERSATION[4].content}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "And now?"},
                    {"type": "input_text", "text": "Please."},
                ],
            },
        ],
    },
    MESSAGES: {
        "system": [{"type": "text", "text": "You are a support agent."}],
        "messages": [
            {"role": "user", "content": CONVERSATION[1].content},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look it up."},
                    *(
                        {
                            "type": "tool_use",
                            "id": r.call_id,
                            "name": r.tool,
                            "input": json.loads(r.arguments),
                        }
                        for r in (READ, LOOK)
                    ),
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "req-0001",
                        "content": CONVERSATION[3].content,
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "req-0002",
                        "content": [{"type": "text", "text": CONVERSATION[4].content}],
                    },
                    {"type": "text", "text": "And now?"},
                    {"type": "text", "text": "Please."},
                ],
            },
        ],
    },
}
