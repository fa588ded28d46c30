"""Inline assertions are refused where they could not fail, or say what nobody understands."""

from __future__ import annotations

from typing import Any

import pytest

from arh.traces.authoring.assertions import assertions_from_dict
from arh.traces.authoring.forms import PolicyRefused

SEQUENCE: dict[str, Any] = {"type": "trace_tool_sequence", "sequence": ["a"]}
BLOCK: dict[str, Any] = {
    "type": "tool_blocklist",
    "test_tool_calls": ["a"],
    "policy": {"blocked": ["b"]},
}
ARGS: dict[str, Any] = {
    "type": "args_valid",
    "tool": "t",
    "test_args": {"a": 1},
    "policy": {"schema": {"required": ["a"]}},
}
NAMES: dict[str, Any] = {
    "type": "sequence_valid",
    "test_trace_raw": [{"tool": "a"}],
    "policy": {"regex": "^a$"},
}


def refusal(document: Any) -> str:  # noqa: ANN401 - JSON
    """What is said when a document is refused."""
    with pytest.raises(PolicyRefused) as caught:
        assertions_from_dict(document)
    return str(caught.value)


@pytest.mark.parametrize("body", [BLOCK, ARGS, NAMES, {**SEQUENCE, "allow_other_tools": False}])
def test_the_bodies_of_the_other_tests_are_right(body: dict[str, Any]) -> None:
    """So that what the others change is what is refused."""
    assert len(assertions_from_dict([body])) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"type": "trace_must_call_tol", "tool": "a"}, "did you mean `trace_must_call_tool`?"),
        ({"type": "something else"}, "known are trace_must_call_tool"),
        ({"tool": "a"}, "type must be one of"),
        ({"type": "trace_must_call_tool", "tool": "a", "max_calls": 0}, "unknown assertion field"),
        ({"type": "trace_must_call_tool", "tool": ""}, "cannot fail"),
        ({"type": "trace_must_call_tool"}, "must be the name of a tool"),
        ({"type": "trace_must_call_tool", "tool": "a", "min_calls": 0}, "cannot fail"),
        ({"type": "trace_must_call_tool", "tool": "a", "min_calls": "1"}, "an integer >= 0"),
        ({"type": "trace_must_call_tool", "tool": "a", "min_calls": -1}, "an integer >= 0"),
        ({"type": "trace_must_call_tool", "tool": "a", "status": "okay"}, "any or ok or error"),
        ({"type": "trace_must_not_call_tool", "tool": ""}, "cannot fail"),
        (SEQUENCE, "true or false: there is no default"),
        ({"type": "trace_tool_sequence", "allow_other_tools": False}, "must be a list of tools"),
        ({**SEQUENCE, "sequence": [], "allow_other_tools": True}, "cannot fail"),
        ({"type": "trace_max_steps", "max": 2**32 - 1}, "cannot fail"),
        ({"type": "trace_max_steps"}, "an integer >= 0"),
        ({**BLOCK, "expect": "passs"}, "must be pass or fail; found `passs`"),
        ({**BLOCK, "expect": True}, "must be pass or fail"),
        ({**BLOCK, "policy": {}}, "an empty blocklist"),
        ({**BLOCK, "policy": {"blocked": []}}, "an empty blocklist"),
        ({**BLOCK, "policy": {"blocked": "rm"}}, "must be a list of strings"),
        ({**BLOCK, "policy": None}, "there is no policy"),
        ({**BLOCK, "policy": {"block": ["a"]}}, "did you mean `blocked`?"),
        ({**BLOCK, "test_tool_calls": []}, "there are no calls"),
        ({**ARGS, "test_args": None}, "there are no arguments"),
        ({**ARGS, "policy": {"schema": {}}}, "an empty schema"),
        ({**ARGS, "policy": {"schema": {"type": "objekt"}}}, "the schema cannot be used"),
        ({**ARGS, "policy": {"schema": {"$ref": "https://a.example/s"}}}, "the schema cannot be"),
        ({**ARGS, "expect": "Fail"}, "must be pass or fail"),
        ({**NAMES, "policy": {"regex": ""}}, "without a pattern"),
        ({**NAMES, "policy": {"regex": "("}}, "the pattern cannot be used"),
        ({**NAMES, "policy": {"regex": None}}, "without a pattern"),
        ({**NAMES, "test_trace_raw": None}, "there is no trace"),
        ({**NAMES, "test_trace_raw": [{"name": "a"}]}, "must name its `tool`"),
        ({**NAMES, "test_trace": []}, "is never judged"),
        ({"type": "trace_before", "first": "a"}, "then must be a tool"),
        (
            {"type": "trace_before", "first": {"tool": "a", "arg_match": {}}, "then": "b"},
            "did you mean `args_match`?",
        ),
        (
            {"type": "trace_before", "first": {"tool": "a", "args_match": {"x": "("}}, "then": "b"},
            "the pattern cannot be used",
        ),
        ({"type": "trace_after", "trigger": "a", "then": "b", "within": 0}, "an integer >= 1"),
    ],
)
def test_what_cannot_fail_or_is_not_known_is_refused(body: dict[str, Any], said: str) -> None:
    """With the path of the field."""
    found = refusal([{"type": "trace_max_steps", "max": 3}, body])

    assert said in found
    assert "assertions[1]" in found


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "nothing is asserted"),
        ({}, "nothing is asserted"),
        (5, "must be an object or a list"),
        ({"assertion": []}, "did you mean `assertions`?"),
        ({"assertions": {}}, "must be a list"),
        ({"assertions": [5]}, "an assertion must be an object"),
        ({"expected": {}}, "nothing is expected"),
        ({"expected": {"tool_blocklst": {}}}, "did you mean `tool_blocklist`?"),
        ({"expected": {"tool_blocklist": []}}, "a check must be an object"),
        ({"expected": {"tool_blocklist": {"test_tool_calls": ["a"]}}}, "unknown assertion field"),
        ({"schema_version": "2", "assertions": []}, "unsupported schema_version"),
    ],
)
def test_a_file_without_assertions_is_refused(document: object, said: str) -> None:
    """It would pass everything."""
    with pytest.raises(ValueError, match=r"(?s).") as caught:
        assertions_from_dict(document)
    assert said in str(caught.value)
