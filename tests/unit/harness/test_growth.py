"""The work of a run and of its verdict grows with the run, and not with the run's square.

Work is the number of function calls, which is the same on every machine.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.testing.workbench import Workbench

# Twice the steps make twice the calls, or a little more where something is a tree.
DOUBLED = 2.1

Scenario = dict[str, Any]
Patched = Callable[[Scenario], None]


class Work:
    """Counts function calls, those of C functions included, in all threads that begin meanwhile."""

    def __init__(self) -> None:
        """Begin at none."""
        self.calls = 0

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> None:
        """Count one event of the interpreter."""
        if event in {"call", "c_call"}:
            self.calls += 1


@contextmanager
def counted() -> Iterator[Work]:
    """Count the calls within the block."""
    work = Work()
    before = sys.getprofile()
    threading.setprofile(work)
    sys.setprofile(work)
    try:
        yield work
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def ticket(name: str) -> JsonValue:
    """Return a call that opens a ticket under a key of that name."""
    arguments: dict[str, JsonValue] = {
        "account_id": "A-1007",
        "category": "call-back",
        "summary": f"please call back: {name}",
        "proposed_action": "call_back",
        "idempotency_key": f"key-{name}",
    }
    return {"kind": "tool_call", "tool": "create_ticket", "arguments": arguments}


def steps(count: int) -> tuple[Patched, dict[str, JsonValue]]:
    """Return one task of that many steps, which reads and writes in turn, by a few rules."""
    arguments: dict[str, JsonValue] = {"account_id": "A-1007"}
    read: JsonValue = {"kind": "tool_call", "tool": "get_account", "arguments": arguments}
    following = ticket("{{results.create_ticket.ticket_id}}")
    rules: list[JsonValue] = [
        {"when": {"step": 0}, "then": read},
        {"when": {"step": 1}, "then": ticket("first")},
        {"when": {"step": count}, "then": {"kind": "final_answer", "final_answer": "Done."}},
        {"when": {"last_tool": "create_ticket"}, "then": read},
        {"when": {"last_tool": "get_account"}, "then": following},
    ]

    def patch(scenario: Scenario) -> None:
        scenario["stimulus"] = {"messages": [{"content": "Please call us back about A-1007."}]}
        controls = scenario["controls"]
        controls["runtime_budgets"] = {
            "max_steps": count + 1,
            "max_tool_calls": count,
            "wall_clock_ms": 1_000_000,
            "max_tokens": 10_000_000,
        }
        controls["progress_limits"] = {"max_repeats": count, "max_stall": count + 1}

    return patch, {"rules": rules}


def tasks(count: int) -> tuple[Patched, None]:
    """Return that many tasks, one after the other."""

    def patch(scenario: Scenario) -> None:
        for kind in scenario["stimulus"]["soak"]:
            kind["repeat"] = count // 4

    return patch, None


def calls_of(scenario_id: str, patch: Patched, script: dict[str, JsonValue] | None) -> int:
    """Return the calls of one run with everything that follows from it; an earlier one warms up."""
    bench = Workbench.of()
    bench.run(scenario_id, patch=patch, script=script)
    with counted() as work:
        tried = bench.run(scenario_id, patch=patch, script=script)
    assert tried.verdict.termination == "completed"
    return work.calls


@pytest.mark.parametrize("kind", [steps, tasks])
def test_twice_the_work_costs_twice_the_calls(
    kind: Callable[[int], tuple[Patched, dict[str, JsonValue] | None]],
) -> None:
    """Neither a long task nor a long soak costs more for each step the longer it gets."""
    once = calls_of("soak-fifty-tasks-001", *kind(60))
    twice = calls_of("soak-fifty-tasks-001", *kind(120))

    assert twice / once < DOUBLED


def test_work_that_grows_by_the_square_is_seen() -> None:
    """The measure itself tells such growth from the other."""

    def squared(count: int) -> int:
        with counted() as work:
            for _ in range(count):
                list(map(str, range(count)))
                for number in range(count):
                    abs(number)
        return work.calls

    assert squared(200) / squared(100) > DOUBLED
