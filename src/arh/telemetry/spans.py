"""The spans of one run: taken in cheaply while it goes on, made a tree when it is over.

The buffer is the telemetry port of the system under evaluation. It keeps the attributes that a kind
of span may have, each a bounded word or a number, and counts what it cuts; so nothing else is ever
held, queued or sent. `tree` then joins the reported spans to the tree
workflow > agent_step > model_call, tool_request > argument_validation, authorization, approval,
tool_execution, state_commit. Two of them are read off the call that reports them: whether its
arguments were accepted, and what it believes of its commit.

Identifiers are derived from the run and a nonce of its execution. They and wall times are never in
evidence. A refusal is a decision and no error.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from arh.canonical import line
from arh.foreign import ForeignFailure, call
from arh.ports.sue import Telemetry
from arh.telemetry import semconv as names
from arh.telemetry.secrets import suspicious

SPANS_MAX: Final = 100_000
WORDS_MAX: Final = 4096
NUMBER_MAX: Final = 2**53 - 1

_WORD: Final = re.compile(r"[A-Za-z0-9_.:@/-]{0,64}")
_REFUSED_ARGUMENTS: Final = ("arguments_unparsable", "arguments_invalid")
_COMMITS: Final = ("committed", "not_committed", "unknown", "compensated")

Value = str | int | bool
Attributes = Mapping[str, Value]


class Reported(NamedTuple):
    """One span as it was reported, and by which thread."""

    number: int
    kind: str
    parent: int
    start_ms: int
    end_ms: int
    attributes: dict[str, Value]
    error: str
    thread: int


class SpanBuffer:
    """Implements `arh.ports.sue.Telemetry` for one run."""

    __slots__ = ("_last", "cut", "dropped", "run_id", "spans")

    def __init__(self, run_id: str = "") -> None:
        """Begin empty; `cut` counts what was not kept, `dropped` whole spans."""
        self.run_id = run_id
        self.spans: list[Reported] = []
        self.cut = 0
        self.dropped = 0
        self._last = 0

    def reserve(self) -> int:
        """Return a fresh span number."""
        self._last += 1
        return self._last

    def span(
        self,
        number: int,
        name: str,
        *,
        parent: int,
        start_ms: int,
        end_ms: int,
        attributes: Attributes,
        error: str = "",
    ) -> None:
        """Take in one finished span with what may be kept of it."""
        if len(self.spans) >= SPANS_MAX:
            self.dropped += 1
            return
        kind = names.REPORTED_AS.get(name, name)
        allowed = names.ATTRIBUTES.get(kind)
        if allowed is None:
            kind, allowed = names.OTHER, names.ATTRIBUTES[names.OTHER]
            self.cut += 1
        kept = {key: bounded(item) for key, item in attributes.items() if key in allowed}
        self.cut += len(attributes) - len(kept)
        fault = bounded(error) if error else ""
        thread = threading.get_ident()
        self.spans.append(
            Reported(number, kind, parent, start_ms, end_ms, kept, str(fault), thread)
        )


class Guarded:
    """A telemetry port that never raises, over one that might: what it raises is counted."""

    __slots__ = ("_port", "failures")

    def __init__(self, port: Telemetry) -> None:
        """Pass on to a port."""
        self._port = port
        self.failures = 0

    def reserve(self) -> int:
        """Return a fresh span number, 0 if there is none to be had."""
        number = call("telemetry", self._port.reserve)
        if not isinstance(number, int):
            self.failures += 1
            return 0
        return number

    def span(
        self,
        number: int,
        name: str,
        *,
        parent: int,
        start_ms: int,
        end_ms: int,
        attributes: Attributes,
        error: str = "",
    ) -> None:
        """Report one finished span, if the port takes it."""
        done = call(
            "telemetry",
            lambda: self._port.span(
                number,
                name,
                parent=parent,
                start_ms=start_ms,
                end_ms=end_ms,
                attributes=attributes,
                error=error,
            ),
        )
        self.failures += isinstance(done, ForeignFailure)


_words: Final[dict[str, str]] = {}


def bounded(value: object) -> Value:
    """Return a number as it is and a short word as it is; anything else is `other`.

    Words are remembered, and there is an end to them: no caller can flood a backend.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return max(-NUMBER_MAX, min(value, NUMBER_MAX))
    text = str(value) if isinstance(value, str) else names.OTHER
    known = _words.get(text)
    if known is None:
        fits = _WORD.fullmatch(text) and not suspicious(text) and len(_words) < WORDS_MAX
        known = text if fits else names.OTHER
        if fits:
            _words[text] = known
    return known


