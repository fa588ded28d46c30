"""A run in pieces, one for each task of each actor."""

from __future__ import annotations

from dataclasses import replace

from arh.harness.judging.segments import segments_of
from arh.testing.evidence_builder import RunBuilder


def test_each_task_of_each_actor_is_a_piece_with_its_own_end() -> None:
    """Calls and turns belong to the task that ends after them, and the rest has no end."""
    run = RunBuilder().user("one")
    run.call("a")
    run.finish("first").user("two")
    run.call("b")
    run.actor = "other"
    run.call("c")
    run.finish("theirs")
    run.actor = "agent"
    run.finish("second")
    run.call("d")

    pieces = [
        (
            piece.actor,
            [turn.text for turn in piece.turns],
            [call.tool for call in piece.calls],
            piece.finish.answer if piece.finish else None,
        )
        for piece in segments_of(run.build())
    ]

    assert pieces == [
        ("agent", ["one"], ["a"], "first"),
        ("agent", ["two"], ["b"], "second"),
        ("agent", [], ["d"], None),
        ("other", [], ["c"], "theirs"),
    ]


def test_a_run_without_events_has_no_pieces() -> None:
    """Nothing happened, so there is nothing to judge."""
    assert segments_of(replace(RunBuilder().build(), calls=())) == ()
