"""The chat API of Cohere, version 2: transcripts, replies and streams.

Messages are those of OpenAI with marks of their own: a `tool_plan` before the calls, `citations` of
a reply, and results as blocks of type `document`. The format has no channel for a tool's error.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result
from arh.traces.mapping.conversation import CHAT_ROLES, conversation, foreign, marks, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts
from arh.traces.mapping.usage import Usage
from arh.traces.streams.cohere import is_cohere_stream, join_cohere_events
from arh.traces.trace import JsonObject, Trace

_OWN: Final = frozenset({"cohere-chat", "openai-chat"})


class CohereChat:
    """Reads the format `cohere-chat`."""

    name = "cohere-chat"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no chat of this API, or `None`."""
        if is_cohere_stream(document) or _is_reply(document):
            return None
        found = conversation(document)
        if found is None:
            return "there is no list of `messages`, no reply with a `message`, and it is no list"
        if found.reply is not None:
            known = is_cohere_stream(found.reply) or _is_reply(found.reply)
            return None if known else "`response` has no `message`"
        present = marks(found.messages)
        if "cohere-chat" not in present:
            return "no message has a `tool_plan`, `citations`, or a `document` block"
        return foreign(present, _OWN, found.messages_at)

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(
            self.name, source, agent_name="cohere-chat-agent", workflow="cohere-chat-import"
        )
        found = conversation(document)
        if is_cohere_stream(document) or found is None:
            _read_reply(assembly, document, "", 0)
        else:
            fields = Fields(assembly, found.wrapper, found.wrapper_at)
            assembly.offer_tools(fields.items("tools"))
            wrapper(fields, _SETTINGS)
            for at, message in enumerate(found.messages):
                _read_message(assembly, message, f"{found.messages_at}[{at}]", at)
            if found.reply is not None:
                _read_reply(assembly, found.reply, found.reply_at, len(found.messages))
        return (assembly.finish(),)


