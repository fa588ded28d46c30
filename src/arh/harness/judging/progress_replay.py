"""Replays whether a task's work got anywhere, from the record and not from the agent's own word.

The agent's supervisor analyses the same thing while it runs; this is a second analysis from the
stated semantics, so that neither can hide the other's mistake. Progress is a milestone that is new,
counts only for a target that the user named by then if the milestone demands that, and starts every
count anew. What may stop a task, in this order: rejections in a row that no retry can cure, one
call repeated, a cycle of two to four calls, a stall, amplification if it shall stop (more executed
calls than the limit allows for each milestone and the one being worked on); and before each
decision the meters of model calls, tokens and time since the last milestone. A call that
failed for now is for the retry policy: it is part of no repetition and no cycle, and no transition
of a stall if it was a retry itself.

Two calls are the same if tool, arguments and observation are. Told strictly, the state that they
left must be the same as well: only then is a missed stop proven.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from arh.harness.judging.segments import Segment
from arh.harness.vocabulary.effects import equal, frozen
from arh.harness.vocabulary.texts import holds_token, plain
from arh.records.control.evidence import CallEvidence, ExchangeEvidence
from arh.records.control.scenario import ProgressLimits
from arh.records.outcomes import RETRYABLE
from arh.records.tools import ToolManifest

PERIODS: Final = (2, 3, 4)
RETRYABLE_REASONS: Final = frozenset(reason.value for reason in RETRYABLE)
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Due:
    """A pattern that was complete at this place of the run; `metered` is before a decision."""

    pattern: str
    seq: int
    detail: str
    events: tuple[str, ...]
    metered: bool = False


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the replay of one task came to: the first stop that was due, and what it counted."""

    due: Due | None
    amplified: Due | None
    milestones: int
    retries_max: int


def replay(
    segment: Segment,
    limits: ProgressLimits,
    manifests: Mapping[str, ToolManifest],
    projections: Mapping[str, str],
    *,
    ended_ms: int,
) -> Replayed:
    """Return the first stop that was due in a task.

    Args:
        segment: The task's work.
        limits: When work counts as non-progress.
        manifests: The tools, whose idempotency keys tell operations apart.
        projections: The digest of the business state after each call, by call id; empty to leave
            the state out of account.
        ended_ms: When the task ended, for the meter of time.
    """
    state = _State(limits, manifests, projections, _beginning(segment, ended_ms))
    events: list[ExchangeEvidence | CallEvidence] = [*segment.exchanges, *made(segment)]
    for event in sorted(events, key=lambda each: each.seq):
        if isinstance(event, ExchangeEvidence):
            state.decide(event)
        else:
            state.observe(event, segment)
    if state.due is None and segment.finish is not None:
        finish = segment.finish
        state.due = state.metered(finish.seq, ended_ms, (finish.event_id,))
    return Replayed(state.due, state.amplified, len(state.milestones), state.retries_max)


def made(segment: Segment) -> list[CallEvidence]:
    """Return the calls that were made: those that the agent's own budget refused were not."""
    return [call for call in segment.calls if not call.refused_by_budget]


def _beginning(segment: Segment, otherwise: int) -> int:
    """Return when the work began."""
    asked = [exchange.asked_ms for exchange in segment.exchanges[:1]]
    called = [call.requested_ms for call in segment.calls[:1]]
    return min((*asked, *called), default=otherwise)


