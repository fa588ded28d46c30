"""Tells a stuck agent from a busy one, from what the agent itself can see of its calls.

Progress is a milestone satisfied for the first time: a mark (milestone, target) that no earlier
outcome carried. A mark that demands justification counts only if every value of its target (JSON
values between bars, or else the text itself) stands in what the user said so far, as a whole token
in any case of letters; a repeated mark never counts. The user may name the target later: then the
next outcome that carries the mark counts.

After every finished call these are looked at in this order, and the first that applies is the
result. (Budgets and the retry policy stand before all of them, in `supervisor`.)

1. `repeated_rejection`: `rejections_max` calls in a row ended as rejected, for a reason that no
   retry can cure. Any other ending starts the count anew.
2. `loop_exact`: `repeats_max` calls in a row have the same signature.
3. `loop_cycle`: the calls repeat with a period of 2, 3 or 4 and the sequence has now been seen
   `cycles_max` times in a row; the shortest period is named; one call repeated is no cycle.
4. `stall`: `stall_max` transitions in a row without progress.
5. `amplification`: the executed calls of the task are more than `amplification_max` for each of its
   milestones, the one that is being worked on included: executed > max * (milestones + 1). It warns
   once, or stops if `amplification_stops`.

Before every decision the meters are read: `no_progress_meter` once the model calls, tokens or
milliseconds since the last progress (or the start) have reached their limit, in this order.

A signature is (tool, normalised arguments, status, reason, result). Progress restarts every count
and meter, but what was seen before it can still be repeated: the first occurrence of a repetition
or cycle may have been progress, its repetitions not. So the state projection of the book is the set
of milestones here, which is constant wherever a repetition is counted.

Retries: a call that ended in a retryable failure is bounded by the retry policy, hence it
interrupts repetitions and cycles and is part of none. It is a transition for the stall unless it
was itself a retry, which is a call whose operation ended in a retryable failure the last time.
A limit of 1 repeat or cycle acts as 2, for nothing is repeated by being done once.

All state is a window of four signatures, some counters and the marks: a call costs constant time.
Arguments are decoded only where their spelling decides: two calls of one tool that are written
differently, or a retry to be told from something new.

Sources: book chapter 10.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Final, final

from arh.records.messages import ToolRequest
from arh.records.outcomes import Mark, ToolOutcome
from arh.records.tasks import ProgressLimits, ProgressStopped

KEY_ARGUMENT: Final = "idempotency_key"
PERIOD_MAX: Final = 4
NORMALISED_CHARS_MAX: Final = 16_384
NORMALISED_BRACKETS_MAX: Final = 64

_DECODER: Final = json.JSONDecoder()
_NORMAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_Signature = tuple[object, ...]
_NONE: Final = (None, None, None)


@final
class Action:
    """What a request asks for, whatever its spelling; equal actions are the same request."""

    __slots__ = ("_read", "tool", "written")

    def __init__(self, tool: str, written: str) -> None:
        """Take the arguments as they are written, to be read when somebody asks."""
        self.tool = tool
        self.written = written
        self._read: tuple[str, tuple[str, str, str]] | None = None

    @property
    def arguments(self) -> str:
        """The arguments by sorted keys if they are a JSON object, else as they are written.

        Very long or deeply nested text is not normalised, so that no model can make this expensive.
        """
        return self._reading()[0]

    @property
    def operation(self) -> tuple[str, str, str]:
        """What the retry policy counts by: tool and idempotency key, else tool and arguments."""
        return self._reading()[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Action):
            return NotImplemented
        return self.tool == other.tool and (
            self.written == other.written or self.arguments == other.arguments
        )

    def __hash__(self) -> int:
        return hash((self.tool, self.arguments))

    def _reading(self) -> tuple[str, tuple[str, str, str]]:
        """Return arguments and operation, read once."""
        if self._read is None:
            self._read = _read(self.tool, self.written)
        return self._read


class Progress:
    """The non-progress analysis of one task, fed with calls, decisions and what the user says."""

    __slots__ = (
        "_executed",
        "_limits",
        "_marks",
        "_matches",
        "_metered",
        "_meters",
        "_rejections",
        "_said",
        "_stalled",
        "_warned",
        "_window",
    )

    def __init__(self, limits: ProgressLimits, *, now_ms: int) -> None:
        """Begin without any milestone, the meters at zero."""
        self._limits = limits
        self._marks: set[tuple[str, str]] = set()
        self._said: list[str] = []
        self._window: deque[_Signature] = deque(maxlen=PERIOD_MAX)
        self._matches = [0] * (PERIOD_MAX + 1)
        self._meters = _Meters(now_ms)
        self._metered = (limits.model_calls_max, limits.tokens_max, limits.elapsed_ms_max) != _NONE
        self._rejections = 0
        self._stalled = 0
        self._executed = 0
        self._warned = False

    def observe(
        self, action: Action, outcome: ToolOutcome, *, retried: bool, now_ms: int
    ) -> ProgressStopped | None:
        """Take in a finished call and return the first pattern that it completes, if any."""
        progressed = self._advance(outcome.marks, now_ms)
        failed_for_now = outcome.status != "executed" and outcome.retryable
        self._executed += outcome.status == "executed"
        rejected = outcome.status == "rejected" and not failed_for_now
        self._rejections = self._rejections + 1 if rejected else 0
        self._compare(action, outcome, progressed=progressed, apart=failed_for_now)
        if progressed:
            self._stalled = 0
        elif not (failed_for_now and retried):
            self._stalled += 1
        return self._pattern()

    def read_meters(self, now_ms: int) -> ProgressStopped | None:
        """Return the meter that has reached its limit, if any."""
        if not self._metered:
            return None
        limits, meters = self._limits, self._meters
        for name, reading, limit in (
            ("model calls", meters.model_calls, limits.model_calls_max),
            ("tokens", meters.tokens, limits.tokens_max),
            ("ms", now_ms - meters.since_ms, limits.elapsed_ms_max),
        ):
            if limit is not None and reading >= limit:
                detail = f"{reading} {name} since the last milestone, limit {limit}"
                return ProgressStopped("no_progress_meter", detail)
        return None

    def decided(self, tokens: int) -> None:
        """Count one model call and its tokens."""
        self._meters.model_calls += 1
        self._meters.tokens += tokens

    def heard(self, text: str) -> None:
        """Remember what the user said, which justifies targets."""
        self._said.append(text.casefold())

    def _advance(self, marks: tuple[Mark, ...], now_ms: int) -> bool:
        """Add the marks that count and return true if one of them is new."""
        progressed = False
        for mark in marks:
            found = (mark.milestone, mark.target)
            if found not in self._marks and self._counts(mark):
                self._marks.add(found)
                progressed = True
        if progressed:
            self._meters = _Meters(now_ms)
        return progressed

    def _counts(self, mark: Mark) -> bool:
        """Return true unless the mark demands a justification that it does not have."""
        return not mark.justified or all(map(self._was_named, values_of(mark.target)))

    def _was_named(self, value: str) -> bool:
        """Return true if the user said the value."""
        folded = value.casefold()
        return any(names(text, folded) for text in self._said)

    def _compare(
        self, action: Action, outcome: ToolOutcome, *, progressed: bool, apart: bool
    ) -> None:
        """Count, for each period, how many calls in a row equal the one a period earlier.

        The window holds the latest call first.
        """
        if apart:
            self._window.clear()
        signature = (action.tool, outcome.status, outcome.reason, outcome.result, action)
        if apart or progressed:
            self._matches = [0] * (PERIOD_MAX + 1)
        else:
            matches = self._matches
            for period, earlier in enumerate(self._window, start=1):
                matches[period] = matches[period] + 1 if earlier == signature else 0
        if not apart:
            self._window.appendleft(signature)

    def _pattern(self) -> ProgressStopped | None:
        """Return the first pattern that applies now, in the order of the module's paragraph."""
        limits = self._limits
        if self._rejections >= limits.rejections_max:
            return ProgressStopped("repeated_rejection", f"{self._rejections} rejections in a row")
        if self._matches[1] >= max(1, limits.repeats_max - 1):
            return ProgressStopped("loop_exact", f"{self._matches[1] + 1} equal calls in a row")
        period = self._period()
        if period:
            times = self._matches[period] // period + 1
            return ProgressStopped("loop_cycle", f"cycle of length {period} seen {times} times")
        if self._stalled >= limits.stall_max:
            return ProgressStopped("stall", f"{self._stalled} transitions without a milestone")
        return self._amplification()

    def _period(self) -> int:
        """Return the shortest period that was repeated often enough, or 0."""
        repeats = max(1, self._limits.cycles_max - 1)
        for period in range(2, PERIOD_MAX + 1):
            varied = self._matches[1] < period - 1
            if varied and self._matches[period] >= period * repeats:
                return period
        return 0

    def _amplification(self) -> ProgressStopped | None:
        """Return the warning, once, or the stop, that too many calls bought too few milestones."""
        limit = self._limits.amplification_max
        if limit is None or self._executed <= limit * (len(self._marks) + 1):
            return None
        stops = self._limits.amplification_stops
        if self._warned and not stops:
            return None
        self._warned = True
        detail = f"{self._executed} executed calls for {len(self._marks)} milestones"
        return ProgressStopped("amplification", detail, stops=stops)


