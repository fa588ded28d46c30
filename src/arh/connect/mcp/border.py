"""Who may speak to the gateway over HTTP: every check of a request, before any library sees it.

In this order: it is meant for this machine (`Host`), comes from no web page of elsewhere
(`Origin`), holds a credential of this very run that has not expired, has a method and a size that
the transport knows, is strict JSON, and the credential covers what it asks for. A request that
fails gets the status of its first fault and a short reason; nothing of it is repeated in the
answer.

Pure: bytes and headers in, a decision out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from arh.canonical import line
from arh.connect.mcp.credentials import TASK, TOOLS, Credential, Credentials, Doubt
from arh.connect.mcp.messages import BODY_BYTES_MAX, Faulty, Taken, take

NEEDS: Final[Mapping[str, str]] = {
    "tools/list": TOOLS,
    "tools/call": TOOLS,
    "prompts/list": TASK,
    "prompts/get": TASK,
    "resources/list": TASK,
    "resources/templates/list": TASK,
    "resources/read": TASK,
}
DIGITS_MAX: Final = 15
LOOPBACK: Final = ("127.0.0.1", "localhost")
# Headers that decide something: twice, two readers could take different ones.
_ONCE: Final = (
    "authorization",
    "content-length",
    "content-type",
    "host",
    "mcp-protocol-version",
    "origin",
)
UNCOVERED: Final = "the credential does not cover this"
DOUBTS: Final[Mapping[Doubt, str]] = {
    "missing": "a credential is due",
    "invalid": "the credential is not known",
    "expired": "the credential has expired",
    "audience": "the credential is for another address",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that goes no further: its HTTP status, the body and headers that answer it."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Border:
    """The checks of one server, which listens at `port` of the loopback interface."""

    credentials: Credentials
    port: int

    def resource(self, path: str) -> str:
        """Return the one URL that a path of this server has."""
        return f"http://127.0.0.1:{self.port}{path}"

    def admit(
        self, method: str, path: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> Credential | Refusal:
        """Return whose request it is, or the refusal: everything that needs no body."""
        given = _given(headers)
        if isinstance(given, Refusal):
            return given
        if given.get("host") not in {f"{name}:{self.port}" for name in LOOPBACK}:
            return refusal(421, "this server answers to the loopback interface alone")
        if (origin := given.get("origin")) is not None and not self._own(origin):
            return refusal(403, "a page of another origin may not ask")
        known = self.credentials.check(_bearer(given), audience=self.resource(path))
        if not isinstance(known, Credential):
            return _challenge(known)
        if method != "POST":
            return refusal(405, "only POST is answered", {"allow": "POST"})
        if _declared(given) > BODY_BYTES_MAX:
            return too_large()
        return known

    def read(self, body: bytes, credential: Credential) -> Taken | Refusal:
        """Return the message of an admitted request, or the refusal."""
        taken = take(body)
        if isinstance(taken, Faulty):
            return Refusal(400, line(taken.answer()), _JSON)
        needed = uncovered(taken, credential)
        if not needed:
            return taken
        challenge = f'Bearer error="insufficient_scope", scope="{needed}"'
        return refusal(403, UNCOVERED, {"www-authenticate": challenge})

    def _own(self, origin: str) -> bool:
        return origin in {f"http://{name}:{self.port}" for name in LOOPBACK}


def uncovered(taken: Taken, credential: Credential) -> str:
    """Return the scope that a message needs and the credential lacks, empty if there is none."""
    needed = NEEDS.get(taken.method, "")
    return "" if needed in credential.scopes else needed


def refusal(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Refusal:
    """Return a refusal with its reason as JSON."""
    return Refusal(status, line({"error": reason}), {**_JSON, **(headers or {})})


def too_large() -> Refusal:
    """Return the refusal of a body that is longer than any message may be."""
    return refusal(413, "a message is longer than the gateway takes")


_JSON: Final = {"content-type": "application/json"}


def _challenge(doubt: Doubt) -> Refusal:
    error = "" if doubt == "missing" else ' error="invalid_token"'
    return refusal(401, DOUBTS[doubt], {"www-authenticate": f"Bearer{error}"})


def _given(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | Refusal:
    """Return the headers by name; one that decides something may be there only once."""
    given: dict[str, str] = {}
    for raw, value in headers:
        name = raw.decode("latin-1").lower()
        if name in _ONCE and name in given:
            return refusal(400, "a header that decides something is there twice")
        given[name] = value.decode("latin-1")
    return given


def _bearer(given: Mapping[str, str]) -> str | None:
    scheme, _, token = given.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _declared(given: Mapping[str, str]) -> int:
    text = given.get("content-length", "")
    if not text.isascii() or not text.isdigit():
        return 0
    return int(text) if len(text) <= DIGITS_MAX else BODY_BYTES_MAX + 1
