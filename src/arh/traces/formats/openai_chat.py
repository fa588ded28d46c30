"""Chat Completions of OpenAI and of the many that copied them: transcripts, replies and streams.

Reads a list of messages, bare or in an object; a reply (`choices`), alone or with the request that
it answers (`request`, `response`); and the chunks of a streamed reply. The format has no channel
for a tool's error, so a recorded result is `ok` whatever its text says. Text comes before the calls
of its message, as the model wrote it.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result
from arh.traces.mapping.conversation import CHAT_ROLES, conversation, foreign, marks, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.media import note_media
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.usage import Usage
from arh.traces.streams.chat import is_chat_stream, join_chat_chunks
from arh.traces.trace import JsonObject, Trace

_OWN: Final = frozenset({"openai-chat"})


class OpenAIChat:
    """Reads the format `openai-chat`."""

    name = "openai-chat"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no chat of this kind, or `None`."""
        if is_chat_stream(document) or _choices(document) is not None:
            return None
        found = conversation(document)
        if found is None:
            return "there is no list of `messages`, no `choices`, and it is no list itself"
        if found.reply is not None and not (
            is_chat_stream(found.reply) or _choices(found.reply) is not None
        ):
            return "`response` has no `choices`"
        return _unlike_chat(found.messages, found.messages_at, bare=isinstance(document, list))

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(
            self.name, source, agent_name="openai-chat-agent", workflow="openai-chat-import"
        )
        found = conversation(document)
        if is_chat_stream(document) or found is None:
            _read_reply(assembly, document, "")
        else:
            fields = Fields(assembly, found.wrapper, found.wrapper_at)
            reply, reply_at = found.reply, found.reply_at
            if reply is None and fields.has("choices"):
                reply, reply_at = {name: fields.take(name) for name in _REPLY}, ""
            assembly.offer_tools(fields.items("tools"))
            wrapper(fields, _SETTINGS)
            for at, message in enumerate(found.messages):
                _read_message(assembly, message, f"{found.messages_at}[{at}]", at)
            if reply is not None:
                _read_reply(assembly, reply, reply_at, len(found.messages))
        return (assembly.finish(),)


def _choices(document: JsonValue) -> list[JsonValue] | None:
    """Return the choices of a reply, if it is one."""
    choices = document.get("choices") if isinstance(document, dict) else None
    return choices if isinstance(choices, list) else None


def _unlike_chat(messages: list[JsonValue], at: str, *, bare: bool) -> str | None:
    """Return why the messages are none of this format, or `None`."""
    if not messages and bare:
        return "an empty list has the form of nothing"
    spoken = any(word(item, "role") in CHAT_ROLES for item in messages)
    if messages and not spoken:
        return f"no element of `{at or 'the list'}` is an object with the `role` of a chat"
    return foreign(marks(messages), _OWN, at)


def _read_reply(assembly: Assembly, reply: JsonValue, at: str, turn: int = 0) -> None:
    """Read what the provider answered, whole or in chunks."""
    if isinstance(reply, list):
        reply = join_chat_chunks(assembly, reply, at)
    if not isinstance(reply, dict):
        return
    fields = Fields(assembly, reply, at)
    choices = fields.items("choices") or []
    prefix = f"{at}." if at else ""
    usage = fields.object("usage")
    for index, choice in enumerate(choices):
        place = f"{prefix}choices[{index}]"
        if index == 0:
            _read_choice(assembly, choice, place, turn)
            if usage is not None:
                _read_usage(assembly, usage, f"{prefix}usage")
        elif choice:
            detail = "another answer to the same question, which nobody acted on"
            assembly.note("alternative_choice", place, detail, content=texts(choice))
    if not choices and usage is not None:
        _read_usage(assembly, usage, f"{prefix}usage")
    fields.done(_BOOKKEEPING)


def _read_choice(assembly: Assembly, choice: JsonValue, at: str, turn: int) -> None:
    """Read the first choice of a reply."""
    if not isinstance(choice, dict):
        assembly.note("non_object_choice", at, content=texts(choice))
        return
    fields = Fields(assembly, choice, at)
    message = fields.object("message")
    if message is not None:
        _read_message(assembly, {"role": "assistant", **message}, f"{at}.message", turn)
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
        fields.done(_BOOKKEEPING)
    elif role in ("tool", "function"):
        _read_result(assembly, fields, function=role == "function")
        fields.done(_BOOKKEEPING)
    elif role in CHAT_ROLES:
        assembly.told(role or "", fields.take("content"), at)
        fields.done(_BOOKKEEPING)
    else:
        fields.done(kind="unmapped_message")


def _read_assistant(assembly: Assembly, fields: Fields, index: int) -> None:
    """Read a reply of the model: reasoning, text, refusal, calls."""
    assembly.turn()
    for key in _REASONING:
        if reasoning := fields.take(key):
            assembly.thinking(reasoning, f"{fields.at}.{key}")
    step_id = f"m{index}-response"
    _say(assembly, fields, step_id)
    refusal = fields.text("refusal")
    if refusal:
        assembly.say(refusal, f"{fields.at}.refusal", step_id, refusal=True)
    for place, call in enumerate(fields.items("tool_calls") or ()):
        at = f"{fields.at}.tool_calls[{place}]"
        if isinstance(call, dict):
            _read_call(assembly, Fields(assembly, call, at), f"m{index}-tool{place}")
        else:
            assembly.note("non_object_tool_call", at, content=texts(call))
    legacy = fields.object("function_call")
    if legacy is not None:
        at = f"{fields.at}.function_call"
        _read_function(assembly, Fields(assembly, legacy, at), None, f"m{index}-function")


