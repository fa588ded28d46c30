"""Who acts.

The authenticated subject, the agent that acts for it, and the tenant that bounds both.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecurityContext:
    """Trusted identity of a run, bound to the gateway; nothing an agent writes can change it.

    Effective authority is the intersection of what the subject and the acting agent hold. Scopes
    read `verb:resource`; `*` stands for any verb or any resource.
    """

    subject: str
    actor: str
    tenant: str
    scopes: tuple[str, ...]
    actor_scopes: tuple[str, ...] = ("*:*",)
    authenticated_at_ms: int = 0
    strength: str = "session"
    delegation: tuple[str, ...] = ()
