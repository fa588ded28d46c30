"""Spans of OpenTelemetry with the attributes for generative AI, as OTLP JSON or as plain spans.

Reads exports (`resourceSpans`), `spans`, and bare lists of either. One trace of the recording is
one trace here; its spans are taken in the order in which they began. A call that a model span
announces and a tool span executes is one step. The error channel is a span's status and
`error.type`. Spans of the AI SDK (`ai.*`) are read as well. A span that says nothing of a model or
a tool is kept as bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from arh.canonical import DEPTH_MAX, JsonValue, Refused, parse
from arh.traces.mapping.assembly import Assembly, Result, give
from arh.traces.mapping.fields import Fields
from arh.traces.mapping.texts import texts, word
from arh.traces.mapping.times import nanoseconds
from arh.traces.mapping.usage import Usage
from arh.traces.trace import JsonObject, Trace


class OtelGenAi:
    """Reads the format `otel-genai`."""

    name = "otel-genai"

    def declines(self, document: JsonValue) -> str | None:
        """Return why the document holds no spans of models or tools, or `None`."""
        found = False
        for span in _spans(document):
            found = True
            if span.operation:
                return None
        if not found:
            return "there are no `resourceSpans` and no `spans`"
        return "no span has the attribute `gen_ai.operation.name` or one of the AI SDK"

    def read(self, document: JsonValue, source: str) -> tuple[Trace, ...]:
        """Return a trace for each trace id, in the order in which they first appear."""
        groups: dict[str, list[_Span]] = {}
        for span in _spans(document):
            groups.setdefault(span.trace_id, []).append(span)
        told = [spans for spans in groups.values() if _speaks(spans)]
        mute = [span for spans in groups.values() if not _speaks(spans) for span in spans]
        traces: list[Trace] = []
        for place, spans in enumerate(told):
            assembly = Assembly(
                self.name, source, agent_name="otel-agent", workflow="otel-genai-import"
            )
            if place:
                assembly.trace_id = f"{assembly.trace_id}-{place + 1}"
            else:
                _read_around(assembly, document)
            spans.sort(key=lambda span: span.start)
            for index, span in enumerate(spans):
                _read_span(assembly, span, index)
            for span in mute if not place else ():
                content = texts({**span.value, "attributes": span.attributes})
                assembly.note("span_of_another_trace", span.at, span.name, content=content)
            traces.append(assembly.finish())
        return tuple(traces)


@dataclass(slots=True)
class _Span:
    """One span: its attributes as an object, the rest of it, and its times in nanoseconds."""

    at: str
    value: JsonObject
    attributes: JsonObject
    trace_id: str
    start: int
    end: int | None
    operation: str

    @property
    def name(self) -> str:
        """The name of the span."""
        return word(self.value, "name")


def _read_around(assembly: Assembly, document: JsonValue) -> None:
    """Keep what an export holds beside its spans: resources, scopes, and what is no span."""
    if isinstance(document, list):
        for index, item in enumerate(document):
            if isinstance(item, dict) and ("resourceSpans" in item or "spans" in item):
                _keep_around(assembly, item, f"[{index}]")
            elif not _is_span(item):
                assembly.note("unmapped_element", f"[{index}]", content=texts(item))
    elif isinstance(document, dict):
        _keep_around(assembly, document, "")


def _keep_around(assembly: Assembly, export: JsonObject, at: str) -> None:
    """Keep what one export holds beside its spans."""
    around = dict(export)
    for name in _SPAN_LISTS:
        if name in export:
            around[name] = _without_spans(export[name], name)
    assembly.recorded(at, "export", around)


def _without_spans(value: JsonValue, name: str) -> JsonValue:
    """Return a list of spans, or of what holds lists of them, without the spans."""
    if not isinstance(value, list):
        return value
    inner = _INNER.get(name)
    if inner is None:
        return [item for item in value if not isinstance(item, dict)]
    return [
        {**item, inner: _without_spans(item[inner], inner)}
        if isinstance(item, dict) and inner in item
        else item
        for item in value
    ]


def _speaks(spans: list[_Span]) -> bool:
    """Say whether one of the spans is of a model or a tool."""
    return any(span.operation for span in spans)


def _spans(document: JsonValue) -> Iterator[_Span]:
    """Yield the spans of a document, wherever an exporter put them."""
    if isinstance(document, list):
        for index, item in enumerate(document):
            if isinstance(item, dict) and ("resourceSpans" in item or "spans" in item):
                yield from _in_object(item, f"[{index}].")
            elif _is_span(item):
                yield _span(item, f"[{index}]")
    elif isinstance(document, dict):
        yield from _in_object(document, "")


def _in_object(document: JsonObject, at: str) -> Iterator[_Span]:
    """Yield the spans of one export."""
    for place, span in enumerate(_list(document.get("spans"))):
        if isinstance(span, dict):
            yield _span(span, f"{at}spans[{place}]")
    for r, resource in enumerate(_list(document.get("resourceSpans"))):
        scopes = resource.get("scopeSpans") if isinstance(resource, dict) else None
        for s, scope in enumerate(_list(scopes)):
            spans = scope.get("spans") if isinstance(scope, dict) else None
            for place, span in enumerate(_list(spans)):
                if isinstance(span, dict):
                    yield _span(span, f"{at}resourceSpans[{r}].scopeSpans[{s}].spans[{place}]")


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _is_span(item: JsonValue) -> bool:
    """Say whether an element looks like a span."""
    return isinstance(item, dict) and "attributes" in item and isinstance(item.get("name"), str)


def _span(value: JsonValue, at: str) -> _Span:
    """Return a span with its attributes as an object."""
    rest = dict(value) if isinstance(value, dict) else {}
    recorded = rest.pop("attributes", None)
    attributes = _attributes(recorded)
    if not isinstance(recorded, dict) and not _all_pairs(recorded, len(attributes)):
        rest["attributes_recorded"] = recorded
    for event in _list(rest.get("events")):
        told = _attributes(event.get("attributes")) if isinstance(event, dict) else {}
        for name in _MESSAGES:
            if name in told:
                attributes.setdefault(name, told[name])
    context = rest.get("spanContext")
    trace_id = word(rest, "traceId") or word(context, "traceId")
    start = _moment(rest, _STARTS)
    operation = word(attributes, "gen_ai.operation.name") or _sdk_operation(attributes)
    return _Span(at, rest, attributes, trace_id, start or 0, _moment(rest, _ENDS), operation)


def _moment(span: JsonObject, names: tuple[str, ...]) -> int | None:
    """Return a time of a span."""
    return next((at for name in names if (at := nanoseconds(span.get(name))) is not None), None)


def _sdk_operation(attributes: JsonObject) -> str:
    """Return what a span of the AI SDK does; the outer spans say the same again."""
    operation = word(attributes, "ai.operationId")
    if operation == "ai.toolCall":
        return "execute_tool"
    return "chat" if operation.endswith((".doGenerate", ".doStream")) else ""


def _attributes(value: JsonValue) -> JsonObject:
    """Return attributes as an object: OTLP writes a list of keys with typed values."""
    if isinstance(value, dict):
        return dict(value)
    found: JsonObject = {}
    for item in _list(value):
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            found[word(item, "key")] = _plain(item.get("value"), DEPTH_MAX)
    return found


def _all_pairs(recorded: JsonValue, found: int) -> bool:
    """Say whether a list of attributes holds nothing but keys, each once, with their values."""
    items = _list(recorded) if recorded is not None else []
    return (isinstance(recorded, list) or recorded is None) and found == sum(
        isinstance(item, dict) and len(item) == _PAIR for item in items
    ) == len(items)


def _plain(value: JsonValue, depth: int) -> JsonValue:
    """Return a typed value as a plain one."""
    if not isinstance(value, dict) or len(value) != 1 or not depth:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdecimal():
        return int(inner) if len(inner) <= _INT_CHARS_MAX else inner
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_plain(item, depth - 1) for item in _list(inner.get("values"))]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return {
            word(item, "key"): _plain(item.get("value"), depth - 1)
            for item in _list(inner.get("values"))
            if isinstance(item, dict)
        }
    return inner if kind in _SCALARS else value


def _read_span(assembly: Assembly, span: _Span, index: int) -> None:
    """Read one span by its operation."""
    fields = Fields(assembly, span.attributes, span.at)
    if span.operation == "execute_tool":
        _read_tool(assembly, span, fields, index)
    elif span.operation in _MODEL:
        _read_model(assembly, span, fields, index)
    if name := fields.text("gen_ai.agent.name"):
        assembly.agent_name = name
    left = fields.rest()
    spoken = {name: value for name, value in left.items() if name in _SPEAKING}
    if spoken and span.operation:
        assembly.note("unmapped_field", span.at, ", ".join(spoken), content=texts(spoken))
    kept = {name: value for name, value in left.items() if name not in spoken}
    assembly.recorded(span.at, "span", {**span.value, "attributes": {**kept, **spoken}})


def _read_tool(assembly: Assembly, span: _Span, fields: Fields, index: int) -> None:
    """Read the execution of a tool: of a call that was announced, or of one of its own."""
    name = fields.text("gen_ai.tool.name") or fields.text("ai.toolCall.name")
    call_id = fields.identifier("gen_ai.tool.call.id") or fields.identifier("ai.toolCall.id")
    passed = _either(fields, "gen_ai.tool.call.arguments", "ai.toolCall.args")
    output = _either(fields, "gen_ai.tool.call.result", "ai.toolCall.result")
    draft = assembly.awaiting(call_id, name or "")
    if draft is None:
        assembly.turn()
        draft = assembly.call(name, passed, span.at, step_id=f"span{index}", call_id=call_id)
    else:
        assembly.recorded(span.at, "executed", {"name": name, "arguments": passed})
    if span.end is not None or output is not None:
        give(draft, _result(span, fields, output))
    draft.latency_ms = _latency(span)


def _either(fields: Fields, name: str, other: str) -> JsonValue:
    return fields.take(name) if fields.has(name) else fields.take(other)


def _result(span: _Span, fields: Fields, output: JsonValue) -> Result:
    """Return what a tool's span says came of it."""
    error_type = fields.text("error.type")
    status = span.value.get("status")
    code = status.get("code") if isinstance(status, dict) else None
    failed = error_type is not None or code == _ERROR_CODE or code in _ERROR_NAMES
    message = word(status, "message") or error_type
    return Result(output, failed=failed, error=message)


