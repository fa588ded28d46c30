"""Messages between a client and a server of the Model Context Protocol, as JSON-RPC.

Each message stands alone or in an envelope of the recorder (`message`, `payload`, `data`). A
response answers the newest open request of its id. A tool's failure is `isError`, a failed request
`error`. The protocol carries calls, not the words of the model, except where a server asks for them
(`sampling/createMessage`).
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Draft, Result, give
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.media import note_media
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.times import iso_ms
from arh.traces.trace import JsonObject, Trace

_ENVELOPES: Final = ("message", "payload", "data", "rpc")


class McpJsonRpc:
    """Reads the format `mcp-jsonrpc`."""

    name = "mcp-jsonrpc"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no recording of this protocol, or `None`."""
        messages, _ = _messages(document)
        if messages is None:
            return "it is neither a list nor an object with `messages`"
        if not any(_inner(message)[0] is not None for message in messages):
            return "no element has `jsonrpc` `2.0`"
        return None

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the recording."""
        assembly = Assembly(
            self.name, source, agent_name="mcp-client", workflow="mcp-jsonrpc-import"
        )
        messages, at = _messages(document)
        if isinstance(document, dict):
            rest = {name: value for name, value in document.items() if name != "messages"}
            Fields(assembly, rest, "").done()
        dialogue = _Dialogue(assembly)
        for index, message in enumerate(messages or ()):
            dialogue.read(message, f"{at}[{index}]", index)
        return (assembly.finish(),)


def _messages(document: JsonValue) -> tuple[list[JsonValue] | None, str]:
    """Return the messages and where they stand."""
    if isinstance(document, list):
        return document, ""
    messages = document.get("messages") if isinstance(document, dict) else None
    return (messages if isinstance(messages, list) else None), "messages"


def _inner(message: JsonValue) -> tuple[JsonObject | None, str]:
    """Return the JSON-RPC message, and the name of its envelope."""
    if word(message, "jsonrpc") == "2.0" and isinstance(message, dict):
        return message, ""
    for name in _ENVELOPES:
        inner = message.get(name) if isinstance(message, dict) else None
        if isinstance(inner, dict) and word(inner, "jsonrpc") == "2.0":
            return inner, name
    return None, ""


class _Dialogue:
    """The open requests, and the trace that they are read into."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.open: dict[str, list[tuple[str, Draft | None]]] = {}

    def read(self, message: JsonValue, at: str, index: int) -> None:
        """Read one message."""
        inner, envelope = _inner(message)
        if inner is None or not isinstance(message, dict):
            self.assembly.note("unmapped_message", at, content=texts(message))
            return
        at_ms = None
        if envelope:
            outer = Fields(self.assembly, message, at)
            outer.take(envelope)
            stamp = outer.take("timestamp")
            at_ms = iso_ms(stamp)
            self.assembly.recorded(at, "timestamp", stamp)
            outer.done(_BOOKKEEPING)
        fields = Fields(self.assembly, inner, f"{at}.{envelope}" if envelope else at)
        fields.text("jsonrpc")
        method, message_id = fields.text("method"), fields.identifier("id")
        if method is not None:
            self._request(fields, method, message_id, index, at_ms)
        else:
            self._response(fields, message_id, at_ms)
        fields.done()

    def _request(
        self, fields: Fields, method: str, message_id: str | None, index: int, at_ms: float | None
    ) -> None:
        """Read a request or a notification."""
        draft = None
        if method == "tools/call":
            self.assembly.turn()
            params = Fields(self.assembly, fields.object("params") or {}, f"{fields.at}.params")
            draft = self.assembly.call(
                params.text("name"),
                params.take("arguments"),
                fields.at,
                step_id=f"m{index}-call",
                call_id=message_id,
            )
            draft.started_ms = at_ms
            if meta := params.take("_meta"):
                self.assembly.recorded(fields.at, "_meta", meta)
            params.done()
        else:
            self.assembly.recorded(fields.at, "method", method)
            self.assembly.recorded(fields.at, "id", message_id)
            self.assembly.told(method, fields.take("params"), fields.at)
        if message_id is not None:
            self.open.setdefault(message_id, []).append((method, draft))

    def _response(self, fields: Fields, message_id: str | None, at_ms: float | None) -> None:
        """Read a response to the newest open request of its id."""
        waiting = self.open.get(message_id or "")
        method, draft = waiting.pop() if waiting else ("", None)
        result, error = fields.take("result"), fields.take("error")
        if draft is not None:
            give(draft, self._result(result, error, fields.at, at_ms))
        elif method == "sampling/createMessage":
            self._said(result, fields.at)
        elif method:
            if method == "tools/list" and isinstance(result, dict):
                tools = result.get("tools")
                self.assembly.offer_tools(tools if isinstance(tools, list) else None)
            self.assembly.told(f"{method} response", result, fields.at)
            if error is not None:
                self.assembly.note("request_failed", fields.at, method, content=texts(error))
        else:
            content = texts([result, error, message_id])
            detail = "no open request has its id"
            self.assembly.note("unmatched_tool_result", fields.at, detail, content=content)

    def _said(self, result: JsonValue, at: str) -> None:
        """Read what the client's model answered to a server that asked for it."""
        content = result.get("content") if isinstance(result, dict) else None
        text = content.get("text") if isinstance(content, dict) else None
        if isinstance(text, str):
            self.assembly.turn()
            self.assembly.say(text, at, f"{at}-sampling")
            self.assembly.recorded(at, "result", result)
        else:
            self.assembly.note("unmapped_content", at, content=texts(result))

    def _result(self, result: JsonValue, error: JsonValue, at: str, at_ms: float | None) -> Result:
        """Return what a tool returned, or why the request failed."""
        if error is not None:
            message = error.get("message") if isinstance(error, dict) else None
            if result is not None:
                self.assembly.note("unmapped_field", at, "result", content=texts(result))
            why = message if isinstance(message, str) else texts(error)
            return Result(error, failed=True, error=why, at_ms=at_ms)
        if not isinstance(result, dict):
            return Result(result, failed=False, at_ms=at_ms)
        fields = Fields(self.assembly, result, f"{at}.result")
        content = fields.take("content")
        structured = fields.take("structuredContent")
        failed = fields.flag("isError") is True
        said = self._output(content, f"{at}.result.content")
        fields.done(_BOOKKEEPING)
        if structured is not None and content is not None:
            self.assembly.recorded(at, "structuredContent", structured)
            if _differs(structured, said):
                self.assembly.note("structured_result", at, content=texts(structured))
        output = structured if content is None else said
        error = texts(output) or None if failed else None
        return Result(output, failed=failed, error=error, at_ms=at_ms)

    def _output(self, content: JsonValue, at: str) -> JsonValue:
        """Return a result of text blocks as one text, any other as it is."""
        if not isinstance(content, list):
            return content
        spoken: list[str] = []
        for block in content:
            text = block.get("text") if word(block, "type") == "text" else None  # type: ignore[union-attr]  # an object, as `word` saw
            if not isinstance(text, str) or len(block) != _TEXT_BLOCK_KEYS:  # type: ignore[arg-type]  # the same
                note_media(self.assembly, content, at)
                return content
            spoken.append(text)
        return "\n".join(spoken) if spoken else content


def _differs(structured: JsonValue, said: JsonValue) -> bool:
    """Say whether a structured result has text that the plain one has not."""
    plain = texts(said)
    return any(line not in plain for line in texts(structured).split("\n")[:_LINES_MAX])


_TEXT_BLOCK_KEYS: Final = 2
_LINES_MAX: Final = 32
_BOOKKEEPING: Final = frozenset({"_meta", "direction", "id", "session", "source", "transport"})
