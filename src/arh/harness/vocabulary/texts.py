"""What can be read off a text without understanding it: sentences, tokens, denials, amounts.

Evaluators read an agent's prose through these functions only, so that all of them agree on what a
sentence is and when it denies something. Texts are hostile: every function takes time linear in
the text, and none of them can fail. A text is first made `plain`: no lone surrogates, no invisible
characters that could hide a word, one spelling of hyphens and apostrophes.

A denial reaches as far as its clause. In "I sent the parcel, no need to call" nothing is denied,
in "the parcel was sent, but not confirmed" something is: what follows a clause counts only if it
begins with a word of contrast or condition. The words are English; a pack's own patterns say which
claims there are and what takes them back.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from arh.canonical import JsonValue
from arh.records.quick import quick
from arh.regex import compiled, occurrences, searchable

MINOR_UNITS: Final = 100


def plain(text: str) -> str:
    """Return the text with one spelling for what looks alike, and without what does not show."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", searchable(text))
    return _INVISIBLE.sub("", text.translate(_LOOK_ALIKE))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a plain text; a point inside a number or an identifier ends none."""
    begin = 0
    for end in _SENTENCE_END.finditer(text):
        sentence = text[begin : end.end()].strip()
        begin = end.end()
        if sentence:
            yield sentence
    if rest := text[begin:].strip():
        yield rest


def reach(sentence: str, begin: int, end: int) -> str:
    """Return the part of a sentence that can take back what stands from `begin` to `end`.

    That is its clause, and what follows if that is a contrast or a condition. Phrases that deny
    nothing ("no problem") are left out.
    """
    before = clause_begin(sentence, begin)
    after = _CLAUSE_END.search(sentence, end)
    if after is None or _CONTRAST.match(sentence, after.start()):
        return _IDIOM.sub(" ", sentence[before:])
    return _IDIOM.sub(" ", sentence[before : after.start()])


def clause_begin(sentence: str, begin: int) -> int:
    """Return where the clause begins that holds the place."""
    before = 0
    for boundary in _CLAUSE_BEGIN.finditer(sentence, 0, begin + 1):
        before = boundary.start()
    return before


def count_of(sentence: str, nouns: str, said: str = "") -> int:
    """Return the largest number of these nouns (an RE2 pattern) that the sentence speaks of.

    A plural without a number is two at least, if it stands in what was `said` of them.
    """
    if not nouns:
        return 1
    number = rf"(?i)\b({_COUNTS})\s+(?:[a-z]+\s+){{0,2}}?(?:{nouns})\b"
    found = [_counted(match.group(1).lower()) for match in compiled(number).finditer(sentence)]
    named = compiled(rf"(?i)\b(?:{nouns})\b").search(said)
    plural = 2 if named is not None and named.group().lower().endswith("s") else 1
    return max((*found, plural))


def _counted(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTED[word]


def denies(sentence: str) -> bool:
    """Return whether the sentence says that something did not happen."""
    return _DENIAL.search(sentence) is not None


def without_deed(said: str) -> str:
    """Return what is said of an action without its verb, if that would deny another action.

    To reject or to block is what some actions do: such a word at either end of what is said is the
    deed itself, and takes nothing back. The length stays.
    """
    return _DEED.sub(lambda found: "x" * len(found[0]), said)


def leaves_open(sentence: str) -> bool:
    """Return whether the sentence speaks of a condition, a possibility or something unknown."""
    return _OPEN.search(_INABILITY.sub("not", sentence)) is not None


def means_another(sentence: str) -> bool:
    """Return whether the sentence speaks of one more of something, so not of the first."""
    return _ANOTHER.search(sentence) is not None


def says_done(sentence: str) -> bool:
    """Return whether the sentence says that the task as a whole is done."""
    return _DONE.match(sentence) is not None and not sentence.endswith("?")


def asks(sentence: str) -> bool:
    """Return whether the sentence is a question, and not a statement with a question mark."""
    return sentence.endswith("?") and _ASKING.match(sentence) is not None


def holds_token(text: str, token: str) -> bool:
    """Return whether a text holds a token as a whole, in any case: ID-40 is not in ID-402."""
    token = token.strip()
    return bool(token) and _token(token).search(text) is not None


def words(text: str) -> list[str]:
    """Return the words of a text; a hyphen, point, colon or slash inside one is part of it."""
    return _WORD.findall(text)


def texts_of(value: JsonValue | Mapping[str, JsonValue]) -> list[str]:
    """Return every text of a JSON value, keys left out, in order."""
    found: list[str] = []
    _collect((value,), found)
    return found


def _collect(items: Iterable[object], found: list[str]) -> None:
    """Add the texts of values that a strict reader let in, so that none is deep."""
    for item in items:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, (list, tuple)):
            _collect(item, found)
        elif not isinstance(item, _PLAIN) and isinstance(item, Mapping):
            _collect(item.values(), found)


def numbers_of(value: JsonValue | Mapping[str, JsonValue]) -> Iterator[tuple[str, int | float]]:
    """Yield every number of a JSON value with the name of the field that holds it."""
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            yield name, item
        elif isinstance(item, (list, tuple)):
            waiting.extend((name, each) for each in item)
        elif not isinstance(item, _PLAIN) and isinstance(item, Mapping):
            waiting.extend(item.items())


# --- amounts -------------------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of money as it is written, and the minor units that it may mean.

    Two readings only where the text leaves open whether it speaks of units or of minor units.
    """

    text: str
    readings: tuple[int, ...]


