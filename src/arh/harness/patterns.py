"""Compiles what authors write as patterns and schemas, to say at load whether they are any.

Patterns are RE2 (linear in time, no look-around), schemas are JSON Schema 2020-12, never fetched.
Both libraries are imported where they are first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arh.canonical import JsonValue
from arh.errors import Problem, safe

_PATTERN_BYTES_MAX = 2**20


def pattern_problem(pattern: str, *, field: str) -> Iterator[Problem]:
    """Yield why a text is no RE2 pattern, or matches every text and so can never fail."""
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - 13 ms that few scenarios need

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_BYTES_MAX
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        yield Problem(pattern, "an RE2 pattern", field=field, hint=_said(error))
        return
    if compiled.search(""):
        yield Problem(pattern, "a pattern that does not match the empty text", field=field)


def schema_problem(schema: Mapping[str, JsonValue], *, field: str) -> Iterator[Problem]:
    """Yield why an object is no JSON Schema, or why it refuses nothing."""
    import jsonschema_rs  # noqa: PLC0415 - 30 ms that few scenarios need

    if not schema:
        yield Problem("an empty schema accepts every answer", field=field)
        return
    try:
        jsonschema_rs.Draft202012Validator(
            dict(schema),
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES_MAX),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        yield Problem("this is no JSON Schema (2020-12)", field=field, hint=_said(error))


def _said(error: Exception) -> str:
    """Return what a library says of an author's text, made safe and short."""
    text = error.args[0] if error.args else ""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return safe(said.partition("\n")[0], chars_max=200)