def _is_reply(document: JsonValue) -> bool:
    """Say whether a document is one reply of the API."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("message"), dict)
        and "finish_reason" in document
    )


def _read_reply(assembly: Assembly, reply: JsonValue, at: str, index: int) -> None:
    """Read what the provider answered, whole or as events."""
    if isinstance(reply, list):
        reply = join_cohere_events(assembly, reply, at)
    if not isinstance(reply, dict):
        return
    prefix = f"{at}." if at else ""
    fields = Fields(assembly, reply, at)
    message = fields.object("message") or {}
    _read_message(assembly, {"role": "assistant", **message}, f"{prefix}message", index)
    usage = fields.object("usage")
    if usage is not None:
        _read_usage(assembly, usage, f"{prefix}usage")
    fields.ended("finish_reason", _CUT)
    fields.done(_BOOKKEEPING)


def _read_message(assembly: Assembly, message: JsonValue, at: str, index: int) -> None:
    """Read one message by its role."""
    if not isinstance(message, dict):
        assembly.note("non_object_message", at, content=texts(message))
        return
    fields = Fields(assembly, message, at)
    role = fields.text("role")
    if role == "assistant":
        _read_assistant(assembly, fields, index)
    elif role == "tool":
        output = _output(assembly, fields.take("content"), f"{at}.content")
        assembly.answer(fields.identifier("tool_call_id"), Result(output), at)
    elif role in CHAT_ROLES:
        assembly.told(role or "", fields.take("content"), at)
    else:
        fields.done(kind="unmapped_message")
    fields.done(_BOOKKEEPING)


def _read_assistant(assembly: Assembly, fields: Fields, index: int) -> None:
    """Read a reply: the plan, the text with its citations, the calls."""
    assembly.turn()
    plan = assembly.say(fields.text("tool_plan") or "", f"{fields.at}.tool_plan", f"m{index}-plan")
    if plan is not None:
        plan.metadata["source_field"] = "tool_plan"
    content = fields.take("content")
    at = f"{fields.at}.content"
    spoken = content if isinstance(content, str) else _spoken(assembly, content, at)
    step = assembly.say(spoken, at, f"m{index}-response")
    citations = fields.items("citations")
    if citations and step is not None:
        step.citations = tuple(citations)
    elif citations:
        assembly.note("unmapped_citation", f"{fields.at}.citations", content=texts(citations))
    for place, call in enumerate(fields.items("tool_calls") or ()):
        _read_call(assembly, call, f"{fields.at}.tool_calls[{place}]", f"m{index}-tool{place}")


def _spoken(assembly: Assembly, content: JsonValue, at: str) -> str:
    """Return the text blocks of a reply as one text; reasoning is noted as such."""
    if not isinstance(content, list):
        if content is not None:
            assembly.note("unmapped_content", at, content=texts(content))
        return ""
    spoken: list[str] = []
    for place, block in enumerate(content):
        where = f"{at}[{place}]"
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict):
            assembly.note("non_object_block", where, content=texts(block))
        elif kind == "thinking":
            assembly.thinking(block, where)
        elif kind == "text" and isinstance(block.get("text"), str):
            fields = Fields(assembly, block, where)
            spoken.append(fields.text("text") or "")
            fields.done(_BOOKKEEPING)
        else:
            detail = kind if isinstance(kind, str) else ""
            assembly.note("unmapped_block", where, detail, content=texts(block))
    return "\n".join(spoken)


def _read_call(assembly: Assembly, call: JsonValue, at: str, step_id: str) -> None:
    """Read one entry of `tool_calls`."""
    if not isinstance(call, dict):
        assembly.note("non_object_tool_call", at, content=texts(call))
        return
    fields = Fields(assembly, call, at)
    function = Fields(assembly, fields.object("function") or {}, f"{at}.function")
    assembly.call(
        function.text("name") or fields.text("name"),
        function.take("arguments"),
        at,
        step_id=step_id,
        call_id=fields.identifier("id"),
    )
    function.done()
    fields.done(_BOOKKEEPING)


def _output(assembly: Assembly, content: JsonValue, at: str) -> JsonValue:
    """Return a result of text and documents as one text; what is no text is noted."""
    if not isinstance(content, list):
        return content
    spoken: list[str] = []
    for place, block in enumerate(content):
        fields = Fields(assembly, block, f"{at}[{place}]") if isinstance(block, dict) else None
        text = _result_text(fields) if fields else None
        if fields is None or text is None:
            assembly.note("unrecognized_tool_content_block", f"{at}[{place}]", content=texts(block))
            continue
        spoken.append(text)
        fields.done(_BOOKKEEPING)
    return "\n".join(spoken) if spoken else content


def _result_text(fields: Fields) -> str | None:
    """Return the text of one block of a result."""
    kind = fields.text("type")
    if kind == "text":
        return fields.text("text")
    if kind != "document":
        return None
    document = fields.object("document")
    if document is None:
        return None
    inner = Fields(fields.assembly, document, f"{fields.at}.document")
    data = inner.take("data")
    inner.done(_BOOKKEEPING)
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        return texts(data)
    fields.assembly.note("document_block_missing_data", fields.at)
    return None


def _read_usage(assembly: Assembly, usage: JsonObject, at: str) -> None:
    """Count the tokens: those that were processed, not those that are billed."""
    fields = Fields(assembly, usage, at)
    tokens = Fields(assembly, fields.object("tokens") or {}, f"{at}.tokens")
    counted = Usage(
        input_tokens=tokens.count("input_tokens"),
        output_tokens=tokens.count("output_tokens"),
        cache_read_tokens=fields.count("cached_tokens"),
    )
    if billed := fields.take("billed_units"):
        assembly.recorded(at, "billed_units", billed)
    tokens.done()
    fields.done()
    assembly.used(counted, at)


_CUT: Final = frozenset({"MAX_TOKENS", "ERROR", "TIMEOUT", "ERROR_TOXIC"})
_BOOKKEEPING: Final = frozenset({"id", "type", "model", "name", "created_at"})
_SETTINGS: Final = _BOOKKEEPING | {
    "citation_options",
    "documents",
    "provider",
    "response_format",
    "safety_mode",
    "source",
    "stop_sequences",
    "thinking",
    "tool_choice",
    "tools",
}