@dataclass(frozen=True, slots=True)
class Span:
    """One span of a tree, ready to be exported; `number` 0 is the workflow's."""

    number: int
    kind: str
    parent: int | None
    start_ms: int
    end_ms: int
    attributes: Attributes
    error: str = ""
    trace_id: str = ""
    span_id: str = ""
    parent_id: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of the gateway's log: what its span must be, and which operation it tries."""

    start_ms: int
    end_ms: int
    status: str
    reason: str
    operation: int
    attempt: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run beside its spans: see `completeness.facts_of`.

    `delays` are the injected ones, as their begin and length in milliseconds.
    """

    run_id: str = ""
    scenario_id: str = ""
    agent: str = ""
    model: str = ""
    termination: str = ""
    clock: str = "virtual"
    end_ms: int = 0
    attempts: Sequence[Attempt] = ()
    delays: Sequence[tuple[int, int]] = ()


def tree(buffer: SpanBuffer, facts: RunFacts, nonce: str) -> tuple[Span, ...]:
    """Return all spans of a run with their identifiers, the workflow first, then by number."""
    spans = [*_placed(buffer.spans)]
    spans += _read_off(spans, max((span.number for span in spans), default=0))
    spans = _numbered(spans, facts.attempts)
    root = _workflow(spans, facts, buffer)
    ordered = [root, *sorted(spans, key=lambda span: span.number)]
    trace_id = _hash("trace", facts.run_id, nonce)[:32]
    return tuple(_identified(_synthetic(span, facts.delays), trace_id) for span in ordered)


def lines(spans: Iterable[Span], *, began_ns: int) -> bytes:
    """Return the lines of `telemetry.jsonl` for one run; `began_ns` is the wall time of its begin.

    This file is the only one with identifiers of telemetry and wall times.
    """
    return b"".join(
        line(
            {
                "trace_id": span.trace_id,
                "span_id": span.span_id,
                "parent_id": span.parent_id,
                "name": span.kind,
                "start_ns": began_ns + span.start_ms * 1_000_000,
                "end_ns": began_ns + span.end_ms * 1_000_000,
                "attributes": dict(span.attributes),
                "error": span.error,
            }
        )
        + b"\n"
        for span in spans
    )


def _placed(reported: Sequence[Reported]) -> Iterable[Span]:
    """Yield the reported spans, what a thread did during a step below that step."""
    parents = _parents(reported)
    for span in reported:
        exported = names.ATTRIBUTES[span.kind]
        attributes = {n: v for key, v in span.attributes.items() for n in exported[key]}
        if span.kind in names.OPERATIONS:
            attributes[names.GEN_AI_OPERATION] = names.OPERATIONS[span.kind]
        error = "" if attributes.get(names.DECISION) == "deny" else span.error
        parent = parents.get(span.number, span.parent)
        yield Span(span.number, span.kind, parent, span.start_ms, span.end_ms, attributes, error)
    yield from _unfinished(reported, parents)


def _parents(reported: Sequence[Reported]) -> dict[int, int]:
    """Return the step of each call: a thread reports what it did in a step before the step."""
    waiting: dict[int, list[int]] = {}
    parents: dict[int, int] = {}
    begun = _begun(reported)
    for span in reported:
        if span.kind == names.AGENT_STEP:
            parents.update(dict.fromkeys(waiting.pop(span.thread, ()), span.number))
        elif span.parent == 0:
            waiting.setdefault(span.thread, []).append(span.number)
    for thread, numbers in waiting.items():
        for number in numbers:
            steps = [step for step in begun.get(thread, ()) if step < number]
            if steps:
                parents[number] = steps[-1]
    return parents


def _begun(reported: Sequence[Reported]) -> dict[int, list[int]]:
    """Return by thread the numbers that were named as a parent and never reported themselves."""
    known = {span.number for span in reported}
    begun: dict[int, list[int]] = {}
    for span in reported:
        if span.kind == names.MODEL_CALL and span.parent and span.parent not in known:
            begun.setdefault(span.thread, []).append(span.parent)
    return begun


def _unfinished(reported: Sequence[Reported], parents: Mapping[int, int]) -> Iterable[Span]:
    """Yield a step that was begun and never ended, as when a run is stopped within it."""
    for steps in _begun(reported).values():
        for step in steps:
            below = [s for s in reported if parents.get(s.number, s.parent) == step]
            start_ms, end_ms = min(s.start_ms for s in below), max(s.end_ms for s in below)
            attributes: Attributes = {names.UNFINISHED: True}
            yield Span(step, names.AGENT_STEP, 0, start_ms, end_ms, attributes)


def _read_off(spans: Sequence[Span], last: int) -> list[Span]:
    """Return the validation and the commit that each call tells of."""
    found = []
    for span in spans:
        if span.kind != names.TOOL_REQUEST:
            continue
        for kind, attributes in _told(span.attributes):
            last += 1
            at_ms = span.start_ms if kind == names.ARGUMENT_VALIDATION else span.end_ms
            error = "" if attributes.get(names.COMMIT) != "unknown" else "commit_unknown"
            found.append(Span(last, kind, span.number, at_ms, at_ms, attributes, error))
    return found


def _told(call: Attributes) -> Iterable[tuple[str, Attributes]]:
    tool: Attributes = {names.TOOL_NAME: call.get(names.TOOL_NAME, names.OTHER)}
    if call.get(names.TOOL_VERSION):
        refused = call.get(names.TOOL_REASON) in _REFUSED_ARGUMENTS
        result = "refused" if refused else "accepted"
        yield names.ARGUMENT_VALIDATION, {**tool, names.VALIDATION: result}
    belief = call.get(names.COMMIT_BELIEF)
    if belief in _COMMITS:
        yield names.STATE_COMMIT, {**tool, names.COMMIT: belief}


def _numbered(spans: Sequence[Span], attempts: Sequence[Attempt]) -> list[Span]:
    """Return the spans, each call with the number of its operation and of its attempt at it."""
    left: dict[tuple[int, int, str, str], list[Attempt]] = {}
    for attempt in reversed(attempts):
        key = (attempt.start_ms, attempt.end_ms, attempt.status, attempt.reason)
        left.setdefault(key, []).append(attempt)
    return [_with_operation(span, left) for span in spans]


def _with_operation(span: Span, left: Mapping[tuple[int, int, str, str], list[Attempt]]) -> Span:
    if span.kind != names.TOOL_REQUEST:
        return span
    told = span.attributes
    status, reason = str(told.get("arh.tool.status")), str(told.get(names.TOOL_REASON))
    found = left.get((span.start_ms, span.end_ms, status, reason))
    if not found:
        return span
    attempt = found.pop()
    more = {names.OPERATION: attempt.operation, names.ATTEMPT: attempt.attempt}
    return replace(span, attributes={**told, **more})


def _workflow(spans: Sequence[Span], facts: RunFacts, buffer: SpanBuffer) -> Span:
    attributes: Attributes = {
        names.GEN_AI_OPERATION: names.OPERATIONS[names.WORKFLOW],
        names.GEN_AI_AGENT: bounded(facts.agent),
        names.GEN_AI_MODEL: bounded(facts.model),
        names.RUN: bounded(facts.run_id),
        names.SCENARIO: bounded(facts.scenario_id),
        names.TERMINATION: bounded(facts.termination),
        names.CLOCK: bounded(facts.clock),
        names.CUT: buffer.cut + buffer.dropped,
    }
    end_ms = max((facts.end_ms, *(span.end_ms for span in spans)))
    return Span(0, names.WORKFLOW, None, 0, end_ms, attributes)


def _synthetic(span: Span, delays: Sequence[tuple[int, int]]) -> Span:
    """Label a span during which time was made to pass by a fault."""
    inside = sum(ms for at, ms in delays if span.start_ms <= at and at + ms <= span.end_ms)
    if not inside:
        return span
    more = {names.SYNTHETIC: True, names.SYNTHETIC_MS: inside}
    return replace(span, attributes={**span.attributes, **more})


def _identified(span: Span, trace_id: str) -> Span:
    parent = span.parent
    return replace(
        span,
        trace_id=trace_id,
        span_id=_span_id(trace_id, span.number),
        parent_id="" if parent is None else _span_id(trace_id, parent),
    )


def _span_id(trace_id: str, number: int) -> str:
    return _hash("span", trace_id, str(number))[:16]


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(("arh", *parts)).encode()).hexdigest()