def amounts(text: str) -> Iterator[Amount]:
    """Yield the amounts of money in a plain text; no percentage, date, duration or plain count."""
    if not _speaks_of_money(text):
        return
    for found in _MONEY.finditer(text):
        kind = next(name for name in _KINDS if found[name])
        number = _number(found[kind])
        if number is None or number < 0:
            continue
        scale = _SCALES.get((found["scale"] or "").strip().lower(), 1)
        plain_count = kind == "of" and "." not in found[kind]
        kind = "count" if plain_count else kind
        yield Amount(found[0].strip(), _readings(kind, number * scale))


def _speaks_of_money(text: str) -> bool:
    """Return whether it is worth while to search a text for amounts; most have none."""
    if _FIGURES.search(text):
        return True
    lower = text.lower()
    for word in _MONEY_WORDS:  # noqa: SIM110 - a generator costs more than the search of a word
        if word in lower:
            return True
    return False


def numbers(text: str) -> Iterator[int | float]:
    """Yield every number that stands in a plain text."""
    for found in _NUMBER.finditer(text):
        number = _number(found[0])
        if number is not None:
            yield number


def minor_units(number: float) -> tuple[int, ...]:
    """Return the minor units that a number of unknown unit may mean."""
    units = round(number * MINOR_UNITS)
    return (round(number), units) if float(number).is_integer() else (units,)


def _readings(kind: str, number: float) -> tuple[int, ...]:
    if kind == "minor":
        return (round(number),)
    if kind == "count":
        return minor_units(number)
    return (round(number * MINOR_UNITS),)


def _number(written: str) -> int | float | None:
    """Read 1,250.00 and 1.250,00 alike; a lone comma before two digits is a decimal one."""
    text = written.strip().rstrip(".,")
    if len(text) > _DIGITS_MAX:
        return None
    if "," in text and "." in text:
        decimal = max(text.rfind(","), text.rfind("."))
        whole = text[:decimal].replace(",", "").replace(".", "")
        text = f"{whole}.{text[decimal + 1 :]}"
    elif "," in text:
        head, _, tail = text.rpartition(",")
        joined = head.replace(",", "")
        text = f"{joined}.{tail}" if len(tail) == _DECIMALS and "," not in head else joined + tail
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return None


def surely(amount: Amount, known: Iterable[int]) -> bool:
    """Return whether one of the amount's readings is among the known minor units."""
    return any(reading in known for reading in amount.readings)


# --- the words -----------------------------------------------------------------------------------


def identifiers(text: str, kinds: tuple[str, ...]) -> list[str]:
    """Return what the patterns of a pack find in a plain text, each once, in order."""
    if not kinds:
        return []
    return list(dict.fromkeys(occurrences(any_of(kinds), text)))


