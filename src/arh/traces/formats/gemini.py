"""The Gemini API of Google: contents, replies, and sessions of the Agent Development Kit.

Reads `contents`, bare or in an object; a reply (`candidates`) or the chunks of a streamed one,
alone or with the request (`request`, `response`); and ADK `events`. Calls rarely have ids: results
of a name answer its open calls in order. The error channel is the key `error` of a response.
"""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly, Result
from arh.traces.mapping.conversation import beside, wrapper
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.times import seconds_ms
from arh.traces.mapping.usage import Usage, add, with_cached
from arh.traces.trace import JsonObject, Trace


class Gemini:
    """Reads the format `gemini`."""

    name = "gemini"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document holds no contents of this API, or `None`."""
        if _is_reply(document):
            return None
        if isinstance(document, list):
            found = any(_is_content(item) for item in document)
            return None if found else "no element of the list is a content with `parts`"
        if not isinstance(document, dict):
            return "it is neither a list nor an object"
        request = document.get("request", {"contents": []})
        if isinstance(request, dict) and "response" in document:
            return _unlike_exchange(request, document["response"])
        contents, events = document.get("contents"), document.get("events")
        if isinstance(contents, list):
            found = not contents or any(_is_content(item) for item in contents)
            return None if found else "no element of `contents` has `parts`"
        found = isinstance(events, list) and any(_is_event(event) for event in events)
        return None if found else "there are no `contents`, `candidates` or `events` with contents"

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return the one trace of the document."""
        assembly = Assembly(self.name, source, agent_name="gemini-agent", workflow="gemini-import")
        if isinstance(document, dict) and "candidates" not in document:
            _read_object(assembly, document)
        elif isinstance(document, dict) and isinstance(document.get("contents"), list):
            _read_both(assembly, document)
        else:
            _read_part_of(assembly, document, "")
        return (assembly.finish(),)


def _unlike_exchange(request: JsonObject, response: JsonValue) -> str | None:
    """Return why a request with its response is none of this API, or `None`."""
    if not isinstance(request.get("contents"), list):
        return "`request` has no list of `contents`"
    return None if _is_reply(response) else "`response` has no `candidates`"


def _is_content(item: JsonValue) -> bool:
    """Say whether an element is a content: its parts have no `type`, unlike those of others."""
    if not isinstance(item, dict) or not isinstance(item.get("parts"), list):
        return False
    return not any(word(part, "type") for part in item["parts"])  # type: ignore[union-attr]  # a list


def _is_event(event: JsonValue) -> bool:
    return isinstance(event, dict) and _is_content(event.get("content"))


def _is_reply(document: JsonValue) -> bool:
    """Say whether a document is a reply, or a list of chunks of which one has candidates."""
    chunks = document if isinstance(document, list) else [document]
    return any(
        isinstance(chunk, dict) and isinstance(chunk.get("candidates"), list) for chunk in chunks
    )


def _read_object(assembly: Assembly, document: JsonObject) -> None:
    """Read a request, a request with its reply, or a session."""
    request, reply = document.get("request", {}), document.get("response")
    at = ""
    rest = document
    if isinstance(request, dict) and reply is not None:
        outer = {key: value for key, value in document.items() if key not in _EXCHANGE}
        rest, at = beside(outer, request), "request."
    fields = Fields(assembly, rest, at.rstrip("."))
    for key in _INSTRUCTIONS:
        assembly.told("system", fields.take(key), f"{at}{key}")
    _offer(assembly, fields.items("tools"))
    contents, events = fields.items("contents"), fields.items("events")
    wrapper(fields, _SETTINGS)
    for index, content in enumerate(contents or ()):
        _read_content(assembly, content, f"{at}contents[{index}]", index)
    for index, event in enumerate(events or ()):
        _read_event(assembly, event, f"{at}events[{index}]", index)
    if at:
        _read_part_of(assembly, reply, "response", len(contents or ()))