def _latency(span: _Span) -> float | None:
    """Return how long a span took, in milliseconds."""
    if span.end is None or not span.start or span.end < span.start:
        return None
    return (span.end - span.start) / 1_000_000


def _read_model(assembly: Assembly, span: _Span, fields: Fields, index: int) -> None:
    """Read a reply of a model: what came back before it, what it said, what it cost."""
    told = _decoded(fields.take("gen_ai.input.messages"))
    if told is None:
        told = fields.take("ai.prompt.messages")
    _read_told(assembly, told, span.at)
    assembly.told(
        "system", fields.take("gen_ai.system_instructions"), f"{span.at}.system_instructions"
    )
    assembly.turn()
    messages = _decoded(fields.take("gen_ai.output.messages"))
    if isinstance(messages, list):
        for place, message in enumerate(messages):
            _read_message(assembly, message, f"{span.at}.output[{place}]", f"span{index}-{place}")
    elif messages is not None:
        assembly.note("unmapped_content", span.at, content=texts(messages))
    _read_sdk(assembly, fields, index)
    first = assembly.first()
    if first is None:
        assembly.note("reply_not_recorded", span.at, "the span holds no output messages")
    elif first.type == "model_response":
        first.latency_ms = _latency(span)
    _read_usage(assembly, fields, span.at)


