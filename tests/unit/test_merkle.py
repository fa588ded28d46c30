"""A trie's root stands for its content, and what a change costs does not grow with the state."""

from __future__ import annotations

from hashlib import sha256

import pytest

from arh.state import merkle
from arh.state.merkle import BUCKET_ENTRIES_MAX, EMPTY, Trie


def leaf(value: object) -> bytes:
    """Some leaf digest."""
    return sha256(str(value).encode()).digest()


def filled(count: int) -> Trie:
    """A trie of so many records."""
    trie = EMPTY
    for at in range(count):
        trie = trie.put(f"acme/cases/{at}", leaf(at))
    return trie


def test_the_empty_trie_has_a_root_of_its_own() -> None:
    """It is the hash of the byte that marks a bucket."""
    assert sha256(b"\x00").hexdigest() == EMPTY.root
    assert len(EMPTY) == 0


def test_one_record_gives_the_root_that_the_rule_says() -> None:
    """A zero byte, the hash of the key, the leaf."""
    trie = EMPTY.put("a", leaf(1))

    expected = sha256(b"\x00" + sha256(b"a").digest() + leaf(1)).hexdigest()
    assert expected == trie.root
    assert len(trie) == 1


def test_a_root_does_not_change_between_versions_of_arh() -> None:
    """Evidence kept from earlier runs stays comparable: the root of 1,000 records, as recorded."""
    expected = "97ca6ea31443f97040bcc36138507e5baff66ac6376ee622e241d6cde4e1fca3"

    assert expected == filled(1_000).root


def test_putting_leaves_the_older_trie_as_it_was() -> None:
    """Every version can be asked for its root at any time, also for the first time."""
    versions = [filled(count) for count in range(40)]
    older = filled(20)
    newer = older.put("acme/cases/3", leaf("new")).remove("acme/cases/4")

    assert older == versions[20]
    assert newer not in versions
    assert (len(older), len(newer)) == (20, 19)


def test_putting_what_is_there_changes_nothing() -> None:
    """The same leaf under the same key gives the same trie, not a copy."""
    trie = filled(100)

    assert trie.put("acme/cases/7", leaf(7)) is trie


def test_removing_what_is_not_there_changes_nothing() -> None:
    """The content is the same without it."""
    trie = filled(100)

    assert trie.remove("acme/cases/100") is trie
    assert EMPTY.remove("a") is EMPTY


@pytest.mark.parametrize("count", [1, BUCKET_ENTRIES_MAX, BUCKET_ENTRIES_MAX + 1, 200])
def test_removing_everything_leaves_nothing(count: int) -> None:
    """Around the size at which a bucket splits and a branch collapses."""
    trie = filled(count)
    for at in range(count):
        trie = trie.remove(f"acme/cases/{at}")

    assert trie == EMPTY


def test_a_leaf_is_a_digest() -> None:
    """Anything but 32 bytes is a defect of the caller."""
    with pytest.raises(ValueError, match="expected a leaf of 32 bytes, found 31"):
        EMPTY.put("a", bytes(31))


def test_any_string_is_a_key() -> None:
    """Also one that UTF-8 cannot hold, and those that look alike are different keys."""
    keys = ["", "\ud800", "é", "e\u0301", "a\x00", "a"]
    roots = {EMPTY.put(key, leaf(1)).root for key in keys}

    assert len(roots) == len(keys)


def test_a_key_and_its_leaf_belong_together() -> None:
    """Two records with their leaves exchanged are other content."""
    one = EMPTY.put("a", leaf(1)).put("b", leaf(2))
    other = EMPTY.put("a", leaf(2)).put("b", leaf(1))

    assert one != other
    assert hash(one) != hash(other)


def test_a_trie_equals_only_tries() -> None:
    """Not its own root, and its repr tells root and size."""
    assert filled(2) != filled(2).root
    assert repr(filled(2)) == f"<Trie {filled(2).root[:12]} 2 entries>"


def test_a_trie_does_not_change() -> None:
    """Its node cannot be exchanged."""
    with pytest.raises(AttributeError):
        EMPTY._node = filled(1)._node  # type: ignore[misc]


def test_a_change_hashes_one_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """One hash a level: from 10 records to 10,000 a root costs two hashes more, not thousands."""
    expected = {10: 2, 100: 3, 1_000: 4, 10_000: 4}

    assert expected == {count: hashes_per_change(monkeypatch, count) for count in expected}


def hashes_per_change(monkeypatch: pytest.MonkeyPatch, count: int) -> int:
    """The most hashes that the root takes after one record was put or removed."""
    trie = filled(count)
    assert trie.root
    calls: list[bytes] = []

    def counted(data: bytes) -> object:
        calls.append(data)
        return sha256(data)

    most = 0
    with monkeypatch.context() as patch:
        patch.setattr(merkle, "sha256", counted)
        for at in range(count // 10, count // 10 + 20):
            key = f"acme/cases/{at}"
            for changed in (trie.put(key, leaf("new")), trie.remove(key)):
                calls.clear()
                assert changed.root
                most = max(most, len(calls))
    return most
