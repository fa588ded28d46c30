"""Finds secrets in text by their shapes, and fields that hold secrets by their names.

One search over a text tells whether anything in it can be a secret; only then are the shapes tried
one by one. All patterns are RE2, so hostile text costs linear time. A secret is replaced by
`[redacted:<kind>]`; the name that gave it away (`password=`) stays. Shapes are seen plain, quoted,
inside JSON that is itself a string, and url-encoded; what is encoded otherwise is not seen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from arh.regex import Match, Regex, compiled, screen

NAME_CHARS_MAX: Final = 256

# A word begins here: also after an escape that a letter ends, as in `%20` or `\n`.
_START: Final = r"(?:\b|%[0-9A-Fa-f]{2}|\\[nrt]|\\u[0-9A-Fa-f]{4}|_)"
_SPACE: Final = r"(?:\s|\+|%20|\\[nrt])"
_QUOTES: Final = r"(?:[\"'`\\]|%22|%27|%5[Cc])*"
_SIGN: Final = r"(?:=>|:=|[:=]|%3[ADad])"
_VALUE: Final = r"(?:[^\s\"'\\,;&<>(){}\[\]%]|%[013-9A-Fa-f][0-9A-Fa-f])"
_DIGITS: Final = r"[0-9](?:(?:[ .-]|%20|\+)?[0-9]){12,18}"
_PEM: Final = r"PRIVATE(?: |\+|%20)KEY"
_NAMES: Final = (
    r"pass(?:word|wd|phrase)|pwd|secret"
    r"|(?:client|shared|signing|webhook|app)[ _-]?secret"
    r"|(?:api|access|private|secret|signing|encryption|account|subscription)[ _-]?key"
    r"|(?:access|refresh|auth|bearer|session|api|id|csrf|security)[ _-]?token"
    r"|session[ _-]?(?:id|key)|credentials?"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret; group 1 of its pattern is kept. `holds` has the last word on a match."""

    kind: str
    pattern: str
    holds: Callable[[str], bool] = bool


def _valid_card(text: str) -> bool:
    """Return whether the digits are a card number by length, first digit and Luhn's check."""
    digits = [int(char) for char in re.sub(r"%20|[^0-9]", "", text)]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    plausible = 13 <= len(digits) <= 19 and 2 <= digits[0] <= 6  # noqa: PLR2004 - ISO/IEC 7812
    return plausible and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _random(text: str) -> bool:
    """Return whether what follows the scheme's name is more than a word of prose."""
    value = re.split(r"\s|\+|%20", text.rstrip("="))[-1]
    return not value.isalpha() or not value.islower()


