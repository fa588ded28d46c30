"""Makes untrusted text safe, once for each sink: console, Markdown, HTML, XML.

Agents, tools and datasets write text that ends in reports. None of it may move a cursor, forge a
line or a CI command, become markup or a link, or break the format it is put into. Every renderer
passes every text that is not its own through one of these functions, and nothing else does that.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

CHARS_MAX: Final = 2_000
_LINE_ENDS: Final = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029\t ]+")
_CI_COMMAND: Final = re.compile(r":(?=:)|#(?=#[a-z]*\[)", re.IGNORECASE)
_MARKDOWN: Final = re.compile(
    r"[\\`*{}\[\]<>|~&!$@#^]"  # wherever they stand
    r"|(?<![^\W_])_|_(?![^\W_])"  # not inside a word, as in a metric's name
    r"|:(?=//)|(?<=www)\.|(?<=mailto|..xmpp):"  # links that need no brackets
    r"|^[-+=]|^\d{1,9}[.)](?=\s|$)",  # at the start: lists, headings
    re.IGNORECASE,
)
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def console(text: str, *, chars_max: int = CHARS_MAX) -> str:
    """Return the text on one line that a terminal and a CI log only show.

    What does not print (controls, bidi marks, zero-width characters) stands there as an escape,
    and a colon or hash that would start a workflow command of a CI system is taken apart.
    """
    shown = _printable(_one_line(text, chars_max))
    return _CI_COMMAND.sub(lambda found: f"{found[0]}\N{MIDDLE DOT}", shown)


def markdown(text: str, *, chars_max: int = CHARS_MAX) -> str:
    """Return the text on one line in which Markdown and HTML see nothing but characters.

    Every character that has a meaning where it stands becomes a numeric entity, so that no table
    cell, link, image, code span or tag can begin, and no autolink either.
    """
    shown = _printable(_one_line(text, chars_max))
    return _MARKDOWN.sub(lambda found: found[0][:-1] + _entity(found[0][-1]), shown)


def code(text: str, *, chars_max: int = CHARS_MAX) -> str:
    """Return the text as a Markdown code span that it cannot leave, also within a table."""
    shown = _printable(_one_line(text, chars_max)).replace("`", "\N{MODIFIER LETTER GRAVE ACCENT}")
    cell = shown.replace("|", "\\|")
    return f"`{cell}`" if cell else ""


def markup(text: str, *, chars_max: int = CHARS_MAX) -> str:
    """Return the text on one line in which HTML sees nothing but characters, in attributes too."""
    return escape(_printable(_one_line(text, chars_max)), quote=True)


def xml(text: str, *, chars_max: int = CHARS_MAX) -> str:
    """Return the text with only such characters as XML 1.0 allows; the writer escapes markup."""
    capped = _capped(text, chars_max)
    return _NOT_XML.sub(lambda found: _escape(found[0]), _printable(capped, keep="\n\t"))


def _one_line(text: str, chars_max: int) -> str:
    return _LINE_ENDS.sub(" ", _capped(text, chars_max)).strip()


def _capped(text: str, chars_max: int) -> str:
    cut = len(text) - chars_max
    return text if cut <= 0 else f"{text[:chars_max]} ({cut} more characters)"


def _printable(text: str, keep: str = "") -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _escape(c) for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def _entity(char: str) -> str:
    """Return the character as a numeric entity, which is never markup."""
    return f"&#{ord(char)};"
