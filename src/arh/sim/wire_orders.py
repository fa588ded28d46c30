"""What a fault means on the wire to a service: the order for one request of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import Final, Literal

from arh.records.faults import FaultPlan

SLOW_MS_MAX: Final = 50

Act = Literal["refuse", "hang", "cut", "fail", "limit", "slow", "malformed", "partial", "twice"]


@dataclass(slots=True)
class WireOrder:
    """What is to happen to one request, and whether it came to pass.

    `forwards` lets the service have the request first; `of_commit` waits for a request that is no
    reading, and for a reply that reports success. `asked` is set when the client asks for the
    address, `struck` when the thing was done; `over` ends every waiting.
    """

    act: Act
    forwards: bool = False
    of_commit: bool = False
    wait_ms: int = 0
    retry_after_ms: int | None = None
    raw: str | None = None
    keep: frozenset[str] = frozenset()
    asked: bool = False
    used: bool = False
    struck: bool = False
    size: int | None = None
    removed: list[str] = field(default_factory=list)
    over: Event = field(default_factory=Event)


def order_of(plan: FaultPlan, *, writes: bool, late: bool) -> WireOrder:
    """Return what a plan means on the wire."""
    committed = writes and (plan.phase == "after_commit" or plan.hidden_outcome == "committed")
    lost_before = plan.phase == "not_dispatched" or (writes and not committed)
    forwards = not lost_before or plan.effect in {"malformed", "partial", "duplicate_delivery"}
    return WireOrder(
        act="hang" if late else _act(plan, before=lost_before),
        forwards=forwards or (plan.effect == "slowdown" and plan.phase != "not_dispatched"),
        of_commit=committed,
        wait_ms=min(plan.ms or 0, SLOW_MS_MAX),
        retry_after_ms=plan.retry_after_ms,
        raw=plan.raw,
        keep=frozenset(plan.keep_fields or ()),
    )


def _act(plan: FaultPlan, *, before: bool) -> Act:
    """Return what is done: an error is a closed door, a failing gateway or a cut, by its phase."""
    if plan.effect == "error":
        if plan.phase == "not_dispatched":
            return "refuse"
        return "fail" if before else "cut"
    return _ACTS[plan.effect]


_ACTS: Final[dict[str, Act]] = {
    "timeout": "hang",
    "rate_limit": "limit",
    "slowdown": "slow",
    "malformed": "malformed",
    "partial": "partial",
    "duplicate_delivery": "twice",
}
