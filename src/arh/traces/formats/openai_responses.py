"""The Responses API of OpenAI: lists of items, requests, responses and streams.

Reads `input` and `output`, together or alone; a bare list of items; a request with its response
(`request`, `response`); and the events of a streamed response. Results are paired by `call_id`,
which is not the item's `id`. What the provider ran itself (`web_search_call`, `mcp_call`) is a call
whose result the item holds; its `status` and `error` are the error channel.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result, give
from arh.traces.mapping.conversation import RESPONSES_ITEMS, marks, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.media import note_media
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.usage import Usage
from arh.traces.streams.responses import is_response_stream, join_response_events
from arh.traces.trace import JsonObject, Trace

_OWN: Final = "openai-responses"


class OpenAIResponses:
    """Reads the format `openai-responses`."""

    name = "openai-responses"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document holds no items of this API, or `None`."""
        if is_response_stream(document):
            return None
        if isinstance(document, list):
            return _unlike_items(document, "the list")
        if not isinstance(document, dict):
            return "it is neither a list nor an object"
        request, response = document.get("request"), document.get("response")
        if isinstance(request, dict) and response is not None:
            if "input" not in request:
                return "`request` has no `input`"
            return None if _is_response(response) else "`response` has no `output`"
        if _is_response(document):
            return None
        if not isinstance(document.get("input"), list):
            return "there is no list of `input` items and no `output` of a response"
        return _unlike_items(document["input"], "`input`")

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(
            self.name,
            source,
            agent_name="openai-responses-agent",
            workflow="openai-responses-import",
        )
        if isinstance(document, dict) and isinstance(document.get("request"), dict):
            rest = {key: value for key, value in document.items() if key not in _EXCHANGE}
            Fields(assembly, rest, "").done()
            _read_object(assembly, document["request"], "request")
            _read_reply(assembly, document.get("response"), "response")
        else:
            _read_reply(assembly, document, "")
        return (assembly.finish(),)


def _is_response(document: JsonValue) -> bool:
    """Say whether a document is a response, whole or streamed."""
    if is_response_stream(document):
        return True
    return (
        isinstance(document, dict)
        and isinstance(document.get("output"), list)
        and (document.get("object") == "response" or _unlike_items(document["output"], "") is None)
    )


def _unlike_items(items: JsonValue, where: str) -> str | None:
    """Return why a list holds no items of this API, or `None`."""
    if not isinstance(items, list) or _OWN not in marks(items):
        return f"no element of {where} is an item of the Responses API"
    known = any(word(item, "type") in _KNOWN or word(item, "role") for item in items)
    return None if known else f"no element of {where} has a known `type`"


def _read_reply(assembly: Assembly, reply: JsonValue, at: str) -> None:
    """Read a response, a stream of one, or a bare list of items."""
    if isinstance(reply, dict):
        _read_object(assembly, reply, at)
    elif is_response_stream(reply) and isinstance(reply, list):
        _read_object(assembly, join_response_events(assembly, reply, at), at)
    elif isinstance(reply, list):
        _read_items(assembly, reply, at)


def _read_object(assembly: Assembly, value: JsonValue, at: str) -> None:
    """Read a request or a response: what went in, what came out, what it cost."""
    if not isinstance(value, dict):
        return
    fields = Fields(assembly, value, at)
    prefix = f"{at}." if at else ""
    assembly.told("system", fields.take("instructions"), f"{prefix}instructions")
    assembly.offer_tools(fields.items("tools"))
    went_in = fields.take("input")
    if isinstance(went_in, list):
        _read_items(assembly, went_in, f"{prefix}input")
    else:
        assembly.told("user", went_in, f"{prefix}input")
    came_out = fields.items("output")
    if came_out is not None:
        assembly.turn()
        _read_items(assembly, came_out, f"{prefix}output")
    _read_end(assembly, fields, at)
    usage = fields.object("usage")
    if usage is not None:
        _read_usage(assembly, usage, f"{prefix}usage")
    wrapper(fields, _SETTINGS)


