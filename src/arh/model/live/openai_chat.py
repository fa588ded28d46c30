"""OpenAI's chat completions, and every server that speaks them.

How a request is written, how a reply is read: from the raw bytes, strictly, with our own types. A
stream is put together piece by piece and then read as a whole reply is.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from pydantic import Field

from arh.canonical import JsonValue
from arh.model.live.canonical_request import shown_reply
from arh.model.live.providers import Endpoint, http_client, library, parameters
from arh.model.live.replies import CONDUCT, Answer, Tokens, Wire, cut, decided, failed, malformed
from arh.records.decisions import Decision, Malformed, ModelRequest, Usage
from arh.records.messages import Message, ToolRequest, ToolSpec
from arh.records.models import ModelSettings

BASE_URL: Final = "https://api.openai.com/v1"
OPENAI_HOSTS: Final = ("api.openai.com", ".openai.azure.com")
WHOLE: Final = ("stop", "tool_calls", "function_call")
CUT: Final = ("length", "content_filter")


class ChatProvider:
    """Implements `arh.model.live.providers.Provider`."""

    key_variable: ClassVar[str] = "OPENAI_API_KEY"

    def __init__(self, endpoint: Endpoint) -> None:
        """Make the SDK's client; nothing is sent.

        Raises:
            AuthoringError: The SDK is not installed.
        """
        self.sdk: Any = library("openai", extra="openai")
        self.client: Any = openai_client(self.sdk, endpoint)

    def body(self, request: ModelRequest, settings: ModelSettings, tokens: int) -> dict[str, Any]:
        """Return the request's body."""
        tools = [offered(tool) for tool in (*request.tools, *CONDUCT)]
        body: dict[str, Any] = {
            "model": settings.name,
            "messages": [written(message) for message in request.messages],
            "tools": tools,
            limit_name(settings.base_url): tokens,
            "stream": True,
            **parameters(settings),
        }
        if body["stream"]:
            body["stream_options"] = {"include_usage": True}
        return body

    def open(self, body: dict[str, Any], timeout_s: float) -> AbstractContextManager[Any]:
        """Return the SDK's call, whose raw bytes are read by whoever enters it."""
        rest = {k: v for k, v in body.items() if k not in ("model", "messages", "stream")}
        return self.client.chat.completions.with_streaming_response.create(  # type: ignore[no-any-return]  # the SDK is optional
            model=body["model"],
            messages=body["messages"],
            stream=body["stream"],
            extra_body=rest,
            timeout=timeout_s,
        )

    def close(self) -> None:
        """Close every connection."""
        self.client.close()

    def whole(self, value: JsonValue) -> Answer:
        """Read a reply that came in one piece."""
        return _answer(_Completion.model_validate(value))

    def collector(self) -> ChatCollector:
        """Return what takes the events of a stream."""
        return ChatCollector()


def openai_client(sdk: Any, endpoint: Endpoint) -> Any:  # noqa: ANN401 - the SDK is optional
    """Return OpenAI's client, which retries nothing and reads nothing from the environment."""
    client = sdk.OpenAI(
        api_key=endpoint.key or "none",
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=endpoint.base_url or BASE_URL,
        max_retries=0,
        http_client=http_client(endpoint),
    )
    client.organization = client.project = None
    return client


def limit_name(base_url: str) -> str:
    """Return what the server calls the limit of a reply's tokens.

    OpenAI's own newer models refuse the old name, and other servers may not know the new one: a
    limit that is ignored is none.
    """
    host = urlsplit(base_url or BASE_URL).hostname or ""
    return "max_completion_tokens" if host.endswith(OPENAI_HOSTS) else "max_tokens"


def offered(tool: ToolSpec) -> dict[str, JsonValue]:
    """Return a tool in the provider's form."""
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters.value(),
    }
    return {"type": "function", "function": function}


def written(message: Message) -> dict[str, JsonValue]:
    """Return a message in the provider's form."""
    if message.reply is not None:
        text = shown_reply(message)
        return {"role": "tool", "tool_call_id": message.reply.call_id, "content": text}
    if not message.requests:
        return {"role": message.role, "content": message.content}
    calls: list[JsonValue] = [
        {
            "id": each.call_id,
            "type": "function",
            "function": {"name": each.tool, "arguments": each.arguments},
        }
        for each in message.requests
    ]
    return {"role": "assistant", "content": message.content or None, "tool_calls": calls}


