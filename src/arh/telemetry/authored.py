"""What may be written of an author's scenario: its structure, and no secret.

Evidence holds every scenario as it was judged, so that it can be judged again, and an author may
have put a secret in any text of it. By shape all texts are searched; by name only the places that
hold rows, arguments and other JSON of the workflow, since a scenario's own fields have names of
their own. Whatever is taken out reads `[withheld…]`, which no event ever says: what depends on it
matches nothing when the run is judged again, just as the true value matched nothing before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from arh.telemetry.correlation import RunMemory
from arh.telemetry.scrubbing import Scrubber
from arh.telemetry.secrets import scrub

WITHHELD: Final = "[withheld]"
FREE: Final = frozenset(
    {"allowed", "arguments", "before", "expected", "incident", "one_of", "row", "scope",
     "trace_assertions", "when", "where"}
)  # fmt: skip

_REDACTED: Final = "[redacted:"
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.:@*-]+")

Data = dict[str, object]


def withheld(data: Data, sensitive: frozenset[str], scrubber: Scrubber) -> Data:
    """Return the data itself if nothing in it must be withheld, else a copy without."""
    if not sensitive and scrubber.scrubbed(data, RunMemory()) is data:
        return data
    return _fields(data, sensitive, scrubber, free=False)


def _kept(item: object, sensitive: frozenset[str], scrubber: Scrubber, *, free: bool) -> object:
    if isinstance(item, str):
        return _text(item, free=free)
    if isinstance(item, list | tuple):
        return [_kept(each, sensitive, scrubber, free=free) for each in item]
    if isinstance(item, Mapping):
        return _fields(item, sensitive, scrubber, free=free)
    return item


def _fields(
    item: Mapping[str, object], sensitive: frozenset[str], scrubber: Scrubber, *, free: bool
) -> Data:
    kept: Data = {}
    for name, below in item.items():
        secret = free and below is not None and (name in sensitive or scrubber.is_secret(name))
        inside = free or name in FREE
        kept[_text(name, free=True)] = (
            WITHHELD if secret else _kept(below, sensitive, scrubber, free=inside)
        )
    return kept


def _text(text: str, *, free: bool) -> str:
    """Return the text without secrets; where a name must stand, a name stands again."""
    kept = scrub(text)
    if kept == text:
        return text
    kept = kept.replace(_REDACTED, "[withheld:")
    if not free and _IDENTIFIER.fullmatch(text):
        return kept.replace("[", "").replace("]", "")
    return kept
