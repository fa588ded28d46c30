r"""Authors' patterns on an engine that takes linear time, with the meaning that they have in `re`.

Policies are written for Python's `re`, and the text that they are run over comes from whoever
talked to the agent. So every pattern is rewritten for RE2: `$` also holds before a final line feed,
`\d`, `\w` and `\s` know more than ASCII, `\Z`, `\u0041` and `{,3}` are understood. `\b` and a
`\W` inside brackets know ASCII only. What RE2 cannot express is refused by name.

`screen` makes one pattern of many that finds at least what each of them finds, also in texts that
were joined by line feeds: most traces are clean, and one search says so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, cast

from arh.regex import PatternRefused, Regex, compiled

PATTERN_CHARS_MAX: Final = 10_000
CACHED_MAX: Final = 4096

Use: TypeAlias = Literal["search", "full", "screen"]

_CLASSES: Final = {
    "d": (r"\p{Nd}", r"\p{Nd}"),
    "D": (r"\P{Nd}", r"\P{Nd}"),
    "w": (r"[\p{L}\p{N}_]", r"\p{L}\p{N}_"),
    "W": (r"[^\p{L}\p{N}_]", r"\W"),
    "s": (r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]", r"\s\x0b\x1c-\x1f\x{85}\p{Z}"),
    "S": (r"[^\s\x0b\x1c-\x1f\x{85}\p{Z}]", r"\S"),
}
_GROUPS: Final = (
    ("(?=", "a look-ahead"),
    ("(?!", "a negative look-ahead"),
    ("(?<=", "a look-behind"),
    ("(?<!", "a negative look-behind"),
    ("(?>", "an atomic group"),
    ("(?P=", "a back-reference"),
    ("(?(", "a conditional group"),
)
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?[:)]")
_OPEN_REPEAT: Final = re.compile(r"\{,([0-9]*)\}")
_REPEAT_DIGITS_MAX: Final = 7  # the library itself refuses those of fewer digits
_REPEAT: Final = re.compile(r"\{[0-9]*(?:,[0-9]*)?\}")
_ESCAPED_CHAR: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_ONE_CHAR: Final = (
    r"(?:[A-Za-z0-9 _:/@#,;=%&'\"<>-]|\\[dws./()+*?-]|\[\^?(?:[A-Za-z0-9 _.:/@#-]|\\[dws.-])+\])"
)
_FIXED: Final = rf"(?:{_ONE_CHAR}(?:\{{[0-9]{{1,3}}\}})?)*"
_SIMPLE: Final = re.compile(
    rf"{_FIXED}(?:{_ONE_CHAR}(?:[*+?]|\{{[0-9]{{1,3}},[0-9]{{0,3}}\}}))?{_FIXED}"
)
_ENDS: Final[dict[Use, str]] = {"search": r"(?:\n?\z)", "full": r"\z", "screen": "$"}


@lru_cache(maxsize=CACHED_MAX)
def searcher(pattern: str) -> Regex:
    """Return the pattern compiled to be searched for, in any case of letters.

    Raises:
        PatternRefused: RE2 cannot run it; says which construct it is.
    """
    return compiled("(?i)" + _rewritten(pattern, "search"))


@lru_cache(maxsize=CACHED_MAX)
def matcher(pattern: str) -> Regex:
    """Return the pattern compiled to match a whole text.

    Raises:
        PatternRefused: See `searcher`.
    """
    return compiled(_rewritten(pattern, "full"))


@lru_cache(maxsize=CACHED_MAX)
def finder(pattern: str) -> Regex:
    """Return the pattern compiled to be searched for, exactly as it is written.

    Raises:
        PatternRefused: See `searcher`.
    """
    return compiled(_rewritten(pattern, "search"))


@lru_cache(maxsize=64)
def screen(patterns: tuple[str, ...]) -> Regex | None:
    """Return a pattern that finds at least what any of them finds in texts joined by line feeds.

    `None` says that there is no such pattern, so each has to be searched for by itself.
    """
    if any("(?" in each and _unsets_flags(each) for each in patterns):
        return None
    try:
        each = (f"(?:{_rewritten(pattern, 'screen')})" for pattern in patterns)
        return compiled(f"(?im){'|'.join(each)}")
    except PatternRefused:
        return None


@lru_cache(maxsize=CACHED_MAX)
def matching(pattern: str) -> Callable[[str], bool]:
    """Return the function that says whether the pattern matches a whole text.

    Patterns of single characters of which at most one is repeated cannot backtrack more than once
    over a text: those run on `re`, whose wrapper takes a tenth of the time on short texts.

    Raises:
        PatternRefused: See `searcher`.
    """
    matcher(pattern)
    if _SIMPLE.fullmatch(pattern) and backtracking_problem(pattern) == "":
        simple = re.compile(pattern)
        return lambda text: simple.fullmatch(text) is not None
    # Bytes are matched: the library's wrapper counts characters where a text is given.
    regex = cast("Any", matcher(pattern))
    return lambda text: regex.fullmatch(text.encode("utf-8", "replace")) is not None


def matches(pattern: str, text: str) -> bool:
    """Return whether the pattern matches a whole text.

    Raises:
        PatternRefused: See `searcher`.
    """
    return matching(pattern)(text)


def is_found(regex: Regex, text: str) -> bool:
    """Return whether a pattern finds anything in a text."""
    return cast("Any", regex).search(text.encode("utf-8", "replace")) is not None


def linear_problem(pattern: str, *, full: bool) -> str:
    """Return why the linear engine cannot run a pattern, or nothing."""
    try:
        matcher(pattern) if full else searcher(pattern)
    except PatternRefused as refused:
        return str(refused).replace("(?i)", "", 1)
    return ""


def backtracking_problem(pattern: str) -> str:
    """Return why the pattern is none of Python's `re` either, or nothing."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return ""


