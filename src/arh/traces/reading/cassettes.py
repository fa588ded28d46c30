"""Recorded HTTP traffic (VCR cassettes): every exchange with a model, in the format it is in.

A request repeats the conversation so far, so the exchange that follows holds the one before: then
the earlier trace is dropped, and what only it knew (tokens, latency, notes) is kept at the steps of
the later one. Exchanges with others than models are noted, never read as something else.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from arh.canonical import JsonValue, Refused, parse
from arh.errors import AuthoringError
from arh.traces.mapping.texts import texts
from arh.traces.reading.detection import Undetected
from arh.traces.reading.documents import events
from arh.traces.reading.event_stream import event_stream
from arh.traces.trace import JsonObject, Note, Step, Trace

BODY_BYTES_MAX: Final = 16 * 2**20
UNZIPPED_BYTES_MAX: Final = 64 * 2**20  # of all bodies: a file has no more

Read: TypeAlias = Callable[[JsonValue], "tuple[Trace, ...] | Undetected"]


def interactions(value: JsonValue) -> list[JsonValue] | None:
    """Return the exchanges of a cassette, or `None` when the value is none."""
    if not isinstance(value, dict):
        return None
    found = value.get("interactions")
    if not isinstance(found, list) or not any(
        isinstance(item, dict) and "request" in item and "response" in item for item in found
    ):
        return None
    return found


def read_cassette(
    items: list[JsonValue], source: str, read: Read, around: JsonValue = None
) -> tuple[Trace, ...]:
    """Return the traces of the conversations in a cassette.

    `read` returns the traces of one exchange, or why nobody reads it. `around` is the cassette.

    Raises:
        AuthoringError: No exchange is one with a model.
    """
    conversations: list[_Conversation] = []
    unread: list[Note] = [*_beside(around, _OF_CASSETTE, "")]
    why: Undetected | None = None
    unzipped = _Unzipped()
    for index, item in enumerate(items):
        at = f"interactions[{index}]"
        unread.extend(_beside_bodies(item, at))
        request, response = bodies(item, source, unzipped)
        document: JsonValue = {"request": request, "response": response}
        found = read(document)
        if isinstance(found, Undetected):
            why = why or found
            content = texts([request, response])
            unread.append(Note("exchange_not_read", "no format reads it", at, None, content))
            continue
        for trace in found:
            placed = _placed(trace, at)
            if conversations and _continues(conversations[-1].newest, placed):
                conversations[-1].continued(placed)
            else:
                conversations.append(_Conversation(placed))
    if not conversations:
        raise _nothing(why, source)
    traces = [each.whole() for each in conversations]
    traces[0] = replace(traces[0], notes=(*traces[0].notes, *unread))
    if len(traces) == 1:
        return (traces[0],)
    return tuple(
        replace(trace, trace_id=f"{trace.trace_id}-{place + 1}")
        for place, trace in enumerate(traces)
    )


def _beside_bodies(item: JsonValue, at: str) -> Iterator[Note]:
    """Yield what an exchange says beside the bodies of its request and its response."""
    yield from _beside(item, _OF_ITEM, at)
    for name in ("request", "response"):
        message = item.get(name) if isinstance(item, dict) else None
        if isinstance(message, dict):
            body = "parsed_body" if "parsed_body" in message else "body"
            yield from _beside(message, _OF_MESSAGE | {body}, f"{at}.{name}")
            inner = message.get(body)
            if body == "body" and isinstance(inner, dict) and "string" in inner:
                yield from _beside(inner, _OF_BODY, f"{at}.{name}.body")


def _beside(value: JsonValue, known: AbstractSet[str], at: str) -> Iterator[Note]:
    """Yield what stands in an object under other names, or in place of an object."""
    if not isinstance(value, dict):
        if value is not None:
            yield Note("unmapped_field", "no object", at, None, texts(value))
        return
    left = {name: inner for name, inner in value.items() if name not in known}
    if left:
        names = ", ".join(list(left)[:_NAMES_MAX])
        yield Note("unmapped_field", names, at, None, texts(left))


def _nothing(why: Undetected | None, source: str) -> AuthoringError:
    """Return the error of a cassette in which nobody talks with a model."""
    reasons = "; ".join(f"{name}: {reason}" for name, reason in why.reasons) if why else ""
    return AuthoringError.of(
        "no exchange of this cassette is one with a model that a format reads",
        file=source,
        hint=f"the first one is declined: {reasons}" if reasons else "",
    )


def _placed(trace: Trace, at: str) -> Trace:
    """Return the trace with the pointers of its notes made whole."""
    notes = tuple(replace(note, pointer=f"{at}.{note.pointer}") for note in trace.notes)
    return replace(trace, notes=notes)


@dataclass(slots=True)
class _Conversation:
    """A conversation in the making: its newest exchange, and what only earlier ones knew."""

    newest: Trace
    notes: dict[Note, None] = field(default_factory=dict)
    earlier: list[JsonValue] = field(default_factory=list)

    def continued(self, trace: Trace) -> None:
        """Take the exchange that follows, which begins with all that the one before it holds."""
        before = self.newest
        known = len(before.steps)
        self.notes.update((note, None) for note in before.notes if note.kind not in _SETTLED)
        self.earlier.append(before.metadata.get("recording"))
        self.newest = replace(
            trace,
            steps=(*map(_merged, trace.steps[:known], before.steps), *trace.steps[known:]),
            offered_tools=trace.offered_tools or before.offered_tools,
        )

    def whole(self) -> Trace:
        """Return the trace of the whole conversation."""
        if not self.earlier:
            return self.newest
        metadata = self.newest.metadata
        said = [metadata["earlier"]] if "earlier" in metadata else []
        return replace(
            self.newest,
            notes=tuple(dict.fromkeys((*self.notes, *self.newest.notes))),
            metadata={**metadata, "earlier": [*said, *self.earlier]},
        )


def _continues(before: Trace, after: Trace) -> bool:
    """Say whether a trace begins with all steps of the one before it."""
    return len(before.steps) <= len(after.steps) and all(
        map(_same, before.steps, after.steps[: len(before.steps)])
    )


def _same(one: Step, other: Step) -> bool:
    """Say whether two steps are the same event; the earlier one may lack its result."""
    return (
        one.type == other.type
        and one.tool_name == other.tool_name
        and one.text == other.text
        and one.raw_arguments == other.raw_arguments
        and _text(one.arguments) == _text(other.arguments)
        and (one.status == "unknown" or _result(one) == _result(other))
    )


def _result(step: Step) -> tuple[str, str | None, str]:
    return step.status, step.error, _text(step.output)


def _text(value: JsonValue | JsonObject) -> str:
    """Return a text that equal values share; recorded numbers may be too large for a digest."""
    return json.dumps(value, sort_keys=True)


def _merged(after: Step, before: Step) -> Step:
    """Return the later step with what only the earlier one knew."""
    return replace(
        after,
        latency_ms=before.latency_ms if after.latency_ms is None else after.latency_ms,
        input_tokens=before.input_tokens if after.input_tokens is None else after.input_tokens,
        output_tokens=before.output_tokens if after.output_tokens is None else after.output_tokens,
        citations=after.citations or before.citations,
        metadata={**before.metadata, **after.metadata},
    )


@dataclass(slots=True)
class _Unzipped:
    """How many bytes the bodies of a cassette were unzipped to."""

    size: int = 0

    def add(self, data: bytes, source: str) -> None:
        """Count what was unzipped.

        Raises:
            AuthoringError: It is more than a file may hold.
        """
        self.size += len(data)
        if self.size > UNZIPPED_BYTES_MAX:
            said = f"the bodies of this cassette unzip to more than {UNZIPPED_BYTES_MAX} bytes"
            raise AuthoringError.of(said, file=source)


def bodies(
    item: JsonValue, source: str, unzipped: _Unzipped | None = None
) -> tuple[JsonValue, JsonValue]:
    """Return the bodies of one exchange's request and response, decoded as far as they can be.

    Raises:
        AuthoringError: The bodies so far unzip to more than a file may hold.
    """
    so_far = unzipped or _Unzipped()
    request = item.get("request") if isinstance(item, dict) else None
    response = item.get("response") if isinstance(item, dict) else None
    return _body(request, source, so_far), _body(response, source, so_far)


def _body(message: JsonValue, source: str, unzipped: _Unzipped) -> JsonValue:
    """Return a body as JSON, as a list of streamed events, or as the text that it is."""
    if not isinstance(message, dict):
        return message
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    if isinstance(body, dict):
        body = body.get("string", body)
    if not isinstance(body, str):
        return body
    data = _unpacked(body, source, unzipped)
    try:
        return parse(data, size_max=BODY_BYTES_MAX)
    except Refused:
        return _streamed(data, source)


def _unpacked(body: str, source: str, unzipped: _Unzipped) -> bytes:
    """Return the bytes of a body, unzipped where they are zipped."""
    if body.startswith(_FRAMED):
        try:
            return body.encode("latin-1")
        except UnicodeEncodeError:
            return body.encode(errors="replace")
    if not body.startswith(_GZIP):
        return body.encode(errors="replace")
    data = body.encode("latin-1", errors="replace")
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = unzip.decompress(data, BODY_BYTES_MAX)
    except zlib.error:
        return data
    unzipped.add(plain, source)
    return plain


def _streamed(data: bytes, source: str) -> JsonValue:
    """Return the events of a streamed body, its lines of JSON, or its text."""
    text = data.decode(errors="replace")
    framed = event_stream(data)
    if framed is not None:
        return framed
    if b"data:" in data:
        try:
            return list(events(data, source)) or text
        except AuthoringError:
            return text
    return text


_FRAMED: Final = "\x00"
_GZIP: Final = "\x1f\x8b"
_GZIP_WINDOW: Final = 31
_NAMES_MAX: Final = 8
_OF_CASSETTE: Final = frozenset({"interactions", "recorded_with", "version"})
_OF_ITEM: Final = frozenset({"recorded_at", "request", "response"})
_OF_MESSAGE: Final = frozenset(
    {"headers", "http_version", "method", "protocol", "status", "status_code", "uri", "url"}
)
_OF_BODY: Final = frozenset({"encoding", "string"})
_SETTLED: Final = frozenset({"missing_tool_result"})
