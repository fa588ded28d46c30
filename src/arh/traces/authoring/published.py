"""The JSON Schemas of traces, policies and assertions, as they are published.

An editor that knows them warns before the reader does. They say what the fields are; what needs
more than one field (a minimum that exceeds a maximum, a pattern that can be run) is the reader's. A
test holds each of them to its reader: what the schema refuses, the reader refuses.
"""

from __future__ import annotations

from typing import Any, Final

from arh.traces.authoring import policy as policies
from arh.traces.authoring.arg_specs import FITS
from arh.traces.authoring.assertions import STATUSES, STEPS_LIMIT
from arh.traces.trace import STATUSES as STEP_STATUSES
from arh.traces.trace import STEP_TYPES

Schema = dict[str, Any]

NUMBER_MAX: Final = 2**53 - 1

_VERSION: Final[Schema] = {
    "anyOf": [
        {"type": "null"},
        {"type": "string", "pattern": r"^1(\.|$)"},
        {"type": "number", "minimum": 1, "exclusiveMaximum": 2},
    ]
}
# Recorders write these for "nothing".
_EMPTY: Final[Schema] = {"enum": [None, "", 0, False, []]}
_OBJECT_OR_EMPTY: Final[Schema] = {"anyOf": [{"type": "object"}, _EMPTY]}
_TEXT: Final[Schema] = {"type": "string"}
_NAME: Final[Schema] = {"type": "string", "minLength": 1}
_FLAG: Final[Schema] = {"type": ["boolean", "null"]}
_AMOUNT: Final[Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": NUMBER_MAX}
_COUNT: Final[Schema] = {"type": ["integer", "null"], "minimum": 0, "maximum": NUMBER_MAX}
_AT_LEAST_ONE: Final[Schema] = {**_COUNT, "minimum": 1}
_TEXTS: Final[Schema] = {"type": ["array", "null"], "items": _TEXT}
_EXTENSIONS: Final[Schema] = {"^x-": {}}


def trace_schema() -> Schema:
    """Return the schema of a trace, version 1: keys that it does not name are allowed."""
    return {
        "title": "Trace",
        "description": "What an agent did, in order.",
        "type": "object",
        "required": ["trace_id", "agent_name", "workflow", "steps"],
        "properties": {
            "schema_version": _VERSION,
            "trace_id": {"description": "Names the trace; unique within a report."},
            "agent_name": {"description": "Which agent it was."},
            "workflow": {"description": "What it was doing."},
            "source": {"description": "Where the trace came from; kept and not judged."},
            "metadata": _OBJECT_OR_EMPTY,
            "steps": {"type": "array", "items": _step()},
        },
    }


def _step() -> Schema:
    text: Schema = {"type": ["string", "null"]}
    return {
        "type": "object",
        "required": ["step_id", "type"],
        "properties": {
            "step_id": {"description": "Names the step; unique within the trace."},
            "type": {"enum": list(STEP_TYPES)},
            "status": {
                "enum": [*STEP_STATUSES, None],
                "description": "Absent: error if `error` says something, else ok.",
            },
            "tool_name": text,
            "arguments": {"type": ["object", "null"]},
            "output": {"description": "What the tool returned, any JSON value."},
            "text": text,
            "error": text,
            "latency_ms": _AMOUNT,
            "cost_usd": _AMOUNT,
            "input_tokens": _COUNT,
            "output_tokens": _COUNT,
            "citations": {"anyOf": [{"type": "array"}, _EMPTY, {"enum": [{}]}]},
            "requires_grounding": _FLAG,
            "metadata": _OBJECT_OR_EMPTY,
        },
    }


def policy_schema() -> Schema:
    """Return the schema of a policy, version 1: keys that it does not name are refused."""
    sections: Schema = {
        "budgets": _closed(
            dict(zip(policies.BUDGET_KEYS, [_AMOUNT, _AMOUNT, _AMOUNT, _COUNT], strict=True))
        ),
        "grounding": _closed(
            {
                "require_citations": _FLAG,
                "min_citation_coverage": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
                "require_valid_citation_urls": _FLAG,
            }
        ),
        "sequence": _closed(
            {
                "required_tools": _TEXTS,
                "forbidden_tools": _TEXTS,
                "call_order": {
                    **_TEXTS,
                    "uniqueItems": True,
                    "maxItems": policies.CALL_ORDER_MAX,
                },
            }
        ),
        "error_handling": _closed({"require_retry_on_error": _FLAG, "max_attempts": _AT_LEAST_ONE}),
        "completion": _closed({"require_final_response": _FLAG, "max_steps": _AT_LEAST_ONE}),
    }
    return {
        "title": "Policy",
        "description": "What a trajectory must satisfy.",
        **_closed(
            {
                "$schema": {},
                "schema_version": _VERSION,
                "policy_id": {"description": "Names the policy; reports state it."},
                "description": {},
                "allow_unlisted_tools": _FLAG,
                "allowed_tools": {"type": ["object", "null"], "additionalProperties": _tool()},
                "unsafe_patterns": {**_TEXTS, "maxItems": policies.PATTERNS_MAX},
                "trusted_patterns": {
                    **_FLAG,
                    "description": "Patterns that need backtracking run in a process with limits.",
                },
                **sections,
                "assertions": _ASSERTION_LIST,
                "expected": _EXPECTED,
            }
        ),
        "type": "object",
        "required": ["policy_id"],
        "$defs": {**_definitions(), "argument": _argument()},
    }


def _tool() -> Schema:
    arguments: Schema = {
        "type": ["object", "null"],
        "additionalProperties": {"$ref": "#/$defs/argument"},
    }
    schema = _closed(
        {
            "required_arguments": arguments,
            "optional_arguments": arguments,
            "side_effect": _FLAG,
            "max_calls": _COUNT,
            "min_calls": _COUNT,
        }
    )
    return {**schema, "type": "object"}


def _argument() -> Schema:
    number: Schema = {"type": ["number", "null"], "minimum": -NUMBER_MAX, "maximum": NUMBER_MAX}
    long_form = _closed(
        {
            "type": {"description": f"One of {', '.join(FITS)}; another is reported, not checked."},
            "enum": {"type": ["array", "null"]},
            "pattern": {"type": ["string", "null"], "description": "Matched from end to end."},
            "min": number,
            "max": number,
        }
    )
    return {"anyOf": [{"type": "string"}, {**long_form, "type": "object"}]}


def assertions_schema() -> Schema:
    """Return the schema of a file of assertions: an object, or only the list."""
    whole = _closed(
        {
            "$schema": {},
            "schema_version": _VERSION,
            "description": {},
            "assertions": _ASSERTION_LIST,
            "expected": _EXPECTED,
        }
    )
    return {
        "title": "Assertions",
        "description": "What is asserted of a trace, or of an example beside it.",
        "anyOf": [{**whole, "type": "object"}, {**_ASSERTION_LIST, "type": "array"}],
        "$defs": _definitions(),
    }


_ASSERTION_LIST: Final[Schema] = {
    "type": ["array", "null"],
    "items": {"$ref": "#/$defs/assertion"},
}
_EXPECTED: Final[Schema] = {"$ref": "#/$defs/expected"}


def _definitions() -> Schema:
    """Return what schemas of assertions refer to."""
    bodies = {**_trace_bodies(), **_example_bodies()}
    recorded = {**_trace_bodies(), **_recorded_bodies()}
    return {
        "selector": {
            "anyOf": [
                _NAME,
                {
                    **_closed({"tool": _NAME, "args_match": _PATTERNS, "status": _STATUS}),
                    "type": "object",
                    "required": ["tool"],
                },
            ]
        },
        "assertion": {
            "type": "object",
            "required": ["type"],
            "oneOf": [
                _body({"type": {"const": name}, **fields}, required=["type", *required])
                for name, (fields, required) in bodies.items()
            ],
        },
        "expected": _closed(
            {
                name: _one_or_many(_body(fields, required=list(required)))
                for name, (fields, required) in recorded.items()
            }
        ),
    }


_STATUS: Final[Schema] = {"enum": [*STATUSES, None]}
_EXPECT: Final[Schema] = {"enum": ["pass", "fail", None]}
_SELECTOR: Final[Schema] = {"$ref": "#/$defs/selector"}
_PATTERNS: Final[Schema] = {"type": ["object", "null"], "additionalProperties": _TEXT}
_SOME_NAMES: Final[Schema] = {"type": "array", "items": _TEXT, "minItems": 1}

_Bodies = dict[str, tuple[Schema, tuple[str, ...]]]


def _trace_bodies() -> _Bodies:
    """Return the fields of each assertion over the recorded calls, and which are required."""
    return {
        "trace_must_call_tool": (
            {"tool": _NAME, "min_calls": _AT_LEAST_ONE, "status": _STATUS},
            ("tool",),
        ),
        "trace_must_not_call_tool": ({"tool": _NAME, "status": _STATUS}, ("tool",)),
        "trace_tool_sequence": (
            {
                "sequence": {"type": "array", "items": _NAME},
                "allow_other_tools": {"type": "boolean"},
                "status": _STATUS,
            },
            ("sequence", "allow_other_tools"),
        ),
        "trace_max_steps": (
            {"max": {"type": "integer", "minimum": 0, "maximum": STEPS_LIMIT - 1}},
            ("max",),
        ),
        "trace_before": ({"first": _SELECTOR, "then": _SELECTOR}, ("first", "then")),
        "trace_after": (
            {"trigger": _SELECTOR, "then": _SELECTOR, "within": _AT_LEAST_ONE},
            ("trigger", "then"),
        ),
        "trace_never_after": (
            {"trigger": _SELECTOR, "forbidden": _SELECTOR},
            ("trigger", "forbidden"),
        ),
    }


def _example_bodies() -> _Bodies:
    """Return the same for assertions over an example of their own."""
    entry: Schema = {"anyOf": [{"required": ["tool"]}, {"required": ["tool_name"]}]}
    return {
        "tool_blocklist": (
            {
                "test_tool_calls": _SOME_NAMES,
                "policy": _required_body({"blocked": _SOME_NAMES}),
                "expect": _EXPECT,
            },
            ("test_tool_calls", "policy"),
        ),
        "args_valid": (
            {
                "tool": _NAME,
                "test_args": {"not": {"type": "null"}},
                "policy": {"type": "object", "minProperties": 1},
                "expect": _EXPECT,
            },
            ("tool", "test_args", "policy"),
        ),
        "sequence_valid": (
            {
                "test_trace_raw": {"type": "array", "items": {"type": "object", **entry}},
                "policy": _required_body({"regex": _NAME}),
                "expect": _EXPECT,
            },
            ("test_trace_raw", "policy"),
        ),
    }


def _recorded_bodies() -> _Bodies:
    """Return the same for checks under `expected`, which judge the recorded calls."""
    return {
        "tool_blocklist": ({"blocked": _SOME_NAMES, "expect": _EXPECT}, ("blocked",)),
        "args_valid": (
            {"tool": _NAME, "schema": {"type": ["object", "boolean"]}, "expect": _EXPECT},
            ("tool", "schema"),
        ),
        "sequence_valid": ({"regex": _NAME, "expect": _EXPECT}, ("regex",)),
    }


def _closed(properties: Schema) -> Schema:
    """Return an object, or null, with no other keys than these and extensions."""
    return {
        "type": ["object", "null"],
        "properties": properties,
        "patternProperties": _EXTENSIONS,
        "additionalProperties": False,
    }


def _body(properties: Schema, *, required: list[str]) -> Schema:
    """Return the body of an assertion. Under `expected` its type may be said again."""
    known = {"type": {}, **properties}
    return {**_closed(known), "type": "object", "required": required}


def _required_body(properties: Schema) -> Schema:
    return {**_closed(properties), "type": "object", "required": list(properties)}


def _one_or_many(body: Schema) -> Schema:
    return {"anyOf": [body, {"type": "array", "items": body, "minItems": 1}]}
