"""JSON Schema (draft 2020-12): the one place that compiles it, so what loads is what judges.

The gateway, the loaders and the evaluators hold values against schemas through this module only.
Nothing is ever fetched, patterns run on an engine that takes linear time within fixed limits, and
equal documents share one compiled schema. What does not fit is told by place and keyword; values
never enter a message, since they are the caller's. The library is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, Final, final

from arh.canonical import Json, JsonValue
from arh.errors import safe

PATTERN_BYTES_MAX: Final = 2**20
PROBLEMS_MAX: Final = 5
SCHEMAS_MAX: Final = 4096

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NOTED_CHARS_MAX: Final = 64
_SAID_CHARS_MAX: Final = 200


class SchemaRefused(ValueError):  # noqa: N818 - the answer to an author's schema
    """The schema is not one that can be checked offline in linear time; says why."""


@final
class Schema:
    """A compiled JSON Schema, made by `compiled`; `fits` says whether a value satisfies it."""

    __slots__ = ("_validator", "fits")

    fits: Callable[[JsonValue], bool]

    def __init__(self, validator: Any) -> None:  # noqa: ANN401 - the library's, imported on use
        """Wrap the library's validator, whose own test costs no call of ours."""
        self._validator = validator
        self.fits = validator.is_valid

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Return the first problems of a value as `/path keyword`, without any of its content."""
        if self.fits(value):
            return ()
        errors = islice(self._validator.iter_errors(value), PROBLEMS_MAX)
        return tuple(f"{_pointer(error.instance_path)} {error.kind.name}" for error in errors)


@lru_cache(maxsize=SCHEMAS_MAX)
def compiled(document: Json) -> Schema:
    """Return the compiled schema of a document; equal documents share one.

    Raises:
        SchemaRefused: It is no schema, refers to another document, or has a pattern that a linear
            engine cannot run.
    """
    from jsonschema_rs import (  # noqa: PLC0415 - 30 ms
        Draft202012Validator,
        ReferencingError,
        RegexOptions,
    )

    schema = document.value()
    if not isinstance(schema, dict):
        raise SchemaRefused("a schema is an object")
    if schema.get("$schema", _DRAFT) != _DRAFT:
        raise SchemaRefused(f"`$schema` is not {_DRAFT}")
    limits = RegexOptions(size_limit=PATTERN_BYTES_MAX, dfa_size_limit=PATTERN_BYTES_MAX)
    try:
        return Schema(Draft202012Validator(schema, offline=True, pattern_options=limits))
    except (ValueError, ReferencingError) as error:
        said = str(error).partition("\n")[0]
        raise SchemaRefused(safe(said, chars_max=_SAID_CHARS_MAX)) from None


def problem(document: Json) -> str:
    """Return why a document is no schema that can be used, or nothing."""
    try:
        compiled(document)
    except SchemaRefused as refused:
        return str(refused)
    return ""


def _pointer(path: Iterable[str | int]) -> str:
    """Return a JSON pointer of bounded length, in printable ASCII."""
    pointer = "".join(f"/{step}" for step in path)[:_NOTED_CHARS_MAX] or "/"
    return pointer.encode("ascii", "backslashreplace").decode()
