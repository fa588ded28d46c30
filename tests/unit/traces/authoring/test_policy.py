"""Policies, schema version 1: what is read, and what is refused where and why."""

from __future__ import annotations

from typing import Any

import pytest

from arh.traces.authoring.arg_specs import ArgSpec
from arh.traces.authoring.forms import PolicyRefused
from arh.traces.authoring.policy import Budgets, Policy
from arh.traces.authoring.policy_files import read_assertions_file, read_policy
from arh.traces.judging.validator import validate_trace
from arh.traces.trace import Trace


def refusal(**fields: Any) -> str:  # noqa: ANN401 - JSON
    """What is said when a policy with these fields is refused."""
    with pytest.raises(PolicyRefused) as caught:
        Policy.from_dict({"policy_id": "p", **fields})
    return str(caught.value)


def tool(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """The field `allowed_tools` with one tool."""
    return {"allowed_tools": {"x": fields}}


def test_absent_sections_ask_for_nothing() -> None:
    """A policy of an id alone is one."""
    policy = Policy.from_dict({"policy_id": "p"})

    assert policy.budgets == Budgets()
    assert not policy.allow_unlisted_tools
    assert policy.schema_version == "1"


def test_both_forms_of_an_argument_are_read() -> None:
    """A type name alone, or an object."""
    arguments = {"a": "str", "b": {"type": "int", "min": 1, "max": 2.5}, "c": {}}
    policy = Policy.from_dict({"policy_id": "p", **tool(required_arguments=arguments)})

    assert policy.allowed_tools["x"].required_arguments == {
        "a": ArgSpec(type="str"),
        "b": ArgSpec(type="int", min=1, max=2.5),
        "c": ArgSpec(),
    }


def test_the_optional_form_wins_where_an_argument_is_in_both() -> None:
    """It is still required, and judged by the optional section."""
    schema = Policy.from_dict(
        {
            "policy_id": "p",
            **tool(required_arguments={"a": "str"}, optional_arguments={"a": "int"}),
        }
    ).allowed_tools["x"]

    assert schema.declared == {"a": ArgSpec(type="int")}
    assert list(schema.required_arguments) == ["a"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (tool(min_calls=3, max_calls=1), "policy tool 'x': min_calls (3) exceeds max_calls (1)"),
        (
            {"sequence": {"call_order": ["a", "b", "a"]}},
            "policy sequence.call_order lists 'a' more than once",
        ),
        (
            {"error_handling": {"max_attempts": 0}},
            "policy error_handling.max_attempts must be an integer >= 1",
        ),
        (
            tool(required_arguments={"arg": {"enum": "low"}}),
            "policy argument 'x.arg': 'enum' must be a list",
        ),
        ({"budgets": ["a"]}, "policy field 'budgets' must be an object"),
        ({"sequence": []}, "policy field 'sequence' must be an object"),
        (
            {"sequence": {"required_tools": ["a"], "forbidden_tools": ["b", "a"]}},
            "requires and forbids the same tools: a",
        ),
        ({"sequence": {"forbiden_tools": ["rm"]}}, "did you mean `forbidden_tools`?"),
        ({"budget": {}}, "unknown policy field `budget`; did you mean `budgets`?"),
        (tool(optional_arguments={"a": {"maximum": 30}}), "did you mean `max`?"),
        (tool(sideeffect=True), "did you mean `side_effect`?"),
        ({"allow_unlisted_tools": "false"}, "must be true or false; found `false`"),
        (tool(side_effect="no"), "allowed_tools.x.side_effect must be true or false"),
        ({"grounding": {"require_citations": 1}}, "must be true or false; found 1"),
        ({"grounding": {"min_citation_coverage": 80}}, "a fraction from 0 to 1; found 80"),
        ({"grounding": {"min_citation_coverage": "0.5"}}, "a finite number >= 0; found `0.5`"),
        ({"budgets": {"max_total_latency_ms": float("nan")}}, "a finite number >= 0"),
        ({"budgets": {"max_total_cost_usd": "5"}}, "a finite number >= 0; found `5`"),
        ({"budgets": {"max_step_latency_ms": -1}}, "a finite number >= 0; found -1"),
        ({"budgets": {"max_total_tokens": 5.0}}, "an integer >= 0"),
        ({"budgets": {"max_total_tokens": 10**400}}, "found a number beyond 2^53 - 1"),
        ({"completion": {"max_steps": True}}, "an integer >= 1; found true"),
        ({"unsafe_patterns": "password"}, "policy unsafe_patterns must be a list of strings"),
        ({"unsafe_patterns": ["a"] * 1001}, "has 1001 patterns"),
        (tool(required_arguments={"a": {"pattern": "("}}), "'pattern' is an invalid regex"),
        (tool(required_arguments={"a": {"pattern": "(?=x)"}}), "a look-ahead `(?=`"),
        (tool(required_arguments={"a": {"pattern": 5}}), "'pattern' must be a string"),
        (tool(required_arguments={"a": {"min": 2, "max": 1}}), "'min' (2) exceeds 'max' (1)"),
        (tool(required_arguments={"a": 5}), "must be a type name or an object"),
        (tool(required_arguments=["a"]), "must be an object"),
        ({"allowed_tools": {"x": "str"}}, "policy tool 'x' must be an object"),
        ({"schema_version": 2}, "policy declares unsupported schema_version '2'"),
    ],
)
def test_a_mistake_is_named(fields: dict[str, Any], said: str) -> None:
    """The field, what is expected, and what was found or meant."""
    assert said in refusal(**fields)


