"""Reads one strict YAML document into plain values, with the line of every field.

YAML is wider than a gate profile needs: aliases, tags, several documents and keys that are no
strings are refused, duplicate keys too, since a second `threshold` would silently weaken a gate.
Size and depth are capped before anything is built. A number must be one that decimal text and
binary double agree on, so that what is compared is what was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from arh.canonical import JsonValue
from arh.errors import AuthoringError, Problem
from arh.json_place import path_of

BYTES_MAX: Final = 256 * 1024
DEPTH_MAX: Final = 16
NODES_MAX: Final = 20_000
_TAG: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?")
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Document:
    """A document's value and where its fields stand."""

    value: JsonValue
    lines: dict[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int | None:
        """Return the line of a field, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_yaml(data: bytes, *, file: str) -> Document:
    """Return the document.

    Raises:
        AuthoringError: It is no strict YAML; every mistake that can be told apart is listed.
    """
    if len(data) > BYTES_MAX:
        raise AuthoringError.of(f"this file is larger than {BYTES_MAX} bytes", file=file)
    builder = _Builder(file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise AuthoringError.of("this file is not UTF-8 text", file=file) from None
    value = builder.build(text)
    if builder.problems:
        raise AuthoringError(*builder.problems)
    return Document(value, builder.lines)


class _Builder:
    """Turns the nodes of one document into values."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.lines: dict[Path, int] = {}

    def build(self, text: str) -> JsonValue:
        from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - 20 ms that only profiles need

        try:
            self._survey(text)
            root = None if self.problems else _yaml().compose(text)
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            said = getattr(error, "problem", None) or "malformed"
            self._wrong(mark, f"this is not YAML: {said}")
            return None
        if root is None:
            if not self.problems:
                self._wrong(None, "there is nothing in this file")
            return None
        return self._value(root, ())

    def _survey(self, text: str) -> None:
        """Refuse, before anything is built, what could grow beyond the text or nest too deeply."""
        depth = documents = 0
        for nodes, event in enumerate(_yaml().parse(text)):
            name = type(event).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            documents += name == "DocumentStartEvent"
            fault = (
                (name == "AliasEvent" and "an alias is not accepted; write the value out")
                or (getattr(event, "anchor", None) and "an anchor is not accepted")
                or (depth > DEPTH_MAX + 2 and f"this is nested more than {DEPTH_MAX} deep")
                or (documents > 1 and "one document a file is accepted")
                or (nodes > NODES_MAX and f"there are more than {NODES_MAX} values")
            )
            if fault:
                self._wrong(event.start_mark, str(fault))
                return

    def _value(self, node: Any, path: Path) -> JsonValue:  # noqa: ANN401 - the library has no types
        self.lines.setdefault(path, node.start_mark.line + 1)
        kind = type(node).__name__
        if kind == "MappingNode" and node.tag == f"{_TAG}map":
            return dict(self._fields(node, path))
        if kind == "SequenceNode" and node.tag == f"{_TAG}seq":
            return [self._value(item, (*path, at)) for at, item in enumerate(node.value)]
        if kind == "ScalarNode":
            return self._scalar(node, path)
        self._wrong(node.start_mark, f"the tag `{node.tag}` is not accepted", path=path)
        return None

    def _fields(self, node: Any, path: Path) -> Iterator[tuple[str, JsonValue]]:  # noqa: ANN401 - as above
        seen: set[str] = set()
        for key, value in node.value:
            name = key.value if type(key).__name__ == "ScalarNode" else ""
            if not isinstance(name, str) or not name or key.tag != f"{_TAG}str":
                self._wrong(key.start_mark, "a key is a plain word", path=path)
            elif name in seen:
                found, hint = f"`{name}` stands here twice", "keep one of them"
                self._wrong(key.start_mark, found, hint, (*path, name))
            else:
                seen.add(name)
                self.lines[*path, name] = key.start_mark.line + 1
                yield name, self._value(value, (*path, name))

    def _scalar(self, node: Any, path: Path) -> JsonValue:  # noqa: ANN401 - as above
        text, tag = node.value, node.tag.removeprefix(_TAG)
        if tag == "str":
            return str(text)
        if tag in ("int", "float"):
            return self._number(node, text, path)
        if tag in ("bool", "null") and text.lower() in _CONSTANTS:
            return _CONSTANTS[text.lower()]
        found = f"`{text}` of the type `{tag}` is not accepted"
        self._wrong(node.start_mark, found, "quote it", path)
        return None

    def _number(self, node: Any, text: str, path: Path) -> JsonValue:  # noqa: ANN401 - as above
        if _INTEGER.fullmatch(text) and len(text) <= 16:  # noqa: PLR2004 - below 2^53
            return int(text)
        number = float(text) if _DECIMAL.fullmatch(text) else math.nan
        if math.isfinite(number) and Fraction(repr(number)) == Fraction(text):
            return number
        hint = "write a decimal of at most 15 digits"
        self._wrong(node.start_mark, f"`{text}` is not an exact decimal number", hint, path)
        return None

    def _wrong(self, mark: Any, found: str, hint: str = "", path: Path = ()) -> None:  # noqa: ANN401 - as above
        line = None if mark is None else mark.line + 1
        self.problems.append(Problem(found, "", self.file, line, path_of(path), hint))


def _yaml() -> Any:  # noqa: ANN401 - imported on use
    from ruamel.yaml import YAML  # noqa: PLC0415 - see above

    return YAML(typ="safe", pure=True)
