"""Where the messages of a chat document stand, and which chat format they bear the marks of.

Chat formats look alike: objects with a `role`. What tells them apart are marks that only one of
them has (a block of type `tool_use`, a key `tool_calls`). A conversation without any mark reads
the same in all of them; one that bears marks of two is nobody's, and is refused by both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import word
from arh.traces.trace import JsonObject

MESSAGE_KEYS: Final = ("messages", "traj", "history", "conversation")
"""Names that recorders give to the list of messages, in the order in which they are looked for."""

CHAT_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


@dataclass(frozen=True, slots=True)
class Conversation:
    """A document taken apart: what surrounds the messages, the messages, the reply to them.

    `key` is empty where the document itself is the list. `reply` is the recorded response of the
    provider, or its events where it was streamed; the places are pointers into the document.
    """

    wrapper: JsonObject
    wrapper_at: str
    messages: list[JsonValue]
    messages_at: str
    reply: JsonValue = None
    reply_at: str = ""


def conversation(document: JsonValue) -> Conversation | None:
    """Return the parts of a document that holds a list of messages, else `None`."""
    if isinstance(document, list):
        return Conversation({}, "", document, "")
    if not isinstance(document, dict):
        return None
    request, reply = document.get("request"), document.get("response")
    if isinstance(request, dict) and isinstance(reply, (dict, list)):
        found = _in_object(request, "request")
        if found is None:
            return None
        rest = {name: document[name] for name in document if name not in _EXCHANGE}
        wrapper = beside(rest, found.wrapper)
        return Conversation(
            wrapper, found.wrapper_at, found.messages, found.messages_at, reply, "response"
        )
    return _in_object(document, "")


def beside(outer: JsonObject, inner: JsonObject) -> JsonObject:
    """Return the fields of both; those of the outer that the inner has too get another name."""
    return {**{f"{n} beside" if n in inner else n: v for n, v in outer.items()}, **inner}


def _in_object(document: JsonObject, at: str) -> Conversation | None:
    for key in MESSAGE_KEYS:
        messages = document.get(key)
        if isinstance(messages, list):
            rest = {name: value for name, value in document.items() if name != key}
            return Conversation(rest, at, messages, f"{at}.{key}" if at else key)
    return None


def wrapper(fields: Fields, known: Iterable[str] = ()) -> None:
    """Take the names of the trace from what surrounds the messages, and keep the rest of it."""
    assembly = fields.assembly
    assembly.trace_id = fields.identifier("trace_id") or assembly.trace_id
    assembly.agent_name = fields.identifier("agent_name") or assembly.agent_name
    assembly.workflow = fields.identifier("workflow") or assembly.workflow
    metadata = fields.object("metadata")
    if metadata and assembly.metadata:  # a request and its response may each have some
        assembly.recorded(fields.at, "metadata", metadata)
    elif metadata:
        assembly.metadata = metadata
    fields.done(frozenset(known))


def marks(messages: list[JsonValue]) -> dict[str, str]:
    """Return the formats whose marks the messages bear, each with the place of the first mark."""
    found: dict[str, str] = {}
    for at, message in enumerate(messages):
        if isinstance(message, dict):
            _mark_message(message, at, found)
    return found


def _mark_message(message: JsonObject, index: int, found: dict[str, str]) -> None:
    """Add the formats that one message bears the marks of."""
    at = f"[{index}]"
    if word(message, "type") in RESPONSES_ITEMS or (
        "role" not in message and isinstance(message.get("type"), str)
    ):
        found.setdefault("openai-responses", at)
        return
    if "role" not in message:
        return
    role, content = message["role"], message.get("content")
    if isinstance(message.get("parts"), list) and content is None:
        found.setdefault("gemini" if role == "model" else "parts", at)
    get = message.get
    if (
        role in ("tool", "function")
        or get("tool_calls")
        or get("function_call")
        or get("tool_call_id")
    ):
        found.setdefault("openai-chat", at)
    if isinstance(message.get("tool_plan"), str) or (
        role == "assistant" and isinstance(message.get("citations"), list)
    ):
        found.setdefault("cohere-chat", at)
    if isinstance(content, list):
        _mark_blocks(content, f"{at}.content", role, found)


def _mark_blocks(blocks: list[JsonValue], at: str, role: JsonValue, found: dict[str, str]) -> None:
    """Add the formats that the blocks of one content bear the marks of."""
    for index, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        form = None
        if kind is None:
            form = "bedrock-converse" if BEDROCK_BLOCKS & block.keys() else None
        elif not isinstance(kind, str):
            continue
        elif is_anthropic_block(kind):
            form = "anthropic-messages"
        elif kind in _OPENAI_BLOCKS:
            form = "openai-chat"
        elif kind in _RESPONSES_BLOCKS:
            form = "openai-responses"
        elif kind == "document" and role == "tool":
            form = "cohere-chat"
        if form is not None:
            found.setdefault(form, f"{at}[{index}]")


def is_anthropic_block(kind: str) -> bool:
    """Say whether only the Messages API of Anthropic has blocks of this type."""
    return kind in _ANTHROPIC_BLOCKS or kind.endswith("_tool_result")


def foreign(found: dict[str, str], own: frozenset[str], at: str) -> str | None:
    """Return why messages with marks of other formats are declined, or `None` when none has."""
    for form, place in found.items():
        if form not in own:
            return f"`{at}{place}` has the form of {form}"
    return None


_EXCHANGE: Final = frozenset({"request", "response"})
_OPENAI_BLOCKS: Final = frozenset({"image_url", "input_audio", "refusal", "file"})
_RESPONSES_BLOCKS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_ANTHROPIC_BLOCKS: Final = frozenset(
    {
        "container_upload",
        "mcp_tool_use",
        "redacted_thinking",
        "server_tool_use",
        "thinking",
        "tool_result",
        "tool_use",
    }
)
BEDROCK_BLOCKS: Final = frozenset(
    {
        "cachePoint",
        "citationsContent",
        "document",
        "guardContent",
        "image",
        "reasoningContent",
        "text",
        "toolResult",
        "toolUse",
        "video",
    }
)
RESPONSES_ITEMS: Final = frozenset(
    {
        "apply_patch_call",
        "apply_patch_call_output",
        "code_interpreter_call",
        "computer_call",
        "computer_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "file_search_call",
        "function_call",
        "function_call_output",
        "image_generation_call",
        "item_reference",
        "local_shell_call",
        "local_shell_call_output",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "reasoning",
        "shell_call",
        "shell_call_output",
        "web_search_call",
    }
)
