"""Holds an agent to its budgets and stops it when it is stuck: returns values, touches nothing.

The loop asks before each decision, after it, before each call and after it. Budgets are checked
before non-progress, in this order: deadline, steps, tokens, meters of non-progress; and for a call:
deadline, tool calls, retries. A step is one question to the model, whatever comes back. A tool call
counts when it is handed to the gateway, which may still reject it. The deadline counts from the
start of the task and is reached at `deadline_ms`; time or tokens that were spent beyond a limit
nonetheless are an overrun, which is found as soon as the spender returns.

A retry is a call whose logical operation (same tool and idempotency key, or else same tool and
arguments) ended in a retryable failure the last time. At most `retries_max` retries in a row are
let through, each after a back-off of 200 ms, doubled every time up to 5 s, or after what the
failure asked for. A back-off that does not fit into the time left is refused as `deadline`.

Sources: book chapters 5, 10 and 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arh.agent.progress import Action, Progress, action_of
from arh.records.messages import ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.records.quick import quick
from arh.records.tasks import (
    BudgetRefused,
    Budgets,
    Note,
    ProgressLimits,
    ProgressStopped,
    Termination,
)

BACK_OFF_MS: Final = 200
BACK_OFF_MS_MAX: Final = 5_000
_DOUBLINGS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class Stop:
    """The task ends here. `note` is for the record; `limit` and `needed` explain refused calls."""

    termination: Termination
    note: Note
    limit: int
    needed: int

    @property
    def detail(self) -> str:
        """What led to the stop, in a few words."""
        if isinstance(self.note, ProgressStopped):
            return self.note.detail
        verb = "used" if self.note.overrun else "needed"
        return f"limit {self.limit}, {verb} {self.needed}"

    def refusing(self, request: ToolRequest) -> BudgetRefused:
        """Return the note that this call was never made, because of this stop."""
        return BudgetRefused(self.termination, self.limit, self.needed, request)


@quick
@dataclass(frozen=True, slots=True)
class Permit:
    """A call may be made, after `wait_ms`."""

    action: Action
    retried: bool
    wait_ms: int


class Supervisor:
    """The budgets and the progress of one task."""

    __slots__ = (
        "_budgets",
        "_calls",
        "_end_ms",
        "_pending",
        "_start_ms",
        "_steps",
        "_tokens",
        "progress",
    )

    def __init__(self, budgets: Budgets, limits: ProgressLimits, *, now_ms: int) -> None:
        """Begin with nothing spent."""
        self._budgets = budgets
        self._start_ms = now_ms
        self._end_ms = now_ms + budgets.deadline_ms
        self._steps = 0
        self._calls = 0
        self._tokens = 0
        self._pending: dict[tuple[str, str, str], tuple[int, int | None]] = {}
        self.progress = Progress(limits, now_ms=now_ms)

    def before_decision(self, *, now_ms: int, input_tokens: int) -> Stop | None:
        """Count a step, unless something forbids it; `input_tokens` is the estimated request."""
        budgets = self._budgets
        if now_ms >= self._end_ms:
            return self._late(now_ms)
        if self._steps >= budgets.steps_max:
            return _refused("step_budget", budgets.steps_max, self._steps + 1)
        needed = self._tokens + input_tokens + (budgets.output_tokens_max or 1)
        if budgets.tokens_max is not None and needed > budgets.tokens_max:
            return _refused("token_budget", budgets.tokens_max, needed)
        stuck = self.progress.read_meters(now_ms)
        if stuck is not None:
            return _stuck(stuck)
        self._steps += 1
        return None

    def after_decision(self, *, now_ms: int, tokens: int) -> Stop | None:
        """Charge the tokens and return the overrun that the decision caused, if any."""
        self._tokens += tokens
        self.progress.decided(tokens)
        if now_ms > self._end_ms:
            return self._late(now_ms, overrun=True)
        limit = self._budgets.tokens_max
        if limit is not None and self._tokens > limit:
            return _refused("token_budget", limit, self._tokens, overrun=True)
        return None

    def before_call(self, request: ToolRequest, *, now_ms: int) -> Permit | Stop:
        """Count a call and permit it, or say what forbids it."""
        budgets = self._budgets
        if now_ms >= self._end_ms:
            return self._late(now_ms)
        if self._calls >= budgets.tool_calls_max:
            return _refused("tool_call_budget", budgets.tool_calls_max, self._calls + 1)
        permit = self._permit(action_of(request))
        if permit.retried and self._retries(permit) > budgets.retries_max:
            return _refused("retry_budget", budgets.retries_max, self._retries(permit))
        if permit.wait_ms >= self.time_left_ms(now_ms):
            return _refused(
                "deadline", budgets.deadline_ms, now_ms - self._start_ms + permit.wait_ms
            )
        self._calls += 1
        return permit

    def after_call(
        self, permit: Permit, outcome: ToolOutcome, *, now_ms: int
    ) -> Stop | ProgressStopped | None:
        """Take in the outcome; return what stops the task, or a warning, or nothing."""
        self._keep_retry(permit, outcome)
        stuck = self.progress.observe(permit.action, outcome, retried=permit.retried, now_ms=now_ms)
        if now_ms > self._end_ms:
            return self._late(now_ms, overrun=True)
        if stuck is None:
            return None
        return _stuck(stuck) if stuck.stops else stuck

    def time_left_ms(self, now_ms: int) -> int:
        """Return the time to the deadline, at least 0."""
        return max(0, self._end_ms - now_ms)

    def output_tokens_max(self, input_tokens: int) -> int | None:
        """Return how many tokens the answer may have, so that the budget cannot be exceeded."""
        budgets = self._budgets
        if budgets.output_tokens_max is not None or budgets.tokens_max is None:
            return budgets.output_tokens_max
        return budgets.tokens_max - self._tokens - input_tokens

    def model_back_off_ms(self, failures: int, retry_after_ms: int | None) -> int | None:
        """Return how long to wait before the model is asked again, or `None` if it shall not be."""
        if failures > self._budgets.retries_max:
            return None
        return back_off_ms(failures, retry_after_ms)

    def _permit(self, action: Action) -> Permit:
        """Return the permit that the retry policy has for the action."""
        failed = self._pending.get(action.operation) if self._pending else None
        if failed is None:
            return Permit(action, retried=False, wait_ms=0)
        retries, retry_after_ms = failed
        return Permit(action, retried=True, wait_ms=back_off_ms(retries + 1, retry_after_ms))

    def _retries(self, permit: Permit) -> int:
        """Return which retry in a row of its operation the call would be."""
        return self._pending[permit.action.operation][0] + 1

    def _keep_retry(self, permit: Permit, outcome: ToolOutcome) -> None:
        """Remember an operation that may be tried again, and forget one that ended otherwise."""
        if outcome.status == "executed" or not outcome.retryable:
            if self._pending:
                self._pending.pop(permit.action.operation, None)
            return
        retries = self._retries(permit) if permit.retried else 0
        self._pending[permit.action.operation] = (retries, outcome.retry_after_ms)

    def _late(self, now_ms: int, *, overrun: bool = False) -> Stop:
        """Return the stop at the deadline; an overrun, if it has passed while something ran."""
        used = now_ms - self._start_ms
        return _refused("deadline", self._budgets.deadline_ms, used, overrun=overrun)


def back_off_ms(attempt: int, retry_after_ms: int | None) -> int:
    """Return the wait before the retry number `attempt`, which counts from 1."""
    if retry_after_ms is not None:
        return max(0, retry_after_ms)
    return min(BACK_OFF_MS << min(attempt - 1, _DOUBLINGS_MAX), BACK_OFF_MS_MAX)


def _refused(budget: Termination, limit: int, needed: int, *, overrun: bool = False) -> Stop:
    return Stop(budget, BudgetRefused(budget, limit, needed, overrun=overrun), limit, needed)


def _stuck(found: ProgressStopped) -> Stop:
    return Stop(_TERMINATIONS[found.pattern], found, 0, 0)


_TERMINATIONS: Final[dict[str, Termination]] = {
    "loop_exact": "loop_exact",
    "loop_cycle": "loop_cycle",
    "stall": "stall",
    "no_progress_meter": "no_progress_meter",
    "repeated_rejection": "repeated_rejection",
    "amplification": "amplification",
}
