"""A trie is a function of its content, whatever its history, and agrees with a naive rebuild."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.state import merkle
from arh.state.merkle import BUCKET_ENTRIES_MAX, EMPTY, Trie

LEAVES = st.integers(0, 3).map(lambda value: sha256(bytes([value])).digest())
KEYS = st.integers(0, 60).map(str)
CONTENTS = st.dictionaries(KEYS, LEAVES, max_size=60)
# A key with a leaf is put, a key with None is removed.
HISTORIES = st.lists(st.tuples(KEYS, LEAVES | st.none()), max_size=80)


def naive(content: dict[bytes, bytes], depth: int = 0) -> bytes:
    """The digest by the rule alone, over key hashes: nothing kept, nothing shared."""
    if len(content) <= BUCKET_ENTRIES_MAX:
        return sha256(b"\x00" + b"".join(key + content[key] for key in sorted(content))).digest()
    parts = (
        naive({key: content[key] for key in content if key.hex()[depth] == digit}, depth + 1)
        for digit in "0123456789abcdef"
    )
    return sha256(b"\x01" + b"".join(parts)).digest()


def root_of(content: dict[str, bytes]) -> str:
    """The root that a map must have."""
    return naive({merkle._hash(key): leaf for key, leaf in content.items()}).hex()


def trie_of(content: dict[str, bytes]) -> Trie:
    """The trie of a map, filled in its order."""
    trie = EMPTY
    for key, leaf in content.items():
        trie = trie.put(key, leaf)
    return trie


def crowded(key: str) -> bytes:
    """A bad hash: keys differ in the last six bits or so, 62 levels down."""
    return int(key).to_bytes(32)


def expect_naive_roots(history: list[tuple[str, bytes | None]]) -> None:
    """After every step of the history, root and size are those of a map with the same history."""
    trie, content = EMPTY, dict[str, bytes]()
    versions = [(trie, root_of(content), 0)]
    for key, leaf in history:
        trie = trie.remove(key) if leaf is None else trie.put(key, leaf)
        content = {other: content[other] for other in content if other != key}
        content |= {} if leaf is None else {key: leaf}
        versions.append((trie, root_of(content), len(content)))

    assert [(root, size) for _, root, size in versions] == [
        (version.root, len(version)) for version, _, _ in versions
    ]


@given(HISTORIES)
def test_every_version_has_the_naive_root(history: list[tuple[str, bytes | None]]) -> None:
    """Roots are asked for at the end only, so a version that a later step spoiled would show."""
    expect_naive_roots(history)


@given(HISTORIES)
def test_it_holds_when_hashes_crowd(history: list[tuple[str, bytes | None]]) -> None:
    """Keys that share 61 levels split and collapse as others do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merkle, "_hash", crowded)
        expect_naive_roots(history)


@given(CONTENTS, st.randoms(use_true_random=False), HISTORIES)
def test_history_leaves_no_trace(
    content: dict[str, bytes], random: object, detour: list[tuple[str, bytes | None]]
) -> None:
    """Another order of filling, or a detour over other records, ends in the same root."""
    keys = sorted(content)
    random.shuffle(keys)  # type: ignore[attr-defined]
    trie = trie_of({key: bytes(32) for key, _ in detour})
    for key in {key for key, _ in detour} - content.keys():
        trie = trie.remove(key)
    for key in keys:
        trie = trie.put(key, content[key])
    for key, _ in detour:
        trie = trie.put(key, content[key]) if key in content else trie.remove(key)

    assert trie_of(content) == trie
    assert trie_of(content).root == trie.root


@given(CONTENTS, CONTENTS)
def test_roots_are_equal_exactly_when_contents_are(
    one: dict[str, bytes], other: dict[str, bytes]
) -> None:
    """No two maps share a root, and no map has two."""
    assert (one == other) == (trie_of(one).root == trie_of(other).root)


@given(CONTENTS.filter(bool), st.data())
def test_one_bit_changes_the_root(content: dict[str, bytes], data: st.DataObject) -> None:
    """A flipped bit of any leaf shows, and flipping it back hides it again."""
    key = data.draw(st.sampled_from(sorted(content)))
    bit = data.draw(st.integers(0, 255))
    flipped = (int.from_bytes(content[key]) ^ 1 << bit).to_bytes(32)
    trie = trie_of(content)
    changed = trie.put(key, flipped)

    assert trie.root != changed.root
    assert trie.root == changed.put(key, content[key]).root


@given(CONTENTS.filter(bool), st.data())
def test_removing_undoes_putting(content: dict[str, bytes], data: st.DataObject) -> None:
    """Taking a record out gives the trie that never had it."""
    key = data.draw(st.sampled_from(sorted(content)))
    without = {other: content[other] for other in content if other != key}

    assert trie_of(without).root == trie_of(content).remove(key).root
