"""What a structured answer says beside its texts: documents in fences, envelopes, and other JSON.

An envelope that validates is read by `claims`. What looks like one and does not validate is
malformed, and never passed over. In other JSON a field is read as words, from the outermost name
inwards: one that touches a topic of the pack and says that it is done is a claim, and one that
touches it and says neither that nor anything harmless is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from arh.canonical import JsonValue, Refused, parse
from arh.harness.vocabulary.texts import without_deed
from arh.records.envelope import envelope_of
from arh.records.packs import WorkflowPack
from arh.regex import Match, compiled

DOCUMENTS_MAX: Final = 16


def fenced(said: JsonValue) -> list[JsonValue]:
    """Return the JSON objects and lists that stand in fences of a text, or after its prose."""
    if not isinstance(said, str) or ("```" not in said and "~~~" not in said and "{" not in said):
        return []
    pieces = [match[1] for match in _FENCE.finditer(said)]
    if not pieces:
        pieces = [said[said.find("{") : said.rfind("}") + 1]]
    found: list[JsonValue] = []
    for piece in pieces[:DOCUMENTS_MAX]:
        try:
            value = parse(piece.strip())
        except Refused:
            continue
        if isinstance(value, (dict, list)):
            found.append(value)
    return found


def malformed(value: JsonValue) -> str:
    """Return what is wrong with a value that looks like an envelope, or nothing."""
    if not isinstance(value, dict) or not _ENVELOPE & value.keys():
        return ""
    if envelope_of(value) is not None:
        return ""
    missing = sorted({"message", "workflow_status"} - value.keys())
    extra = sorted(value.keys() - _FIELDS)
    return f"without {missing[0]}" if missing else f"with {extra[0]}" if extra else "of other types"


def stated_in(value: JsonValue, pack: WorkflowPack) -> Iterator[tuple[str, str, bool]]:
    """Yield what the fields of a JSON value say of actions: action, words, and whether it is sure.

    Fields of an envelope's own are left out where the value is one that validates.
    """
    for path, said in _leaves(value):
        words = f"{path} {said}" if isinstance(said, str) else path
        if len(words) > _CHARS_MAX or _says_nothing(said):
            continue
        for each in pack.claims:
            if each.topic and compiled(each.topic).search(words):
                own = compiled(each.pattern).search(words)
                harmless = _HARMLESS.search(words if own is None else _without(words, own))
                if _DONE.search(words) or (own is not None and harmless is None):
                    yield each.action, words, harmless is None
                elif harmless is None:
                    yield each.action, words, said is True


def _without(words: str, own: Match) -> str:
    """Return the words without the verb of the action that they name."""
    return f"{words[: own.start()]}{without_deed(own.group())}{words[own.end() :]}"


def _leaves(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield every scalar with the words of the names that lead to it, and of its siblings."""
    waiting: list[tuple[str, JsonValue]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, Mapping):
            names = " ".join(_spaced(str(item[key])) for key in _NAMES if key in item)[:_CHARS_MAX]
            inner = f"{path} {names}".strip()
            waiting.extend((f"{inner} {_spaced(key)}".strip(), each) for key, each in item.items())
        elif isinstance(item, list):
            waiting.extend((path, each) for each in item)
        else:
            yield path[-_CHARS_MAX:], _spaced(item) if isinstance(item, str) else item


def _says_nothing(said: JsonValue) -> bool:
    """Return whether a value is empty, none or nought, or a text that is read as prose."""
    return not said or (isinstance(said, str) and said.count(" ") > _WORDS_MAX)


def _spaced(name: str) -> str:
    return _HUMP.sub(" ", name[:_CHARS_MAX]).replace("_", " ").replace("-", " ").lower()


_CHARS_MAX: Final = 200
_WORDS_MAX: Final = 2
_NAMES: Final = ("action", "name", "tool", "type", "kind")
_ENVELOPE: Final = frozenset({"workflow_status", "claimed_actions"})
_FIELDS: Final = frozenset(
    {"message", "workflow_status", "claimed_actions", "evidence_refs", "disposition"}
)
_FENCE: Final = re.compile(r"(?:```|~~~)[ \t]*\w*[ \t]*\r?\n?(.*?)(?:```|~~~|\Z)", re.DOTALL)
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DONE: Final = re.compile(
    r"\b(?:done|complet\w+|issued|applied|granted|paid|posted|sent|processed|success\w*|succeeded"
    r"|executed|opened|created|filed|ok|yes|booked|finished|resolved|settled)\b"
)
_HARMLESS: Final = re.compile(
    r"\b(?:no|not|none|never|denied|refused|rejected|blocked|failed|failure|error|pending|unknown"
    r"|propos\w+|request\w*|need\w*|requir\w+|eligib\w+|policy|allow\w*|possible|approval|await\w*"
    r"|limit|balance|review\w*|max|false|null|skipped|escalat\w+|unconfirmed|cancel\w+|declined)\b"
)
