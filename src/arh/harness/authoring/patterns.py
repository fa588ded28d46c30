"""What authors write as patterns and schemas, held against what they may be, when it is loaded.

Whether a text is a pattern, or a document a schema, is for `arh.regex` and `arh.schema` to say,
which compile them in a run too. Here it is told with its field, and so is what compiles but refuses
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arh import regex, schema
from arh.canonical import Json, JsonValue, Refused
from arh.errors import AuthoringError, Problem
from arh.harness.vocabulary.texts import any_of
from arh.records.packs import WorkflowPack


def check_pack(pack: WorkflowPack) -> None:
    """Refuse a pack with a pattern that no answer could be read by.

    Raises:
        AuthoringError: All such patterns, with their fields.
    """
    problems = tuple(_of_pack(pack))
    if problems:
        raise AuthoringError(*problems)


def pattern_problem(pattern: str, *, field: str, file: str = "") -> Iterator[Problem]:
    """Yield why a text is no RE2 pattern, or matches every text and so can never fail."""
    why = regex.problem(pattern)
    expected = "an RE2 pattern" if why else "a pattern that does not match the empty text"
    if why or regex.compiled(pattern).search(""):
        yield Problem(pattern, expected, file, None, field, why)


def schema_problem(document: Mapping[str, JsonValue], *, field: str) -> Iterator[Problem]:
    """Yield why an object is no JSON Schema, or why it refuses nothing."""
    if not document:
        yield Problem("an empty schema accepts every answer", field=field)
        return
    try:
        why = schema.problem(Json.of(document))
    except Refused as refused:
        why = refused.reason
    if why:
        yield Problem("this is no JSON Schema (2020-12)", field=field, hint=why)


def _of_pack(pack: WorkflowPack) -> Iterator[Problem]:
    for index, claim in enumerate(pack.claims):
        for at, each in enumerate((claim.pattern, *claim.negations)):
            part = f"negations[{at - 1}]" if at else "pattern"
            yield from pattern_problem(each, field=f"claims[{index}].{part}", file=pack.name)
        for part, each in (("topic", claim.topic), ("counted", claim.counted)):
            if each:
                yield from pattern_problem(each, field=f"claims[{index}].{part}", file=pack.name)
    for index, each in enumerate(pack.foreign_effects):
        yield from pattern_problem(each, field=f"foreign_effects[{index}]", file=pack.name)
    for index, each in enumerate(pack.identifiers):
        yield from pattern_problem(each, field=f"identifiers[{index}]", file=pack.name)
    if pack.identifiers and regex.problem(any_of(pack.identifiers)):
        found = "the patterns are too large to be searched for together"
        yield Problem(found, "", pack.name, None, "identifiers")
