"""Tool credentials: the gateway's alone, and a start-up check that nobody else can read them.

An agent that holds a tool's credential does not need the gateway, so a configuration that shows one
to the agent or to the model does not start. Values never appear in a message, a repr or evidence.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from arh.errors import AuthoringError, Problem

CREDENTIAL_CHARS_MIN = 8


class CredentialVault:
    """Holds credentials by name."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        """Hold the values.

        Raises:
            AuthoringError: A value is so short that nobody could tell whether a text exposes it.
        """
        short = sorted(name for name in values if len(values[name]) < CREDENTIAL_CHARS_MIN)
        if short:
            expected = f"a credential of at least {CREDENTIAL_CHARS_MIN} characters"
            problems = (Problem("a shorter one", expected, field=name) for name in short)
            raise AuthoringError(*problems)
        self._values = dict(values)

    def get(self, name: str) -> str | None:
        """Return the credential of that name, or `None`."""
        return self._values.get(name)

    def names_in(self, text: str) -> tuple[str, ...]:
        """Return the names of the credentials that the text contains, in order."""
        found = (
            name
            for name, value in self._values.items()
            if any(spelling in text for spelling in _spellings(value))
        )
        return tuple(sorted(found))

    def __repr__(self) -> str:
        return f"<CredentialVault of {len(self._values)}>"


def assert_unexposed(vault: CredentialVault, exposed_texts: Iterable[str]) -> None:
    """Return only if no credential occurs in a text that an agent or a model gets.

    Args:
        vault: The credentials of the tools.
        exposed_texts: System prompts, descriptions and schemas of tools, and the names and values
            of the environment of the model adapter and of the agent's process.

    Raises:
        AuthoringError: A credential occurs; the message names it and never shows it.
    """
    names = sorted({name for text in exposed_texts for name in vault.names_in(text)})
    if names:
        hint = "take it out of prompts, tool definitions and the agent's environment"
        raise AuthoringError(
            *(
                Problem(
                    "a tool credential can be read by the agent or the model", field=name, hint=hint
                )
                for name in names
            )
        )


def _spellings(value: str) -> Iterator[str]:
    """Return the value as it is, and as a URL, a header or JSON would carry it."""
    data = value.encode("utf-8", "surrogatepass")
    yield value
    yield json.dumps(value)[1:-1]
    yield quote(data, safe="")
    yield base64.b64encode(data).decode().rstrip("=")
    yield base64.urlsafe_b64encode(data).decode().rstrip("=")
    yield data.hex()
