"""The road to a provider: its SDK, and an HTTP client that is bounded, direct and forgetful.

SDKs are optional, slow to import and generous: they retry, follow redirects, read proxies from the
environment and any number of bytes. Here a request is sent once, to the address that was named, and
what comes back is read raw, uncompressed, up to a limit. Whatever goes wrong on the way is a value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Final, Protocol

from arh.canonical import JsonValue
from arh.errors import AuthoringError
from arh.foreign import ForeignFailure, call
from arh.model.live.replies import Answer
from arh.records.decisions import ModelRequest
from arh.records.models import ModelSettings

BODY_BYTES_MAX: Final = 8 * 2**20
RETRY_AFTER_MS_MAX: Final = 3_600_000
TOO_MANY: Final = 429
REFUSED: Final = (401, 403, 404)
PACKAGE: Final = "agentic-reliability-harness"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go; the key is in no repr. `trust_environment`: proxy and certificates too."""

    base_url: str = ""
    key: str = field(default="", repr=False)
    trust_environment: bool = False
    body_bytes_max: int = BODY_BYTES_MAX


class Collector(Protocol):
    """Takes the events of one stream."""

    def take(self, value: JsonValue) -> bool:
        """Take an event's value; return whether a part of the answer was in it."""
        ...

    def answer(self) -> Answer:
        """Return what the stream came to, whether or not it ended as it should."""
        ...


class Provider(Protocol):
    """One provider's form of requests and replies, and the SDK that carries them."""

    key_variable: ClassVar[str]
    sdk: Any

    def __init__(self, endpoint: Endpoint) -> None:
        """Make the SDK's client; nothing is sent."""
        ...

    def body(self, request: ModelRequest, settings: ModelSettings, tokens: int) -> dict[str, Any]:
        """Return the request's body."""
        ...

    def open(self, body: dict[str, Any], timeout_s: float) -> AbstractContextManager[Any]:
        """Return the SDK's call, whose raw bytes are read by whoever enters it."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...

    def whole(self, value: JsonValue) -> Answer:
        """Read a reply that came in one piece."""
        ...

    def collector(self) -> Collector:
        """Return what takes the events of a stream."""
        ...


@dataclass(frozen=True, slots=True)
class Head:
    """What stood before a body."""

    content_type: str
    request_id: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """No reply, and why: `reason` as a caller knows it, `what` in a word or two.

    `began` says that a part of a reply had come. `status` is the provider's, 0 without one.
    """

    reason: str
    what: str
    status: int = 0
    retry_after_ms: int | None = None
    began: bool = False


Take = Callable[[Head, bytes], None]


def exchange(sdk: Any, opened: AbstractContextManager[Any], take: Take) -> Head | Trouble:  # noqa: ANN401 - the SDK is optional
    """Send one request; hand each piece of the body over, and return what stood before it."""
    began: list[bool] = []
    done = call("model", lambda: _exchanged(sdk, opened, take, began))
    if isinstance(done, ForeignFailure):
        return Trouble("dependency_error", f"failed: {done.type_name}", began=bool(began))
    return done


def _exchanged(
    sdk: Any,  # noqa: ANN401 - the SDK is optional
    opened: AbstractContextManager[Any],
    take: Take,
    began: list[bool],
) -> Head | Trouble:
    http = library("httpx2", extra=sdk.__name__)
    try:
        with opened as response:
            head = _head(response.headers)
            for chunk in response.iter_bytes():
                began.append(True)
                take(head, chunk)
            return head
    except (sdk.APITimeoutError, http.TimeoutException):
        return Trouble("timeout", "timeout", began=bool(began))
    except sdk.APIStatusError as error:
        return _status(error.status_code, error.response.headers)
    except (sdk.APIConnectionError, http.HTTPError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, http.HTTPError) else error
        return Trouble("dependency_error", _broken(http, cause, began), began=bool(began))


def _broken(http: Any, cause: Exception, began: list[bool]) -> str:  # noqa: ANN401 - optional
    if isinstance(cause, http.DecodingError):
        return "a body that is not taken"
    cut = began or isinstance(cause, http.RemoteProtocolError)
    return "the reply ended early" if cut else "no connection"


def _head(headers: Any) -> Head:  # noqa: ANN401 - the SDK's
    kind = str(headers.get("content-type", "")).partition(";")[0].strip().lower()
    return Head(kind, _request_id(headers))


def _request_id(headers: Any) -> str:  # noqa: ANN401 - the SDK's
    return str(headers.get("x-request-id") or headers.get("request-id") or "")[:256]


def _status(status: int, headers: Any) -> Trouble:  # noqa: ANN401 - the SDK's
    reason = "rate_limited" if status == TOO_MANY else "dependency_error"
    return Trouble(reason, f"status {status}", status, _retry_after_ms(headers))


def _retry_after_ms(headers: Any) -> int | None:  # noqa: ANN401 - the SDK's
    """Return how long the server asks to wait, if it says so in whole seconds or milliseconds."""
    exact, seconds = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    for text, factor in ((exact, 1), (seconds, 1000)):
        if text.isascii() and text.isdigit():
            return min(int(text[:9]) * factor, RETRY_AFTER_MS_MAX)
    return None


def parameters(settings: ModelSettings) -> dict[str, JsonValue]:
    """Return the parameters that go with every request."""
    value = settings.parameters.value()
    return value if isinstance(value, dict) else {}


def library(name: str, *, extra: str) -> Any:  # noqa: ANN401 - it is optional
    """Return an optional library.

    Raises:
        AuthoringError: It is not installed; the extra that brings it is named.
    """
    try:
        return import_module(name)
    except ImportError:
        raise AuthoringError.of(
            f"the library {name} is not installed",
            field="--model",
            hint=f'pip install "{PACKAGE}[{extra}]"',
        ) from None


def http_client(endpoint: Endpoint) -> Any:  # noqa: ANN401 - the library is optional
    """Return a client that goes to the address itself, follows nothing and remembers nothing."""
    http = library("httpx2", extra="openai")
    trusted = endpoint.trust_environment
    proxy = _proxy(endpoint.base_url) if trusted else None
    inner = http.HTTPTransport(trust_env=trusted, proxy=proxy)
    return http.Client(
        transport=_bounded(http, inner, endpoint.body_bytes_max),
        trust_env=False,
        follow_redirects=False,
    )


def _proxy(base_url: str) -> str | None:
    """Return the proxy that the environment names for the address."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    address = urlsplit(base_url or "https://")
    if address.hostname and proxy_bypass(address.hostname):
        return None
    return getproxies().get(address.scheme)


