"""A provider on this machine that answers as it is told, rightly or wrongly.

Each form of the three providers is here as a reply in one piece and as a stream. The server keeps
what it was asked, headers included.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from arh.canonical import EMPTY, Json
from arh.model.live.anthropic_messages import MessagesProvider
from arh.model.live.model import Line, LiveModel
from arh.model.live.openai_chat import ChatProvider
from arh.model.live.openai_responses import ResponsesProvider
from arh.model.live.providers import Endpoint
from arh.model.scripted.model import ScriptedModel
from arh.model.scripted.script import Script
from arh.records.decisions import Calls, Final, ModelRequest
from arh.records.messages import Message, ToolReply, ToolRequest, ToolSpec
from arh.records.models import ModelSettings

KEY = "sk-canary-4f1c9b2a7d8e6f50"
NAME = "small-1"
Behaviour = Callable[["Handler"], None]
Data = dict[str, Any]


@dataclass
class Asked:
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: Data


@dataclass
class Server:
    """What arrived, and what is to be answered: the last behaviour stays."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    behaviours: list[Behaviour] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    clients: list[Any] = field(default_factory=list)

    def next(self, asked: Asked) -> Behaviour:
        """Return what the request gets."""
        with self.lock:
            self.asked.append(asked)
            return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]


class Handler(BaseHTTPRequestHandler):
    """Answers one request by the server's next behaviour."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    disable_nagle_algorithm = True
    provider: Server

    def do_POST(self) -> None:
        """Answer a request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        behave = self.provider.next(Asked(self.path, headers, body))
        try:
            behave(self)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[Server]:
    """A server on this machine, for as long as the block lasts."""
    server = Server(behaviours=list(behaviours))
    kind = type("Bound", (Handler,), {"provider": server})
    http = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        for client in server.clients:
            client.close()
        http.shutdown()
        http.server_close()
        thread.join()


# --- behaviours ----------------------------------------------------------------------------------


def says(
    body: bytes | Data, *, status: int = 200, kind: str = "application/json", **headers: str
) -> Behaviour:
    """Answer with this body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def behave(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return behave


def streams(*events: Data | bytes, end: bytes = b"") -> Behaviour:
    """Answer with a stream of these events."""
    lines = [e if isinstance(e, bytes) else json.dumps(e).encode() for e in events]
    body = b"".join(b"data: " + line + b"\n\n" for line in lines) + end
    return says(body, kind="text/event-stream", x_request_id="req-77")


def hangs(handler: Handler) -> None:
    """Answer nothing until the test is over."""
    handler.provider.ended.wait(20)
    handler.close_connection = True


def trickles(handler: Handler) -> None:
    """Answer byte by byte, and never come to an end."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    while not handler.provider.ended.is_set():
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def cut(body: Data) -> Behaviour:
    """Announce a whole reply and close the connection in the middle of it."""
    data = json.dumps(body).encode()

    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2])
        handler.wfile.flush()
        handler.close_connection = True

    return behave


