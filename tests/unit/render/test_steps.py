"""A run step by step: what its lines say where there is nothing left to say."""

from __future__ import annotations

import pytest

from arh.records.control.evidence import Event
from arh.render.steps import run_lines


@pytest.mark.parametrize("kind", ["run_started", "model_answered", "tool_call", "agent_finished"])
def test_an_entry_that_could_not_be_redacted_is_named(kind: str) -> None:
    """Nothing of it was kept but its kind and time: that is a line, and no crash."""
    event = Event("e-1", 1, kind, "runner", 7, "", {"redaction_failed": True})

    assert [f"      7 ms  {kind}: an entry that could not be redacted"] == list(run_lines((event,)))
