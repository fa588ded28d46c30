"""Templates in a script's strings: `{{result.field}}`, `{{results.<tool>.<field>}}`, `{{name}}`.

The last stands for what a pattern of the script's `bind` captured from the user's latest message
that matches it. A string that is one template and nothing else becomes the value itself, with its
type; inside other text a value that is no string is written as JSON. There is no default: a
template without a value stops the run as a mismatch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from arh.canonical import JsonValue, encode
from arh.model.situation import MISSING, Found, Situation, at_path
from arh.regex import Regex, searchable

_TEMPLATE: Final = re.compile(r"\{\{\s*([^{}\s]*)\s*\}\}")
_RESULT: Final = re.compile(r"result((?:\.[A-Za-z0-9_-]+)+)")
_RESULTS: Final = re.compile(r"results\.([A-Za-z0-9_-]+)((?:\.[A-Za-z0-9_-]+)+)")
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}")

Lookup = Callable[[str], Found]


class NoValueError(LookupError):
    """A template stands for nothing in this situation."""


def rendered(value: JsonValue, lookup: Lookup) -> JsonValue:
    """Return a copy of the value with every template replaced.

    Raises:
        NoValueError: A template has no value.
    """
    if isinstance(value, str):
        return _text(value, lookup)
    if isinstance(value, list):
        return [rendered(item, lookup) for item in value]
    if isinstance(value, dict):
        return {key: rendered(item, lookup) for key, item in value.items()}
    return value


def lookup_in(situation: Situation, bind: Mapping[str, Regex]) -> Lookup:
    """Return the function that gives a template's expression its value in the situation."""

    def lookup(expression: str) -> Found:
        source, tool, path = _reference(expression)
        if source == "result":
            return at_path(situation.result(), path)
        if source == "results":
            return at_path(situation.result_of(tool), path)
        return _bound(bind[expression], situation)

    return lookup


def has_template(value: JsonValue) -> bool:
    """Return true if any string of the value may hold a template."""
    return any("{{" in text for text in strings(value))


def faults(value: JsonValue, names: Mapping[str, object]) -> list[str]:
    """Return what in the value looks like a template and is none."""
    return [fault for text in strings(value) for fault in _faults(text, names)]


def strings(value: JsonValue) -> Iterator[str]:
    """Give every string of the value except keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)


def _text(text: str, lookup: Lookup) -> JsonValue:
    """Return the string's value: the template's own if it is nothing else, else the filled text."""
    if "{{" not in text:
        return text
    whole = _TEMPLATE.fullmatch(text)
    if whole:
        return _value(whole[1], lookup)
    return _TEMPLATE.sub(lambda found: _written(_value(found[1], lookup)), text)


def _value(expression: str, lookup: Lookup) -> JsonValue:
    """Return the expression's value."""
    value = lookup(expression)
    if value is MISSING:
        raise NoValueError(expression)
    return value


def _written(value: JsonValue) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _bound(regex: Regex, situation: Situation) -> Found:
    """Return what the pattern captured from the latest user message that it matches."""
    for text in reversed(situation.users):
        found = regex.search(searchable(text))
        if found is not None:
            captured = found.group(1)
            return MISSING if captured is None else captured
    return MISSING


@lru_cache(maxsize=4096)
def _reference(expression: str) -> tuple[str, str, tuple[str, ...]]:
    """Return what an expression refers to: result, results or a name; the tool; the path."""
    result = _RESULT.fullmatch(expression)
    if result:
        return "result", "", _path(result[1])
    results = _RESULTS.fullmatch(expression)
    if results:
        return "results", results[1], _path(results[2])
    return "name", "", ()


def _path(dotted: str) -> tuple[str, ...]:
    return tuple(dotted.split(".")[1:])


def _faults(text: str, names: Mapping[str, object]) -> Iterator[str]:
    """Give every expression that means nothing, and the text itself if braces are left over."""
    for found in _TEMPLATE.finditer(text):
        if _reference(found[1])[0] == "name" and found[1] not in names:
            yield found[0]
    if "{{" in _TEMPLATE.sub("", text):
        yield text
