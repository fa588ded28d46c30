"""JSON at the border: strict text in, canonical bytes and digests out, and `Json`, which stays.

Two parties that digest the same value must get the same bytes, and two values with the same digest
must be equal. So the domain is narrower than JSON: numbers within the integers that a double holds
exactly, no lone surrogates, at most 64 containers deep, no key twice, and in memory exactly the
types that a parser returns. `parse` and `encode` share one walk over the value, hence they cannot
disagree about the domain.

The walk comes first because the C encoder cannot be trusted with the types: it writes a tuple as a
list and the key 1 as "1". Behind the walk it is right except for numbers and key order. Python
writes a non-integral float of at least 1e-4 (and here below 2^53) as ECMAScript does, and sorts
keys by code point, which differs from RFC 8785's UTF-16 order only where a character beyond U+FFFF
occurs. Everything else goes to `rfc8785`.

Sources: RFC 8259, RFC 8785, ECMA-262 Number::toString.
"""

from __future__ import annotations

import hashlib
import json.encoder
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Literal, NoReturn, TypeAlias, final

import jiter

from arh.json_place import path_of, steps_to

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

Reason: TypeAlias = Literal[
    "byte order mark",
    "control character in a string",
    "cut short",
    "duplicate key",
    "integral float",
    "invalid UTF-8",
    "key is not a string",
    "lone surrogate",
    "malformed",
    "not a JSON type",
    "not finite",
    "number beyond 2^53 - 1",
    "too deep",
    "too large",
    "too many containers",
    "trailing text",
]

DEPTH_MAX: Final = 64
SAFE_INTEGER: Final = 2**53 - 1
SIZE_MAX: Final = 16 * 2**20
CONTAINERS_MAX: Final = 2**20

_PLAIN_FLOAT_MIN: Final = 1e-4
_BEYOND_BMP: Final = re.compile("[\U00010000-\U0010ffff]")
_POSITION: Final = re.compile(r" at line ([0-9]+) column ([0-9]+)\Z")
_REASONS: Final[dict[str, Reason]] = {
    # How the parser's messages begin, and what we call it; the rest is "malformed".
    "Detected duplicate key": "duplicate key",
    "EOF while parsing": "cut short",
    "control character": "control character in a string",
    "invalid unicode code point": "invalid UTF-8",
    "lone leading surrogate": "lone surrogate",
    "number out of range": "number beyond 2^53 - 1",
    "recursion limit exceeded": "too deep",
    "trailing characters": "trailing text",
    "unexpected end of hex escape": "lone surrogate",
}

_HARMLESS: Final = (bool, list, type(None))
_TEXT: Final = frozenset({str})

_Container: TypeAlias = "dict[Any, Any] | list[Any]"
_Place: TypeAlias = "tuple[_Container, int, str | int]"  # what, in which other place, where in it


class Refused(ValueError):  # noqa: N818 - the answer of a strict reader, often expected
    """The text or value is outside the domain.

    `reason` is one of a closed list. `line` and `column` (in bytes) are there when the text itself
    is at fault. `path` (as in `a.b[0]`, escaped) leads to the fault; in a text that reads well, a
    key that is not allowed counts for its dictionary. The message holds no content, so it may be
    digested; the path does, so it may not.
    """

    def __init__(
        self,
        reason: Reason,
        line: int | None = None,
        column: int | None = None,
        path: str = "",
    ) -> None:
        """Say why, and where."""
        super().__init__(reason, line, column, path)
        self.reason: Reason = reason
        self.line = line
        self.column = column
        self.path = path

    def __str__(self) -> str:
        """Read as the reason and, when it is known, the position."""
        at = "" if self.line is None else f" at line {self.line} column {self.column}"
        return f"{self.reason}{at}"


def parse(
    data: bytes | str, *, size_max: int = SIZE_MAX, integral_floats: bool = True
) -> JsonValue:
    """Return the value of a strict JSON text of at most `size_max` bytes.

    With `integral_floats=False` the literals `1.0`, `1e2` and `-0.0` are refused too: in a tool's
    arguments they are an integer to one reader and a float to another.

    Raises:
        Refused: The text is not JSON, or its value is outside the domain.
    """
    return _parse(data, size_max=size_max, integral_floats=integral_floats)[0]


def members(data: bytes) -> dict[str, tuple[JsonValue, Json]] | None:
    """Return the members of the object that a strict JSON text states, as values and frozen.

    The text is walked once for all of them. `None` says that it states no object.

    Raises:
        Refused: See `parse`.
    """
    value, plain = _parse(data, size_max=SIZE_MAX, integral_floats=True)
    if type(value) is not dict:
        return None
    return {name: (item, _json(_canonical(item, plain))) for name, item in value.items()}


def check(value: object) -> None:
    """Return only if `encode` would encode the value.

    Raises:
        Refused: A type is not exactly one of JSON's, or the value is outside the domain.
    """
    _walk(value)
    _utf8("".join(_SORTED(value, 0)), value)


