"""Credentials for the gateway as a server: one for each task of a run, short-lived, bound to it.

A credential is an unguessable text that says nothing; what it stands for is kept here alone: who
acts for whom in which tenant, which run, at which address, for which purposes, until when. It is
revoked when its task is over. Only its digest is kept, so that a dump of this process hands nobody
a way in.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from arh.sim.clock import wall_ms

TOOLS: Final = "tools"
TASK: Final = "task"
SCOPES: Final = frozenset({TOOLS, TASK})

Doubt = Literal["missing", "invalid", "expired", "audience"]

_FORM: Final = re.compile(r"arh-[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts: the authenticated subject, the agent that acts for it, and their tenant."""

    subject: str
    actor: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Credential:
    """What one token stands for; `run` names the task's place at the server, `audience` its URL."""

    principal: Principal
    run: str
    audience: str
    scopes: frozenset[str]
    expires_at_ms: float


class Credentials:
    """The credentials of one server."""

    def __init__(self, now_ms: Callable[[], float] = wall_ms) -> None:
        """Begin with none."""
        self._now_ms = now_ms
        self._known: dict[bytes, Credential] = {}
        self._lock = threading.Lock()

    def issue(
        self,
        principal: Principal,
        *,
        run: str,
        audience: str,
        life_ms: float,
        scopes: frozenset[str] = SCOPES,
    ) -> str:
        """Return a fresh token that is good for `life_ms` from now."""
        token = f"arh-{secrets.token_urlsafe(32)}"
        expires = self._now_ms() + life_ms
        with self._lock:
            self._known[_digest(token)] = Credential(principal, run, audience, scopes, expires)
        return token

    def check(self, token: str | None, *, audience: str | None = None) -> Credential | Doubt:
        """Return what the token stands for, or why it opens nothing.

        Without an audience the token alone says which run is meant.
        """
        if token is None:
            return "missing"
        known = self._known.get(_digest(token)) if _FORM.fullmatch(token) else None
        if known is None:
            return "invalid"
        if self._now_ms() >= known.expires_at_ms:
            return "expired"
        return known if audience in {None, known.audience} else "audience"

    def revoke(self, run: str) -> None:
        """Make every token of a run worthless."""
        with self._lock:
            for digest in [digest for digest, one in self._known.items() if one.run == run]:
                del self._known[digest]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
