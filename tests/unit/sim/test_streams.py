"""Streams follow from their seed alone, and from each other not at all."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.errors import HarnessError
from arh.sim.streams import SequentialIds, Streams

names = st.text(max_size=8)


def drawn(streams: Streams, stream: str, count: int = 8) -> list[int]:
    """Return the next numbers of a stream."""
    return [streams.choice(stream, 1_000_000) for _ in range(count)]


def test_a_stream_is_the_same_everywhere() -> None:
    """Pinned numbers: another machine, Python or hash seed must give these."""
    assert drawn(Streams("seed"), "baton", 4) == [907826, 80501, 182472, 318191]


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


@pytest.mark.parametrize(
    ("one", "other"),
    [(("ab", "c"), ("a", "bc")), (("a", "0"), ("a", "00")), (("", "a"), ("a", ""))],
)
def test_seed_and_name_do_not_run_together(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Two streams whose joined texts are one text give different numbers."""
    numbers = [drawn(Streams(seed), name) for seed, name in (one, other)]

    assert numbers[0] != numbers[1]
