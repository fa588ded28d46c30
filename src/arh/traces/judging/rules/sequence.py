"""Rules of category `sequence`: which tools are called, how often, and in which order.

The order is a partial one: of two listed tools that were both called, the first call of the one
listed earlier comes first. Each required or forbidden tool is a check, each pair that was called,
and each bound on a count. Calls that failed count as calls.
"""

from __future__ import annotations

from arh.traces.authoring.policy import Policy
from arh.traces.findings import Judged, shown
from arh.traces.judging.facts import Facts

PAIR: int = 2


def judge(facts: Facts, policy: Policy) -> Judged:
    """Return how the calls of a trace break the sequence rules."""
    judged = Judged("sequence")
    _required(judged, facts, policy)
    _forbidden(judged, facts, policy)
    _order(judged, facts, policy.sequence.call_order)
    _counts(judged, facts, policy)
    judged.applicable = judged.total > 0
    return judged


def _required(judged: Judged, facts: Facts, policy: Policy) -> None:
    for tool in policy.sequence.required_tools:
        called = tool in facts.by_tool
        judged.check(holds=called)
        if not called:
            judged.add(
                "ARH-SEQ-001",
                f"required tool {shown(tool)} was never called",
                expected="at least 1 call",
                observed="0 calls",
                subject=tool,
            )


def _forbidden(judged: Judged, facts: Facts, policy: Policy) -> None:
    for tool in policy.sequence.forbidden_tools:
        calls = facts.by_tool.get(tool, ())
        judged.check(holds=not calls)
        for step in calls:
            judged.add(
                "ARH-SEQ-002",
                f"forbidden tool {shown(tool)} was called",
                facts.anchor(step),
                expected="no call",
                observed="a call",
                subject=tool,
            )


def _order(judged: Judged, facts: Facts, order: tuple[str, ...]) -> None:
    """Check each pair of listed tools that were both called."""
    called = [tool for tool in order if tool in facts.first]
    pairs = len(called) * (len(called) - 1) // PAIR
    firsts = [facts.first[tool] for tool in called]
    if firsts == sorted(firsts):
        judged.check(holds=True, times=pairs)
        return
    broken = 0
    for at, earlier in enumerate(called):
        for later in called[at + 1 :]:
            if facts.first[earlier] > facts.first[later]:
                broken += 1
                _out_of_order(judged, facts, earlier, later)
    judged.check(holds=True, times=pairs - broken)
    judged.check(holds=False, times=broken)


def _out_of_order(judged: Judged, facts: Facts, earlier: str, later: str) -> None:
    first, second = facts.first[earlier], facts.first[later]
    judged.add(
        "ARH-SEQ-003",
        f"{shown(later)} was first called before {shown(earlier)}",
        facts.anchor(facts.by_tool[later][0]),
        expected=f"{shown(earlier)} before {shown(later)}",
        observed=f"{shown(later)} is call {second}, {shown(earlier)} is call {first}",
        subject=f"{earlier} before {later}",
    )


def _counts(judged: Judged, facts: Facts, policy: Policy) -> None:
    """Check how often each tool was called, tools in sorted order."""
    bounded = [
        (tool, schema.max_calls, schema.min_calls)
        for tool, schema in policy.allowed_tools.items()
        if schema.max_calls is not None or schema.min_calls is not None
    ]
    for tool, most, least in sorted(bounded, key=lambda each: each[0]):
        count = len(facts.by_tool.get(tool, ()))
        if most is not None:
            _count(judged, "ARH-SEQ-004", tool, count, f"at most {most}", holds=count <= most)
        if least is not None:
            _count(judged, "ARH-SEQ-005", tool, count, f"at least {least}", holds=count >= least)


def _count(judged: Judged, rule: str, tool: str, count: int, expected: str, *, holds: bool) -> None:
    judged.check(holds=holds)
    if not holds:
        said = f"{shown(tool)} was called {count} times, not {expected} times"
        judged.add(
            rule, said, expected=f"{expected} calls", observed=f"{count} calls", subject=tool
        )
