"""Pictures, sounds and files in a result: rules read text, so what they cannot read is noted."""

from __future__ import annotations

from typing import Final

from arh.canonical import JsonValue
from arh.traces.mapping.assembly import Assembly

_TYPES: Final = frozenset(
    {"audio", "document", "file", "image", "image_url", "input_audio", "input_image", "video"}
)


def note_media(assembly: Assembly, blocks: list[JsonValue], at: str) -> None:
    """Note each block that is no text, by its `type` or, where blocks have none, by its key."""
    for place, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        name = kind if isinstance(kind, str) else next(iter(block), "")
        if name in _TYPES:
            assembly.note("result_media", f"{at}[{place}]", name)
