"""The Converse API of Amazon Bedrock: conversations, replies and streams.

Blocks have no `type`: their one key names them. A result fails when its `status` is `error`, and
by nothing that its content says.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result
from arh.traces.mapping.conversation import conversation, foreign, marks, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.media import note_media
from arh.traces.mapping.texts import texts
from arh.traces.mapping.usage import Usage, with_cached
from arh.traces.streams.converse import is_converse_stream, join_converse_events
from arh.traces.trace import JsonObject, Trace

_OWN: Final = frozenset({"bedrock-converse"})


class BedrockConverse:
    """Reads the format `bedrock-converse`."""

    name = "bedrock-converse"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no conversation of this API, or `None`."""
        if is_converse_stream(document) or _is_reply(document):
            return None
        found = conversation(document)
        if found is None:
            return "there is no list of `messages`, and no reply with `output`.`message`"
        if found.reply is not None and not (
            is_converse_stream(found.reply) or _is_reply(found.reply)
        ):
            return "`response` has no `output`.`message`"
        present = marks(found.messages)
        if "bedrock-converse" not in present and found.reply is None:
            return "no message has a block without `type` that is named by its key"
        return foreign(present, _OWN, found.messages_at)

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(
            self.name, source, agent_name="bedrock-agent", workflow="bedrock-converse-import"
        )
        found = conversation(document)
        if is_converse_stream(document) or found is None:
            _read_reply(assembly, document, "", 0)
        else:
            fields = Fields(assembly, found.wrapper, found.wrapper_at)
            assembly.told("system", fields.take("system"), "system")
            _offer(assembly, fields.object("toolConfig"))
            wrapper(fields, _SETTINGS)
            for at, message in enumerate(found.messages):
                _read_message(assembly, message, f"{found.messages_at}[{at}]", at)
            if found.reply is not None:
                _read_reply(assembly, found.reply, found.reply_at, len(found.messages))
        return (assembly.finish(),)


def _is_reply(document: JsonValue) -> bool:
    """Say whether a document is one reply of the API."""
    output = document.get("output") if isinstance(document, dict) else None
    return isinstance(output, dict) and isinstance(output.get("message"), dict)


def _offer(assembly: Assembly, config: JsonObject | None) -> None:
    """Note which tools were specified."""
    if config is None:
        return
    tools = config.get("tools")
    specified: list[JsonValue] = []
    for tool in tools if isinstance(tools, list) else ():
        spec = tool.get("toolSpec") if isinstance(tool, dict) else None
        specified.append(spec if isinstance(spec, dict) else tool)
    assembly.offer_tools(specified)
    assembly.recorded("", "toolConfig", config)


def _read_reply(assembly: Assembly, reply: JsonValue, at: str, index: int) -> None:
    """Read what the provider answered, whole or as events."""
    if isinstance(reply, list):
        reply = join_converse_events(assembly, reply, at)
    if not isinstance(reply, dict):
        return
    prefix = f"{at}." if at else ""
    fields = Fields(assembly, reply, at)
    output = Fields(assembly, fields.object("output") or {}, f"{prefix}output")
    message = output.object("message") or {}
    _read_message(assembly, {**message, "role": "assistant"}, f"{prefix}output.message", index)
    output.done()
    usage = fields.object("usage")
    if usage is not None:
        _read_usage(assembly, usage, f"{prefix}usage")
    metrics = fields.object("metrics") or {}
    took = metrics.get("latencyMs")
    first = assembly.first()
    if type(took) is int and took >= 0 and first is not None and first.type == "model_response":
        first.latency_ms = took
    if metrics:
        assembly.recorded(at, "metrics", metrics)
    fields.ended("stopReason", _CUT)
    fields.done(_SETTINGS)


def _read_message(assembly: Assembly, message: JsonValue, at: str, index: int) -> None:
    """Read one message by its role."""
    if not isinstance(message, dict):
        assembly.note("non_object_message", at, content=texts(message))
        return
    fields = Fields(assembly, message, at)
    role = fields.text("role")
    content = fields.take("content")
    if role == "assistant":
        assembly.turn()
    blocks = content if isinstance(content, list) else []
    if content is not None and not isinstance(content, list):
        assembly.note("unmapped_content", f"{at}.content", content=texts(content))
    for place, block in enumerate(blocks):
        where = f"{at}.content[{place}]"
        if not isinstance(block, dict):
            assembly.note("non_object_block", where, content=texts(block))
        elif "toolResult" in block:
            _read_result(assembly, Fields(assembly, block, where))
        elif role == "assistant":
            _read_block(assembly, Fields(assembly, block, where), f"m{index}-block{place}")
        else:
            assembly.told(role or "", block, where)
    fields.done()