@lru_cache(maxsize=64)
def any_of(patterns: tuple[str, ...]) -> str:
    """Return the pattern that matches wherever one of the patterns does, the first first."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)


@lru_cache(maxsize=4096)
def kind_of(text: str, kinds: tuple[str, ...]) -> str:
    """Return the first pattern that a whole text fits, or nothing."""
    if len(text) > _IDENTIFIER_CHARS_MAX:
        return ""
    return next((kind for kind in kinds if compiled(kind).fullmatch(plain(text))), "")


@lru_cache(maxsize=512)
def _token(token: str) -> re.Pattern[str]:
    escaped = re.escape(token)
    left = r"(?<![\w])(?<!\w-)" + (r"(?<!\d[.,])" if token[0].isdigit() else "")
    right = r"(?!\w)(?!-\w)" + (r"(?![.,]\d)" if token[-1].isdigit() else "")
    return re.compile(left + escaped + right, re.IGNORECASE)


# Asked first: whether one of these is a `Mapping` takes ten times as long to say.
_PLAIN: Final = (str, int, float, type(None))
_WORD: Final = re.compile(r"\w++(?:[-.:/]\w++)*+")
_IDENTIFIER_CHARS_MAX: Final = 200
_DIGITS_MAX: Final = 24
_DECIMALS: Final = 2
_LOOK_ALIKE: Final = str.maketrans(
    {
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2212": "-",
        "\ufe63": "-",
        "\uff0d": "-",
        "\u2018": "'",
        "\u2019": "'",
        "\u02bc": "'",
        "\uff07": "'",
    }
)
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_SENTENCE_END: Final = re.compile(
    r"[!?;\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
    r"|(?<!\b[A-Z])(?<!\be\.g)(?<!\bi\.e)(?<!\bapprox)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)"
    r"\.(?=[\s\"')\]*_\x00]|\Z|(?<=[a-z)]\.)[A-Z])"
)
_CLAUSE_BEGIN: Final = re.compile(
    r"\bso\s(?!that\b)|\b(?:but|then|therefore|hence|however|instead)\s|,\s(?:and\s)?(?:I|we|the|your|a|it)\s"
    r"|\band\s(?:I|we|then|the|your)\s|:\s|\s[-\u2013]\s|\u2014|\)",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(
    r",|\s[-\u2013]\s|\u2014|:|\("
    r"|\b(?:and|but|so|which|because|since|as|for your|though|although|however)\b",
    re.IGNORECASE,
)
_CONTRAST: Final = re.compile(
    r"[\s,(:\u2013\u2014-]*(?:(?:and|so|it|this|that|which|they|I|we)\s+)*"
    r"(?:but|though|although|however|yet|if|once|until|unless|pending|subject|or|nor|not|never"
    r"|whether|awaiting|without|neither|unconfirmed|cannot|unable"
    r"|(?:was|were|is|are|has|have|had|do|does|did|can|could|will|would)(?:n't|\s+not)"
    r"|(?:is|are|was|were|remains?|still|stays?)\s+(?:still\s+)?"
    r"(?:pending|awaiting|subject|un\w+|not|denied|refused|rejected|blocked|waiting|open))\b",
    re.IGNORECASE,
)
_IDIOM: Final = re.compile(
    r"\b(?:no (?:problems?|worries|trouble|doubt|further \w+ (?:is |are )?(?:needed|required))"
    r"|(?:do not|don't|not to|no need to|never) worry"
    r"|not only|no longer need|no need|need not|without (?:delay|further delay|any trouble)"
    r"|(?:do|does)(?:n't| not) (?:need|have) to"
    r"|as you (?:can|may|might) \w+|you (?:can|may|might|should|could) (?:\w+ )?"
    r"(?:see|check|find|view|expect|receive|notice|use)"
    r"|if you (?:have|need|want|would|wish)|can't wait|why not)\b",
    re.IGNORECASE,
)
_DENIAL: Final = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|neither|nor|without|cannot|unable|denied|refused"
    r"|declined|blocked|failed|rejected)\b|n't\b",
    re.IGNORECASE,
)
_DEED: Final = re.compile(
    r"\A(?:denied|refused|declined|blocked|rejected)\b"
    r"|\b(?:denied|refused|declined|blocked|rejected)\Z",
    re.IGNORECASE,
)
_ASKING: Final = re.compile(
    r"\W*(?:was|were|is|are|am|has|have|had|did|do|does|can|could|would|should|shall|will|may|might"
    r"|what|which|when|where|who|whose|why|how|whether|if)\b",
    re.IGNORECASE,
)
_COUNTED: Final[Mapping[str, int]] = {
    "both": 2,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "twice": 2,
}
_COUNTS: Final = "|".join((*_COUNTED, "[2-9]|[1-9][0-9]"))
_ANOTHER: Final = re.compile(
    r"\b(?:another|other|others|further|additional|second|third|more|duplicate|extra|again)\b",
    re.IGNORECASE,
)
_INABILITY: Final = re.compile(r"\b(?:(?:could|can)(?:n't|\s?not))\b", re.IGNORECASE)
_OPEN: Final = re.compile(
    r"\b(?:if|whether|once|until|unless|would|could|should|may|might|can|cannot|unknown|unclear"
    r"|unsure|uncertain|confirm\w*|certain|sure|verify|verified|know|known|requires?|needs?"
    r"|pending|awaiting|will|yet)\b",
    re.IGNORECASE,
)
_DONE: Final = re.compile(
    r"[\W_]*(?:(?:it|that|this|everything|all|the (?:task|work|job|request|workflow|issue)"
    r"|your (?:request|issue|case))(?:'s| is| are| has been| have been| was| were)?(?: now)?"
    r"(?: all)? |all |and )?(?:all )?(?:done|completed?|finished|resolved|fixed|sorted(?: out)?"
    r"|taken care of)(?: now| for you| successfully)?[\W_]*\Z",
    re.IGNORECASE,
)
_KINDS: Final = ("symbol", "code", "minor", "word", "of", "bare")
# Taken whole or not at all, so that no text makes a reader go back over its digits.
_FIGURE: Final = r"(?>[0-9](?:[0-9,.]*[0-9])?)"
_SCALE: Final = r"(?P<scale>\s?(?:k|m|bn)\b)?"
_CODE: Final = r"(?:USD|EUR|GBP|CHF|CAD|AUD|JPY|SEK|NOK|DKK|PLN)"
_UNIT: Final = (
    r"\s?(?:%|percent\b|per cent\b|ms\b|s\b|sec|min|hours?\b|hrs?\b|h\b|days?\b|weeks?\b|months?\b"
    r"|years?\b|[kMGT]i?B\b|km\b|x\b|times\b|am\b|pm\b)"
)
_MONEY: Final = re.compile(
    rf"[$\u20ac\u00a3\u00a5]\s?(?P<symbol>{_FIGURE}){_SCALE}"
    rf"|\b{_CODE}\s?(?P<code>{_FIGURE})"
    rf"|(?<![\w.,-])(?P<minor>{_FIGURE})\s(?:cents?|pence|minor units?)\b"
    rf"|(?<![\w.,-])(?P<word>{_FIGURE})\s?(?:[$\u20ac\u00a3\u00a5]|{_CODE}\b|(?:US )?dollars?\b"
    r"|euros?\b|pounds?\b|bucks?\b)"
    rf"|\b(?:credits?|refunds?|amount|charge|payment|fee|total|balance) of (?P<of>{_FIGURE})"
    rf"(?![\w-])(?!{_UNIT})"
    r"|(?<![\w.,-])(?<!\bv)(?<!version )(?<!release )"
    rf"(?P<bare>[0-9]+(?:,[0-9]{{3}})*\.[0-9]{{2}})(?![\w-])(?![.,][0-9])(?!{_UNIT})",
    re.IGNORECASE,
)
_FIGURES: Final = re.compile(r"[0-9][.,][0-9]|\bof [0-9]", re.IGNORECASE)
_MONEY_WORDS: Final = (
    *("$", "\u20ac", "\u00a3", "\u00a5", "dollar", "euro", "pound", "buck", "cent", "pence"),
    *("minor unit", "usd", "eur", "gbp", "chf", "cad", "aud", "jpy", "sek", "nok", "dkk", "pln"),
)
_SCALES: Final = {"k": 1_000, "m": 1_000_000, "bn": 1_000_000_000}
_NUMBER: Final = re.compile(rf"(?<![\w.,]){_FIGURE}(?!\w)")
