"""The arguments of a recorded call: an object, or the raw text of what is none.

Providers write them as an object, as JSON text, as JSON text in JSON text, as nothing, or cut off.
Cut text is never repaired into a call that looks whole, and a value that is text stays text even if
it would parse. At most one extra layer of encoding is taken off, and only when an object is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arh.canonical import JsonValue, Refused, parse
from arh.traces.mapping.texts import json_text
from arh.traces.trace import JsonObject

_LAYERS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was passed: `value` when it is an object, otherwise `raw` with `fault` saying why not.

    `fault` is a kind of note (`argument_parse_error`, `arguments_not_object`) or empty, `detail`
    says more without quoting what was recorded.
    """

    value: JsonObject | None
    raw: str | None = None
    fault: str = ""
    detail: str = ""
    layers: int = 0


def arguments_of(recorded: JsonValue) -> Arguments:
    """Return the arguments that a recorder wrote; nothing, or blank text, is a call without any."""
    if type(recorded) is dict:
        return Arguments(recorded)
    if recorded is None:
        return Arguments({})
    if type(recorded) is str:
        return _of_text(recorded)
    return _no_object(json_text(recorded), recorded)


def _of_text(text: str) -> Arguments:
    """Return the arguments in a JSON text of one layer, or of two when an object is innermost."""
    if not text or text.isspace():
        return Arguments({})
    value: JsonValue = text
    for layer in range(1, _LAYERS_MAX + 1):
        try:
            value = parse(str(value))
        except Refused as refused:
            if layer == 1:
                return Arguments(None, text, "argument_parse_error", str(refused))
            break
        if type(value) is dict:
            return Arguments(value, layers=layer)
        if type(value) is not str:
            break
    return _no_object(text, value)


def _no_object(text: str, value: JsonValue) -> Arguments:
    return Arguments(None, text, "arguments_not_object", f"a {_KINDS.get(type(value), 'value')}")


_KINDS: Final[dict[type, str]] = {
    bool: "truth value",
    float: "number",
    int: "number",
    list: "list",
    str: "text",
}