def _read_block(assembly: Assembly, fields: Fields, step_id: str) -> None:
    """Read one block of a reply."""
    assembly.say(fields.text("text") or "", fields.at, step_id)
    cited = fields.object("citationsContent")
    if cited is not None:
        _read_cited(assembly, Fields(assembly, cited, f"{fields.at}.citationsContent"), step_id)
    reasoning = fields.take("reasoningContent")
    if reasoning:
        assembly.thinking(reasoning, fields.at)
    call = fields.object("toolUse")
    if call is not None:
        inner = Fields(assembly, call, f"{fields.at}.toolUse")
        assembly.call(
            inner.text("name"),
            inner.take("input"),
            fields.at,
            step_id=step_id,
            call_id=inner.identifier("toolUseId"),
        )
        inner.done(_BOOKKEEPING)
    fields.done(kind="unmapped_block")


def _read_cited(assembly: Assembly, fields: Fields, step_id: str) -> None:
    """Read a text with its citations."""
    parts = fields.items("content") or []
    step = assembly.say(texts(_texts_of(parts)), fields.at, step_id)
    citations = fields.items("citations")
    if citations and step is not None:
        step.citations = tuple(citations)
    elif citations:
        assembly.note("unmapped_citation", fields.at, content=texts(citations))
    fields.done(kind="unmapped_block")


def _texts_of(parts: list[JsonValue]) -> list[JsonValue]:
    """Return what the parts say, without the names of their keys."""
    return [
        value for part in parts for value in (part.values() if isinstance(part, dict) else [part])
    ]


def _read_result(assembly: Assembly, fields: Fields) -> None:
    """Read what a tool returned, and whether it failed."""
    inner = Fields(assembly, fields.object("toolResult") or {}, f"{fields.at}.toolResult")
    call_id = inner.identifier("toolUseId")
    content = inner.take("content")
    output = _output(assembly, content, f"{inner.at}.content")
    status = inner.text("status")
    failed = status == "error"
    if status and status not in _STATUSES:
        detail = "neither success nor error, taken as success"
        assembly.note("unknown_status", f"{inner.at}.status", detail, content=status)
    error = output if isinstance(output, str) else texts(output)
    result = Result(output, failed=failed, error=error or None if failed else None)
    assembly.answer(call_id, result, fields.at)
    inner.done(_BOOKKEEPING)
    fields.done(kind="unmapped_block")


def _output(assembly: Assembly, content: JsonValue, at: str) -> JsonValue:
    """Return a result of texts as one text, of one `json` block as that, else as it is."""
    if not isinstance(content, list):
        return content
    if len(content) == 1 and isinstance(content[0], dict) and content[0].keys() == {"json"}:
        return content[0]["json"]
    spoken: list[str] = []
    for block in content:
        text = block.get("text") if isinstance(block, dict) and len(block) == 1 else None
        if not isinstance(text, str):
            note_media(assembly, content, at)
            return content
        spoken.append(text)
    return "\n".join(spoken) if spoken else content


def _read_usage(assembly: Assembly, usage: JsonObject, at: str) -> None:
    """Count the tokens: cached ones are beside the input's."""
    fields = Fields(assembly, usage, at)
    read, written = fields.count("cacheReadInputTokens"), fields.count("cacheWriteInputTokens")
    counted = Usage(
        input_tokens=with_cached(fields.count("inputTokens"), read, written),
        output_tokens=fields.count("outputTokens"),
        total_tokens=fields.count("totalTokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    fields.done(_BOOKKEEPING)
    assembly.used(counted, at)


_CUT: Final = frozenset(
    {"max_tokens", "guardrail_intervened", "content_filtered", "model_context_window_exceeded"}
)
_STATUSES: Final = frozenset({"error", "success"})
_BOOKKEEPING: Final = frozenset({"type", "serverToolUsage", "cacheDetails"})
_SETTINGS: Final = frozenset(
    {
        "additionalModelRequestFields",
        "additionalModelResponseFields",
        "guardrailConfig",
        "inferenceConfig",
        "modelId",
        "performanceConfig",
        "provider",
        "requestMetadata",
        "source",
        "trace",
    }
)
