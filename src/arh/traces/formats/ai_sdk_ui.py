"""Messages of the AI SDK's user interface: a part a text, a call with its result, a reasoning.

A part of type `tool-NAME` or `dynamic-tool` is a whole call; its `state` says how far it came, and
`output-error` is the error channel.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result, give
from arh.traces.mapping.conversation import conversation, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.trace import Trace


class AiSdkUi:
    """Reads the format `ai-sdk-ui`."""

    name = "ai-sdk-ui"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document holds no messages with typed parts, or `None`."""
        found = conversation(document)
        if found is None:
            return "it is neither a list nor an object with `messages`"
        if not any(_is_message(message) for message in found.messages):
            return "no message has `parts` with a `type`"
        return None

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(
            self.name, source, agent_name="ai-sdk-agent", workflow="ai-sdk-ui-import"
        )
        found = conversation(document)
        if found is not None:
            wrapper(Fields(assembly, found.wrapper, ""), _BOOKKEEPING)
            for at, message in enumerate(found.messages):
                _read_message(assembly, message, f"{found.messages_at}[{at}]", at)
        return (assembly.finish(),)


def _is_message(message: JsonValue) -> bool:
    parts = message.get("parts") if isinstance(message, dict) else None
    return (
        isinstance(parts, list)
        and word(message, "role") in _ROLES
        and any(word(part, "type") for part in parts)
    )


def _read_message(assembly: Assembly, message: JsonValue, at: str, index: int) -> None:
    """Read one message by its role."""
    if not isinstance(message, dict):
        assembly.note("non_object_message", at, content=texts(message))
        return
    fields = Fields(assembly, message, at)
    role = fields.text("role")
    parts = fields.items("parts") or []
    if role == "assistant":
        assembly.turn()
        for place, part in enumerate(parts):
            where = f"{at}.parts[{place}]"
            if isinstance(part, dict):
                _read_part(assembly, Fields(assembly, part, where), f"m{index}-part{place}")
            else:
                assembly.note("non_object_block", where, content=texts(part))
    elif role in _ROLES:
        assembly.told(role or "", parts, at)
    else:
        assembly.note("unmapped_message", at, role or "", content=texts(parts))
    fields.done(_BOOKKEEPING)


def _read_part(assembly: Assembly, fields: Fields, step_id: str) -> None:
    """Read one part of the model's message."""
    kind = fields.text("type") or ""
    if kind == "text":
        assembly.say(fields.text("text") or "", fields.at, step_id)
    elif kind == "reasoning":
        assembly.thinking(fields.take("text"), fields.at)
    elif kind == "step-start":
        assembly.turn()
    elif kind == "dynamic-tool" or kind.startswith(_TOOL):
        _read_call(assembly, fields, kind, step_id)
    else:
        fields.done(kind="unmapped_block")
        assembly.note("unmapped_block_type", fields.at, kind)
    fields.done(_BOOKKEEPING)


def _read_call(assembly: Assembly, fields: Fields, kind: str, step_id: str) -> None:
    """Read a call as far as it came."""
    name = fields.text("toolName") or kind.removeprefix(_TOOL)
    passed = fields.take("input" if fields.has("input") else "rawInput")
    draft = assembly.call(
        name, passed, fields.at, step_id=step_id, call_id=fields.identifier("toolCallId")
    )
    state = fields.text("state") or ""
    output, error = fields.take("output"), fields.text("errorText")
    if state:
        draft.metadata["state"] = state
    if state == "output-available":
        give(draft, Result(output, failed=False))
    elif state == "output-error":
        give(draft, Result(output, failed=True, error=error))
    elif output is not None or error is not None:
        assembly.note("unmatched_tool_result", fields.at, state, content=texts([output, error]))


_TOOL: Final = "tool-"
_ROLES: Final = frozenset({"user", "assistant", "system"})
_BOOKKEEPING: Final = frozenset(
    {
        "callProviderMetadata",
        "createdAt",
        "id",
        "preliminary",
        "providerExecuted",
        "providerMetadata",
        "resultProviderMetadata",
        "state",
        "title",
    }
)