def _bounded(http: Any, inner: Any, bytes_max: int) -> Any:  # noqa: ANN401 - the library is optional
    """Return a transport whose replies are plain bytes, few enough, in time, without cookies."""

    class Body(http.SyncByteStream):  # type: ignore[misc]  # the library is optional
        def __init__(self, stream: Any, ends_at: float) -> None:  # noqa: ANN401 - the library's
            self.stream, self.ends_at = stream, ends_at

        def __iter__(self) -> Iterator[bytes]:
            left = bytes_max
            for chunk in self.stream:
                left -= len(chunk)
                if left < 0:
                    raise http.DecodingError("a body beyond the limit")
                if time.monotonic() > self.ends_at:
                    raise http.ReadTimeout("a body beyond its time")
                yield chunk

        def close(self) -> None:
            self.stream.close()

    class Transport(http.BaseTransport):  # type: ignore[misc]  # the library is optional
        def handle_request(self, request: Any) -> Any:  # noqa: ANN401 - the library's
            request.headers["accept-encoding"] = "identity"
            limit = request.extensions.get("timeout", {}).get("read") or 0
            ends_at = time.monotonic() + limit
            response = inner.handle_request(request)
            response.stream = Body(response.stream, ends_at)
            response.headers.pop("set-cookie", None)
            if response.headers.get("content-encoding", "identity") != "identity":
                response.close()
                raise http.DecodingError("a compressed body")
            return response

        def close(self) -> None:
            inner.close()

    return Transport()
