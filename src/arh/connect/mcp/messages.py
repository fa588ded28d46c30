"""MCP's messages at the border: read strictly from their bytes, before any library reads them.

The library that speaks the protocol reads JSON as most do: of two equal keys the last one wins, and
numbers may be anything. So each message is read here first. Its envelope must be strict JSON, or it
is refused. The arguments of a tool call are taken out as text, with whatever is wrong in them, and
travel on as text: the gateway alone reads them, refuses what is not strict, and has it on record.

Nothing here knows a transport or the library.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from arh.canonical import DEPTH_MAX, JsonValue, Refused, parse

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
END_TOOL: Final = "arh_end_task"
NESTED_MAX: Final = 2 * DEPTH_MAX
NAME_CHARS_MAX: Final = 256
KEY_META: Final = "arh/idempotency-key"
MANIFEST_META: Final = "arh/manifest-digest"
CARRIED: Final = (KEY_META, MANIFEST_META)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602

Data = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Taken:
    """A message as it goes on to the library; a call's arguments are text in it."""

    message: Data
    method: str


@dataclass(frozen=True, slots=True)
class Faulty:
    """A message that goes nowhere, with the error that answers it."""

    code: int
    reason: str
    identity: int | str | None = None

    def answer(self) -> Data:
        """Return the JSON-RPC error."""
        error: Data = {"code": self.code, "message": self.reason}
        return {"jsonrpc": "2.0", "id": self.identity, "error": error}


def take(body: bytes) -> Taken | Faulty:
    """Return a message, read strictly, or the error that answers it."""
    if len(body) > BODY_BYTES_MAX:
        return Faulty(INVALID_REQUEST, "a message is longer than the gateway takes")
    written = _written(body)
    if isinstance(written, Faulty):
        return written
    if not isinstance(written, _Members):
        return Faulty(INVALID_REQUEST, "a message is one object; batches are not taken")
    try:
        arguments, envelope = _apart(written)
        message = parse(_text(envelope), size_max=BODY_BYTES_MAX)
    except RecursionError:
        return Faulty(PARSE_ERROR, "no JSON: too deep")
    except Refused as refusal:
        return Faulty(PARSE_ERROR, f"no strict JSON: {refusal.reason}")
    return _message(message, arguments)


def _message(message: JsonValue, arguments: str | None) -> Taken | Faulty:
    """Return the message with its arguments as text, if it has the form of one."""
    if not isinstance(message, dict):
        return Faulty(INVALID_REQUEST, "a message is one object")
    identity = message.get("id")
    known = identity if isinstance(identity, str) or type(identity) is int else None
    method = message.get("method")
    if not isinstance(method, str):
        return Faulty(INVALID_REQUEST, "a message has no `method`", known)
    if method != "tools/call":
        return Taken(message, method)
    if known is None:
        return Faulty(INVALID_REQUEST, "a call has no `id`, so nobody could be answered")
    params = message.get("params")
    fault = "a call has no `params`" if not isinstance(params, dict) else _call_fault(params)
    if fault or not isinstance(params, dict):
        return Faulty(INVALID_PARAMS, fault, known)
    carried: Data = {"text": "{}" if arguments is None else arguments}
    carried |= {name: value for name in CARRIED if (value := _meta(params).get(name)) is not None}
    return Taken({**message, "params": {**params, "arguments": carried}}, method)


def _call_fault(params: Data) -> str:
    name, meta = params.get("name"), _meta(params)
    if not isinstance(name, str) or len(name) > NAME_CHARS_MAX:
        return "a call needs the `name` of a tool"
    wrong = [each for each in CARRIED if not isinstance(meta.get(each, ""), str)]
    return f"`{wrong[0]}` in `_meta` is no text" if wrong else ""


def _meta(params: Data) -> Data:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


class _Members(list[tuple[str, object]]):
    """The members of an object in the order in which they were written, none of them lost."""


class _Literal(str):
    """A number or a constant as it was written."""

    __slots__ = ()


def _written(body: bytes) -> object:
    """Return what a text states with nothing lost, or the error if it states nothing."""
    try:
        return _DECODER.decode(body.decode())
    except UnicodeDecodeError:
        reason = "invalid UTF-8"
    except RecursionError:
        reason = "too deep"
    except ValueError:
        reason = "malformed"
    return Faulty(PARSE_ERROR, f"no JSON: {reason}")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_Members,
    parse_float=_Literal,
    parse_int=_Literal,
    parse_constant=_Literal,
)


def _apart(message: _Members) -> tuple[str | None, _Members]:
    """Return a call's arguments as text, and the message without them.

    Named twice they stay where they are, so that the message is refused.
    """
    if ("method", "tools/call") not in message:
        return None, message
    at = [index for index, (name, _) in enumerate(message) if name == "params"]
    params = message[at[0]][1] if len(at) == 1 else None
    if not isinstance(params, _Members):
        return None, message
    given = [value for name, value in params if name == "arguments"]
    if len(given) != 1:
        return None, message
    rest = _Members(item for item in params if item[0] != "arguments")
    envelope = _Members(("params", rest) if item[0] == "params" else item for item in message)
    return _text(given[0]), envelope


def _text(value: object) -> str:
    """Return the JSON text of what was written, its white space apart.

    Raises:
        RecursionError: It is deeper than any reader of ours would read.
    """
    tokens: list[str] = []
    _write(value, tokens.append, 0)
    return "".join(tokens)


def _write(value: object, write: Callable[[str], None], depth: int) -> None:
    """Write the tokens of a value: each costs the same, however deep it lies."""
    if depth > NESTED_MAX:
        raise RecursionError
    if isinstance(value, _Members):
        write("{")
        for index, (name, item) in enumerate(value):
            write(f"{',' if index else ''}{_quoted(name)}:")
            _write(item, write, depth + 1)
        write("}")
    elif isinstance(value, list):
        write("[")
        for index, item in enumerate(value):
            if index:
                write(",")
            _write(item, write, depth + 1)
        write("]")
    elif isinstance(value, _Literal):
        write(value)
    else:
        write(_quoted(value) if isinstance(value, str) else _WORDS[value])


_WORDS: Final[dict[object, str]] = {True: "true", False: "false", None: "null"}


def _quoted(text: str) -> str:
    """Return the text as JSON; half a surrogate pair stays the escape that it was."""
    if text.isascii():
        return json.dumps(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)
