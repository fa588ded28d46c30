"""The content blocks of Anthropic's Messages API, read into a trace in the making.

Two formats hold them: conversations of the API and session files of Claude Code. A result's error
channel is `is_error` for tools that the caller runs, and the type `..._tool_result_error` for those
that the provider runs.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.media import note_media
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.usage import Usage, with_cached
from arh.traces.trace import JsonObject


def read_message(
    assembly: Assembly, message: JsonValue, at: str, index: int, at_ms: float | None = None
) -> None:
    """Read one message; `index` counts messages, `at_ms` is when it was recorded."""
    if not isinstance(message, dict):
        assembly.note("non_object_message", at, content=texts(message))
        return
    fields = Fields(assembly, message, at)
    role = fields.text("role")
    content = fields.take("content")
    if role == "assistant":
        assembly.turn()
        _read_reply(assembly, content, fields, index, at_ms)
    elif role == "user":
        _read_told(assembly, content, f"{at}.content", at_ms)
    elif role in _INSTRUCTING:
        assembly.told(role or "", content, at)
    else:
        assembly.note("unmapped_message", at, role or "", content=texts(content))
    fields.done(BOOKKEEPING)


def _read_reply(
    assembly: Assembly, content: JsonValue, fields: Fields, index: int, at_ms: float | None
) -> None:
    """Read what the model wrote, and what that cost."""
    at = f"{fields.at}.content"
    if isinstance(content, str):
        assembly.say(content, at, f"m{index}-text0")
    elif isinstance(content, list):
        for place, block in enumerate(content):
            _read_block(assembly, block, f"{at}[{place}]", f"m{index}", place, at_ms)
    elif content is not None:
        assembly.note("unmapped_content", at, content=texts(content))
    usage = fields.object("usage")
    if usage is not None:
        read_usage(assembly, usage, f"{fields.at}.usage")
    fields.ended("stop_reason", _CUT)


def _read_block(
    assembly: Assembly, block: JsonValue, at: str, prefix: str, place: int, at_ms: float | None
) -> None:
    """Read one block of a reply."""
    if not isinstance(block, dict):
        assembly.note("non_object_block", at, content=texts(block))
        return
    fields = Fields(assembly, block, at)
    kind = fields.text("type") or ""
    if kind == "text":
        step = assembly.say(fields.text("text") or "", at, f"{prefix}-text{place}")
        citations = fields.items("citations")
        if citations and step is not None:
            step.citations = tuple(item for item in citations if isinstance(item, dict))
            other: list[JsonValue] = [item for item in citations if not isinstance(item, dict)]
            if other:
                assembly.note("unmapped_citation", at, content=texts(other), step=step)
        elif citations:
            assembly.note("unmapped_citation", at, content=texts(citations))
    elif kind in _CALLS:
        _read_call(assembly, fields, f"{prefix}-tool{place}", at_ms)
    elif is_result(kind):
        _read_result(assembly, fields, kind, at_ms)
    elif kind in _THINKING:
        thought: list[JsonValue] = [fields.take(name) for name in _THOUGHT]
        assembly.thinking(thought, at)
    else:
        fields.done(kind="unmapped_block")
        assembly.note("unmapped_block_type", at, kind)
        return
    fields.done(BOOKKEEPING)


def _read_call(assembly: Assembly, fields: Fields, step_id: str, at_ms: float | None) -> None:
    """Read a call of a tool, whoever runs it."""
    draft = assembly.call(
        fields.text("name"),
        fields.take("input"),
        fields.at,
        step_id=step_id,
        call_id=fields.identifier("id"),
    )
    draft.started_ms = at_ms


def is_result(kind: str) -> bool:
    """Say whether blocks of this type are results of tools."""
    return kind == "tool_result" or kind.endswith("_tool_result")


def _read_told(assembly: Assembly, content: JsonValue, at: str, at_ms: float | None) -> None:
    """Read a message of the user, which brings results too."""
    if not isinstance(content, list):
        assembly.told("user", content, at)
        return
    for place, block in enumerate(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(block, dict) and isinstance(kind, str) and is_result(kind):
            fields = Fields(assembly, block, f"{at}[{place}]")
            fields.text("type")
            _read_result(assembly, fields, kind, at_ms)
            fields.done(BOOKKEEPING)
        else:
            assembly.told("user", block, f"{at}[{place}]")


def _read_result(assembly: Assembly, fields: Fields, kind: str, at_ms: float | None) -> None:
    """Read what a tool returned, and whether it failed."""
    call_id = fields.identifier("tool_use_id")
    content = fields.take("content")
    failed = fields.flag("is_error") is True
    output, text = _output(assembly, content, f"{fields.at}.content")
    error = text
    if isinstance(content, dict) and word(content, "type").endswith("_error"):
        failed = True
        code = content.get("error_code")
        error = code if isinstance(code, str) else text
    result = Result(output, failed=failed, error=error or None, at_ms=at_ms)
    if kind != "tool_result":
        assembly.recorded(fields.at, "type", kind)
    assembly.answer(call_id, result, fields.at)


def _output(assembly: Assembly, content: JsonValue, at: str) -> tuple[JsonValue, str]:
    """Return a result as it is shown and its text; text blocks alone are one text."""
    if isinstance(content, str):
        return content, content
    if not isinstance(content, list):
        return content, ""
    spoken: list[str] = []
    others = 0
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        text = block.get("text") if isinstance(block, dict) else None
        if kind == "text" and isinstance(text, str):
            spoken.append(text)
            others += block.keys() != _TEXT_KEYS  # type: ignore[union-attr]  # an object, as seen
        else:
            others += 1
    if others:
        note_media(assembly, content, at)
    joined = "\n".join(spoken)
    return (content if others or not spoken else joined), joined


def read_usage(assembly: Assembly, usage: JsonObject, at: str) -> None:
    """Count the tokens: here cached ones are beside the input's."""
    fields = Fields(assembly, usage, at)
    read, written = (
        fields.count("cache_read_input_tokens"),
        fields.count("cache_creation_input_tokens"),
    )
    counted = Usage(
        input_tokens=with_cached(fields.count("input_tokens"), read, written),
        output_tokens=fields.count("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    for name in _USAGE_DETAILS:
        if detail := fields.take(name):
            assembly.recorded(at, name, detail)
    fields.done(BOOKKEEPING)
    assembly.used(counted, at)


_INSTRUCTING: Final = frozenset({"system", "developer"})
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_THOUGHT: Final = ("thinking", "data", "signature")
_CUT: Final = frozenset({"max_tokens", "refusal", "model_context_window_exceeded"})
_TEXT_KEYS: Final = frozenset({"type", "text"})
_USAGE_DETAILS: Final = ("cache_creation", "server_tool_use", "iterations")
BOOKKEEPING: Final = frozenset(
    {
        "cache_control",
        "caller",
        "id",
        "inference_geo",
        "model",
        "object",
        "server_name",
        "service_tier",
        "speed",
        "stop_sequence",
        "timestamp",
        "type",
    }
)
