"""What one run's redaction remembers: sensitive values, and tokens for digests over them.

A token is the same for the same digest within a run, and says nothing of the value behind it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

MASKED: Final = "[masked]"
VALUES_MAX: Final = 500
VALUE_CHARS_MIN: Final = 4


def correlate(value: str, run_key: bytes) -> str:
    """Return the HMAC of a value under a run's key: it joins equal values and cannot be tried out.

    Use it where a digest of few possible values would be read back by trying them all.
    """
    return hmac.new(run_key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def run_key(key: bytes, run_id: str) -> bytes:
    """Return the key of one run, so that tokens of different runs cannot be joined."""
    return hmac.new(key, b"arh:correlation:1:" + run_id.encode(), hashlib.sha256).digest()


class RunMemory:
    """What is known of the run under way."""

    __slots__ = ("_clean", "_key", "_known", "_pattern", "_tokens", "hidden", "tainted", "tools")

    def __init__(self, key: bytes = b"") -> None:
        """Begin knowing nothing; without a key, tokens are running numbers."""
        self._key = key
        self._tokens: dict[str, str] = {}
        self._clean: set[str] = set()
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.tools: dict[str, str] = {}
        self.hidden: set[str] = set()
        self.tainted = False

    def token(self, digest: str) -> str:
        """Return what stands for a digest over something that may not be kept."""
        if not digest:
            return ""
        known = self._tokens.get(digest)
        if known is None:
            number = f"opaque-{len(self._tokens) + 1:04d}"
            known = correlate(digest, self._key) if self._key else number
            self._tokens[digest] = known
        return known

    def record(self, digest: str) -> str:
        """Return the digest of a record, or its token if the record holds something masked."""
        return self.token(digest) if digest in self.hidden else digest

    def state(self, digest: str) -> str:
        """Return the digest of a state, or its token once the state holds something masked."""
        if not self.tainted:
            self._clean.add(digest)
        return digest if digest in self._clean else self.token(digest)

    def begin(self, stand_ins: Mapping[str, str]) -> None:
        """Begin with a state that holds something masked; its digests have stand-ins already."""
        self._tokens.update(stand_ins)
        self.hidden.update(stand_ins)
        self.tainted = True

    def learn(self, value: object) -> None:
        """Remember a sensitive value, to find it again where it is repeated in prose."""
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                self.learn(item)
            return
        text = "" if isinstance(value, bool | None) else str(value)
        if len(text) >= VALUE_CHARS_MIN and text != MASKED and len(self._known) < VALUES_MAX:
            self._known.add(text)
            self._pattern = None

    @property
    def learned(self) -> bool:
        """True if any sensitive value is known."""
        return bool(self._known)

    def forget(self, text: str) -> str:
        """Return the text with every known sensitive value masked where it stands as a word."""
        if not self._known:
            return text
        if self._pattern is None:
            values = sorted(self._known, key=lambda value: (-len(value), value))
            words = "|".join(map(re.escape, values))
            self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])")
        return self._pattern.sub(MASKED, text)
