"""Outside systems in evidence: whose word counts, what is unread, what is an effect."""

from __future__ import annotations

from typing import Any

import pytest

from arh.harness.evidence.outside import NONE, Outside, took_effect
from arh.records.control.evidence import StateView

HEADER = {"external": {"desk": {"collections": ["tickets"], "tools": ["file_ticket"]}}}
VIEW = StateView("d", 1, {"tickets": (), "accounts": ()})


def ended(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return a last event with one reading of the desk."""
    return {"consistency": {"external": [{"source": "desk", "met": True, **changes}]}}


def test_a_system_that_was_read_speaks_for_its_tools() -> None:
    """Read at its consistency point it has no gap, and nothing of the state is unread."""
    found = Outside.of(HEADER, ended())

    assert found == Outside(frozenset({"file_ticket"}), frozenset(), ())
    assert found.of_view(VIEW) is VIEW


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (ended(met=False, problem="late"), "did not reach the watermark"),
        (ended(met=1), "no reading of it is on record"),
        (ended(source="other"), "no reading of it is on record"),
        ({"consistency": {"external": "desk"}}, "no reading of it is on record"),
        ({"consistency": []}, "no reading of it is on record"),
        ({}, "no reading of it is on record"),
    ],
)
def test_a_system_that_was_not_read_speaks_for_nothing(end: dict[str, Any], why: str) -> None:
    """It is a gap, its collections are unread, and its tools are as any remote's."""
    found = Outside.of(HEADER, end)

    (gap,) = found.discrepancies()
    view = found.of_view(VIEW)
    assert (gap.kind, found.tools) == ("gap", frozenset())
    assert why in gap.message
    assert view is not None
    assert list(view.collections) == ["accounts"]


@pytest.mark.parametrize("header", [{}, {"external": []}, {"external": "desk"}])
def test_without_outside_systems_there_is_nothing_to_say(header: dict[str, Any]) -> None:
    """A run without any has no gap."""
    assert Outside.of(header, {}) is NONE


def change(collection: str, value: object) -> dict[str, object]:
    """Return a change of one record."""
    return {"collection": collection, "value": value}


INTENT = change("_operations", {"status": "intent"})
SETTLED = change("_operations", {"status": "committed"})
RELEASED = change("_operations", None)
TICKET = change("tickets", {"ticket_id": "T-1"})


@pytest.mark.parametrize(
    ("changes", "seen_outside", "expected"),
    [
        ([SETTLED, TICKET], False, True),
        ([TICKET], True, True),
        ([SETTLED], False, True),
        ([SETTLED], True, False),
        ([INTENT], False, False),
        ([INTENT, change("_limits", {"total": 1})], False, False),
        ([RELEASED], False, False),
        ([change("_limits", {"total": 1})], False, True),
        ([change("_operations", {"status": "[masked]"})], False, True),
        ([], False, True),
        (["no change"], True, True),
    ],
)
def test_bookkeeping_of_a_remote_call_is_no_effect(
    *,
    changes: list[Any],
    seen_outside: bool,
    expected: bool,
) -> None:
    """An intent and its withdrawal are none; a reported success is one where nobody looked."""
    assert took_effect(changes, seen_outside=seen_outside) is expected
