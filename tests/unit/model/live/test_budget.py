"""Ceilings hold before a call is made, in all threads together, with exact money."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from arh.errors import RunStopped
from arh.model.live.budget import OVERHEAD_TOKENS, Ceilings, LiveBudget, MeteredModel, Spent
from arh.model.live.price import Price
from arh.records.decisions import (
    Final,
    ModelReply,
    ModelRequest,
    Served,
    Unavailable,
    Usage,
)

PRICE = Price(Fraction(2), Fraction(10), Fraction(1, 2))
TOP = Ceilings(cost_usd=Fraction(1), calls=10, tokens=100_000, minutes=1)
REQUEST = ModelRequest((), (), 1_000)
SERVED = Served(metered=True)


class Fixed:
    """A model that always replies the same, or raises."""

    def __init__(self, reply: ModelReply | Exception) -> None:
        self.reply = reply
        self.calls = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """Reply."""
        self.calls += 1
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


def metered(inner: Fixed, budget: LiveBudget) -> MeteredModel:
    """The model within the budget; a request has 488 bytes, so that its input is 1,000 tokens."""
    return MeteredModel(
        inner, budget, size=lambda _: 1_000 - OVERHEAD_TOKENS, output_tokens_max=100
    )


def answer(usage: Usage, served: Served | None = SERVED) -> ModelReply:
    """A reply that took so many tokens."""
    return ModelReply(Final("x"), usage, 1, "m", served)


def test_cached_tokens_have_their_own_price() -> None:
    """They are a part of the input, and cost less."""
    cost = PRICE.of(Usage(1_000_000, 100_000, 400_000))

    assert Fraction(600_000 * 2 + 400_000 // 2 + 100_000 * 10, 1_000_000) == cost
    assert PRICE.of(Usage(10, 0, 99)) == PRICE.of(Usage(10, 0, 10))


def test_what_the_server_says_is_what_was_spent() -> None:
    """The reservation is given back."""
    budget = LiveBudget(TOP, PRICE)

    metered(Fixed(answer(Usage(50, 7))), budget).complete(REQUEST)

    assert Spent(1, 57, PRICE.of(Usage(50, 7))) == budget.spent


@pytest.mark.parametrize(
    "reply",
    [
        answer(Usage(), Served(metered=False)),
        answer(Usage(), None),
        answer(Usage(-1_000_000, 1)),
        answer(Usage(10, -1), None),
        answer(Usage(float("nan"), 1)),  # type: ignore[arg-type]  # what an adapter may say
        answer(Usage(1, float("-inf"))),  # type: ignore[arg-type]  # what an adapter may say
        ModelReply(Unavailable("timeout"), Usage(), 1, "m", Served(trouble="timeout")),
        ValueError("an adapter's defect"),
    ],
)
def test_what_nobody_knows_counts_as_the_worst(reply: ModelReply | Exception) -> None:
    """A call that may have cost something is never free."""
    budget = LiveBudget(TOP, PRICE)
    model = metered(Fixed(reply), budget)

    if isinstance(reply, Exception):
        with pytest.raises(ValueError, match="defect"):
            model.complete(REQUEST)
    else:
        model.complete(REQUEST)

    assert Spent(1, 1_100, PRICE.of(Usage(1_000, 100))) == budget.spent


def test_a_status_is_a_call_and_costs_nothing() -> None:
    """A server that refused a request has written no token."""
    budget = LiveBudget(TOP, PRICE)
    refused = ModelReply(Unavailable("rate_limited"), Usage(), 1, "m", Served(metered=True))

    metered(Fixed(refused), budget).complete(REQUEST)

    assert Spent(1) == budget.spent


@pytest.mark.parametrize(
    ("ceilings", "said"),
    [
        (replace(TOP, calls=2), "2 model calls are all that is allowed"),
        (replace(TOP, tokens=2 * 57 + 1_099), "the tokens beyond 1213"),
        (
            replace(TOP, cost_usd=2 * PRICE.of(Usage(50, 7)) + PRICE.of(Usage(1_000, 99))),
            "the cost beyond 0.00 USD",
        ),
    ],
)
def test_the_call_that_could_go_beyond_is_not_made(ceilings: Ceilings, said: str) -> None:
    """Two fit; the third could take one too much at its worst, and ends the run."""
    budget, inner = LiveBudget(ceilings, PRICE), Fixed(answer(Usage(50, 7)))
    model = metered(inner, budget)
    for _ in range(2):
        model.complete(REQUEST)

    for _ in range(2):
        with pytest.raises(RunStopped) as stop:
            model.complete(REQUEST)
        assert stop.value.termination == "live_budget"
        assert said in stop.value.detail

    assert inner.calls == 2


def test_exactly_the_ceiling_is_allowed() -> None:
    """The ceiling itself is not beyond it: the twin of the test above."""
    tokens = 2 * 57 + 1_100
    budget, inner = LiveBudget(replace(TOP, tokens=tokens), PRICE), Fixed(answer(Usage(50, 7)))
    model = metered(inner, budget)

    for _ in range(3):
        model.complete(REQUEST)

    assert inner.calls == 3


def test_minutes_count_from_the_first_call_with_the_time_that_a_call_may_take() -> None:
    """A call that could end after the last minute is not begun."""
    now = [1_000.0]
    budget = LiveBudget(TOP, PRICE, now_s=lambda: now[0])
    model = metered(Fixed(answer(Usage(1, 1))), budget)

    model.complete(REQUEST)
    now[0] += 59
    model.complete(REQUEST)
    now[0] += 0.001
    with pytest.raises(RunStopped, match="the time beyond 1 minutes"):
        model.complete(REQUEST)


def test_a_limit_of_the_caller_lowers_what_is_reserved() -> None:
    """What a budget of the agent leaves is all that can be answered."""
    budget = LiveBudget(TOP, PRICE)
    model = metered(Fixed(answer(Usage(), None)), budget)

    model.complete(replace(REQUEST, output_tokens_max=5))

    assert Spent(1, 1_005, PRICE.of(Usage(1_000, 5))) == budget.spent


def test_threads_together_do_not_go_beyond() -> None:
    """Calls that are under way count at their worst, so that none of eight threads slips by."""
    budget = LiveBudget(replace(TOP, calls=1_000, tokens=20 * 1_100), PRICE)
    inside, most, lock = [0], [0], threading.Lock()
    barrier = threading.Barrier(8, timeout=5)

    class Slow(Fixed):
        def complete(self, request: ModelRequest) -> ModelReply:
            with lock:
                inside[0] += 1_100
                most[0] = max(most[0], inside[0] + budget.spent.tokens)
            reply = super().complete(request)
            with lock:
                inside[0] -= 1_100
            return reply

    inner = Slow(answer(Usage(1_000, 100)))

    def work(_: int) -> int:
        model, made = metered(inner, budget), 0
        barrier.wait()
        try:
            while made < 100:
                model.complete(REQUEST)
                made += 1
        except RunStopped:
            return made
        return made

    with ThreadPoolExecutor(8) as pool:
        made = sum(pool.map(work, range(8)))

    assert made <= 20
    assert budget.spent.tokens == made * 1_100 <= 20 * 1_100
    assert most[0] <= 20 * 1_100