SHAPES: Final = (
    Shape(
        "private_key",
        rf"()-----BEGIN(?: |\+|%20)(?:[A-Z0-9]+(?: |\+|%20))*{_PEM}(?s:.*?)"
        rf"(?:-----END(?: |\+|%20)(?:[A-Z0-9]+(?: |\+|%20))*{_PEM}-----|\z)",
    ),
    Shape("jwt", rf"({_START})eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{4,}}(?:\.[A-Za-z0-9_-]*)?"),
    Shape("api_key", rf"({_START})[spr]k[-_][A-Za-z0-9_-]{{16,}}"),
    Shape("aws_key", rf"({_START})A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{{16}}\b"),
    Shape("github_token", rf"({_START})(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{{16,}}"),
    Shape("gitlab_token", rf"({_START})gl(?:pat|ptt|rt)-[A-Za-z0-9_-]{{16,}}"),
    Shape("slack_token", rf"({_START})xox[abeoprs]-[A-Za-z0-9-]{{10,}}"),
    Shape("google_key", rf"({_START})AIza[A-Za-z0-9_-]{{30,}}"),
    Shape("npm_token", rf"({_START})npm_[A-Za-z0-9]{{30,}}"),
    Shape("hub_token", rf"({_START})hf_[A-Za-z0-9]{{30,}}"),
    Shape("sendgrid_key", rf"({_START})SG\.[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}"),
    Shape(
        "url_credentials", r"((?:://|%3[Aa]%2[Ff]%2[Ff]))[^\s/@\"'\\]+(?::|%3[Aa])[^\s/@\"'\\]*@"
    ),
    Shape("url_credentials", r"(%3[Aa]%2[Ff]%2[Ff])[^\s/@\"'\\]+%3[Aa][^\s/@\"'\\]*?%40"),
    Shape(
        "authorization",
        rf"(?i)({_START}(?:bearer|basic){_SPACE}+)[A-Za-z0-9._~/=%-]{{14,}}",
        _random,
    ),
    Shape(
        "authorization",
        rf"(?i)({_START}authorization{_QUOTES}\s*{_SIGN}{_SPACE}*{_QUOTES}"
        rf"(?:[a-z-]+{_SPACE}+)?)[^\s\"'\\,;&\[\]]*[0-9+/=_][^\s\"'\\,;&\[\]]{{7,}}",
    ),
    Shape(
        "cookie",
        rf"(?i)({_START}cookie{_QUOTES}{_SPACE}*{_SIGN}{_SPACE}*)"
        r"[^\s=%]+(?:=|%3D)[^\r\n\"'\\]+",
    ),
    Shape(
        "secret",
        rf"(?i)({_START}(?:{_NAMES}){_QUOTES}{_SPACE}*{_SIGN}{_SPACE}*{_QUOTES}){_VALUE}{{3,}}",
    ),
    Shape("card_number", rf"({_START}){_DIGITS}\b", _valid_card),
)

_EXACT: Final = frozenset(
    {
        "auth", "bearer", "cookie", "cookies", "cvc", "cvv", "jwt", "otp", "passcode", "pin",
        "pwd", "session", "setcookie", "token", "xauth",
    }
)  # fmt: skip
_ENDINGS: Final = (
    "accesskey", "accesstoken", "accountkey", "apikey", "apitoken", "authorization", "authtoken",
    "bearertoken", "credential", "credentials", "csrftoken", "encryptionkey", "idtoken",
    "passphrase", "passwd", "password", "privatekey", "refreshtoken", "secret", "secretkey",
    "securitytoken", "sessionid", "sessionkey", "sessiontoken", "signingkey",
)  # fmt: skip


def scrub(text: str) -> str:
    """Return the text with every secret in it replaced."""
    for shape, pattern in _suspects(text):
        text = pattern.sub(_replacement(shape), text)
    return text


def suspicious(text: str) -> bool:
    """Return whether anything in the text has the shape of a secret, in one pass over it."""
    return _screen()(text) is not None


def kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of the secrets in the text, in the order in which shapes are tried."""
    found = []
    for shape, pattern in _suspects(text):
        if any(shape.holds(match.group()) for match in pattern.finditer(text)):
            found.append(shape.kind)
    return tuple(dict.fromkeys(found))


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name holds a secret, however the name is spelled."""
    cut = name[:NAME_CHARS_MAX]
    known = cut if cut.isascii() else unicodedata.normalize("NFKC", cut)
    letters = "".join(filter(str.isalnum, known)).lower()
    return letters in _EXACT or letters.endswith(_ENDINGS)


def _replacement(shape: Shape) -> Callable[[Match], str]:
    def replaced(match: Match) -> str:
        whole: str = match.group()
        kept: str = match.group(1) or ""
        if not shape.holds(whole[len(kept) :]):
            return whole
        return f"{kept}[redacted:{shape.kind}]"

    return replaced


def _suspects(text: str) -> list[tuple[Shape, Regex]]:
    """Return the shapes that match somewhere in the text, each with its pattern."""
    patterns = _compiled()
    return [patterns[index] for index in sorted(_screen()(text) or ())]


@cache
def _screen() -> Callable[[str], Sequence[int] | None]:
    """Return the search for all patterns at once."""
    return screen([shape.pattern for shape in SHAPES])


@cache
def _compiled() -> tuple[tuple[Shape, Regex], ...]:
    return tuple((shape, compiled(shape.pattern)) for shape in SHAPES)
