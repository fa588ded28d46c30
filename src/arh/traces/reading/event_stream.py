"""Frames of `application/vnd.amazon.eventstream`, in which Bedrock streams its replies.

A frame is a prelude of three numbers (its length, that of its headers, a checksum), the headers,
the payload, a checksum. The header `:event-type` names the event whose JSON the payload is. Both
checksums are held; bytes that are no frames are none of this.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final

from arh.canonical import JsonValue, Refused, parse

FRAME_BYTES_MAX: Final = 16 * 2**20


def event_stream(data: bytes) -> list[JsonValue] | None:
    """Return the events, each an object whose one key names it, or `None` if it is no stream."""
    events: list[JsonValue] = []
    try:
        for headers, payload in _frames(data):
            events.append({_header(headers, b":event-type") or "event": parse(payload)})
    except (_NoFrameError, Refused):
        return None
    return events or None


class _NoFrameError(Exception):
    """The bytes do not continue with a whole frame."""


def _frames(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers and the payload of each frame."""
    at = 0
    while at < len(data):
        if len(data) - at < _PRELUDE + _CHECKSUM:
            raise _NoFrameError
        total, headers, checksum = struct.unpack_from(">III", data, at)
        end = at + total
        begins = at + _PRELUDE + headers
        if end > len(data) or total > FRAME_BYTES_MAX or begins > end - _CHECKSUM:
            raise _NoFrameError
        (whole,) = struct.unpack_from(">I", data, end - _CHECKSUM)
        if checksum != zlib.crc32(data[at : at + 8]) or whole != zlib.crc32(
            data[at : end - _CHECKSUM]
        ):
            raise _NoFrameError
        yield data[at + _PRELUDE : begins], data[begins : end - _CHECKSUM]
        at = end


def _header(headers: bytes, wanted: bytes) -> str:
    """Return the text of a header; headers of other types than text end the search."""
    at = 0
    while at < len(headers):
        name = headers[at + 1 : at + 1 + headers[at]]
        at += 1 + len(name)
        if headers[at : at + 1] != _TEXT or len(headers) < at + 3:
            return ""
        (length,) = struct.unpack_from(">H", headers, at + 1)
        value = headers[at + 3 : at + 3 + length]
        if name == wanted:
            return value.decode(errors="replace")
        at += 3 + length
    return ""


_PRELUDE: Final = 12
_CHECKSUM: Final = 4
_TEXT: Final = b"\x07"
