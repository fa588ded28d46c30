"""A live model behind a provider: one request, one typed decision, whatever the server does.

The caller's time limit holds whatever the server does, since the request is made in a thread that
is given up when it is over. A reply is read from its raw bytes as strict JSON by our own types: an
SDK takes any shape. A reply that holds the key is not taken. What a provider refuses as such (a
wrong key, an unknown model) ends the run and is not asked again: it is nobody's behaviour.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from arh.canonical import JsonValue, Refused, encode, parse
from arh.errors import RunStopped
from arh.foreign import ForeignFailure, call
from arh.model.live.providers import REFUSED, Collector, Head, Provider, Trouble, exchange
from arh.model.live.replies import Answer, cut, malformed
from arh.model.live.streams import EventStream
from arh.records.decisions import (
    AskUser,
    Calls,
    Decision,
    Malformed,
    ModelReply,
    ModelRequest,
    Refusal,
    Served,
    Truncated,
    Unavailable,
    Usage,
)
from arh.records.decisions import (
    Final as Answered,
)
from arh.records.models import ModelSettings

T = TypeVar("T")
STREAM: Final = "text/event-stream"
DONE: Final = b"[DONE]"
TEXT_CHARS_MAX: Final = 256


@dataclass(slots=True)
class Line:
    """One provider, shared by all runs of a suite; `refused` is why it is not asked any more."""

    provider: Provider
    settings: ModelSettings
    key: str = field(default="", repr=False)
    refused: str = ""


class LiveModel:
    """Implements `arh.ports.sue.Model` over a provider."""

    def __init__(self, line: Line) -> None:
        """Ask over this line."""
        self._line = line

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return one typed decision, with what the server says of itself.

        Raises:
            RunStopped: The provider refuses to be asked at all (`live_outage`).
        """
        line = self._line
        if line.refused:
            raise RunStopped("live_outage", line.refused)
        tokens = min(
            line.settings.output_tokens_max,
            request.output_tokens_max or line.settings.output_tokens_max,
        )
        body = line.provider.body(request, line.settings, tokens)
        began = time.monotonic()
        reading = Reading(line.provider, began)
        done = self._sent(body, request.timeout_ms, reading)
        passed_ms = min(request.timeout_ms, ceil((time.monotonic() - began) * 1000))
        if isinstance(done, Trouble):
            return self._none(done, reading, passed_ms)
        return self._reply(reading.answer(), done, reading, passed_ms)

    def _sent(self, body: dict[str, Any], timeout_ms: int, reading: Reading) -> Head | Trouble:
        if timeout_ms <= 0:
            return Trouble("timeout", "no time left")
        provider = self._line.provider
        opened = call("model", lambda: provider.open(body, timeout_ms / 1000))
        if isinstance(opened, ForeignFailure):
            return Trouble("dependency_error", f"failed: {opened.type_name}")
        done = within(timeout_ms, lambda: exchange(provider.sdk, opened, reading.take))
        return Trouble("timeout", "timeout", began=reading.began) if done is None else done

    def _none(self, trouble: Trouble, reading: Reading, passed_ms: int) -> ModelReply:
        """Return that no reply came, or only a part of one.

        Raises:
            RunStopped: The provider refuses to be asked at all.
        """
        line = self._line
        if trouble.status in REFUSED:
            line.refused = f"{line.settings.identity}: the provider refuses, {trouble.what}"
            raise RunStopped("live_outage", line.refused)
        if trouble.began and trouble.reason == "dependency_error":
            decision: Decision = cut(trouble.what)
        else:
            decision = Unavailable(trouble.reason, trouble.retry_after_ms)
        served = Served(first_ms=reading.first_ms, trouble=trouble.what, metered=trouble.status > 0)
        return ModelReply(decision, Usage(), passed_ms, line.settings.identity, served)

    def _reply(self, answer: Answer, head: Head, reading: Reading, passed_ms: int) -> ModelReply:
        line = self._line
        if line.key and any(_shows(text, line.key) for text in _texts(answer)):
            answer = replace(malformed("the reply holds the key"), usage=answer.usage)
        served = Served(
            model=answer.model[:TEXT_CHARS_MAX],
            fingerprint=answer.fingerprint[:TEXT_CHARS_MAX],
            reply_id=_clean(head.request_id or answer.reply_id, line.key),
            first_ms=reading.first_ms,
            trouble=answer.trouble,
            metered=answer.usage is not None,
        )
        usage = answer.usage or Usage()
        return ModelReply(answer.decision, usage, passed_ms, line.settings.identity, served)


