"""Takes secrets out of the data of an event, by the names of fields and the shapes of texts.

Most events hold no secret. So all texts of an event are searched at once, and nothing is copied
unless something was found. Names are judged once and remembered. What is not JSON is refused, and
what has no end too: the caller then drops the content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from arh.telemetry.correlation import RunMemory
from arh.telemetry.secrets import NAME_CHARS_MAX, is_secret_name, scrub, suspicious

SECRET: Final = "[redacted:secret]"  # noqa: S105 - what stands in a secret's place
UNREADABLE: Final = "[redacted:unreadable]"
ITEMS_MAX: Final = 4_000_000
DEPTH_MAX: Final = 80

_NAMES_MAX: Final = 4096
_NESTED: Final = frozenset({dict, list, tuple})
_PLAIN: Final = frozenset({int, bool, float, type(None)})
# Closed words, digests and counts that gateway, store and runner make themselves.
_OWN: Final = frozenset(
    {
        "argument_digest", "call_id", "commit_belief", "datasets", "delivery", "key_source", "kind",
        "lookup", "operation_id", "plan", "projection", "root", "scenario_digest", "source",
        "stages", "state", "state_after", "state_before", "status", "termination", "tools",
        "version",
    }
)  # fmt: skip

Data = dict[str, object]


class Scrubber:
    """Remembers which names are no secrets, for all runs."""

    __slots__ = ("_harmless",)

    def __init__(self) -> None:
        """Begin knowing no names."""
        self._harmless: set[str] = set()

    def scrubbed(self, data: Data, run: RunMemory) -> Data:
        """Return the data itself if it holds no secret, else a copy without.

        Raises:
            TypeError: Something in it is not JSON.
            ValueError: It does not end.
        """
        texts = self._texts(data)
        if texts is not None and not run.learned and not suspicious("\n".join(texts)):
            return data
        return {name: self._field(name, item, run, 0) for name, item in data.items()}

    def plain(self, value: Mapping[str, object]) -> bool:
        """Return true if all fields are known to be harmless, and hold no fields themselves."""
        return self._harmless.issuperset(value) and _NESTED.isdisjoint(map(type, value.values()))

    def is_secret(self, name: str) -> bool:
        """Return whether a field of this name holds a secret, or the name itself is one."""
        if name in self._harmless:
            return False
        if is_secret_name(name) or suspicious(name):
            return True
        if len(self._harmless) < _NAMES_MAX and len(name) <= NAME_CHARS_MAX:
            self._harmless.add(name)
        return False

    def _texts(self, data: Data) -> list[str] | None:
        """Return every text in the data, or `None` if a name in it is a secret's."""
        texts: list[str] = []
        items: list[Any] = [item for name, item in data.items() if name not in _OWN]
        harmless = self._harmless
        for item in items:  # which grows meanwhile
            kind = type(item)
            if kind is str:
                texts.append(item)
            elif kind is dict:
                if not harmless.issuperset(item) and any(map(self.is_secret, item)):
                    return None
                if len(items) > ITEMS_MAX:
                    raise ValueError(ITEMS_MAX)
                items += item.values()
            elif kind is list or kind is tuple:
                if len(items) > ITEMS_MAX:
                    raise ValueError(ITEMS_MAX)
                items += item
            elif kind not in _PLAIN:
                texts.append(_text(item))
        return texts

    def _field(self, name: str, item: object, run: RunMemory, depth: int) -> object:
        if depth == 0 and name in _OWN:
            return item
        if item is not None and self.is_secret(name):
            return SECRET
        return self._clean(item, run, depth)

    def _clean(self, item: object, run: RunMemory, depth: int) -> object:
        """Return a copy in which no text, name or field holds a secret."""
        if isinstance(item, str):
            return run.forget(scrub(_text(item)))
        if isinstance(item, dict | list | tuple) and depth > DEPTH_MAX:
            return UNREADABLE
        if isinstance(item, dict):
            return {
                scrub(name): self._field(name, below, run, depth + 1)
                for name, below in item.items()
            }
        if isinstance(item, list | tuple):
            return [self._clean(below, run, depth + 1) for below in item]
        return item


def _text(item: object) -> str:
    """Return the text that a string of another type is written as."""
    if not isinstance(item, str):
        raise TypeError(type(item))
    return str.__str__(item)
