"""A run told in one line: each tool with the symptom that its caller saw."""

from __future__ import annotations

import pytest

from arh.harness.judging.narrative import claim_lines, path_line
from arh.testing.evidence_builder import RunBuilder
from arh.workflows.support.definition import PACK


def _path(tool: str, *, phase: str, effect: str, belief: str) -> str:
    run = RunBuilder()
    call = run.call(tool, reason="timeout", commit_belief=belief)
    run.fault(target=tool, phase=phase, effect=effect, calls=(call.call_id,))
    return path_line(run.build())


@pytest.mark.parametrize(
    ("tool", "phase", "effect", "belief", "path"),
    [
        ("create_ticket", "after_commit", "timeout", "unknown", "create_ticket!ack_lost"),
        ("create_ticket", "after_dispatch", "timeout", "unknown", "create_ticket!commit_unknown"),
        ("create_ticket", "not_dispatched", "timeout", "not_started", "create_ticket!timeout"),
        ("get_account", "after_dispatch", "stale", "not_applicable", "get_account!stale"),
        ("get_account", "after_dispatch", "partial", "not_applicable", "get_account!partial"),
        ("get_account", "after_dispatch", "timeout", "not_applicable", "get_account!timeout"),
    ],
)
def test_a_step_is_shown_with_its_symptom(
    tool: str, phase: str, effect: str, belief: str, path: str
) -> None:
    """Only a write whose reply is lost leaves a commit unknown; any other fault keeps its name."""
    assert path == _path(tool, phase=phase, effect=effect, belief=belief)


def test_a_write_that_was_only_claimed_has_its_line() -> None:
    """Whoever says that a ticket was opened and called nothing is told so; a denial is fine."""
    run = RunBuilder()
    run.finish("I opened ticket TK-0001. No credit was issued.")

    assert claim_lines(run.build(), PACK) == (
        "create_ticket: not attempted -> no effect -> claimed completed TK-0001",
    )