def encode(value: object) -> bytes:
    """Return the RFC 8785 bytes of the value.

    Raises:
        Refused: See `check`.
    """
    if type(value) is str:  # the most frequent value, and the only one that needs no walk
        return _utf8(_QUOTED(value), value)
    return _canonical(value, _walk(value))


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(encode(value)).hexdigest()


def line(value: object) -> bytes:
    r"""Return compact JSON for one line of evidence: keys as inserted, no line feed in or after it.

    For our own events, so the value is not walked: what only `check` would notice (a tuple, a key
    that is no text, a number that `parse` will not read back) is written as it is. Readers split at
    b"\n" only.

    Raises:
        Refused: The value cannot be written as JSON at all.
    """
    # Three times as fast as the C encoder of `json`, which needs a tenth of a whole run. It takes
    # 40 ms to import, which commands that write no evidence do not pay.
    from pydantic_core import to_json  # noqa: PLC0415 - see above

    try:
        return to_json(value)
    except ValueError:
        check(value)
        raise  # the domain does not explain it


@final
class Json:
    """An immutable JSON value: its canonical bytes. By `of` or `read`; equal if the bytes are.

    `value` decodes the bytes anew each time, so a caller may change what it got, and whoever acts
    on it acts on what was digested. An integral float comes back as the integer that its bytes say.
    """

    __slots__ = ("_digest", "data")

    data: bytes
    _digest: str

    def __init__(self) -> None:
        """Refuse: bytes that nobody checked must not become a Json."""
        raise TypeError("a Json is made by Json.of or Json.read")

    @classmethod
    def of(cls, value: object) -> Json:
        """Return the value, frozen.

        Raises:
            Refused: See `check`.
        """
        return _json(encode(value))

    @classmethod
    def read(
        cls, data: bytes | str, *, size_max: int = SIZE_MAX, integral_floats: bool = True
    ) -> Json:
        """Return the value of a JSON text, frozen.

        Raises:
            Refused: See `parse`.
        """
        value, plain = _parse(data, size_max=size_max, integral_floats=integral_floats)
        return _json(_canonical(value, plain))

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical bytes, in hexadecimal."""
        try:
            return self._digest
        except AttributeError:
            object.__setattr__(self, "_digest", hashlib.sha256(self.data).hexdigest())
            return self._digest

    def value(self) -> JsonValue:
        """Return a fresh copy of the value."""
        fresh: JsonValue = jiter.from_json(self.data)
        return fresh

    def twin(self) -> Json:
        """Return an equal Json that is another object: what befalls the one spares the other."""
        return _json(self.data)

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, Json) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"<Json {self.digest[:12]} {len(self.data)} bytes>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Json does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Json does not change")

    def __copy__(self) -> Json:
        return self

    def __deepcopy__(self, memo: object) -> Json:
        return self

    def __reduce__(self) -> tuple[Callable[[bytes], Json], tuple[bytes]]:
        return _unpickled, (self.data,)


def _walk(value: object, *, integral_floats: bool = True) -> bool:
    """Return whether Python writes every number of the value as ECMAScript does, or refuse it."""
    try:
        return _survey(value, integral_floats=integral_floats)
    except _FaultError:
        raise next(_faults(value, integral_floats=integral_floats)) from None


def _survey(value: object, *, integral_floats: bool) -> bool:  # noqa: C901 - see below
    """Return what `_walk` returns, or raise because there is a fault somewhere.

    The hot loop of the module, hence in one piece; it costs less than the C encoder does. It goes
    level by level and not by recursion: so the depth comes for free, and a cycle comes to an end.
    """
    plain, containers_left = True, CONTAINERS_MAX
    level: list[_Container] = [[value]]
    for _ in range(DEPTH_MAX + 1):
        deeper: list[_Container] = []
        for container in level:
            items: Iterable[Any] = container
            if type(container) is dict:
                if not _TEXT.issuperset(map(type, container)):
                    raise _FaultError
                items = container.values()
            for item in items:
                kind = type(item)
                if kind is str or kind is bool or item is None:
                    continue
                if kind is int and -SAFE_INTEGER <= item <= SAFE_INTEGER:
                    continue
                if kind is dict or kind is list:
                    deeper.append(item)
                else:
                    plain = _is_plain_float(item, integral_floats=integral_floats) and plain
        if not deeper:
            return plain
        containers_left -= len(deeper)
        if containers_left < 0:
            raise Refused("too many containers")
        level = deeper
    raise Refused("too deep")


def _is_plain_float(item: object, *, integral_floats: bool) -> bool:
    """Return whether an allowed float is written by Python as by ECMAScript; or raise."""
    if type(item) is not float or _float_fault(item, integral_floats=integral_floats):
        raise _FaultError
    return not item.is_integer() and abs(item) >= _PLAIN_FLOAT_MIN


class _FaultError(Exception):
    """There is a fault somewhere; only now is it worth while to look where."""


def _faults(value: object, *, integral_floats: bool = True) -> Iterator[Refused]:
    """Yield a refusal for each fault of the value, level by level, with the path to it."""
    places: list[_Place] = [([value], 0, 0)]
    for at, (container, _, _) in enumerate(places):
        for step, item in _steps(container):
            reason = _fault(item, integral_floats=integral_floats)
            if reason:
                yield Refused(reason, path=_path(places, at, step))
            elif type(item) is dict or type(item) is list:
                places.append((item, at, step))


def _steps(container: _Container) -> Iterable[tuple[Any, Any]]:
    """Return the keys or indices of a container with its items."""
    return container.items() if isinstance(container, dict) else enumerate(container)


def _fault(item: object, *, integral_floats: bool) -> Reason | None:
    """Return what is wrong with one item, or with the keys of a dictionary, or None."""
    if type(item) is str:
        return None if _is_utf8(item) else "lone surrogate"
    if type(item) is int:
        return None if -SAFE_INTEGER <= item <= SAFE_INTEGER else "number beyond 2^53 - 1"
    if type(item) is float:
        return _float_fault(item, integral_floats=integral_floats)
    if type(item) is dict:
        return next(filter(None, map(_key_fault, item)), None)
    return None if type(item) in _HARMLESS else "not a JSON type"


def _key_fault(key: object) -> Reason | None:
    if type(key) is not str:
        return "key is not a string"
    return None if _is_utf8(key) else "lone surrogate"


def _float_fault(number: float, *, integral_floats: bool) -> Reason | None:
    if not math.isfinite(number):
        return "not finite"
    if not -SAFE_INTEGER <= number <= SAFE_INTEGER:
        return "number beyond 2^53 - 1"
    return None if integral_floats or not number.is_integer() else "integral float"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _path(places: list[_Place], at: int, step: str | int) -> str:
    """Return the path to a step within a place."""
    steps = [step]
    while at:
        _, at, step = places[at]
        steps.append(step)
    return path_of(steps[-2::-1])


def _parse(data: bytes | str, *, size_max: int, integral_floats: bool) -> tuple[JsonValue, bool]:
    """Return the value, and whether Python writes its numbers as ECMAScript does."""
    text = data if isinstance(data, bytes) else _utf8(data[: size_max + 1], data)
    if len(text) > size_max:
        raise Refused("too large")
    try:
        value = jiter.from_json(text, catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(text, str(error)) from None
    return value, _walk(value, integral_floats=integral_floats)


def _refusal(text: bytes, message: str) -> Refused:
    """Return our own words for what the parser says; the key that it may quote is left out."""
    if text.startswith(b"\xef\xbb\xbf"):
        return Refused("byte order mark", 1, 1)
    known = (reason for start, reason in _REASONS.items() if message.startswith(start))
    position = _POSITION.search(message)
    reason: Reason = next(known, "malformed")
    if position is None:
        return Refused(reason)
    line, column = map(int, position.groups())
    return Refused(reason, line, column, path_of(steps_to(text, line, column)))


def _canonical(value: object, plain: bool) -> bytes:  # noqa: FBT001 - what `_walk` returned
    """Return the RFC 8785 bytes of a value that was walked."""
    text = "".join(_SORTED(value, 0))
    if plain and text.isascii():
        return text.encode()
    data = _utf8(text, value)
    if plain and not _BEYOND_BMP.search(text):
        return data
    import rfc8785  # noqa: PLC0415 - 8 ms that few values need

    return rfc8785.dumps(value)  # type: ignore[arg-type]  # `_walk` has looked


def _utf8(text: str, value: object) -> bytes:
    """Return the bytes of a text that is the value or its JSON."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise next(_faults(value)) from None


def _json(data: bytes) -> Json:
    """Return the Json of canonical bytes."""
    made = object.__new__(Json)
    object.__setattr__(made, "data", data)
    return made


def _unpickled(data: bytes) -> Json:
    """Return the Json of bytes from a pickle, which may hold anything."""
    return Json.read(data, size_max=len(data))


def _encoder() -> Callable[[object, int], Iterable[str]]:
    """Return a compact encoder, made once: `json.dumps` takes a third of its time to make one."""
    make: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined]  # untyped, in every CPython
    chunks: Callable[[object, int], Iterable[str]]
    chunks = make(None, _refuse_type, _QUOTED, None, ":", ",", True, False, False)  # noqa: FBT003 - C takes no names
    return chunks


def _refuse_type(_: object) -> NoReturn:
    raise Refused("not a JSON type")


_QUOTED: Final[Callable[[str], str]] = json.encoder.encode_basestring
_SORTED: Final = _encoder()
EMPTY: Final = Json.of({})