def test_all_mistakes_are_said_at_once() -> None:
    """One run is enough to repair a policy."""
    said = refusal(budgets={"a": 1}, sequence={"b": 1}, completion={"max_steps": 0})

    assert len(said.splitlines()) == 3


@pytest.mark.parametrize("data", [None, [], "p", 5])
def test_what_is_no_object_is_no_policy(data: object) -> None:
    """Any JSON value gets an answer."""
    with pytest.raises(PolicyRefused, match="a policy must be an object"):
        Policy.from_dict(data)


def test_a_policy_needs_its_id_and_nothing_else() -> None:
    """Old policies have any value there."""
    with pytest.raises(PolicyRefused, match="'policy_id' is missing"):
        Policy.from_dict({})
    assert Policy.from_dict({"policy_id": ""}).policy_id == ""


def test_extensions_are_let_through() -> None:
    """A key that begins with `x-` is somebody's own."""
    policy = Policy.from_dict({"policy_id": "p", "x-owner": "us", "budgets": {"x-why": 1}})

    assert policy.budgets == Budgets()


def test_an_unsafe_pattern_is_compiled_before_anything_is_scanned() -> None:
    """Also when the trace is empty, so that a broken policy never passes anything."""
    policy = Policy.from_dict({"policy_id": "p", "unsafe_patterns": ["ok", "("]})
    trace = Trace.from_dict({"trace_id": "t", "agent_name": "a", "workflow": "w", "steps": []})

    with pytest.raises(ValueError, match="policy unsafe_patterns contains an invalid regex"):
        validate_trace(trace, policy)


def test_two_policies_of_one_id_are_told_apart() -> None:
    """The digest is the same for the same content, whatever the order of keys."""
    one = Policy.from_dict({"policy_id": "p", "unsafe_patterns": ["a"]})
    same = Policy.from_dict({"unsafe_patterns": ["a"], "policy_id": "p"})
    other = Policy.from_dict({"policy_id": "p", "unsafe_patterns": ["b"]})

    assert one.digest == same.digest
    assert one.digest != other.digest


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"policy_id": "p",\n "budgets": {\n  "max": 1}}', "p.json:3: `budgets.max`"),
        (b'{"policy_id": "p",\n "policy_id": "q"}', "p.json:2: `policy_id`: this is no strict"),
        (b'{"policy_id": NaN}', "p.json:1: `policy_id`: this is no strict JSON"),
        (b'{"policy_id": "p",\n\n "unsafe_patterns": ["ok",\n "(?<=a)"]}', "p.json:4: `unsafe_pat"),
        (b'\n{"allow_unlisted_tools": false}', "p.json:2: `policy_id`: "),
        (b"\xff", "p.json"),
    ],
)
def test_a_file_says_the_line(data: bytes, said: str) -> None:
    """The file, the line and the path of the field."""
    with pytest.raises(PolicyRefused) as caught:
        read_policy(data, "p.json")
    assert str(caught.value).startswith(said)


def test_yaml_is_read_too() -> None:
    """With the same strictness, and its lines."""
    policy = read_policy(b"policy_id: p\nbudgets: {max_total_tokens: 5}\n", "p.yaml")

    assert policy.budgets.max_total_tokens == 5
    with pytest.raises(PolicyRefused, match=r"^p.yml:3: `sequence.forbid`: unknown"):
        read_policy(b"policy_id: p\nsequence:\n  forbid: [a]\n", "p.yml")


@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_a_file_of_assertions_is_an_object_or_a_list(name: str) -> None:
    """Both are read; mistakes have the path of the document that was written."""
    one = b'[{"type": "trace_max_steps", "max": 5}]'
    assert len(read_assertions_file(one, name)) == 1
    assert len(read_assertions_file(b'{"assertions": %s}' % one, name)) == 1
    with pytest.raises(PolicyRefused, match=rf"^{name}:2: `\[1\]\.maxi`: unknown"):
        read_assertions_file(
            b'[{"type": "trace_max_steps", "max": 5},\n {"type": "trace_max_steps", "maxi": 5}]',
            name,
        )
