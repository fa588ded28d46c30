"""Texts that attack whoever shows them."""

from __future__ import annotations

from typing import Final

ESCAPES: Final = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31mC1",
    "back\x08space",
    "bell\x07",
    "\x00nul",
    "\x7fdel",
    "a\u202eright-to-left",
    "a\u2066isolate\u2069",
    "zero\u200bwidth",
    "join\u200der",
    "bom\ufeff",
    "tag\U000e0041",
    "lone\ud800surrogate",
)
LINES: Final = (
    "a\nb",
    "a\rb",
    "a\r\nPASS forged 0 calls",
    "a\u2028b",
    "a\u2029b",
    "a\x85b",
    "a\x0bb",
)
COMMANDS: Final = (
    "::error::owned",
    "::set-output name=x::1",
    "x\n::add-mask::secret",
    "##vso[task.complete]",
    "##[error]owned",
    "##teamcity[buildStatus]",
    "::::error::twice",
)
MARKUP: Final = (
    "| a | b |",
    "`code`",
    "``` fence",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/beacon.png)",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "https://evil.example/",
    "www.evil.example",
    "mail me@evil.example now",
    "<https://evil.example>",
    "# heading",
    "- list",
    "1. list",
    "> quote",
    "***bold***",
    "_soft_",
    "~~gone~~",
    "&lt;b&gt;",
    "\\`",
    "$x$",
    "[ref]: https://evil.example",
    "a\n\n# heading",
    "]]> <![CDATA[",
    "--- ",
    "===",
)
EVERYTHING: Final = (*ESCAPES, *LINES, *COMMANDS, *MARKUP)
