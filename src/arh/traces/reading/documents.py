"""From the bytes of a recording to JSON documents: one document, lines, server-sent events, YAML.

Strict JSON comes out: no duplicate keys, no NaN, no lone surrogates, bounded in size and depth. A
mistake is said with its line. Nothing here knows a format.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from arh.canonical import CONTAINERS_MAX, JsonValue, Refused, check
from arh.errors import AuthoringError, Problem
from arh.foreign import ForeignFailure, call
from arh.traces.reading.large_numbers import parse_recorded

BYTES_MAX: Final = 64 * 2**20
YAML_BYTES_MAX: Final = 4 * 2**20
YAML_EVENTS_MAX: Final = 100_000
LINES_MAX: Final = 1_000_000

Kind: TypeAlias = Literal["document", "lines", "events", "yaml"]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds; of lines and events, the value is the list of them.

    `lines` are the line numbers of the elements, where the value is a list of lines; `broken` says
    what is wrong with the lines that hold no strict JSON, which are not among them.
    """

    kind: Kind
    value: JsonValue
    lines: tuple[int, ...] = ()
    broken: tuple[Problem, ...] = ()


def recording(data: bytes, source: str) -> Recording:
    """Return what the bytes of a file hold.

    Raises:
        AuthoringError: It is too large, or none of the kinds.
    """
    if len(data) > BYTES_MAX:
        raise AuthoringError.of(f"this file is larger than {BYTES_MAX} bytes", file=source)
    text = data.removeprefix(_BYTE_ORDER_MARK)
    if source.endswith((".yaml", ".yml")):
        return Recording("yaml", _yaml(text, source))
    if text.lstrip().startswith(_EVENT_FIELDS):
        return Recording("events", list(events(text, source)))
    try:
        return Recording("document", parse_recorded(text, size_max=BYTES_MAX))
    except Refused as refused:
        if refused.reason != "trailing text" or b"\n" not in text.strip():
            raise _not_json(refused, source, 0) from None
    return _lines(text, source)


def events(text: bytes, source: str) -> Iterable[JsonValue]:
    """Yield the values that server-sent events carry as data; the end mark is none.

    Raises:
        AuthoringError: The data of an event is no strict JSON, or a line is no field of an event.
    """
    begun = 0
    parts: list[bytes] = []
    for number, line in enumerate([*text.splitlines(), b""], 1):
        if line.startswith(b"data:"):
            begun = begun or number
            parts.append(line[len(b"data:") :].removeprefix(b" "))
        elif not line.strip() and parts:
            data = b"\n".join(parts)
            parts = []
            if data.strip() not in _END_MARKS:
                yield _strict(data, source, begun - 1)
            begun = 0
        elif line.strip() and not line.startswith(_EVENT_FIELDS):
            raise AuthoringError.of(
                "this line is no field of a server-sent event",
                file=source,
                line=number,
                hint="record events alone, each with its `data:` lines and a blank line",
            )


def _lines(text: bytes, source: str) -> Recording:
    """Return the values of a file with one on each line."""
    values: list[JsonValue] = []
    numbers: list[int] = []
    broken: list[Problem] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line.strip():
            continue
        if len(values) + len(broken) == LINES_MAX:
            raise AuthoringError.of(
                f"this file has more than {LINES_MAX} lines", file=source, line=number
            )
        try:
            values.append(_strict(line, source, number - 1))
            numbers.append(number)
        except AuthoringError as error:
            broken.extend(error.problems)
    return Recording("lines", values, tuple(numbers), tuple(broken))


def _strict(data: bytes, source: str, lines_before: int) -> JsonValue:
    try:
        return parse_recorded(data, size_max=BYTES_MAX)
    except Refused as refused:
        raise _not_json(refused, source, lines_before) from None


def _not_json(refused: Refused, source: str, lines_before: int) -> AuthoringError:
    """Return the error that says what is wrong with the JSON, and where."""
    column = "" if refused.column is None else f" at column {refused.column}"
    return AuthoringError.of(
        f"this is no strict JSON: {refused.reason}{column}",
        file=source,
        line=None if refused.line is None else refused.line + lines_before,
        field=refused.path,
        hint="record one JSON document, one document on each line, or server-sent events",
    )


def _yaml(text: bytes, source: str) -> JsonValue:
    """Return the value of a YAML document, as recorders of HTTP traffic write them."""
    if len(text) > YAML_BYTES_MAX:
        raise AuthoringError.of(
            f"this YAML file is larger than {YAML_BYTES_MAX} bytes", file=source
        )
    loaded = call("yaml", lambda: _load(text))
    if isinstance(loaded, ForeignFailure):
        raise AuthoringError.of(
            f"this is no YAML document that arh reads: {loaded.type_name}", file=source
        )
    try:
        value = _Converter(CONTAINERS_MAX).value(loaded)
        check(value)
    except Refused as refused:
        raise AuthoringError.of(
            f"this YAML is no JSON: {refused.reason}", file=source, field=refused.path
        ) from None
    return value


def _load(text: bytes) -> object:
    """Return what a YAML text says, once its events are known to be few and not deep."""
    from ruamel.yaml import YAML

    depth = 0
    for count, event in enumerate(YAML(typ="safe", pure=True).parse(text)):
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > _DEPTH_MAX or count > YAML_EVENTS_MAX:
            raise Refused("too deep" if depth > _DEPTH_MAX else "too many containers")
    return YAML(typ="safe", pure=True).load(text)


class _Converter:
    """Makes JSON values of loaded YAML; aliases may repeat a part, but not without end."""

    def __init__(self, values_max: int) -> None:
        self._left = values_max

    def value(self, loaded: object, depth: int = 0) -> JsonValue:
        """Return a value as JSON; bytes become text of one character a byte.

        Raises:
            Refused: It is too deep, there are too many values, or one is none of JSON's.
        """
        self._left -= 1
        if self._left < 0:
            raise Refused("too many containers")
        if depth > _DEPTH_MAX:
            raise Refused("too deep")
        if isinstance(loaded, dict):
            named = {str(key): self.value(item, depth + 1) for key, item in loaded.items()}
            if len(named) < len(loaded):  # 1 and "1" are two keys there, and one here
                raise Refused("duplicate key")
            return named
        if isinstance(loaded, list):
            return [self.value(item, depth + 1) for item in loaded]
        if isinstance(loaded, (dt.date, dt.datetime)):
            return loaded.isoformat()
        if isinstance(loaded, bytes):
            return loaded.decode("latin-1")
        if loaded is None or isinstance(loaded, (bool, int, float, str)):
            return loaded
        raise Refused("not a JSON type")


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_DEPTH_MAX: Final = 64
_EVENT_FIELDS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_END_MARKS: Final = frozenset({b"[DONE]", b""})
