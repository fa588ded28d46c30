"""All text in a JSON value, for notes: what was recorded there must stay findable.

Keys count, because text can hide in them too. Goes level by level and not by recursion, so that no
depth of a hostile document matters, and costs the size of the value.
"""

from __future__ import annotations

from arh.canonical import JsonValue, Refused, line


def texts(value: JsonValue) -> str:
    """Return the text in a value, in document order, one line each; numbers and truth as JSON."""
    if isinstance(value, str):
        return value
    found: list[str] = []
    pending: list[JsonValue] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if item:
                found.append(item)
        elif isinstance(item, dict):
            for key, inner in reversed(item.items()):
                pending.extend((inner, key))
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, bool):
            found.append("true" if item else "false")
        elif item is not None:
            found.append(str(item))
    return "\n".join(found)


def json_text(value: JsonValue) -> str:
    """Return a value as compact JSON, or its text where it is outside of what JSON can say."""
    try:
        return line(value).decode()
    except Refused:
        return texts(value)


def word(value: JsonValue, key: str) -> str:
    """Return the text at a key of an object; "" when it is no object or there is no text there."""
    if not isinstance(value, dict):
        return ""
    item = value.get(key)
    return item if isinstance(item, str) else ""
