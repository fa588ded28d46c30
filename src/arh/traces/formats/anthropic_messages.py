"""The Messages API of Anthropic: transcripts, replies and streams.

Reads a list of messages, bare or in an object (a recorded request is one); a reply (`type` is
`message`), alone or with the request that it answers (`request`, `response`); and the events of a
streamed reply. What a server tool did is a call with its result like any other.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly
from arh.traces.mapping.blocks import BOOKKEEPING, read_message
from arh.traces.mapping.conversation import conversation, foreign, marks, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import word
from arh.traces.streams.messages import is_message_stream, join_message_events
from arh.traces.trace import Trace

_OWN: Final = frozenset({"anthropic-messages"})
_ROLES: Final = frozenset({"user", "assistant", "system"})


class AnthropicMessages:
    """Reads the format `anthropic-messages`."""

    name = "anthropic-messages"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document is no conversation of this API, or `None`."""
        if is_message_stream(document) or _is_reply(document):
            return None
        found = conversation(document)
        if found is None:
            return "there is no list of `messages`, and it is no reply of `type` `message`"
        if found.reply is not None and not (
            is_message_stream(found.reply) or _is_reply(found.reply)
        ):
            return "`response` is no reply of `type` `message`"
        messages, at = found.messages, found.messages_at
        if not messages and isinstance(document, list):
            return "an empty list has the form of nothing"
        if messages and not any(word(item, "role") in _ROLES for item in messages):
            return f"no element of `{at or 'the list'}` is an object with the `role` of a message"
        return foreign(marks(messages), _OWN, at)

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(
            self.name, source, agent_name="anthropic-agent", workflow="anthropic-messages-import"
        )
        found = conversation(document)
        if is_message_stream(document) or found is None:
            _read_reply(assembly, document, "", 0)
        else:
            fields = Fields(assembly, found.wrapper, found.wrapper_at)
            assembly.told("system", fields.take("system"), "system")
            assembly.offer_tools(fields.items("tools"))
            wrapper(fields, _SETTINGS)
            for at, message in enumerate(found.messages):
                read_message(assembly, message, f"{found.messages_at}[{at}]", at)
            if found.reply is not None:
                _read_reply(assembly, found.reply, found.reply_at, len(found.messages))
        return (assembly.finish(),)


def _is_reply(document: JsonValue) -> bool:
    """Say whether a document is one whole message of the model."""
    return (
        isinstance(document, dict)
        and document.get("type") == "message"
        and document.get("role") == "assistant"
    )


def _read_reply(assembly: Assembly, reply: JsonValue, at: str, index: int) -> None:
    """Read what the provider answered, whole or as events."""
    if isinstance(reply, list):
        for place, message in enumerate(join_message_events(assembly, reply, at)):
            read_message(assembly, message, at, index + place)
    elif isinstance(reply, dict):
        read_message(assembly, reply, at, index)


_SETTINGS: Final = BOOKKEEPING | {
    "betas",
    "container",
    "context_management",
    "mcp_servers",
    "output_config",
    "source",
    "stop_sequences",
    "thinking",
    "tool_choice",
    "tools",
}
