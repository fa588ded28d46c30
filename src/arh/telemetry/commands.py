"""Shows a command as it may be shown anywhere: its secrets exchanged, whatever else as it is.

A command that starts an agent is part of scorecards, evidence and the line that runs a scenario
again, and people put keys in commands. Values are taken out by shape, as everywhere, and the value
of an option that is called like a secret (`--api-key X`, `--token=X`) whatever its shape.
"""

from __future__ import annotations

import shlex
from typing import Final

from arh.telemetry.scrubbing import SECRET
from arh.telemetry.secrets import is_secret_name, scrub

_OPTIONS: Final = frozenset({"key", "pass"})


def shown_command(command: str) -> str:
    """Return the command itself if it holds no secret, else one that shows none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return scrub(command)
    kept = [_word(word, before) for word, before in zip(words, ["", *words], strict=False)]
    whole = command if kept == words else shlex.join(kept)
    return scrub(whole)


def _word(word: str, before: str) -> str:
    if _is_secret_option(before) and not word.startswith("-"):
        return SECRET
    name, sign, value = word.partition("=")
    if value and _is_secret_option(name):
        return f"{name}{sign}{SECRET}"
    return scrub(word)


def _is_secret_option(word: str) -> bool:
    name = word.lstrip("-")
    return word.startswith("-") and (name.lower() in _OPTIONS or is_secret_name(name))
