"""What a schema declares is what may be kept."""

from __future__ import annotations

import pytest

from arh.canonical import JsonValue
from arh.telemetry.fields import ANYTHING, NOTHING, Fields, bounded, declared, known

TEXT: JsonValue = {"type": "string"}


def closed(**properties: JsonValue) -> dict[str, JsonValue]:
    """Return the schema of an object without other properties."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, NOTHING),
        ({}, ANYTHING),
        (True, ANYTHING),
        (False, NOTHING),
        (closed(a=TEXT), Fields({"a": NOTHING})),
        (closed(a=closed(b=TEXT)), Fields({"a": Fields({"b": NOTHING})})),
        (closed(a={"items": closed(b=TEXT)}), Fields({"a": Fields({"b": NOTHING})})),
        ({"type": "array", "prefixItems": [closed(a=TEXT)]}, Fields({"a": NOTHING})),
        ({"anyOf": [closed(a=TEXT), closed(b=TEXT)]}, Fields({"a": NOTHING, "b": NOTHING})),
        ({"if": closed(a=TEXT), "then": closed(b=TEXT)}, Fields({"a": NOTHING, "b": NOTHING})),
        (
            {"$ref": "#/$defs/one", "$defs": {"one": closed(a=TEXT)}},
            Fields({"a": NOTHING}),
        ),
        ({"$ref": "#/nowhere"}, NOTHING),
        ({"$ref": "https://elsewhere.example/x"}, NOTHING),
        ({"type": "object", "properties": {"a": TEXT}}, Fields({"a": NOTHING})),
        ({"type": "object", "additionalProperties": TEXT}, Fields(open=True)),
        ({"type": "object", "patternProperties": {"^x": TEXT}}, Fields(open=True)),
    ],
)  # fmt: skip
def test_arguments_have_what_their_schema_declares(schema: JsonValue, expected: Fields) -> None:
    """An object is closed unless its schema has a map of names."""
    assert declared(schema, closed=True) == expected


@pytest.mark.parametrize(
    ("schema", "is_open"),
    [
        ({"type": "object", "properties": {"a": TEXT}}, True),
        ({"properties": {"a": TEXT}}, True),
        (closed(a=TEXT), False),
        (TEXT, False),
    ],
)
def test_a_result_is_open_unless_its_schema_closes_it(schema: JsonValue, is_open: bool) -> None:  # noqa: FBT001
    """A result may have more than was declared, where the schema lets it."""
    assert declared(schema, closed=False).open is is_open


def test_a_schema_without_end_is_read_to_an_end() -> None:
    """A reference to itself, many times over, comes back; what lies beyond is not declared."""
    itself: dict[str, JsonValue] = {name: {"$ref": "#"} for name in "abcdefgh"}
    endless: JsonValue = closed(**itself)

    assert set(declared(endless, closed=True).names) == set("abcdefgh")


def test_bounded_fields_are_those_that_rows_have() -> None:
    """An open object keeps what is declared or known, and nothing else."""
    fields = bounded(Fields({"a": NOTHING, "b": ANYTHING}, open=True), known(["x"]))

    assert set(fields.names) == {"a", "b", "x"}
    assert fields.of("other") is None
    assert set(fields.names["b"].names) == {"x"}


def test_known_fields_are_known_at_any_depth() -> None:
    """A row may hold rows."""
    deep = known(["x"]).of("x")

    assert deep is not None
    assert deep.of("x") is not None
    assert deep.of("y") is None
