"""Names of telemetry stand in one module, and our own are the authority."""

from __future__ import annotations

from pathlib import Path

from arh.telemetry import semconv

SOURCE = Path(semconv.__file__).parent


def test_names_of_the_moving_conventions_stand_nowhere_else() -> None:
    """When they move, one file changes; the reader of others' spans knows every name there was."""
    users = {p.name for p in SOURCE.parent.rglob("*.py") if "gen_ai." in p.read_text("utf-8")}

    assert users == {"otel_genai.py", "semconv.py"}


def test_versions_are_told_with_every_trace() -> None:
    """A reader knows which names to expect."""
    assert {
        "arh.schema.version": "1.0",
        "arh.compatibility.mapping_version": "1",
        "otel.semconv.version": "0.66b2",
    }.items() <= semconv.RESOURCE.items()


def test_every_attribute_but_usage_has_a_name_of_our_own() -> None:
    """Losing the mapping loses no fact; token counts have only the conventions' names."""
    exported = {names for kind in semconv.ATTRIBUTES.values() for names in kind.values() if names}

    assert {names for names in exported if not names[0].startswith("arh.")} == {
        (semconv.GEN_AI_INPUT_TOKENS,),
        (semconv.GEN_AI_OUTPUT_TOKENS,),
    }