def _decoded(value: JsonValue) -> JsonValue:
    """Return messages that were recorded as JSON text, or as they are."""
    if not isinstance(value, str):
        return value
    try:
        decoded = parse(value)
    except Refused:
        return value
    return decoded if isinstance(decoded, (list, dict)) else value


def _read_told(assembly: Assembly, messages: JsonValue, at: str) -> None:
    """Take the results out of what the model was given, where calls still wait for them."""
    assembly.told("input", messages, f"{at}.input")
    for message in _list(messages):
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in _list(parts):
            if isinstance(part, dict) and word(part, "type") == "tool_call_response":
                draft = assembly.awaiting(word(part, "id") or None, "")
                if draft is not None:
                    returned = part["response"] if "response" in part else part.get("result")
                    give(draft, Result(returned))


def _read_message(assembly: Assembly, message: JsonValue, at: str, step_id: str) -> None:
    """Read one message that the model wrote."""
    if not isinstance(message, dict):
        assembly.note("non_object_message", at, content=texts(message))
        return
    fields = Fields(assembly, message, at)
    for place, part in enumerate(fields.items("parts") or ()):
        _read_part(assembly, part, f"{at}.parts[{place}]", f"{step_id}-{place}")
    content = fields.text("content")
    if content:
        assembly.say(content, f"{at}.content", step_id)
    fields.ended("finish_reason", _CUT)
    fields.done(_BOOKKEEPING)


