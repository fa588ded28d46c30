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
from arh.model.scripted.situation import MISSING, Found, Situation, at_path
from arh.regex import Regex

_TEMPLATE: Final = re.compile(r"\{\{\s*([^{}\s]*)\s*\}\}")
_RESULT: Final = re.compile(r"result((?:\.[A-Za-z0-9_-]+)+)")
_RESULTS: Final = re.compile(r"results\.([A-Za-z0-9_-]+)((?:\.[A-Za-z0-9_-]+)+)")
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}")

Bind = Mapping[str, Regex]
Fill = Callable[[Situation], JsonValue]
Read = Callable[[Situation], Found]


class NoValueError(LookupError):
    """A template stands for nothing in this situation."""


def filling(value: JsonValue, bind: Bind) -> Fill:
    """Return the function that gives the value with every template replaced.

    Made once for a script: only templates are looked at when it answers. It raises `NoValueError`
    where a template has no value. What it returns may be shared, and is not to be changed.
    """
    if not has_template(value):
        return lambda _: value
    if isinstance(value, str):
        return _filled(value, bind)
    if isinstance(value, list):
        items = [filling(item, bind) for item in value]
        return lambda situation: [fill(situation) for fill in items]
    if isinstance(value, dict):
        fields = [(key, filling(item, bind)) for key, item in value.items()]
        return lambda situation: {key: fill(situation) for key, fill in fields}
    return lambda _: value


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


def _filled(text: str, bind: Bind) -> Fill:
    """Return what gives a string its value: the template's own if it is nothing else, else text."""
    whole = _TEMPLATE.fullmatch(text)
    if whole:
        return _valued(whole[1], bind)
    # Every other part is an expression, since the pattern has one group.
    parts = _TEMPLATE.split(text)
    constants, values = parts[::2], [_valued(part, bind) for part in parts[1::2]]

    def fill(situation: Situation) -> JsonValue:
        written = [constants[0]]
        for value, constant in zip(values, constants[1:], strict=True):
            written += _written(value(situation)), constant
        return "".join(written)

    return fill


def _valued(expression: str, bind: Bind) -> Fill:
    """Return what gives an expression its value."""
    read = _reader(expression, bind)

    def fill(situation: Situation) -> JsonValue:
        value = read(situation)
        if value is MISSING:
            raise NoValueError(expression)
        return value

    return fill


def _reader(expression: str, bind: Bind) -> Read:
    """Return what looks an expression up in a situation; an unknown name has no value."""
    source, tool, path = _reference(expression)
    if source == "result":
        return lambda situation: at_path(situation.result(), path)
    if source == "results":
        return lambda situation: at_path(situation.result_of(tool), path)
    regex = bind.get(expression)
    return lambda situation: MISSING if regex is None else situation.captured(regex)


def _written(value: JsonValue) -> str:
    return value if isinstance(value, str) else encode(value).decode()


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
