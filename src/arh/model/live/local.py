"""A model from a file, on this machine: `local:PATH` with a server of its own on loopback.

Small models seldom keep to a provider's form of calls. So each reply is held to a JSON Schema while
it is written: one call of an offered tool with its arguments, or an answer. Tools and replies stand
in the conversation as text, which every chat template has a place for.
"""

from __future__ import annotations

import hashlib
import json
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar, Final

from arh.canonical import JsonValue, Refused, encode, parse
from arh.errors import AuthoringError
from arh.model.live.canonical_request import shown_reply
from arh.model.live.openai_chat import ChatCollector, ChatProvider
from arh.model.live.providers import PACKAGE, Endpoint, parameters
from arh.model.live.replies import CONDUCT, Answer, decided
from arh.records.decisions import Decision, Malformed, ModelRequest
from arh.records.decisions import Final as Answered
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.models import ModelSettings

SERVER: Final = Path(__file__).with_name("local_server.py")
CONTEXT_TOKENS: Final = 8192
OUTPUT_TOKENS: Final = 1024
# A small model seldom finds the end of a text by itself: a text without a limit gets one.
ARGUMENT_CHARS_MAX: Final = 120
ANSWER_CHARS_MAX: Final = 480
START_S_MAX: Final = 60
END_S_MAX: Final = 5
HOW: Final = (
    'Reply with one JSON object: {"tool": NAME, "arguments": {...}} to use a tool, or'
    ' {"answer": TEXT} to end. The tools:'
)


class LocalServer:
    """One process that serves one model file; `address` is where."""

    def __init__(self, path: Path, *, python: str = "") -> None:
        """Start it, and wait until it answers; `python` has the library, by default our own.

        Raises:
            AuthoringError: There is no such file, the library is missing, or it is no model.
        """
        if not path.is_file():
            raise AuthoringError.of("there is no such file", file=str(path), field="--model")
        python = python or sys.executable
        self._process = subprocess.Popen(  # noqa: S603 - our own script and the user's own file
            [python, "-I", str(SERVER), str(path), file_name(path), str(CONTEXT_TOKENS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.address = self._address(path)

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S_MAX)
        self._process.kill()
        self._process.wait()

    def _address(self, path: Path) -> str:
        stdout = self._process.stdout
        line = b"" if stdout is None else _first_line(stdout)
        try:
            value = parse(line)
        except Refused:
            value = None
        address = value.get("address") if isinstance(value, dict) else None
        if not isinstance(address, str):
            self.close()
            hint = f'it needs a GGUF file, and pip install "{PACKAGE}[local]"'
            raise AuthoringError.of("no server came up", file=str(path), field="--model", hint=hint)
        return address


def _first_line(stream: IO[bytes]) -> bytes:
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=lambda: lines.put(stream.readline(4096)), daemon=True).start()
    with suppress(queue.Empty):
        return lines.get(timeout=START_S_MAX)
    return b""


def file_name(path: Path) -> str:
    """Return what evidence calls a model file: its name, and its digest in short.

    Raises:
        AuthoringError: It cannot be read.
    """
    digest = ""
    with suppress(OSError):
        # A pipe would be waited for, and a device has no end.
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest:
        raise AuthoringError.of("there is no such file", file=str(path), field="--model")
    return f"{path.name}@{digest[:12]}"


class LocalProvider(ChatProvider):
    """Implements `arh.model.live.providers.Provider` over a server on loopback."""

    key_variable: ClassVar[str] = ""

    def __init__(self, endpoint: Endpoint, server: LocalServer | None = None) -> None:
        """Ask the server at the endpoint; `server` is closed with the last connection."""
        super().__init__(endpoint)
        self._server = server

    def close(self) -> None:
        """Close every connection, and end the server."""
        super().close()
        if self._server is not None:
            self._server.close()

    def body(self, request: ModelRequest, settings: ModelSettings, tokens: int) -> dict[str, Any]:
        """Return the request's body: a conversation of texts, and the schema of the reply."""
        tools = (*request.tools, *CONDUCT)
        schema = {"name": "action", "strict": True, "schema": actions(tools)}
        return {
            "model": settings.name,
            "messages": _texts(request.messages, tools),
            "max_tokens": min(tokens, OUTPUT_TOKENS),
            "temperature": 0,
            "seed": 0,
            "stream": False,
            **parameters(settings),
            "response_format": {"type": "json_schema", "json_schema": schema},
        }

    def whole(self, value: JsonValue) -> Answer:
        """Read a reply that came in one piece."""
        return acted(super().whole(value))

    def collector(self) -> ChatCollector:
        """Return what takes the events of a stream."""
        return _ActionCollector()


class _ActionCollector(ChatCollector):
    def answer(self) -> Answer:
        """Return what the stream came to."""
        return acted(super().answer())


def actions(tools: tuple[ToolSpec, ...]) -> dict[str, JsonValue]:
    """Return the JSON Schema of a reply: a call of one of the tools, or an answer."""
    calls: list[JsonValue] = [
        _object({"tool": {"const": tool.name}, "arguments": _bounded(tool.parameters.value())})
        for tool in tools
    ]
    answer: JsonValue = {"type": "string", "minLength": 1, "maxLength": ANSWER_CHARS_MAX}
    return {"anyOf": [*calls, _object({"answer": answer})]}


def _bounded(schema: JsonValue) -> JsonValue:
    """Return the schema with a limit for each text in it that has none."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _bounded(value) for name, value in schema.items()}
    free = made.get("type") == "string" and not {"maxLength", "enum", "const"} & set(made)
    return {**made, "maxLength": ARGUMENT_CHARS_MAX} if free else made


def _object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def acted(answer: Answer) -> Answer:
    """Return the answer with the action that its text is; what is no text stays what it is."""
    decision = answer.decision
    if not isinstance(decision, Answered) or not isinstance(decision.answer, str):
        return answer
    action = _action(decision.answer, answer.reply_id or "call")
    return Answer(action, answer.usage, answer.model, answer.fingerprint, answer.reply_id)


def _action(text: str, call_id: str) -> Decision:
    try:
        value = parse(text)
    except Refused as refusal:
        return Malformed(f"an action that is no JSON: {refusal.reason}")
    match value:
        case {"answer": str(said), **rest} if not rest:
            return decided(said, "", ())
        case {"tool": str(tool), "arguments": dict(arguments), **rest} if not rest:
            return decided("", "", (ToolRequest(call_id, tool, encode(arguments).decode()),))
        case _:
            return Malformed("an action that is neither a call nor an answer")


def _texts(messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> list[JsonValue]:
    """Return the conversation as texts of system, user and assistant, the tools in the first."""
    listed = [f"{tool.name}: {tool.description} {tool.parameters.data.decode()}" for tool in tools]
    system = [message.content for message in messages if message.role == "system"]
    made: list[JsonValue] = [
        {"role": "system", "content": "\n".join((*system, HOW, *listed))},
    ]
    for message in messages:
        if message.role != "system":
            made += _said(message)
    return made


def _said(message: Message) -> list[JsonValue]:
    if message.reply is not None:
        text = f"{message.reply.tool} replied: {shown_reply(message)}"
        return [{"role": "user", "content": text}]
    if message.role == "user":
        return [{"role": "user", "content": message.content}]
    calls = [{"tool": r.tool, "arguments": _value(r.arguments)} for r in message.requests]
    texts = [json.dumps(call) for call in calls] or [json.dumps({"answer": message.content})]
    return [{"role": "assistant", "content": text} for text in texts]


def _value(arguments: str) -> JsonValue:
    try:
        return parse(arguments)
    except Refused:
        return arguments