def floods(handler: Handler) -> None:
    """Answer with more than anybody should read."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(2**30))
    handler.end_headers()
    block = b" " * 65536
    while not handler.provider.ended.is_set():
        handler.wfile.write(block)


# --- replies of the three providers --------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What a model says, whoever its provider is; `calls` are (id, tool, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    refusal: str = ""


def chat_whole(said: Said, *, finish: str | None = "", **more: object) -> Data:
    """A chat completion."""
    calls = [
        {"id": i, "type": "function", "function": {"name": t, "arguments": a}}
        for i, t, a in said.calls
    ]
    message: Data = {"role": "assistant", "content": said.text or None}
    message |= {"tool_calls": calls} if calls else {}
    message |= {"refusal": said.refusal} if said.refusal else {}
    ended = ("tool_calls" if calls else "stop") if finish == "" else finish
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": f"{NAME}-2026-11-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": ended}],
        "usage": {
            "prompt_tokens": 50,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 20},
        },
        **more,
    }


def chat_stream(said: Said, *, finish: str | None = "", done: bool = True) -> Behaviour:
    """The same as a stream, its texts cut into letters."""
    whole = chat_whole(said, finish=finish)
    choice = whole["choices"][0]
    head = {k: whole[k] for k in ("id", "model", "system_fingerprint")}

    def chunk(delta: Data, ended: str | None = None) -> Data:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": ended}]}

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": letter}) for letter in said.text]
    events += [chunk({"refusal": letter}) for letter in said.refusal]
    for at, (call_id, tool, arguments) in enumerate(said.calls):
        function = {"name": tool, "arguments": ""}
        events.append(chunk({"tool_calls": [{"index": at, "id": call_id, "function": function}]}))
        events += [
            chunk({"tool_calls": [{"index": at, "function": {"arguments": letter}}]})
            for letter in arguments
        ]
    events.append(chunk({}, choice["finish_reason"]))
    events.append({**head, "choices": [], "usage": whole["usage"]})
    return streams(*events, *((b"[DONE]",) if done else ()))


def responses_whole(said: Said, **more: object) -> Data:
    """A response."""
    output: list[Data] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    parts = [{"type": "output_text", "text": said.text}] if said.text else []
    parts += [{"type": "refusal", "refusal": said.refusal}] if said.refusal else []
    output += [{"type": "message", "role": "assistant", "content": parts}] if parts else []
    output += [
        {"type": "function_call", "call_id": i, "name": t, "arguments": a} for i, t, a in said.calls
    ]
    return {
        "id": "resp_1",
        "model": f"{NAME}-2026-11-01",
        "status": "completed",
        "output": output,
        "usage": {
            "input_tokens": 50,
            "output_tokens": 7,
            "input_tokens_details": {"cached_tokens": 20},
        },
        **more,
    }


def responses_stream(said: Said, **more: object) -> Behaviour:
    """The same as a stream."""
    whole = responses_whole(said, **more)
    deltas = [{"type": "response.output_text.delta", "delta": letter} for letter in said.text]
    return streams(
        {"type": "response.created", "response": {**whole, "status": "in_progress"}},
        *deltas,
        {"type": f"response.{whole['status']}", "response": whole},
    )


def messages_whole(said: Said, *, stop: str | None = "", **more: object) -> Data:
    """A message."""
    content: list[Data] = [{"type": "text", "text": said.text}] if said.text else []
    content += [
        {"type": "tool_use", "id": i, "name": t, "input": json.loads(a)} for i, t, a in said.calls
    ]
    ended = ("tool_use" if said.calls else "end_turn") if stop == "" else stop
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{NAME}-2026-11-01",
        "content": content,
        "stop_reason": "refusal" if said.refusal else ended,
        "usage": {
            "input_tokens": 25,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 5,
            "output_tokens": 7,
        },
        **more,
    }


def messages_events(said: Said, *, stop: str | None = "") -> list[Data]:
    """The same as events."""
    whole = messages_whole(said, stop=stop)
    events: list[Data] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "ping"},
    ]
    for at, block in enumerate(whole["content"]):
        used = block["type"] == "tool_use"
        empty = {**block, "input": {}} if used else {**block, "text": ""}
        events.append({"type": "content_block_start", "index": at, "content_block": empty})
        text = said.calls[at - bool(said.text)][2] if used else block["text"]
        kind = ("input_json_delta", "partial_json") if used else ("text_delta", "text")
        events += [
            {
                "type": "content_block_delta",
                "index": at,
                "delta": {"type": kind[0], kind[1]: letter},
            }
            for letter in text
        ]
        events.append({"type": "content_block_stop", "index": at})
    delta = {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}}
    return [*events, {**delta, "usage": {"output_tokens": 7}}, {"type": "message_stop"}]


def follows(script: Script) -> Behaviour:
    """Answer as a model would that follows the script: a chat completion, streamed."""

    def behave(handler: Handler) -> None:
        messages = _conversation(handler.provider.asked[-1].body["messages"])
        decision = ScriptedModel(script).complete(request(*messages)).decision
        match decision:
            case Calls(requests, text):
                calls = tuple((r.call_id, r.tool, r.arguments) for r in requests)
                said = Said(text, calls)
            case Final(answer):
                said = Said(answer if isinstance(answer, str) else answer.data.decode())
            case _:
                raise NotImplementedError(decision)
        chat_stream(said)(handler)

    return behave


def _conversation(written: list[Data]) -> list[Message]:
    """Return the messages of a chat completion's request."""
    names: dict[str, str] = {}
    messages = []
    for each in written:
        made = [
            ToolRequest(c["id"], c["function"]["name"], c["function"]["arguments"])
            for c in each.get("tool_calls", ())
        ]
        names |= {call.call_id: call.tool for call in made}
        reply = _tool_reply(each, names) if each["role"] == "tool" else None
        messages.append(Message(each["role"], each["content"] or "", tuple(made), reply))
    return messages


def _tool_reply(each: Data, names: dict[str, str]) -> ToolReply:
    value, call_id = json.loads(each["content"]), each["tool_call_id"]
    result = None if value["result"] is None else Json.of(value["result"])
    return ToolReply(call_id, names[call_id], value["status"], value["reason"], result)


# --- models over a server ------------------------------------------------------------------------

ADAPTERS: dict[str, Any] = {
    "openai": ChatProvider,
    "openai-responses": ResponsesProvider,
    "anthropic": MessagesProvider,
}
WHOLE: dict[str, Callable[..., Data]] = {
    "openai": chat_whole,
    "openai-responses": responses_whole,
    "anthropic": messages_whole,
}
STREAM: dict[str, Callable[[Said], Behaviour]] = {
    "openai": chat_stream,
    "openai-responses": responses_stream,
    "anthropic": lambda said: streams(*messages_events(said)),
}


def model_over(
    server: Server,
    adapter: str,
    *,
    bytes_max: int = 2**20,
    parameters: Json = EMPTY,
    trust_environment: bool = False,
) -> LiveModel:
    """A live model that asks this server."""
    base = server.url if adapter == "anthropic" else f"{server.url}/v1"
    settings = ModelSettings(adapter, NAME, base, parameters)
    provider = ADAPTERS[adapter](Endpoint(base, KEY, trust_environment, bytes_max))
    server.clients.append(provider)
    return LiveModel(Line(provider, settings, KEY))


def request(
    *messages: Message,
    timeout_ms: int = 5_000,
    tools: tuple[ToolSpec, ...] = (),
    output_tokens_max: int | None = None,
) -> ModelRequest:
    """A request; without messages, a short one."""
    said = messages or (Message("system", "Help."), Message("user", "Hello"))
    return ModelRequest(said, tools, timeout_ms, output_tokens_max)
