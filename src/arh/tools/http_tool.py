"""A tool that a team's own HTTP service fulfils: a handler for the classes `read` and remote.

It stands behind the gateway like any handler, sends one request and never a second: whether to try
again is for the agent, and whether that is safe for the gateway, which knows the key. What comes
back is sorted by what it says of the effect:

    2xx                        the result, read strictly
    4xx in `refusals`          a refusal of the business: nothing was done
    other 4xx                  our request is wrong or not let in: nothing was done
    429                        nothing was done, try later
    nobody there               nothing was done
    3xx, 5xx, a cut, no time   after sending, nobody knows
    2xx that cannot be read    done or not, the reply is malformed

The key goes out as a header, so that the service can tell a repeat from a second request; as a
`lookup`, the same class asks for the key. The credential is the manifest's, from the vault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, NoReturn
from urllib.parse import quote, urlencode

from arh.canonical import JsonValue, encode, parse
from arh.canonical import Refused as NoJson
from arh.errors import DependencyFailure
from arh.foreign import ForeignFailure, call
from arh.http_exchange import SIZE_MAX, HttpFailure, HttpReply, HttpRequest, exchange
from arh.records.outcomes import Reason
from arh.records.tools import Refused
from arh.records.transactions import CallContext, Tx

Arguments = dict[str, JsonValue]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

KEY_HEADER: Final = "Idempotency-Key"
WALL_MS_MAX: Final = 10_000
REFUSALS: Final[Mapping[int, str]] = MappingProxyType(
    {
        404: Reason.NOT_FOUND,
        409: Reason.PRECONDITION_FAILED,
        410: Reason.NOT_FOUND,
        412: Reason.PRECONDITION_FAILED,
        422: Reason.PRECONDITION_FAILED,
    }
)

_PLACE: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLAIN_KEY: Final = re.compile(r"[\x21-\x24\x26-\x7e]+")
_RETRY_LATER: Final = 429
_TIMED_OUT: Final = 408


class _NoSegmentError(ValueError):
    """An argument would leave its place in the path: nothing is sent."""


@dataclass(frozen=True, slots=True)
class HttpTool:
    """A handler that sends one request to the service that its tool's manifest names.

    `path` may name arguments, `{key}` and `{tenant}` in braces; each becomes one path segment. The
    arguments that it does not name are the JSON body, of a GET or DELETE the query, unless `body`
    makes another one; a GET for a `{key}` asks for that alone, and has no query. `result` makes the
    tool's result of what a 2xx reply holds. `refusals` say which reason a status stands for.
    `key_header` is left out where it is empty, `credential` formats the credential as the header
    `Authorization`, `wall_ms_max` bounds a request whatever time the call has left.
    """

    method: Method
    path: str
    body: Callable[[Arguments], JsonValue] | None = None
    result: Callable[[JsonValue], JsonValue] | None = None
    refusals: Mapping[int, str] = field(default_factory=lambda: REFUSALS)
    key_header: str = KEY_HEADER
    credential: str = "Bearer {}"
    wall_ms_max: int = WALL_MS_MAX
    size_max: int = SIZE_MAX

    def __call__(self, arguments: Arguments, tx: Tx, about: CallContext) -> JsonValue | Refused:
        """Return what the service answers, or its refusal.

        Raises:
            DependencyFailure: There is no answer; it says what is certain of the effect.
        """
        try:
            request = self._request(arguments, about)
        except _NoSegmentError:
            return Refused(Reason.PRECONDITION_FAILED, "an argument is no segment of a path")
        timeout_ms = min(about.timeout_ms, self.wall_ms_max)
        reply = exchange(request, timeout_ms=timeout_ms, size_max=self.size_max)
        if isinstance(reply, HttpFailure):
            _failed(reply)
        if reply.status in self.refusals:
            return Refused(self.refusals[reply.status])
        if not 200 <= reply.status < 300:  # noqa: PLR2004 - success, in HTTP
            _unsuccessful(reply)
        return self._result(reply)

    def _request(self, arguments: Arguments, about: CallContext) -> HttpRequest:
        service = about.service()
        path, rest = self._filled(arguments, about)
        url = service.url.rstrip("/") + path
        headers = [("Accept", "application/json")]
        if self.key_header and about.key:
            headers.append((self.key_header, header_key(about.key)))
        if service.credential is not None:
            headers.append(("Authorization", self.credential.format(service.credential)))
        if self.method in {"GET", "DELETE"} and self.body is None:
            asked = {} if "{key}" in self.path else rest
            query = urlencode({name: _text(value) for name, value in asked.items()})
            return HttpRequest(self.method, f"{url}?{query}" if query else url, tuple(headers))
        headers.append(("Content-Type", "application/json"))
        data = encode(rest if self.body is None else self.body(arguments))
        return HttpRequest(self.method, url, tuple(headers), data)

    def _filled(self, arguments: Arguments, about: CallContext) -> tuple[str, Arguments]:
        """Return the path with its places filled in, and the arguments that it has no place for."""
        named = set(_PLACE.findall(self.path))
        values: Arguments = {"key": about.key, "tenant": about.tenant, **arguments}
        path = _PLACE.sub(lambda place: _segment(values[place[1]]), self.path)
        return path, {name: value for name, value in arguments.items() if name not in named}

    def _result(self, reply: HttpReply) -> JsonValue:
        """Return the result of a reply that reports success."""
        try:
            value = parse(reply.body, size_max=self.size_max) if reply.body else {}
        except NoJson:
            raise DependencyFailure(Reason.MALFORMED_RESULT) from None
        make = self.result
        if make is None:
            return value
        made = call("tool", lambda: make(value))
        if isinstance(made, ForeignFailure):
            raise DependencyFailure(Reason.MALFORMED_RESULT)
        return made


def header_key(key: str) -> str:
    """Return a key as a header may carry it: itself if it is plain, else percent-encoded."""
    return key if _PLAIN_KEY.fullmatch(key) else quote(key, safe="")


def _failed(failure: HttpFailure) -> NoReturn:
    """Raise what a failed exchange means for the effect."""
    if failure.kind == "malformed":
        raise DependencyFailure(Reason.MALFORMED_RESULT)
    timed_out = failure.kind == "timeout"
    reason = Reason.TIMEOUT if timed_out else Reason.DEPENDENCY_ERROR
    raise DependencyFailure(reason, undone=not failure.sent)


def _unsuccessful(reply: HttpReply) -> NoReturn:
    """Raise what a status beside success and refusal means for the effect."""
    if reply.status == _RETRY_LATER:
        raise DependencyFailure(Reason.RATE_LIMITED, reply.retry_after_ms, undone=True)
    if reply.status == _TIMED_OUT:
        raise DependencyFailure(Reason.TIMEOUT, reply.retry_after_ms)
    wrong_request = 400 <= reply.status < 500  # noqa: PLR2004 - the client's errors, in HTTP
    raise DependencyFailure(Reason.DEPENDENCY_ERROR, reply.retry_after_ms, undone=wrong_request)


def _segment(value: JsonValue) -> str:
    """Return a value as exactly one segment of a path, of which none leads elsewhere."""
    text = _text(value)
    if text in {"", ".", ".."}:
        raise _NoSegmentError
    return quote(text, safe="")


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else encode(value).decode()