def _read_end(assembly: Assembly, fields: Fields, at: str) -> None:
    """Read how the response ended."""
    status = fields.text("status")
    if status:
        assembly.recorded(at, "status", status)
    why = fields.take("incomplete_details")
    if status == "incomplete" or why:
        assembly.note("truncated", at, "the reply ended early", content=texts(why))
    if error := fields.take("error"):
        assembly.note("reply_failed", at, content=texts(error))


def _read_items(assembly: Assembly, items: list[JsonValue], at: str) -> None:
    """Read items in order; a model's item after another's begins a turn."""
    spoke = False
    for index, item in enumerate(items):
        place = f"{at}[{index}]"
        if not isinstance(item, dict):
            assembly.note("non_object_item", place, content=texts(item))
            continue
        speaks = _is_models(item)
        if speaks and not spoke:
            assembly.turn()
        spoke = speaks
        fields = Fields(assembly, item, place)
        _read_item(assembly, fields, item, index)


def _is_models(item: JsonObject) -> bool:
    """Say whether the model made an item."""
    role, kind = item.get("role"), word(item, "type")
    return role == "assistant" or (role is None and not kind.endswith(("_output", "_response")))


def _read_item(assembly: Assembly, fields: Fields, item: JsonObject, index: int) -> None:
    """Read one item by its type."""
    kind = fields.text("type") or ""
    if kind in ("message", "") and "role" in item:
        _read_message(assembly, fields, index)
    elif kind == "reasoning":
        content = [fields.take(name) for name in ("summary", "content", "encrypted_content")]
        assembly.thinking(content, fields.at)
    elif kind in _CALLER_RUN:
        _read_call(assembly, fields, kind, index)
    elif kind.endswith("_output"):
        _read_output(assembly, fields, kind)
    elif kind.endswith("_call"):
        _read_hosted(assembly, fields, kind, index)
    elif kind == "mcp_list_tools":
        assembly.offer_tools(fields.items("tools"))
    else:
        assembly.note("unmapped_item", fields.at, kind)
    fields.done(_BOOKKEEPING)


def _read_message(assembly: Assembly, fields: Fields, index: int) -> None:
    """Read a message: the model's parts become steps one by one, others were told."""
    role = fields.text("role") or ""
    content = fields.take("content")
    if role != "assistant":
        assembly.told(role, content, fields.at)
        return
    at, step_id = f"{fields.at}.content", f"m{index}-response"
    if isinstance(content, str):
        assembly.say(content, at, step_id)
    elif isinstance(content, list):
        for place, part in enumerate(content):
            _read_part(assembly, part, f"{at}[{place}]", f"{step_id}{place}")
    elif content is not None:
        assembly.note("unmapped_content", at, content=texts(content))


def _read_part(assembly: Assembly, part: JsonValue, at: str, step_id: str) -> None:
    """Read one part of the model's message."""
    if not isinstance(part, dict):
        assembly.note("non_object_block", at, content=texts(part))
        return
    fields = Fields(assembly, part, at)
    kind = fields.text("type")
    if kind in ("output_text", "text"):
        step = assembly.say(fields.text("text") or "", at, step_id)
        citations = fields.items("annotations")
        if citations and step is not None:
            step.citations = tuple(citations)
        elif citations:
            assembly.note("unmapped_citation", at, content=texts(citations))
    elif kind == "refusal":
        assembly.say(fields.text("refusal") or "", at, step_id, refusal=True)
    else:
        assembly.note("unmapped_block", at, kind or "", content=texts(part))
        return
    fields.done(_BOOKKEEPING)


def _read_call(assembly: Assembly, fields: Fields, kind: str, index: int) -> None:
    """Read a call that the caller runs and answers with an item of its own."""
    call_id = fields.identifier("call_id")
    name = fields.text("name") or kind.removesuffix("_call")
    passed: JsonValue
    if kind == "function_call":
        passed = fields.take("arguments")
    elif kind == "custom_tool_call":
        passed = {"input": fields.take("input")}
    else:
        passed = fields.object("operation") or fields.object("action") or {}
    assembly.call(name, passed, fields.at, step_id=f"m{index}-tool", call_id=call_id)


