"""The order of steps in which the public tool reads a message that says something and calls tools.

It puts the text behind the calls in the formats of OpenAI and Cohere, though the model wrote it
first, so that a conversation which ends in an unanswered call can end in a text for it. Only
`compat="0.2"` asks for that order.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

from arh.traces.trace import Step, Trace

_FORMS: Final = frozenset({"cohere-chat", "openai-chat"})


def peer_order(trace: Trace) -> Trace:
    """Return the trace with each reply's text behind its calls, if its format is one of those."""
    recording = trace.metadata.get("recording")
    turns = recording.get("turns") if isinstance(recording, dict) else None
    if (
        not isinstance(trace.source, str)
        or trace.source not in _FORMS
        or not isinstance(turns, list)
    ):
        return trace
    begins = [at for at in turns if type(at) is int and 0 <= at <= len(trace.steps)]
    ends = [0, *begins, len(trace.steps)]
    steps = [step for begin, end in pairwise(ends) for step in _behind(trace.steps[begin:end])]
    if len(steps) != len(trace.steps):
        return trace
    ordered = tuple(replace(step, ordinal=at) for at, step in enumerate(steps))
    return replace(trace, steps=ordered)


def _behind(steps: tuple[Step, ...]) -> list[Step]:
    """Return the steps of one reply with its answers last; a plan is no answer."""
    return sorted(steps, key=lambda step: step.step_id.endswith("-response"))