def _read_both(assembly: Assembly, document: JsonObject) -> None:
    """Read a request and its reply that were merged into one object: what led there comes first."""
    asked = {key: value for key, value in document.items() if key in _OF_REQUESTS}
    reply = {key: value for key, value in document.items() if key not in _OF_REQUESTS}
    _read_object(assembly, asked)
    _read_reply(assembly, reply, "", len(asked["contents"]))  # type: ignore[arg-type]  # a list


def _read_part_of(assembly: Assembly, reply: JsonValue, at: str, index: int = 0) -> None:
    """Read a reply, the chunks of one, or a bare list of contents."""
    if isinstance(reply, dict):
        _read_reply(assembly, reply, at, index)
    elif isinstance(reply, list) and _is_reply(reply):
        _read_reply(assembly, _joined(assembly, reply, at), at, index)
    elif isinstance(reply, list):
        for place, content in enumerate(reply):
            _read_content(assembly, content, f"{at}[{place}]", place)


def _joined(assembly: Assembly, chunks: list[JsonValue], at: str) -> JsonObject:
    """Return one reply of many chunks: neighbouring fragments of text are one text."""
    parts = _Parts()
    whole: JsonObject = {}
    reason = ""
    for place, chunk in enumerate(chunks):
        where = f"{at}[{place}]"
        if not isinstance(chunk, dict):
            assembly.note("non_object_chunk", where, content=texts(chunk))
            continue
        for part in _parts_of(assembly, chunk, where):
            parts.add(part)
        reason = _reason(chunk) or reason
        for name in [name for name in chunk if name != "candidates"]:
            if whole.get(name, chunk[name]) != chunk[name]:
                assembly.recorded(where, f"{name} before", whole[name])
            whole[name] = chunk[name]
    content: JsonObject = {"role": "model", "parts": parts.closed()}
    return {**whole, "candidates": [{"content": content, "finishReason": reason}]}


class _Parts:
    """Parts in the making: a text grows while its fragments are of one kind."""

    def __init__(self) -> None:
        self.parts: list[JsonValue] = []
        self._text: list[str] = []
        self._thought: JsonValue = None

    def add(self, part: JsonValue) -> None:
        """Add a part or a fragment of one."""
        if isinstance(part, dict) and part.keys() <= _TEXT_PART and word(part, "text"):
            if part.get("thought") != self._thought:
                self.closed()
            self._thought = part.get("thought")
            self._text.append(word(part, "text"))
        else:
            self.closed()
            self.parts.append(part)

    def closed(self) -> list[JsonValue]:
        """Return the parts so far, with the text at the end whole."""
        if self._text:
            part: JsonObject = {"text": "".join(self._text)}
            if self._thought is not None:
                part["thought"] = self._thought
            self.parts.append(part)
            self._text = []
        return self.parts


def _parts_of(assembly: Assembly, chunk: JsonObject, at: str) -> list[JsonValue]:
    """Return the parts of the first candidate of a chunk; the rest of it is kept."""
    candidates = chunk.get("candidates")
    if candidates is not None and not isinstance(candidates, list):
        assembly.note("unmapped_field", at, "candidates", content=texts(candidates))
    parts: list[JsonValue] = []
    for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
        if not isinstance(candidate, dict) or place:
            assembly.note("alternative_choice", at, content=texts(candidate))
            continue
        fields = Fields(assembly, candidate, f"{at}.candidates[{place}]")
        content = Fields(assembly, fields.object("content") or {}, f"{fields.at}.content")
        parts = content.items("parts") or []
        if content.peek("role") == "model":
            content.take("role")
        content.done(_BOOKKEEPING)
        fields.done(_BOOKKEEPING)
    return parts


def _reason(chunk: JsonObject) -> str:
    """Return why the first candidate of a chunk ended."""
    candidates = chunk.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return word(first, "finishReason")


