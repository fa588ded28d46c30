"""Laws of redaction over any data: it never raises, never leaks a canary, and changes little."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import line
from arh.telemetry.redaction import Redactor
from arh.telemetry.secrets import scrub
from tests.unit.telemetry.golden import GOLDEN, suite_of
from tests.unit.telemetry.shapes import CANARIES, ENCODINGS, traces_of

KINDS = (
    "agent_finished", "budget_refused", "fault_injected", "invariant_checked", "model_answered",
    "model_asked", "run_ended", "run_started", "state_changed", "state_seeded", "tool_call",
    "user_said",
)  # fmt: skip
WORDS = st.sampled_from(
    ["tool", "text", "requests", "new_messages", "arguments", "result", "changes", "answer", "a"]
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS, below, max_size=3),
    max_leaves=8,
)
EVENTS = st.dictionaries(WORDS, VALUES, max_size=5)
SECRETS = st.sampled_from(sorted(CANARIES)).map(CANARIES.__getitem__)


def planted(value: Any, canary: str, path: list[int]) -> Any:  # noqa: ANN401 - any JSON
    """Return the value with a canary put in somewhere along a path."""
    step = path[0] if path else 0
    if isinstance(value, dict) and value and path:
        name = sorted(value)[step % len(value)]
        return {**value, name: planted(value[name], canary, path[1:])}
    if isinstance(value, list) and value and path:
        at = step % len(value)
        return [planted(v, canary, path[1:]) if i == at else v for i, v in enumerate(value)]
    return [value, canary]


@given(kind=st.sampled_from(KINDS), data=EVENTS, canary=SECRETS, path=st.lists(st.integers(0, 9)))
def test_a_canary_comes_out_of_no_event(
    kind: str, data: dict[str, Any], canary: str, path: list[int]
) -> None:
    """Wherever it stands and whatever the event is: it is redacted, or the content is dropped."""
    event = {"x": 0, **data}
    name = sorted(event)[len(path) % len(event)]
    event[name] = planted(event[name], canary, path)
    written = line(Redactor(suite_of(GOLDEN).pack)(kind, event))

    assert traces_of(canary, written) == []


@given(kind=st.sampled_from(KINDS), data=EVENTS)
def test_any_event_can_be_redacted_and_written(kind: str, data: dict[str, Any]) -> None:
    """Whatever comes in, one line of JSON comes out."""
    assert isinstance(json.loads(line(Redactor(suite_of(GOLDEN).pack)(kind, data))), dict)


@given(st.text(max_size=200), SECRETS, st.sampled_from(sorted(ENCODINGS)))
def test_scrubbing_is_done_once(text: str, canary: str, encoding: str) -> None:
    """A second time changes nothing."""
    once = scrub(f"{text} {ENCODINGS[encoding](canary)}")

    assert scrub(once) == once


@given(st.text(alphabet="abcdefghij ,.", max_size=300))
def test_plain_words_are_never_touched(text: str) -> None:
    """Prose without digits or signs comes through byte for byte."""
    assert scrub(text) == text
