"""Events come out of bytes the same however the bytes are cut."""

from __future__ import annotations

import time

import pytest

from arh.model.live.streams import EventStream

BODY = (
    b": hello\n\ndata: one\n\nevent: x\r\ndata: two\r\ndata: three\r\n\r\ndata:four\n\ndata: last\n"
)


def events(*chunks: bytes) -> list[bytes]:
    """The events of these chunks."""
    stream = EventStream()
    return [event for chunk in chunks for event in stream.feed(chunk)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_do_not_depend_on_the_cuts(size: int) -> None:
    """Comments and names are left out, lines of one event joined, an event without an end kept."""
    chunks = [BODY[at : at + size] for at in range(0, len(BODY), size)]

    assert events(*chunks) == [b"one", b"two\nthree", b"four"]


def test_one_endless_line_costs_no_more_for_each_byte() -> None:
    """A hostile server that sends a line of megabytes byte by byte stalls nobody."""
    stream = EventStream()
    began = time.process_time()
    for _ in range(400_000):
        list(stream.feed(b"x"))

    assert time.process_time() - began < 2
    assert list(stream.feed(b"\n\n")) == []