def _read_reply(assembly: Assembly, reply: JsonObject, at: str, index: int) -> None:
    """Read a whole reply: the first candidate, and what it cost."""
    prefix = f"{at}." if at else ""
    fields = Fields(assembly, reply, at)
    for place, candidate in enumerate(fields.items("candidates") or ()):
        where = f"{prefix}candidates[{place}]"
        if place or not isinstance(candidate, dict):
            assembly.note("alternative_choice", where, content=texts(candidate))
            continue
        inner = Fields(assembly, candidate, where)
        content = inner.object("content")
        if content is not None:
            _read_content(assembly, {**content, "role": "model"}, f"{where}.content", index)
        reason = inner.text("finishReason")
        if reason:
            assembly.recorded(where, "finishReason", reason)
        if reason and reason not in _WHOLE:
            assembly.note("truncated", where, f"the reply ended early: {reason}")
        inner.done(_BOOKKEEPING)
    usage = fields.object("usageMetadata")
    if usage is not None:
        _read_usage(assembly, usage, f"{prefix}usageMetadata")
    fields.done(_BOOKKEEPING)


def _read_event(assembly: Assembly, event: JsonValue, at: str, index: int) -> None:
    """Read one event of a session."""
    if not isinstance(event, dict):
        assembly.note("non_object_event", at, content=texts(event))
        return
    fields = Fields(assembly, event, at)
    content = fields.object("content")
    author = fields.text("author")
    stamp = fields.take("timestamp")
    at_ms = seconds_ms(stamp)
    assembly.recorded(at, "timestamp", stamp)
    if author:
        assembly.recorded(at, "author", author)
    if content is not None:
        _read_content(assembly, content, f"{at}.content", index, at_ms)
    usage = fields.object("usage_metadata") or fields.object("usageMetadata")
    if usage is not None:
        _read_usage(assembly, usage, f"{at}.usage_metadata")
    fields.done(_BOOKKEEPING)


def _read_content(
    assembly: Assembly, content: JsonValue, at: str, index: int, at_ms: float | None = None
) -> None:
    """Read one content: the model's parts, or what came back."""
    if not isinstance(content, dict):
        assembly.note("non_object_message", at, content=texts(content))
        return
    fields = Fields(assembly, content, at)
    models = fields.text("role") == "model"
    if models:
        assembly.turn()
    for place, part in enumerate(fields.items("parts") or ()):
        where = f"{at}.parts[{place}]"
        if not isinstance(part, dict):
            assembly.note("non_object_block", where, content=texts(part))
        elif models:
            _read_part(assembly, Fields(assembly, part, where), f"m{index}-part{place}", at_ms)
        else:
            _read_told(assembly, Fields(assembly, part, where), at_ms)
    fields.done(_BOOKKEEPING)


def _read_part(assembly: Assembly, fields: Fields, step_id: str, at_ms: float | None) -> None:
    """Read one part of the model's content."""
    call = fields.object("functionCall") or fields.object("function_call")
    thought = fields.flag("thought")
    text = fields.text("text")
    signature = fields.take("thoughtSignature") or fields.take("thought_signature")
    if signature:
        assembly.recorded(fields.at, "thoughtSignature", signature)
    if thought:
        assembly.thinking(text, fields.at)
    elif text:
        assembly.say(text, fields.at, step_id)
    if call is not None:
        inner = Fields(assembly, call, f"{fields.at}.functionCall")
        draft = assembly.call(
            inner.text("name"),
            inner.take("args"),
            fields.at,
            step_id=step_id,
            call_id=inner.identifier("id"),
        )
        draft.started_ms = at_ms
        inner.done()
    _read_code(assembly, fields, step_id)
    fields.done(kind="unmapped_block")


def _read_code(assembly: Assembly, fields: Fields, step_id: str) -> None:
    """Read code that the model had run, which is a call of a tool of the provider's."""
    code = fields.object("executableCode") or fields.object("executable_code")
    if code is not None:
        assembly.call("code_execution", code, fields.at, step_id=step_id)
    ran = fields.object("codeExecutionResult") or fields.object("code_execution_result")
    if ran is not None:
        inner = Fields(assembly, ran, f"{fields.at}.codeExecutionResult")
        outcome, output = inner.peek("outcome"), inner.take("output")
        failed = outcome not in ("", "OUTCOME_OK")
        result = Result(output, failed=failed, error=outcome if failed else None)
        assembly.answer(None, result, fields.at, name="code_execution")
        inner.done(_BOOKKEEPING)