def _read_part(assembly: Assembly, part: JsonValue, at: str, step_id: str) -> None:
    """Read one part of a message."""
    if not isinstance(part, dict):
        assembly.note("non_object_block", at, content=texts(part))
        return
    fields = Fields(assembly, part, at)
    kind = fields.text("type")
    if kind == "text":
        assembly.say(fields.text("content") or "", at, step_id)
    elif kind == "reasoning":
        assembly.thinking(fields.take("content"), at)
    elif kind == "tool_call":
        assembly.call(
            fields.text("name"),
            fields.take("arguments"),
            at,
            step_id=step_id,
            call_id=fields.identifier("id"),
        )
    else:
        assembly.note("unmapped_block", at, kind or "", content=texts(part))
        return
    fields.done(_BOOKKEEPING)


def _read_sdk(assembly: Assembly, fields: Fields, index: int) -> None:
    """Read what spans of the AI SDK say about a reply."""
    at, step_id = fields.at, f"span{index}"
    assembly.say(fields.text("ai.response.text") or "", f"{at}.ai.response.text", step_id)
    assembly.say(fields.text("ai.response.object") or "", f"{at}.ai.response.object", step_id)
    calls = _decoded(fields.take("ai.response.toolCalls"))
    for place, call in enumerate(_list(calls)):
        where = f"{at}.ai.response.toolCalls[{place}]"
        if not isinstance(call, dict):
            assembly.note("non_object_tool_call", where, content=texts(call))
            continue
        inner = Fields(assembly, call, where)
        passed = inner.take("input" if inner.has("input") else "args")
        assembly.call(
            inner.text("toolName"),
            passed,
            where,
            step_id=f"{step_id}-tool{place}",
            call_id=inner.identifier("toolCallId"),
        )
        inner.done(_BOOKKEEPING)
    if calls is not None and not isinstance(calls, list):
        assembly.note("unmapped_content", at, content=texts(calls))


def _read_usage(assembly: Assembly, fields: Fields, at: str) -> None:
    """Count the tokens: cached ones are inside the input's."""
    counted = Usage(
        input_tokens=_count(fields, "gen_ai.usage.input_tokens"),
        output_tokens=_count(fields, "gen_ai.usage.output_tokens"),
        cache_read_tokens=_count(fields, "gen_ai.usage.cache_read.input_tokens"),
        cache_write_tokens=_count(fields, "gen_ai.usage.cache_creation.input_tokens"),
        reasoning_tokens=_count(fields, "gen_ai.usage.reasoning.output_tokens"),
    )
    if counted.present():
        assembly.used(counted, at)


def _count(fields: Fields, name: str) -> int | None:
    return fields.count(name) if fields.has(name) else None


_SPAN_LISTS: Final = ("resourceSpans", "spans")
_INNER: Final = {"resourceSpans": "scopeSpans", "scopeSpans": "spans"}
_STARTS: Final = ("startTimeUnixNano", "start_time_unix_nano", "startTime")
_ENDS: Final = ("endTimeUnixNano", "end_time_unix_nano", "endTime")
_MESSAGES: Final = ("gen_ai.input.messages", "gen_ai.output.messages")
_MODEL: Final = frozenset({"chat", "generate_content", "text_completion"})
_ERROR_CODE: Final = 2
_ERROR_NAMES: Final = ("ERROR", "STATUS_CODE_ERROR")
_CUT: Final = frozenset({"length", "content_filter", "error"})
_SCALARS: Final = frozenset({"stringValue", "intValue", "doubleValue", "boolValue", "bytesValue"})
_PAIR: Final = 2
_INT_CHARS_MAX: Final = 20
_SPEAKING: Final = frozenset(
    {"gen_ai.completion", "gen_ai.prompt", "ai.response.reasoning", "ai.response.files"}
)
_BOOKKEEPING: Final = frozenset({"role", "name", "toolCallType", "type", "providerMetadata"})