def _say(assembly: Assembly, fields: Fields, step_id: str) -> None:
    """Add the text of a message, whose parts are one text."""
    at = f"{fields.at}.content"
    content = fields.take("content")
    if isinstance(content, str):
        assembly.say(content, at, step_id)
    elif isinstance(content, list):
        spoken: list[str] = []
        refused: list[str] = []
        for place, part in enumerate(content):
            _read_part(assembly, part, f"{at}[{place}]", spoken, refused)
        assembly.say("".join(spoken), at, step_id)
        assembly.say("".join(refused), at, step_id, refusal=True)
    elif content is not None:
        assembly.note("unmapped_content", at, content=texts(content))


def _read_part(
    assembly: Assembly, part: JsonValue, at: str, spoken: list[str], refused: list[str]
) -> None:
    """Read one part of a content list."""
    if not isinstance(part, dict):
        assembly.note("non_object_block", at, content=texts(part))
        return
    fields = Fields(assembly, part, at)
    kind = part.get("type")
    if kind == "text":
        spoken.append(fields.text("text") or "")
    elif kind == "refusal":
        refused.append(fields.text("refusal") or "")
    elif isinstance(kind, str) and kind:
        assembly.note("unmapped_block", at, kind, content=texts(part))
        return
    fields.done(_TYPE)


def _read_call(assembly: Assembly, fields: Fields, step_id: str) -> None:
    """Read one entry of `tool_calls`: its type decides, not which keys are there."""
    call_id = fields.identifier("id")
    kind = fields.text("type")
    custom = fields.object("custom") if kind == "custom" else None
    if custom is not None:
        inner = Fields(assembly, custom, f"{fields.at}.custom")
        assembly.call(
            inner.text("name"),
            {"input": inner.take("input")},
            fields.at,
            step_id=step_id,
            call_id=call_id,
        )
        inner.done()
    elif (function := fields.object("function")) is not None:
        inner = Fields(assembly, function, f"{fields.at}.function")
        _read_function(assembly, inner, call_id, step_id)
    else:
        _read_function(assembly, fields, call_id, step_id)
    fields.done(_BOOKKEEPING)


def _read_function(assembly: Assembly, fields: Fields, call_id: str | None, step_id: str) -> None:
    """Read the name and the arguments of a call."""
    name = fields.text("name")
    arguments = fields.take("arguments" if fields.has("arguments") else "args")
    assembly.call(name, arguments, fields.at, step_id=step_id, call_id=call_id)
    fields.done(_BOOKKEEPING)


def _read_result(assembly: Assembly, fields: Fields, *, function: bool) -> None:
    """Read what a tool returned."""
    call_id = fields.identifier("tool_call_id")
    if call_id is None:
        call_id = _only_id(fields)
    name = fields.text("name") or ""
    at = f"{fields.at}.content"
    output = _output(assembly, fields.take("content"), at)
    if name and not function:
        assembly.recorded(fields.at, "name", name)
    assembly.answer(call_id, Result(output), fields.at, name=name)


def _only_id(fields: Fields) -> str | None:
    """Return the id from a list of one id, as some recorders write it."""
    ids = fields.items("tool_call_ids")
    if ids and len(ids) == 1 and isinstance(ids[0], str):
        return ids[0]
    if ids:
        fields.assembly.note("unmapped_field", fields.at, "tool_call_ids", content=texts(ids))
    return None


def _output(assembly: Assembly, content: JsonValue, at: str) -> JsonValue:
    """Return a result as one text where all its parts are text, else as it is."""
    if not isinstance(content, list):
        return content
    spoken: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(part, dict) or not isinstance(text, str) or len(part) != _TEXT_PART_KEYS:
            note_media(assembly, content, at)
            return content
        spoken.append(text)
    return "\n".join(spoken)


def _read_usage(assembly: Assembly, usage: JsonObject, at: str) -> None:
    """Count the tokens: cached ones are inside the prompt's, reasoning inside the completion's."""
    fields = Fields(assembly, usage, at)
    prompt = Fields(assembly, fields.object("prompt_tokens_details") or {}, f"{at}.prompt")
    reply = Fields(assembly, fields.object("completion_tokens_details") or {}, f"{at}.completion")
    counted = Usage(
        input_tokens=fields.count("prompt_tokens"),
        output_tokens=fields.count("completion_tokens"),
        total_tokens=fields.count("total_tokens"),
        cache_read_tokens=prompt.count("cached_tokens"),
        reasoning_tokens=reply.count("reasoning_tokens"),
    )
    for left in (prompt, reply, fields):
        left.done(_BOOKKEEPING)
    assembly.used(counted, at)


_REPLY: Final = ("choices", "usage", "id", "object", "created", "model", "system_fingerprint")
_CUT: Final = frozenset({"length", "content_filter"})
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
_TEXT_PART_KEYS: Final = 2
_TYPE: Final = frozenset({"type"})
_BOOKKEEPING: Final = frozenset(
    {
        "agent",
        "created",
        "cost_details",
        "extra_content",
        "finish_reason",
        "id",
        "index",
        "message_type",
        "model",
        "name",
        "native_finish_reason",
        "object",
        "provider",
        "service_tier",
        "system_fingerprint",
        "thought_signature",
        "timestamp",
        "tool_call_id",
        "type",
        "x_groq",
    }
)
_SETTINGS: Final = frozenset(
    {
        "id",
        "model",
        "provider",
        "reasoning_effort",
        "response_format",
        "service_tier",
        "source",
        "stop",
        "stream_options",
        "tool_choice",
        "tools",
        "user",
    }
)