def _read_told(assembly: Assembly, fields: Fields, at_ms: float | None) -> None:
    """Read one part that the model was given: a result, or anything else it was told."""
    response = fields.object("functionResponse") or fields.object("function_response")
    if response is not None:
        inner = Fields(assembly, response, f"{fields.at}.functionResponse")
        result = _result(inner.take("response"), at_ms)
        name = inner.text("name") or ""
        assembly.answer(inner.identifier("id"), result, fields.at, name=name)
        inner.done(_BOOKKEEPING)
        fields.done(_BOOKKEEPING)
        return
    told = {key: fields.take(key) for key in _TOLD if fields.has(key)}
    assembly.told("user", {key: value for key, value in told.items() if value}, fields.at)
    fields.done(kind="unmapped_block")


def _result(response: JsonValue, at_ms: float | None) -> Result:
    """Return a response by its keys: `error` is the error, a lone `output` is the output."""
    if not isinstance(response, dict):
        return Result(response, failed=False, at_ms=at_ms)
    error = response.get("error")
    if error is not None and response.keys() == {"error"}:
        return Result(response, failed=True, error=texts(error), at_ms=at_ms)
    if response.keys() in ({"output"}, {"result"}):
        return Result(next(iter(response.values())), failed=False, at_ms=at_ms)
    return Result(response, failed=False, at_ms=at_ms)


def _offer(assembly: Assembly, tools: list[JsonValue] | None) -> None:
    """Note which functions were declared."""
    declared: list[JsonValue] = []
    for tool in tools or ():
        functions: JsonValue = None
        if isinstance(tool, dict):
            functions = tool.get("functionDeclarations") or tool.get("function_declarations")
        declared.extend(functions if isinstance(functions, list) else [tool])
    if tools is not None:
        assembly.offer_tools(declared)
        assembly.recorded("", "toolDeclarations", tools)


def _read_usage(assembly: Assembly, usage: JsonObject, at: str) -> None:
    """Count the tokens: cached ones are inside the prompt's, thoughts beside the candidates'."""
    fields = Fields(assembly, usage, at)
    thoughts = _count(fields, "thoughtsTokenCount", "thoughts_token_count")
    tools = _count(fields, "toolUsePromptTokenCount", "tool_use_prompt_token_count")
    counted = Usage(
        input_tokens=with_cached(_count(fields, "promptTokenCount", "prompt_token_count"), tools),
        output_tokens=add(
            _count(fields, "candidatesTokenCount", "candidates_token_count"), thoughts
        ),
        total_tokens=_count(fields, "totalTokenCount", "total_token_count"),
        cache_read_tokens=_count(fields, "cachedContentTokenCount", "cached_content_token_count"),
        reasoning_tokens=thoughts,
    )
    fields.done(_BOOKKEEPING)
    assembly.used(counted, at)


def _count(fields: Fields, name: str, other: str) -> int | None:
    return fields.count(name if fields.has(name) else other)


_EXCHANGE: Final = frozenset({"request", "response"})
_OF_REQUESTS: Final = frozenset({"contents", "tools", "systemInstruction", "system_instruction"})
_INSTRUCTIONS: Final = ("systemInstruction", "system_instruction")
_TEXT_PART: Final = frozenset({"text", "thought"})
_TOLD: Final = ("text", "inlineData", "inline_data", "fileData", "file_data")
_WHOLE: Final = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_BOOKKEEPING: Final = frozenset(
    {
        "author",
        "avgLogprobs",
        "cacheTokensDetails",
        "candidatesTokensDetails",
        "createTime",
        "finishMessage",
        "finishReason",
        "id",
        "index",
        "invocation_id",
        "method",
        "modelVersion",
        "name",
        "outcome",
        "promptTokensDetails",
        "prompt_tokens_details",
        "responseId",
        "safetyRatings",
        "sdkHttpResponse",
        "serviceTier",
        "toolUsePromptTokensDetails",
        "trafficType",
    }
)
_SETTINGS: Final = _BOOKKEEPING | {
    "cachedContent",
    "generationConfig",
    "generation_config",
    "labels",
    "model",
    "safetySettings",
    "source",
    "toolConfig",
    "tool_config",
    "tools",
}
