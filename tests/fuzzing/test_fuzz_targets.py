"""Every fuzz target survives its seeds, and a seeded sample of what a fuzzer makes of them."""

from __future__ import annotations

import random
import time
from typing import Final

import pytest

from tests.fuzzing.targets import seeds, targets

TARGETS: Final = targets()
CHANGED: Final = 120
SECONDS_MAX: Final = 5.0  # a fuzzer's limit is 1 s; a machine that tests in parallel is slower
TOKENS: Final = (
    b"null", b"[]", b"{}", b"1e308", b"-1", b'""', b"true", b'"\\u0000"', b'"\\ud83d\\ude00"',
    b"9007199254740993", b'"' + b"x" * 5000 + b'"', b"[" * 150 + b"]" * 150, b'"<script>"',
)  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_accepted_or_refused(name: str) -> None:
    """None of them raises anything else."""
    for seed in seeds(name):
        TARGETS[name](seed)


@pytest.mark.parametrize("name", TARGETS)
def test_changed_seeds_are_accepted_or_refused(name: str) -> None:
    """Bytes cut, doubled, exchanged, and JSON values put in the place of others."""
    chance = random.Random(name)  # noqa: S311 - a test's choice
    material = list(seeds(name))
    for _ in range(CHANGED):
        data = changed(chance.choice(material), chance)
        began = time.process_time()
        TARGETS[name](data)
        assert time.process_time() - began < SECONDS_MAX, data[:400]


def test_a_target_notices_what_is_not_declared() -> None:
    """The harness itself can fail: an exception that is no refusal passes through."""
    with pytest.raises(TypeError):
        TARGETS["traces"](None)  # type: ignore[arg-type]


def changed(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with a few changes."""
    for _ in range(chance.randint(1, 4)):
        data = changed_once(data, chance)
    return data


def changed_once(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one change."""
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.randint(0, 40))
    kind = chance.randrange(5)
    if kind == 0:
        return data[:start] + data[end:]
    if kind == 1:
        return data[:end] + data[start:end] + data[end:]
    if kind == 2:
        return data[:start] + bytes([chance.randrange(256)]) + data[start + 1 :]
    return with_value(data, chance)


def with_value(data: bytes, chance: random.Random) -> bytes:
    """Return JSON text with one of its values exchanged for another."""
    places = [at for at in range(len(data)) if data[at : at + 1] in b":,["]
    if not places:
        return data
    start = chance.choice(places) + 1
    ends = [at for at in range(start, min(len(data), start + 400)) if data[at : at + 1] in b",]}"]
    return data[:start] + chance.choice(TOKENS) + data[chance.choice(ends) if ends else start :]