# --- replies -------------------------------------------------------------------------------------


class _Cached(Wire):
    cached_tokens: Tokens | None = None


class _Usage(Wire):
    prompt_tokens: Tokens
    completion_tokens: Tokens
    prompt_tokens_details: _Cached | None = None

    def read(self) -> Usage:
        cached = self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens
        return Usage(self.prompt_tokens, self.completion_tokens, cached or 0)


class _Function(Wire):
    name: str
    arguments: str


class _Call(Wire):
    id: str
    function: _Function


class _Message(Wire):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(Wire):
    message: _Message
    finish_reason: str | None = None


class _Completion(Wire):
    id: str = ""
    model: str = ""
    system_fingerprint: str | None = None
    choices: list[_Choice]
    usage: _Usage | None = None


def _answer(reply: _Completion) -> Answer:
    usage = None if reply.usage is None else reply.usage.read()
    return Answer(_decision(reply), usage, reply.model, reply.system_fingerprint or "", reply.id)


def _decision(reply: _Completion) -> Decision:
    if len(reply.choices) != 1:
        return Malformed(f"{len(reply.choices)} choices where one was asked for")
    (choice,) = reply.choices
    finish, message = choice.finish_reason, choice.message
    if finish is None or finish in CUT:
        return cut(finish or "no finish reason")
    if finish not in WHOLE:
        return Malformed("an unknown finish reason")
    calls = [
        ToolRequest(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
    ]
    if finish == "tool_calls" and not calls:
        return Malformed("calls were announced and none came")
    return decided(message.content or "", message.refusal or "", calls)


class _FunctionPart(Wire):
    name: str | None = None
    arguments: str | None = None


class _CallPart(Wire):
    index: int
    id: str | None = None
    function: _FunctionPart | None = None


class _Delta(Wire):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPart] | None = None

    @property
    def says(self) -> bool:
        return bool(self.content or self.refusal or self.tool_calls)


class _ChoicePart(Wire):
    index: int = 0
    delta: _Delta
    finish_reason: str | None = None


class _Chunk(Wire):
    id: str = ""
    model: str = ""
    system_fingerprint: str | None = None
    choices: list[_ChoicePart] = Field(default_factory=list)
    usage: _Usage | None = None
    error: dict[str, Any] | str | None = None


class ChatCollector:
    """Puts the pieces of a stream together."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._chunk = _Chunk()
        self._usage: _Usage | None = None
        self._finish: str | None = None
        self._parts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._calls: dict[int, tuple[list[str], list[str], list[str]]] = {}
        self._failed = False
        self._several = False

    def take(self, value: JsonValue) -> bool:
        """Take an event's value; return whether a part of the answer was in it."""
        chunk = _Chunk.model_validate(value)
        self._failed = self._failed or chunk.error is not None
        self._usage = chunk.usage or self._usage
        if chunk.id or chunk.model:
            self._chunk = chunk
        for choice in chunk.choices:
            self._several = self._several or choice.index != 0
            self._finish = choice.finish_reason or self._finish
            self._add(choice.delta)
        return any(choice.delta.says for choice in chunk.choices)

    def _add(self, delta: _Delta) -> None:
        self._parts["content"].append(delta.content or "")
        self._parts["refusal"].append(delta.refusal or "")
        for part in delta.tool_calls or ():
            ids, names, arguments = self._calls.setdefault(part.index, ([], [], []))
            ids.append(part.id or "")
            if part.function is not None:
                names.append(part.function.name or "")
                arguments.append(part.function.arguments or "")

    def answer(self) -> Answer:
        """Return what the stream came to, whether or not it ended as it should."""
        if self._failed:
            return failed("error in the stream")
        if self._several:
            return malformed("several choices where one was asked for")
        calls = [
            _Call(id="".join(i), function=_Function(name="".join(n), arguments="".join(a)))
            for _, (i, n, a) in sorted(self._calls.items())
        ]
        text, refusal = ("".join(self._parts[name]) for name in ("content", "refusal"))
        message = _Message(content=text, refusal=refusal, tool_calls=calls)
        whole = _Completion(
            id=self._chunk.id,
            model=self._chunk.model,
            system_fingerprint=self._chunk.system_fingerprint,
            choices=[_Choice(message=message, finish_reason=self._finish)],
            usage=self._usage,
        )
        return _answer(whole)