class Reading:
    """Reads one reply as it comes: a stream event by event, anything else once it is whole."""

    def __init__(self, provider: Provider, began: float) -> None:
        """Begin before the first byte; times are counted from `began`."""
        self._provider = provider
        self._began = began
        self._events = EventStream()
        self._collector: Collector | None = None
        self._pieces: list[bytes] = []
        self.began = False
        self.first_ms: int | None = None
        self.fault = ""

    def take(self, head: Head, chunk: bytes) -> None:
        """Take the next piece of the body; after a fault, nothing more of it is read."""
        self.began = True
        if head.content_type != STREAM:
            self._pieces.append(chunk)
            return
        if self._collector is None:
            self._collector = self._provider.collector()
        for data in self._events.feed(chunk):
            if data != DONE and not self.fault:
                self._event(self._collector, data)

    def _event(self, collector: Collector, data: bytes) -> None:
        try:
            says = collector.take(parse(data))
        except (Refused, ValidationError) as error:
            self.fault = f"an event that is no such event: {_why(error)}"
            return
        if says and self.first_ms is None:
            self.first_ms = int((time.monotonic() - self._began) * 1000)

    def answer(self) -> Answer:
        """Return what the whole body comes to."""
        if self.fault:
            return malformed(self.fault)
        try:
            if self._collector is not None:
                return self._collector.answer()
            return self._provider.whole(self._value())
        except (Refused, ValidationError) as error:
            return malformed(f"a reply that is no such reply: {_why(error)}")

    def _value(self) -> JsonValue:
        return parse(b"".join(self._pieces))


def _why(error: Refused | ValidationError) -> str:
    """Return what is wrong without any content of it: a closed word, or the place of a field."""
    if isinstance(error, Refused):
        return error.reason
    places = [part for part in error.errors(include_input=False)[0]["loc"] if isinstance(part, str)]
    return f"its field {'.'.join(places[:6])}" if places else "its shape"


def _clean(text: str, key: str) -> str:
    return "" if key and key in text else text[:TEXT_CHARS_MAX]


def _shows(text: str, key: str) -> bool:
    """Return whether a text holds the key, also where it is JSON that spells it with escapes."""
    if key in text:
        return True
    try:
        spelt_out = encode(parse(text)).decode() if "\\" in text else ""
    except Refused:
        return False
    return encode(key).decode()[1:-1] in spelt_out


def _texts(answer: Answer) -> Iterator[str]:
    """Yield every text of an answer that would be kept."""
    yield from (answer.model, answer.fingerprint, answer.reply_id)
    match answer.decision:
        case Calls(requests, text):
            yield text
            for each in requests:
                yield from (each.call_id, each.tool, each.arguments)
        case AskUser(message) | Refusal(message):
            yield message
        case Answered(text):
            yield text if isinstance(text, str) else text.data.decode()
        case Truncated(detail) | Malformed(detail):
            yield detail
        case Unavailable(reason):
            yield reason


def within(limit_ms: int, work: Callable[[], T]) -> T | None:
    """Return what the work returns, or `None` once its time is over: its thread is given up."""
    done: queue.SimpleQueue[T] = queue.SimpleQueue()
    threading.Thread(target=lambda: done.put(work()), name="arh-model", daemon=True).start()
    try:
        return done.get(timeout=limit_ms / 1000)
    except queue.Empty:
        return None
