"""Published transcript cases: what each recording must be read as.

The cases lie outside of the repository: in the folder that ARH_SHARED names, else beside it, and
without them there is nothing to test. What they ask of rules and comparisons is tested elsewhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from arh.canonical import encode
from arh.errors import AuthoringError
from arh.traces import Policy, TraceReport, validate_trace
from arh.traces.mapping.texts import texts
from arh.traces.reading.detection import read_document
from arh.traces.reading.source import read_traces
from arh.traces.trace import Step, Trace

ROOT: Final = Path(__file__).parents[2]
SHARED: Final = Path(os.environ.get("ARH_SHARED", ROOT.parent / "shared"))
CASES: Final = SHARED / "cases" / "transcript-cases.jsonl"
OTHERS: Final = frozenset({"compare", "arh"})
"""Formats of cases that are about verdicts, not about reading."""


def cases() -> list[dict[str, Any]]:
    """Return the published cases, none when they are not here."""
    if not CASES.is_file():
        return []
    return [json.loads(line) for line in CASES.read_bytes().splitlines()]


READABLE: Final = [case for case in cases() if case["format"] not in OTHERS]

pytestmark = pytest.mark.skipif(not CASES.is_file(), reason="no published cases here")


@pytest.mark.parametrize("case", READABLE, ids=lambda case: str(case["id"]))
def test_a_recording_reads_as_its_case_says(case: Mapping[str, Any]) -> None:
    """Steps, notes, counts and text that patterns can hit are those of the case."""
    (trace,) = read_document(case["input"], f"{case['id']}.json")
    unmet = [name for name, ask in case["expected"].items() if not _met(trace, name, ask)]

    assert unmet == [], (unmet, trace)


def test_every_ask_of_the_cases_is_looked_at() -> None:
    """No case asks for something that the test above does not know."""
    asked = {name for case in READABLE for name in case["expected"]}

    assert asked <= CHECKS.keys()


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if case["id"] == "lone-surrogate"],
    ids=lambda case: case["id"],
)
def test_text_that_is_no_unicode_is_refused_with_its_place(case: Mapping[str, Any]) -> None:
    """Half of a surrogate pair in the bytes is an author's error that says the line."""
    with pytest.raises(AuthoringError, match="lone surrogate") as refused:
        read_traces(case["input"].encode(), "surrogate.json")

    assert "surrogate.json:1" in str(refused.value)


def _met(trace: Trace, name: str, ask: object) -> bool:
    check = CHECKS.get(name)
    return check is None or check(trace, ask)


def _steps(trace: Trace, ask: list[Mapping[str, Any]]) -> bool:
    """Each step has what is asked of it, and there are as many."""
    return len(ask) == len(trace.steps) and all(
        _step(step, asked) for step, asked in zip(trace.steps, ask, strict=True)
    )


def _step(step: Step, asked: Mapping[str, Any]) -> bool:
    for name, value in asked.items():
        found = getattr(step, name)
        if name == "metadata":
            found = {key: found.get(key) for key in value}
        if encode(found) != encode(value):
            return False
    return True


def _usage(trace: Trace, ask: Mapping[str, Any]) -> bool:
    recorded = _recording(trace)["usage"]
    return all(recorded.get(name) == count for name, count in ask.items())


def _usage_beside(trace: Trace, ask: Mapping[str, Any]) -> bool:
    """The case counts the input beside the cache; here it is inside."""
    recorded = dict(_recording(trace)["usage"])
    recorded["input_tokens"] -= recorded["cache_read_tokens"]
    return all(recorded[name] == count for name, count in ask.items())


def _recording(trace: Trace) -> Mapping[str, Any]:
    recorded = trace.metadata["recording"]
    assert isinstance(recorded, dict)
    return recorded


def _report(trace: Trace, sections: Mapping[str, object]) -> TraceReport:
    """Return the report on a trace whose tools the policy says nothing about."""
    policy = {"policy_id": "open", "allow_unlisted_tools": True, **sections}
    return validate_trace(trace, Policy.from_dict(policy))


def _kinds(trace: Trace) -> list[str]:
    return [note.kind for note in trace.notes]


def _scannable(trace: Trace) -> str:
    """Return all text that safety patterns see."""
    seen = [note.content for note in trace.notes]
    for step in trace.steps:
        seen += [step.text or "", texts(step.output), texts(step.arguments), step.error or ""]
        seen.append(step.raw_arguments or "")
    return "\n".join(seen)


CHECKS: Final[Mapping[str, Callable[[Trace, Any], bool]]] = {
    "finding_required": lambda trace, ask: ask is bool(_report(trace, {}).findings),
    "format": lambda trace, ask: trace.source == ask,
    "no_crash": lambda _, ask: ask is True,
    "notes_exclude": lambda trace, ask: not set(ask) & set(_kinds(trace)),
    "notes_include": lambda trace, ask: set(ask) <= set(_kinds(trace)),
    "output_media": lambda trace, ask: _kinds(trace).count("result_media") == ask,
    "output_text_contains": lambda trace, ask: ask in texts(trace.steps[0].output),
    "repair": lambda trace, ask: ask is (trace.steps[0].arguments is not None),
    "rules": lambda trace, ask: (
        ask == {"require_final_response": "pass"}
        and _report(trace, {"completion": {"require_final_response": True}}).passed
    ),
    "safety_scans": lambda trace, ask: all(text in _scannable(trace) for text in ask),
    "step_ids_unique": lambda trace, ask: (
        ask is (len({step.anchor for step in trace.steps}) == len(trace.steps))
    ),
    "steps": _steps,
    "thinking_blocks": lambda trace, ask: _kinds(trace).count("thinking") == ask,
    "usage": _usage,
    "usage_total": _usage_beside,
}
