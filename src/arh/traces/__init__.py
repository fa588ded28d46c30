"""Recorded traces: read from any format, judged by a policy, compared with a baseline.

What is named here is the stable interface. Each name is imported when it is first used, so that a
format or a command pays for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arh.traces.authoring.policy import Policy as Policy
    from arh.traces.comparing.compare import compare_reports as compare_reports
    from arh.traces.comparing.gate import evaluate_gate as evaluate_gate
    from arh.traces.judging.report import TraceReport as TraceReport
    from arh.traces.judging.validator import validate_trace as validate_trace
    from arh.traces.pytest_support import assert_trace as assert_trace
    from arh.traces.registry import RULES as RULES
    from arh.traces.registry import Rule as Rule
    from arh.traces.trace import Note as Note
    from arh.traces.trace import Step as Step
    from arh.traces.trace import Trace as Trace

__all__ = [
    "RULES",
    "Note",
    "Policy",
    "Rule",
    "Step",
    "Trace",
    "TraceReport",
    "assert_trace",
    "compare_reports",
    "evaluate_gate",
    "validate_trace",
]


def __getattr__(name: str) -> object:
    """Return a name of the interface, imported now."""
    if name in {"Note", "Step", "Trace"}:
        from arh.traces import trace

        return getattr(trace, name)
    if name in {"RULES", "Rule"}:
        from arh.traces import registry

        return getattr(registry, name)
    if name in {"compare_reports", "evaluate_gate"}:
        from arh.traces.comparing import gate

        return getattr(gate, name)
    if name in {"Policy", "TraceReport", "assert_trace", "validate_trace"}:
        from arh.traces import pytest_support

        return getattr(pytest_support, name)
    raise AttributeError(name)
