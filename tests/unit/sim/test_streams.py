"""Streams follow from their seed alone, and from each other not at all."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.errors import HarnessError
from arh.sim.streams import SequentialIds, Streams, derive, derive_integer

names = st.text(max_size=8)


def drawn(streams: Streams, stream: str, count: int = 8) -> list[int]:
    """Return the next numbers of a stream."""
    return [streams.choice(stream, 1_000_000) for _ in range(count)]


def test_a_stream_is_the_same_everywhere() -> None:
    """Pinned numbers: another machine, Python or hash seed must give these."""
    assert drawn(Streams("seed"), "baton", 4) == [907826, 80501, 182472, 318191]
    assert derive("run", 7)[:16] == "a2c88ca954886e8e"


@given(st.text(max_size=20), names, names, st.integers(0, 20))
def test_a_stream_does_not_depend_on_the_others(seed: str, one: str, other: str, n: int) -> None:
    """Drawing from one stream changes no other."""
    alone, beside = Streams(seed), Streams(seed)

    if one != other:
        drawn(beside, other, n)

    assert drawn(alone, one) == drawn(beside, one)


@given(st.integers(1, 2**64), st.text(max_size=5))
def test_a_choice_is_an_index(n: int, stream: str) -> None:
    """Whatever there is to choose from, something of it is chosen."""
    assert 0 <= Streams("s").choice(stream, n) < n


@pytest.mark.parametrize("n", [0, -1, 2**64 + 1])
def test_a_choice_from_nothing_is_refused(n: int) -> None:
    """There must be something to choose, and no more than a word can tell apart."""
    with pytest.raises(HarnessError, match="a choice needs"):
        Streams("s").choice("x", n)


def test_a_choice_is_even() -> None:
    """Each of six sides comes up about as often as the others."""
    streams = Streams("dice")
    counts = Counter(streams.choice("throw", 6) for _ in range(6_000))

    assert set(counts) == set(range(6))
    assert all(850 < count < 1_150 for count in counts.values())


def test_a_choice_is_even_where_words_do_not_divide() -> None:
    """Two thirds of all words: taking the rest modulo n would favour the lower half by a third."""
    streams, n = Streams("wide"), 2 * (2**64 // 3)
    low = sum(streams.choice("throw", n) < n // 2 for _ in range(1_000))

    assert 440 < low < 560


@given(st.integers(-100, 100), st.integers(0, 100))
def test_an_integer_is_within_its_bounds(low: int, width: int) -> None:
    """Both bounds are included."""
    assert low <= Streams("s").integer("x", low, low + width) <= low + width


@given(st.lists(st.integers(), max_size=30))
def test_a_shuffle_keeps_every_item_and_its_input(items: list[int]) -> None:
    """Nothing is lost, and the list that was given is left alone."""
    before = list(items)

    shuffled = Streams("s").shuffle("x", items)

    assert sorted(shuffled) == sorted(items)
    assert items == before


def test_identifiers_count_each_stream_for_itself() -> None:
    """A further attempt at one thing renumbers no other."""
    ids = SequentialIds()

    made = [ids.next(stream) for stream in ("call", "call", "op", "call")]

    assert made == ["call-0001", "call-0002", "op-0001", "call-0003"]


def test_identifiers_go_on_beyond_four_digits() -> None:
    """The ten-thousandth is as unique as the first."""
    ids = SequentialIds()

    made = [ids.next("call") for _ in range(10_001)]

    assert made[-3:] == ["call-9999", "call-10000", "call-10001"]


@given(
    st.lists(st.one_of(st.text(max_size=5), st.integers()), max_size=4),
    st.lists(st.one_of(st.text(max_size=5), st.integers()), max_size=4),
)
def test_different_parts_derive_different_values(
    one: list[str | int], other: list[str | int]
) -> None:
    """No two lists of parts run together: neither joined texts nor a number and its digits."""
    assert (derive(*one) == derive(*other)) == (one == other)


@given(st.integers(1, 256), st.text(max_size=5))
def test_a_derived_integer_fits_its_bits(bits: int, part: str) -> None:
    """It is never negative and never too wide."""
    assert 0 <= derive_integer(part, bits=bits) < 2**bits


@pytest.mark.parametrize("bits", [0, 257])
def test_a_derived_integer_needs_bits_that_exist(bits: int) -> None:
    """A digest has 256 bits."""
    with pytest.raises(HarnessError, match="1 to 256 bits"):
        derive_integer("x", bits=bits)