@dataclass(slots=True)
class _State:
    """What is known after so many events of a task."""

    limits: ProgressLimits
    manifests: Mapping[str, ToolManifest]
    projections: Mapping[str, str]
    since_ms: int
    due: Due | None = None
    amplified: Due | None = None
    milestones: set[tuple[str, str]] = field(default_factory=set)
    recent: deque[CallEvidence] = field(default_factory=lambda: deque(maxlen=PERIODS[-1] + 1))
    calls: list[CallEvidence] = field(default_factory=list)
    runs: dict[int, int] = field(default_factory=lambda: dict.fromkeys((1, *PERIODS), 0))
    failures: dict[object, int] = field(default_factory=dict)
    rejections: int = 0
    stalled: int = 0
    executed: int = 0
    model_calls: int = 0
    tokens: int = 0
    retries_max: int = 0

    def decide(self, exchange: ExchangeEvidence) -> None:
        """Read the meters before a decision, then count it."""
        if self.due is None:
            self.due = self.metered(exchange.seq, exchange.asked_ms, (exchange.event_id,))
        self.model_calls += 1
        self.tokens += exchange.input_tokens + exchange.output_tokens

    def metered(self, seq: int, now_ms: int, events: tuple[str, ...]) -> Due | None:
        """Return the meter that has reached its limit, if any."""
        limits = self.limits
        for name, reading, limit in (
            ("model calls", self.model_calls, limits.max_model_calls),
            ("tokens", self.tokens, limits.max_tokens),
            ("ms", now_ms - self.since_ms, limits.max_elapsed_ms),
        ):
            if limit is not None and reading >= limit:
                detail = f"{reading} {name} since the last milestone, limit {limit}"
                return Due("no_progress_meter", seq, detail, events, metered=True)
        return None

    def observe(self, call: CallEvidence, segment: Segment) -> None:
        """Take in one call, and name the first pattern that it completes."""
        self.calls.append(call)
        progressed = self._advance(call, segment)
        failed_for_now = not call.executed and call.reason in RETRYABLE_REASONS
        retried = self._retry(call, failed_for_now=failed_for_now)
        self.executed += call.executed
        rejected = call.status == "rejected" and not failed_for_now
        self.rejections = self.rejections + 1 if rejected else 0
        self._repeat(call, progressed=progressed, apart=failed_for_now)
        if progressed:
            self.stalled, self.model_calls, self.tokens = 0, 0, 0
            self.since_ms = call.returned_ms
        elif not (failed_for_now and retried):
            self.stalled += 1
        amplified = self._amplification()
        self.amplified = self.amplified or amplified
        if self.due is None:
            stops = self.limits.amplification_stops
            self.due = self._pattern() or (amplified if stops else None)

    def _advance(self, call: CallEvidence, segment: Segment) -> bool:
        """Add the milestones of a call that count, and return whether one is new."""
        before = len(self.milestones)
        for milestone, target, justified in call.marks:
            if not justified or _named(target, segment, call):
                self.milestones.add((milestone, target))
        return len(self.milestones) > before

    def _retry(self, call: CallEvidence, *, failed_for_now: bool) -> bool:
        """Keep count of the failures of an operation, and return whether this was a retry."""
        operation = self._operation(call)
        failures = self.failures.pop(operation, 0)
        self.retries_max = max(self.retries_max, failures)
        if failed_for_now:
            self.failures[operation] = failures + 1
        return failures > 0

    def _operation(self, call: CallEvidence) -> object:
        manifest = self.manifests.get(call.tool)
        name = manifest.key_argument if manifest is not None else None
        key = (call.arguments or {}).get(name) if name else None
        return (call.tool, key) if isinstance(key, str) else (call.tool, "", _asked(call))

    def _repeat(self, call: CallEvidence, *, progressed: bool, apart: bool) -> None:
        """Count for each period how many calls in a row equal the one a period before."""
        if apart:
            self.recent.clear()
            self.runs = dict.fromkeys(self.runs, 0)
            return
        self.recent.append(call)
        for period in self.runs:
            there = len(self.recent) > period and not progressed
            again = there and self._equal(self.recent[-1 - period], call)
            self.runs[period] = self.runs[period] + 1 if again else 0

    def _equal(self, one: CallEvidence, other: CallEvidence) -> bool:
        """Return whether two calls are the same: what was asked, what was seen, what it left."""
        return (
            one.tool == other.tool
            and (one.status, one.reason) == (other.status, other.reason)
            and _asked(one) == _asked(other)
            and equal(one.result, other.result)
            and self.projections.get(one.call_id) == self.projections.get(other.call_id)
        )

    def _pattern(self) -> Due | None:
        """Return the first pattern that is complete now, in the order in which they count."""
        limits = self.limits
        if self.rejections >= limits.max_rejections:
            return self._due("repeated_rejection", self.rejections, "rejections in a row")
        equal = self.runs[1] + 1
        if equal >= max(2, limits.max_repeats):
            return self._due("loop_exact", equal, "equal calls in a row")
        for period in PERIODS:
            times = self.runs[period] // period + 1
            if times >= max(2, limits.max_cycles) and equal < period:
                return self._due("loop_cycle", times * period, f"calls in a cycle of {period}")
        if self.stalled >= limits.max_stall:
            return self._due("stall", self.stalled, "transitions without a milestone")
        return None

    def _amplification(self) -> Due | None:
        limit, steps = self.limits.max_amplification, len(self.milestones) + 1
        if limit is None or self.executed <= limit * steps:
            return None
        what = f"executed calls for {len(self.milestones)} milestones"
        return self._due("amplification", self.executed, what)

    def _due(self, pattern: str, count: int, what: str) -> Due:
        events = tuple(call.event_id for call in self.calls[-count:])
        return Due(pattern, self.calls[-1].seq, f"{count} {what}", events)


def _asked(call: CallEvidence) -> object:
    """Return what a call asked for, whatever its spelling."""
    return call.argument_digest or (
        call.arguments_text if call.arguments is None else frozen(dict(call.arguments))
    )


def _named(target: str, segment: Segment, call: CallEvidence) -> bool:
    """Return whether the user had named every value of a target when the call ended."""
    turns = (t.text for t in segment.turns if t.seq < call.seq and not t.generated)
    said = plain("\n".join(turns))
    return all(holds_token(said, plain(value)) for value in values_of(target))


def values_of(target: str) -> Sequence[str]:
    """Return the values of a target: JSON values with bars between them, or else its text."""
    values: list[str] = []
    at = 0
    while at < len(target):
        try:
            value, end = _DECODER.raw_decode(target, at)
        except (ValueError, RecursionError):
            return (target,)
        if target[end : end + 1] not in {"", "|"}:
            return (target,)
        values.append(value if isinstance(value, str) else target[at:end])
        at = end + 1
    return values or (target,)
