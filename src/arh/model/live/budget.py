"""What live models may cost: ceilings over a whole suite, held before each call.

Before a call the worst case is reserved: a token for each byte of what is asked, all the tokens
that may be answered, and the whole of its time. What would go beyond a ceiling is not asked, and
the run ends as `live_budget`: nobody's failure, and no pass. Afterwards the reservation becomes
what the server says was used; where it says nothing, the worst case stands. Money is exact.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from arh.errors import RunStopped
from arh.model.live.price import Price
from arh.ports.sue import Model
from arh.records.decisions import ModelReply, ModelRequest, Unavailable, Usage

# What providers put around messages and tools that is in no byte of the request.
OVERHEAD_TOKENS = 512
# More than any suite takes: for what costs nothing, and has no other ceiling.
UNLIMITED = 10**12


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most that all live calls of a suite may take together."""

    cost_usd: Fraction
    calls: int
    tokens: int
    minutes: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What was taken, or is reserved."""

    calls: int = 0
    tokens: int = 0
    cost_usd: Fraction = Fraction(0)

    def plus(self, other: Spent, sign: int = 1) -> Spent:
        """Return both together, or this without the other."""
        return Spent(
            self.calls + sign * other.calls,
            self.tokens + sign * other.tokens,
            self.cost_usd + sign * other.cost_usd,
        )


class LiveBudget:
    """Counts for all runs and threads of a suite; minutes count from the first call."""

    def __init__(
        self, ceilings: Ceilings, price: Price, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nothing spent."""
        self.ceilings, self.price = ceilings, price
        self.spent = Spent()
        self.reached = ""
        self._reserved = Spent()
        self._now_s = now_s
        self._began_s: float | None = None
        self._lock = threading.Lock()

    def reserve(self, worst: Usage, timeout_ms: int) -> Spent:
        """Return the reservation of a call.

        Raises:
            RunStopped: The call could go beyond a ceiling (`live_budget`).
        """
        asked = self._of(worst)
        with self._lock:
            if not self.reached:
                self.reached = self._exceeded(asked, timeout_ms)
            if self.reached:
                raise RunStopped("live_budget", self.reached)
            self._reserved = self._reserved.plus(asked)
        return asked

    def settle(self, reserved: Spent, used: Usage | None) -> None:
        """Turn a reservation into what was used; `None` says that nobody knows."""
        with self._lock:
            self._reserved = self._reserved.plus(reserved, -1)
            self.spent = self.spent.plus(reserved if used is None else self._of(used))

    def summary(self) -> str:
        """Say what was spent, of which ceilings."""
        spent, top = self.spent, self.ceilings
        cost = f"{float(spent.cost_usd):.4f} of {float(top.cost_usd):.2f} USD"
        counts = f"calls {_of(spent.calls, top.calls)}, tokens {_of(spent.tokens, top.tokens)}"
        return f"live model: {counts}, {cost}"

    def _of(self, usage: Usage) -> Spent:
        return Spent(1, usage.total, self.price.of(usage))

    def _exceeded(self, asked: Spent, timeout_ms: int) -> str:
        """Return the ceiling that the call could go beyond, or nothing."""
        now_s, top = self._now_s(), self.ceilings
        if self._began_s is None:
            self._began_s = now_s
        total = self.spent.plus(self._reserved).plus(asked)
        if total.calls > top.calls:
            return f"{top.calls} model calls are all that is allowed"
        if total.tokens > top.tokens:
            return f"the next call could take the tokens beyond {top.tokens}"
        if total.cost_usd > top.cost_usd:
            return f"the next call could take the cost beyond {float(top.cost_usd):.2f} USD"
        if now_s - self._began_s + timeout_ms / 1000 > top.minutes * 60:
            return f"the next call could take the time beyond {top.minutes} minutes"
        return ""


class MeteredModel:
    """A live model within a budget: implements `arh.ports.sue.Model`."""

    def __init__(
        self,
        inner: Model,
        budget: LiveBudget,
        *,
        size: Callable[[ModelRequest], int],
        output_tokens_max: int,
    ) -> None:
        """Stand before the model; `size` tells how many bytes a request has."""
        self._inner, self._budget, self._size = inner, budget, size
        self._output_tokens_max = output_tokens_max

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply, counted.

        Raises:
            RunStopped: The call could go beyond a ceiling (`live_budget`), and is not made.
        """
        written = min(self._output_tokens_max, request.output_tokens_max or self._output_tokens_max)
        worst = Usage(self._size(request) + OVERHEAD_TOKENS, written)
        reserved = self._budget.reserve(worst, request.timeout_ms)
        used: Usage | None = None
        try:
            reply = self._inner.complete(request)
            used = _used(reply)
        finally:
            self._budget.settle(reserved, used)
        return reply


def _of(count: int, top: int) -> str:
    return str(count) if top >= UNLIMITED else f"{count} of {top}"


def _used(reply: ModelReply) -> Usage | None:
    """Return what a call used, `None` if the server did not say."""
    usage = reply.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    if any(type(count) is not int or count < 0 for count in counts):
        # An adapter of somebody's may say anything: no ceiling holds what is no number.
        return None
    refused = isinstance(reply.decision, Unavailable) and reply.served is not None
    if reply.served is not None and reply.served.metered:
        return usage
    return None if refused or not usage.total else usage