class _Meters:
    """What was spent since the last progress."""

    __slots__ = ("model_calls", "since_ms", "tokens")

    def __init__(self, since_ms: int) -> None:
        self.model_calls = 0
        self.tokens = 0
        self.since_ms = since_ms


def action_of(request: ToolRequest) -> Action:
    """Return the request's action."""
    return Action(request.tool, request.arguments)


def _read(tool: str, written: str) -> tuple[str, tuple[str, str, str]]:
    """Return the arguments in their normal spelling, and the operation that they belong to."""
    value = _decoded(written)
    if value is None:
        return written, ("", tool, written)
    text = _NORMAL.encode(value)
    key = value.get(KEY_ARGUMENT)
    return text, (KEY_ARGUMENT, tool, key) if isinstance(key, str) else ("", tool, text)


def values_of(target: str) -> tuple[str, ...]:
    """Return the texts of the JSON values that a target joins with bars, or the target itself."""
    values: list[str] = []
    at = 0
    while at < len(target):
        try:
            value, end = _DECODER.raw_decode(target, at)
        except ValueError:
            return (target,)
        values.append(value if isinstance(value, str) else target[at:end])
        if end < len(target) and target[end] != "|":
            return (target,)
        at = end + 1
    return tuple(values) or (target,)


def names(text: str, target: str) -> bool:
    """Return true if the text holds the target as a whole token: `C-1007` is not in `C-10071`.

    Letters, digits and underscores belong to a token, and so does a hyphen with one of them on its
    far side. An empty target is named nowhere.
    """
    at = text.find(target) if target else -1
    while at >= 0:
        end = at + len(target)
        if not (_joined(text[max(0, at - 2) : at][::-1]) or _joined(text[end : end + 2])):
            return True
        at = text.find(target, at + 1)
    return False


def _joined(neighbours: str) -> bool:
    """Return true if the nearest of up to two characters, nearest first, continues a token."""
    nearest, next_one = neighbours[:1], neighbours[1:2]
    return _in_token(nearest) or (nearest == "-" and _in_token(next_one))


def _in_token(char: str) -> bool:
    return char.isalnum() or char == "_"


def _decoded(arguments: str) -> dict[str, object] | None:
    """Return the JSON object that the text is, or `None` if it is something else or too big."""
    brackets = arguments.count("{") + arguments.count("[")
    if len(arguments) > NORMALISED_CHARS_MAX or brackets > NORMALISED_BRACKETS_MAX:
        return None
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
