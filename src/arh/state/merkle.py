"""A digest of a map that does not depend on how the map came about, at a cost that does not grow.

A `Trie` is an immutable 16-ary Merkle trie over SHA-256(key). Versions share all they can: a change
rebuilds the nodes on one path, O(log n) of them, and digests are worked out when a root is first
asked for, then kept. Its shape is a function of its content: a subtree of at most eight entries is
one bucket, sorted by key hash, and every larger one is a branch, on removal as on insertion. So
equal content gives equal roots, and since buckets and branches are hashed with different first
bytes, and a key's hash goes in beside its leaf, other content gives another root.

Sources: R. C. Merkle, "A Digital Signature Based on a Conventional Encryption Function" (1987);
the first-byte rule of RFC 6962, section 2.1.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias, final

BUCKET_ENTRIES_MAX: Final = 8
LEAF_BYTES: Final = 32

_FANOUT: Final = 16

_Entry: TypeAlias = "tuple[bytes, bytes]"  # the key's hash and the leaf
_Node: TypeAlias = "_Bucket | _Branch"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trie:
    """An immutable map from keys to 32-byte leaves, of which only the digest and the size are told.

    Built from `EMPTY` by `put` and `remove`, which leave the trie they are called on as it was.
    """

    _node: _Node

    def put(self, key: str, leaf: bytes) -> Trie:
        """Return the trie in which `key` has `leaf`, whatever it had before.

        Raises:
            ValueError: The leaf is not 32 bytes long.
        """
        if len(leaf) != LEAF_BYTES:
            raise ValueError(f"expected a leaf of {LEAF_BYTES} bytes, found {len(leaf)}")
        return self._with(_put(self._node, (_hash(key), bytes(leaf)), 0))

    def remove(self, key: str) -> Trie:
        """Return the trie without `key`; the same trie when it was not there."""
        return self._with(_remove(self._node, _hash(key), 0))

    @property
    def root(self) -> str:
        """The digest of the content, in hexadecimal."""
        return self._node.digest.hex()

    def __len__(self) -> int:
        return self._node.size

    def __eq__(self, other: object) -> bool:
        return (
            self._node.digest == other._node.digest if isinstance(other, Trie) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._node.digest)

    def __repr__(self) -> str:
        return f"<Trie {self.root[:12]} {len(self)} entries>"

    def _with(self, node: _Node) -> Trie:
        """Return the trie over `node`, this one when nothing changed."""
        return self if node is self._node else Trie(node)


def _put(node: _Node, entry: _Entry, depth: int) -> _Node:
    """Return the node with the entry in it, or the node itself when the entry is there already."""
    if isinstance(node, _Bucket):
        return _put_in_bucket(node, entry, depth)
    at = _slot(entry[0], depth)
    before = node.children[at]
    after = _put(before, entry, depth + 1)
    return node if after is before else node.with_child(at, after)


def _put_in_bucket(bucket: _Bucket, entry: _Entry, depth: int) -> _Node:
    """Return the bucket with the entry in it, split when it grew too large."""
    at, found = bucket.find(entry[0])
    entries = bucket.entries
    if found and entries[at] == entry:
        return bucket
    return _node((*entries[:at], entry, *entries[at + found :]), depth)


def _remove(node: _Node, path: bytes, depth: int) -> _Node:
    """Return the node without the key of that hash, or the node itself when it is not there."""
    if isinstance(node, _Bucket):
        return _remove_from_bucket(node, path)
    at = _slot(path, depth)
    before = node.children[at]
    after = _remove(before, path, depth + 1)
    if after is before:
        return node
    branch = node.with_child(at, after)
    return branch if branch.size > BUCKET_ENTRIES_MAX else _Bucket(branch.entries)


def _remove_from_bucket(bucket: _Bucket, path: bytes) -> _Bucket:
    at, found = bucket.find(path)
    return _Bucket((*bucket.entries[:at], *bucket.entries[at + 1 :])) if found else bucket


def _node(entries: tuple[_Entry, ...], depth: int) -> _Node:
    """Return the one node that these entries, sorted, have at this depth."""
    if len(entries) <= BUCKET_ENTRIES_MAX:
        return _Bucket(entries)
    groups: list[list[_Entry]] = [[] for _ in range(_FANOUT)]
    for entry in entries:
        groups[_slot(entry[0], depth)].append(entry)
    children = (_node(tuple(group), depth + 1) if group else _NOTHING for group in groups)
    return _Branch(tuple(children), len(entries))


class _Bucket:
    """At most eight entries, sorted by the hash of their key."""

    __slots__ = ("_digest", "entries", "size")

    def __init__(self, entries: tuple[_Entry, ...]) -> None:
        self.entries = entries
        self.size = len(entries)
        self._digest = b""

    @property
    def digest(self) -> bytes:
        """SHA-256 of a zero byte and each entry's key hash and leaf."""
        if not self._digest:
            self._digest = sha256(b"\x00" + b"".join(map(b"".join, self.entries))).digest()
        return self._digest

    def find(self, path: bytes) -> tuple[int, bool]:
        """Return where the key of that hash is or would be, and whether it is there."""
        at = bisect_left(self.entries, (path,))
        return at, at < len(self.entries) and self.entries[at][0] == path


class _Branch:
    """More than eight entries, one child for each value of the next four bits of their hashes."""

    __slots__ = ("_digest", "children", "size")

    def __init__(self, children: tuple[_Node, ...], size: int) -> None:
        self.children = children
        self.size = size
        self._digest = b""

    @property
    def entries(self) -> tuple[_Entry, ...]:
        """All entries below, sorted, because the children are."""
        return tuple(entry for child in self.children for entry in child.entries)

    @property
    def digest(self) -> bytes:
        """SHA-256 of a one byte and the digests of the sixteen children."""
        if not self._digest:
            # Most children are as they were: theirs is at hand, without a call for each.
            parts = b"".join([child._digest or child.digest for child in self.children])  # noqa: SLF001 - its own class
            self._digest = sha256(b"\x01" + parts).digest()
        return self._digest

    def with_child(self, at: int, child: _Node) -> _Branch:
        """Return the branch with another child in one place."""
        children = (*self.children[:at], child, *self.children[at + 1 :])
        return _Branch(children, self.size - self.children[at].size + child.size)


def _hash(key: str) -> bytes:
    """Return where a key stands; any string has a place, also one that UTF-8 cannot hold."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


def _slot(path: bytes, depth: int) -> int:
    """Return the four bits of the hash that choose the child at this depth."""
    byte = path[depth >> 1]
    return byte & 15 if depth & 1 else byte >> 4


_NOTHING: Final = _Bucket(())
EMPTY: Final = Trie(_NOTHING)