def _unsets_flags(pattern: str) -> bool:
    return any(match[2] for match in _FLAGS.finditer(pattern))


def _rewritten(pattern: str, use: Use) -> str:
    """Return the pattern as RE2 writes it."""
    if len(pattern) > PATTERN_CHARS_MAX:
        raise PatternRefused(f"longer than {PATTERN_CHARS_MAX} characters")
    out: list[str] = []
    at, quantified = 0, False
    ends = "$" if "m" in _flags_set(pattern) else _ENDS[use]
    while at < len(pattern):
        piece, width = _piece(pattern, at, use, ends)
        is_quantifier = piece in {"*", "+", "?"} or (
            piece[0] == "{" and _REPEAT.match(pattern, at) is not None
        )
        if quantified and piece == "+":
            raise _beyond("a possessive quantifier", at)
        quantified = is_quantifier and not (quantified and piece == "?")
        out.append(piece)
        at += width
    return "".join(out)


def _piece(pattern: str, at: int, use: Use, ends: str) -> tuple[str, int]:
    """Return the next piece, rewritten, and how many characters of the pattern it takes."""
    char = pattern[at]
    if char == "\\":
        return _escape(pattern, at, use, inside=False)
    if char == "[":
        return _brackets(pattern, at, use)
    if char == "(":
        return _group(pattern, at)
    if char == "$":
        return ends, 1
    if char == "{":
        opened = _OPEN_REPEAT.match(pattern, at)
        if opened:
            return f"{{0,{opened[1]}}}" if opened[1] else "*", opened.end() - at
        _check_repeat(pattern, at)
    return char, 1


def _check_repeat(pattern: str, at: int) -> None:
    """Refuse a repetition that the engine would read as plain text."""
    repeat = _REPEAT.match(pattern, at)
    if repeat and any(len(number) > _REPEAT_DIGITS_MAX for number in repeat[0].split(",")):
        raise _beyond("a repetition of more than 1000", at)


def _escape(pattern: str, at: int, use: Use, *, inside: bool) -> tuple[str, int]:
    """Return an escape; `inside` says that it stands in brackets."""
    char = pattern[at + 1 : at + 2]
    if char in _CLASSES and char:
        return _CLASSES[char][inside], 2
    if char.isdigit() and char != "0":
        raise _beyond(f"a back-reference \\{char}", at)
    number = _ESCAPED_CHAR.match(pattern, at)
    if number:
        return f"\\x{{{number[1] or number[2]}}}", number.end() - at
    if inside:
        return (r"\x08" if char == "b" else f"\\{char}"), 2
    if char in {"Z", "z"}:
        return ("$" if use == "screen" else r"\z"), 2
    if char == "A" and use == "screen":
        return "^", 2
    return f"\\{char}", 2


def _brackets(pattern: str, at: int, use: Use) -> tuple[str, int]:
    """Return a set of characters; a `[` within it is one of them, as in `re`."""
    start = at
    at += 2 if pattern.startswith("[^", at) else 1
    out = [pattern[start:at]]
    if pattern.startswith("]", at):
        out.append(r"\]")
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            piece, width = _escape(pattern, at, use, inside=True)
        else:
            piece, width = (r"\[" if pattern[at] == "[" else pattern[at]), 1
        out.append(piece)
        at += width
    out.append(pattern[at : at + 1])
    return "".join(out), at + 1 - start


def _group(pattern: str, at: int) -> tuple[str, int]:
    """Return the beginning of a group, without a comment."""
    for start, name in _GROUPS:
        if pattern.startswith(start, at):
            raise _beyond(f"{name} `{start}`", at)
    if pattern.startswith("(?#", at):
        end = pattern.find(")", at)
        return "(?:)", (end if end >= 0 else len(pattern)) + 1 - at
    flags = _FLAGS.match(pattern, at)
    strange = set((flags[1] or "") + (flags[2] or "")) - set("ims") if flags else ()
    if strange:
        raise _beyond(f"the flag `{min(strange)}`", at)
    return "(", 1


def _flags_set(pattern: str) -> str:
    """Return the flags that the pattern sets for itself."""
    if "(?" not in pattern:
        return ""
    return "".join(match[1] for match in _FLAGS.finditer(pattern))


def _beyond(construct: str, at: int) -> PatternRefused:
    return PatternRefused(f"{construct} at character {at + 1}, which has no linear-time form")