def _read_output(assembly: Assembly, fields: Fields, kind: str) -> None:
    """Read what the caller returned; only types with a status of their own can fail."""
    output = fields.take("output")
    if isinstance(output, list):
        output = _joined(assembly, output, f"{fields.at}.output")
    status = fields.text("status")
    failed = status == "failed"
    if status:
        assembly.recorded(fields.at, "status", status)
    error = texts(output) if failed else None
    result = Result(output, failed=failed, error=error)
    assembly.answer(fields.identifier("call_id"), result, fields.at)
    if kind not in ("function_call_output", "custom_tool_call_output"):
        assembly.recorded(fields.at, "type", kind)


def _joined(assembly: Assembly, parts: list[JsonValue], at: str) -> JsonValue:
    """Return a result of text parts as one text, any other as it is."""
    spoken: list[str] = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(text, str) or len(part) > _TEXT_PART_KEYS:
            note_media(assembly, parts, at)
            return parts
        spoken.append(text)
    return "\n".join(spoken) if spoken else parts


def _read_hosted(assembly: Assembly, fields: Fields, kind: str, index: int) -> None:
    """Read a call that the provider ran, with the result that the item holds."""
    name = fields.text("name") or kind.removesuffix("_call")
    passed: JsonValue = fields.take("arguments")
    if passed is None:
        passed = {key: value for key in _PASSED if (value := fields.take(key)) is not None}
    draft = assembly.call(
        name, passed, fields.at, step_id=f"m{index}-tool", call_id=fields.identifier("id")
    )
    status = fields.text("status")
    error = fields.take("error")
    output = next((value for key in _RETURNED if (value := fields.take(key)) is not None), None)
    if status:
        draft.metadata["status"] = status
    if status in _UNFINISHED and not error:
        return
    failed = status == "failed" or bool(error)
    give(draft, Result(output, failed=failed, error=texts(error) if error else None))


def _read_usage(assembly: Assembly, usage: JsonObject, at: str) -> None:
    """Count the tokens: cached ones are inside the input's."""
    fields = Fields(assembly, usage, at)
    went_in = Fields(assembly, fields.object("input_tokens_details") or {}, f"{at}.input")
    came_out = Fields(assembly, fields.object("output_tokens_details") or {}, f"{at}.output")
    counted = Usage(
        input_tokens=fields.count("input_tokens"),
        output_tokens=fields.count("output_tokens"),
        total_tokens=fields.count("total_tokens"),
        cache_read_tokens=went_in.count("cached_tokens"),
        reasoning_tokens=came_out.count("reasoning_tokens"),
    )
    for left in (went_in, came_out, fields):
        left.done(_BOOKKEEPING)
    assembly.used(counted, at)


_EXCHANGE: Final = frozenset({"request", "response"})
_KNOWN: Final = RESPONSES_ITEMS | {"message"}
_CALLER_RUN: Final = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "function_call",
        "local_shell_call",
        "shell_call",
    }
)
_PASSED: Final = ("action", "actions", "queries", "code", "prompt", "revised_prompt")
_RETURNED: Final = ("output", "results", "outputs", "result")
_UNFINISHED: Final = frozenset(
    {"in_progress", "searching", "interpreting", "generating", "incomplete"}
)
_TEXT_PART_KEYS: Final = 2
_BOOKKEEPING: Final = frozenset(
    {
        "approval_request_id",
        "container_id",
        "created_at",
        "created_by",
        "id",
        "model",
        "namespace",
        "object",
        "phase",
        "server_label",
        "status",
        "type",
    }
)
_SETTINGS: Final = _BOOKKEEPING | {
    "billing",
    "conversation",
    "include",
    "max_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "source",
    "stream_options",
    "text",
    "tool_choice",
    "truncation",
    "user",
}
