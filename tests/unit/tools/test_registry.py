"""The registry refuses what the gateway could not enforce to the letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from arh.canonical import EMPTY, Json
from arh.errors import AuthoringError
from arh.records.execution import Tool
from arh.records.outcomes import Mark
from arh.records.tools import Effect, Milestone, ResourceArgument
from arh.tools.registry import Registered, Registry, action_digest, manifest_digest
from tests.unit.tools.world import BALANCE, MILESTONES, PING, REGISTRY, SEND, TOOLS, note, schema


def refused(**changes: object) -> list[str]:
    """Return the fields that a registry refuses in a changed `send`."""
    manifest = replace(SEND, **changes)  # type: ignore[arg-type]
    with pytest.raises(AuthoringError) as error:
        Registry([Tool(manifest, note)], source="bank")
    return [problem.field for problem in error.value.problems]


def with_schema(parameters: Mapping[str, Any]) -> list[str]:
    """Return the fields that a registry refuses in a tool with these parameters."""
    manifest = replace(PING, parameters=Json.of(dict(parameters)))
    try:
        Registry([Tool(manifest, note)])
    except AuthoringError as error:
        return [problem.field for problem in error.problems]
    return []


def test_a_sound_pack_is_accepted() -> None:
    """The twin of every refusal below."""
    registry = Registry(TOOLS, MILESTONES)

    assert registry.names() == ("balance", "send", "ping", "tick")
    assert [spec.name for spec in registry.specs(["send", "none", "balance"])] == [
        "send",
        "balance",
    ]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"name": "send money"}, ["send money.name"]),
        ({"name": "ｓend"}, ["ｓend.name"]),
        ({"name": ""}, [".name"]),
        ({"name": "s" * 129}, [f"{'s' * 129}.name"]),
        ({"version": ""}, ["send.version"]),
        ({"version": "latest"}, ["send.version"]),
        ({"effect": "writes"}, ["send.effect"]),
        ({"credential": ""}, ["send.credential"]),
        ({"key_argument": "nonce"}, ["send.key_argument"]),
        ({"key_argument": "memo"}, ["send.key_argument", "send.sensitive_fields"]),
        ({"key_argument": "amount"}, ["send.key_argument"]),
        ({"amount_argument": "account_id"}, ["send.amount_argument"]),
        ({"amount_argument": "cents"}, ["send.amount_argument"]),
        ({"repeatable": True}, ["send.repeatable"]),
        ({"effect": Effect.READ}, ["send.key_argument", "send.amount_argument"]),
        ({"resources": (ResourceArgument("amount", "accounts"),)}, ["send.resources"]),
        ({"resources": (ResourceArgument("id", "accounts"),)}, ["send.resources"]),
        ({"resources": (ResourceArgument("account_id", "_limits"),)}, ["send.resources"]),
        ({"sensitive_fields": ("memos",)}, ["send.sensitive_fields"]),
        ({"sensitive_fields": ("account_id",)}, ["send.sensitive_fields"]),
        ({"result": Json.of([])}, ["send.result"]),
        ({"result": Json.of({"$ref": "http://127.0.0.1:9/x"})}, ["send.result"]),
        (
            {"parameters": EMPTY},
            ["send.parameters", "send.key_argument", "send.amount_argument", "send.resources"],
        ),
    ],
)
def test_a_manifest_that_cannot_be_enforced_is_refused(
    changes: dict[str, Any], fields: list[str]
) -> None:
    """Each problem names the tool and the field."""
    assert fields == list(dict.fromkeys(refused(**changes)))


@pytest.mark.parametrize("minimum", [0, -1, None, 0.5])
def test_an_amount_must_be_at_least_one_minor_unit(minimum: object) -> None:
    """Zero, negative and unbounded amounts are refused at load, not at the first call."""
    amount = Json.of({"type": "integer", **({} if minimum is None else {"minimum": minimum})})
    parameters = schema(
        {
            "account_id": {"type": "string"},
            "key": {"type": "string"},
            "amount": amount.value(),
            "memo": {"type": "string"},
        }
    )

    assert refused(parameters=parameters) == ["send.amount_argument"]


OPEN: Mapping[str, dict[str, Any]] = {
    "no additionalProperties": {"type": "object", "properties": {}},
    "additionalProperties true": {"type": "object", "additionalProperties": True},
    "additionalProperties a schema": {
        "type": "object",
        "additionalProperties": {"type": "string"},
    },
    "an open object inside": {"a": {"type": "object"}},
    "an open object in a list": {"a": {"type": "array", "items": {"type": "object"}}},
    "a list of anything": {"a": {"type": "array"}},
    "anything": {"a": {}},
    "anything, said true": {"a": True},
    "an object among types": {"a": {"type": ["object", "null"]}},
    "an open branch": {"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    "a reference to an open object": {"a": {"$ref": "#/$defs/open"}},
    "a first item that is open": {
        "a": {"type": "array", "items": False, "prefixItems": [{"type": "object"}]}
    },
    "no open branch closed by none": {"a": {"allOf": [{"minLength": 1}, {"maxLength": 5}]}},
    "a pattern of open objects": {
        "type": "object",
        "patternProperties": {"^x": {"type": "object"}},
        "additionalProperties": False,
    },
}
CLOSED: Mapping[str, dict[str, Any]] = {
    "scalars": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}},
    "a closed object inside": {"a": {"type": "object", "additionalProperties": False}},
    "a list of closed objects": {
        "a": {"type": "array", "items": {"type": "object", "additionalProperties": False}}
    },
    "constants": {"a": {"const": {"x": 1}}, "b": {"enum": ["x", {"y": 1}]}},
    "closed branches": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
    "a reference to a closed object": {"a": {"$ref": "#/$defs/closed"}},
    "a reference to itself": {"a": {"$ref": "#/$defs/loop"}},
    "a closed part of all": {"a": {"allOf": [{"type": "string"}, {"maxLength": 5}]}},
}
DEFS = {
    "open": {"type": "object"},
    "closed": {"type": "object", "additionalProperties": False},
    "loop": {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/loop"}},
        "additionalProperties": False,
    },
}


def parameters_of(part: dict[str, Any]) -> dict[str, Any]:
    """Return a whole schema: the part itself, or an object with the part as its properties."""
    if "type" in part:
        return part
    return {"type": "object", "properties": part, "additionalProperties": False, "$defs": DEFS}


@pytest.mark.parametrize("name", OPEN)
def test_arguments_that_let_undeclared_properties_in_are_refused(name: str) -> None:
    """At no level may a caller slip in what nobody declared."""
    assert with_schema(parameters_of(OPEN[name])) == ["ping.parameters"]


@pytest.mark.parametrize("name", CLOSED)
def test_arguments_that_are_closed_at_every_level_are_accepted(name: str) -> None:
    """The twins: nothing that is closed is refused."""
    assert with_schema(parameters_of(CLOSED[name])) == []


@pytest.mark.parametrize(
    "part",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"type": "string", "pattern": "(?=a)b"},
        {"type": "string", "pattern": "(a)\\1"},
        {"type": "string", "pattern": "("},
        {"type": "text"},
        {"type": "integer", "minimum": "1"},
    ],
)
def test_a_schema_that_cannot_be_checked_safely_is_refused(part: dict[str, Any]) -> None:
    """Nothing is fetched, no pattern can take exponential time, no keyword is misspelt by type."""
    assert "ping.parameters" in with_schema(parameters_of({"a": part}))


def test_another_draft_is_refused() -> None:
    """A schema is read by the rules of one draft only."""
    draft_4 = {**parameters_of({}), "$schema": "http://json-schema.org/draft-04/schema#"}

    assert with_schema(draft_4) == ["ping.parameters"]


def test_two_tools_of_one_name_are_refused() -> None:
    """Nothing could say which of them was authorised."""
    with pytest.raises(AuthoringError, match="a name that no other tool has"):
        Registry([*TOOLS, TOOLS[0]])


@pytest.mark.parametrize(
    ("milestone", "field"),
    [
        (Milestone("m", "balances"), "milestones[m].tool"),
        (Milestone("m", "balance", when=Json.of({"balnce": 1})), "milestones[m].when"),
        (Milestone("m", "balance", per_arguments=("account",)), "milestones[m].per_arguments"),
        (Milestone("m", "send", per_result=("payment",)), "milestones[m].per_result"),
        (Milestone("m", "send", per_arguments=("memo",)), "milestones[m].per_arguments"),
        (Milestone("read", "send"), "milestones[read]"),
    ],
)
def test_a_milestone_that_cannot_be_reached_or_told_apart_is_refused(
    milestone: Milestone, field: str
) -> None:
    """A milestone for a tool or a field that does not exist would never count."""
    with pytest.raises(AuthoringError) as error:
        Registry(TOOLS, (*MILESTONES, milestone))

    assert [problem.field for problem in error.value.problems] == [field]


def tool(name: str) -> Registered:
    """Return a registered tool."""
    entry = REGISTRY.get(name)
    assert entry is not None
    return entry


def test_a_read_marks_its_milestones_with_what_makes_them_distinct() -> None:
    """A mark names its target as JSON, and says whether it counts only where justified."""
    marks = REGISTRY.marks(
        tool("balance"), {"balance": 5000}, {"account_id": "A-1"}, first_commit=False
    )

    assert marks == (Mark("read", '"A-1"', justified=True), Mark("rich"))


@pytest.mark.parametrize("balance", [5001, "5000", True, None])
def test_a_milestone_needs_its_conditions_exactly(balance: object) -> None:
    """A result that merely looks like the condition satisfies nothing."""
    result = Json.of({"balance": balance}).value()
    marks = REGISTRY.marks(tool("balance"), result, {"account_id": "A-1"}, first_commit=False)

    assert marks == (Mark("read", '"A-1"', justified=True),)


def test_a_write_marks_its_milestones_only_when_it_committed_itself() -> None:
    """A replay is no progress."""
    arguments = Json.of({"account_id": "A-1", "amount": 5}).value()
    assert isinstance(arguments, dict)
    first, replayed = (
        REGISTRY.marks(tool("send"), {"payment_id": "p"}, arguments, first_commit=committed)
        for committed in (True, False)
    )

    assert first == (Mark("sent", '"A-1"|5|"p"'),)
    assert replayed == ()


def test_the_action_digest_is_over_tool_version_and_arguments() -> None:
    """The digest is that of the canonical object of the three."""
    arguments = Json.of({"b": 1, "a": "ü"})
    whole = Json.of({"tool": "send", "version": "2.1", "arguments": arguments.value()})

    assert whole.digest == action_digest(tool("send"), arguments)


def test_a_manifest_digest_covers_every_field() -> None:
    """Whatever changes in a manifest changes its digest, and so the configuration's."""
    changes: list[dict[str, Any]] = [
        {"name": "x"},
        {"version": "9"},
        {"description": "x"},
        {"effect": Effect.REMOTE},
        {"parameters": EMPTY},
        {"result": EMPTY},
        {"key_argument": None},
        {"repeatable": True},
        {"resources": ()},
        {"amount_argument": None},
        {"sensitive_fields": ()},
        {"credential": "x"},
        {"service": "x"},
    ]
    digests = {manifest_digest(replace(SEND, **change)) for change in ({}, *changes)}

    assert len(digests) == len(SEND.__dataclass_fields__) + 1
    assert Registry(TOOLS[::-1]).digest == Registry(TOOLS).digest
    assert Registry(TOOLS[1:]).digest != Registry(TOOLS).digest


def test_equal_schemas_are_compiled_once() -> None:
    """Registries of one pack share what they compiled."""
    assert Registry(TOOLS).get("send") is not REGISTRY.get("send")
    again = Registry(TOOLS).get("send")
    assert again is not None
    assert again.arguments is tool("send").arguments
    assert BALANCE.parameters is tool("balance").manifest.parameters
