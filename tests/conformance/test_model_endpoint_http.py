"""The model endpoint lets nobody else in, reads no more than it must, and ends with its run."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from statistics import median

import pytest

from arh.connect.model_endpoint.endpoint import Asked, ModelEndpoint
from arh.connect.model_endpoint.http import CONNECTIONS_MAX
from arh.connect.model_endpoint.wire import BODY_BYTES_MAX
from arh.records.decisions import Final
from tests.conformance.endpoint_client import (
    CHAT,
    MESSAGES,
    PATHS,
    PROSE,
    Client,
    Reply,
    Session,
    error_of,
    question,
    serving,
)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"model":"a","model":"b"}',
        b'{"model":NaN}',
        b'{"model":"\xff"}',
        b"[" * 100_000,
        b'{"model":' + b'{"a":' * 100 + b"1" + b"}" * 101,
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_is_no_strict_json_object_is_refused(path: str, data: bytes) -> None:
    """Twice the same key, NaN, wrong bytes and bottomless nesting are not read."""
    with serving(Final("Done.")) as client:
        reply = client.send(path, data)

    assert reply.status == 400
    assert error_of(path, reply)[0] == "invalid_request_error"
    assert client.session.asked == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer sk-arh-guess"}, 401),
        ({"Authorization": "Bearer Ω".encode().decode("latin-1")}, 401),
        ({"Authorization": "Basic abc"}, 401),
        ({"Authorization": None, "X-Api-Key": "sk-arh-guess"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "https://evil.example"}, 421),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Length": "none"}, 411),
        ({"Content-Length": "-5"}, 411),
        ({"Content-Length": str(BODY_BYTES_MAX + 1)}, 413),
        ({"Content-Length": "9" * 4000}, 413),
        ({"Transfer-Encoding": "chunked"}, 411),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_nobody_else_is_let_in_and_no_body_is_read_beyond_its_limit(
    path: str, headers: dict[str, str | None], status: int
) -> None:
    """Another's credential, host, page, coding or length is an error in the provider's form."""
    with serving(Final("Done.")) as client:
        reply = client.send(path, question(path), headers)

    assert status == reply.status
    assert (1 if status == 200 else 0) == len(client.session.asked)
    if status != 200:
        assert error_of(path, reply)


def test_the_key_of_one_run_opens_no_other() -> None:
    """Each endpoint has a credential of its own, which either header may carry."""
    with serving(Final("Done.")) as one, serving(Final("Done.")) as other:
        stolen = {"Authorization": f"Bearer {one.endpoint.key}"}
        own = {"Authorization": None, "X-Api-Key": other.endpoint.key}

        assert other.send(CHAT, question(CHAT), stolen).status == 401
        assert other.send(CHAT, question(CHAT), own).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/models", 501),
        ("GET", CHAT, 501),
        ("DELETE", CHAT, 501),
        ("POST", "/v1/embeddings", 404),
        ("POST", "/v1/messages/count_tokens", 404),
        ("POST", "/../etc/passwd", 404),
        ("POST", "/v1/messages?beta=true", 200),
        ("POST", "/v1/v1/messages", 200),
        ("POST", "/messages", 200),
    ],
)
def test_there_is_nothing_but_the_three_paths(method: str, path: str, status: int) -> None:
    """Everything else is refused; a base URL with or without its version leads to the same."""
    with serving(Final("Done.")) as client:
        reply = client.send(path, question(MESSAGES), method=method)

    assert status == reply.status
    assert reply.headers["Content-Type"] == "application/json"


def test_it_listens_on_loopback_alone() -> None:
    """No other machine can reach it."""
    with serving() as client:
        assert client.endpoint.origin.startswith("http://127.0.0.1:")


def test_a_connection_serves_many_requests() -> None:
    """Libraries keep a connection; no request waits for the one before it to time out."""
    with serving(*[Final(PROSE)] * 50) as client:
        host = client.endpoint.origin.removeprefix("http://")
        headers = {"Authorization": f"Bearer {client.endpoint.key}"}
        took_s = []
        with closing(http.client.HTTPConnection(host, timeout=10)) as connection:
            for _ in range(50):
                began = time.perf_counter()
                connection.request("POST", CHAT, json.dumps(question(CHAT)), headers)
                assert connection.getresponse().read()
                took_s.append(time.perf_counter() - began)

    # Forty milliseconds a call is what small writes without care for the other's delays cost.
    assert median(took_s) < 0.030


def test_when_it_closes_who_waits_is_told_and_nothing_is_left() -> None:
    """A question that nobody settles ends with the run, as do its thread and the port."""
    before = set(threading.enumerate())
    handed: list[Asked] = []
    endpoint = ModelEndpoint(handed.append)
    client = Client(endpoint, Session([]))
    replies: list[Reply] = []
    waiting = threading.Thread(target=lambda: replies.append(client.send(CHAT, question(CHAT))))
    waiting.start()
    until(lambda: bool(handed))

    endpoint.close()
    waiting.join(5)

    assert [reply.status for reply in replies] == [503]
    assert error_of(CHAT, replies[0]) == ("server_error", "the run has ended")
    with pytest.raises(ConnectionRefusedError):
        client.send(CHAT, question(CHAT))
    assert before == set(threading.enumerate())


def test_a_question_after_the_end_is_not_handed_over() -> None:
    """Whoever asks a closed endpoint over an open connection hears that the run is over."""
    handed: list[Asked] = []
    endpoint = ModelEndpoint(handed.append)
    endpoint.close()

    answer = endpoint._ask(question=None)  # type: ignore[arg-type]  # it is not looked at

    assert getattr(answer, "reason", "") == "over"
    assert handed == []


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST",
        b"\x16\x03\x01\x02\x00\x01",
        b"POST /v1/messages HTTP/1.1\r\n" + b"X: y\r\n" * 50,
        b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000\r\n\r\n{",
    ],
)
def test_a_client_that_sends_half_a_request_holds_nobody_up(sent: bytes) -> None:
    """Others are served meanwhile, and the end of the run is not put off."""
    with serving(Final("Done.")) as client:
        host, _, port = client.endpoint.origin.removeprefix("http://").partition(":")
        with closing(socket.create_connection((host, int(port)))) as silent:
            silent.sendall(sent)

            assert client.send(CHAT, question(CHAT)).status == 200
            began = time.perf_counter()
            client.endpoint.close()

    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"POST /v1/messages HTTP/9.9\r\n\r\n",
        b"POST " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\n" + b"X-Many: y\r\n" * 200 + b"\r\n",
        b"POST /v1/messages HTTP/1.1\r\nX-Long: " + b"y" * 70_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_an_error_and_no_page(sent: bytes) -> None:
    """Nothing of what was sent comes back, and nothing of what serves it."""
    with serving() as client:
        host, _, port = client.endpoint.origin.removeprefix("http://").partition(":")
        with closing(socket.create_connection((host, int(port)), timeout=5)) as hostile:
            hostile.sendall(sent)
            got = b"".join(iter(lambda: hostile.recv(65_536), b""))

    assert b"html" not in got.lower()
    assert b"yyy" not in got
    # To a first line without a known version of HTTP, an answer has no headers.
    assert json.loads(got.rpartition(b"\r\n\r\n")[2])["error"]["message"]


def test_a_flood_of_connections_is_turned_away() -> None:
    """Beyond the limit a connection is closed unread; once there is room, others are served."""
    with serving(Final("Done.")) as client:
        host, _, port = client.endpoint.origin.removeprefix("http://").partition(":")
        held = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS_MAX)]
        until(lambda: len(client.endpoint._listener._live) == CONNECTIONS_MAX)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            client.send(CHAT, question(CHAT))
        for connection in held:
            connection.close()
        until(lambda: not client.endpoint._listener._live)

        assert client.send(CHAT, question(CHAT)).status == 200


def until(done: Callable[[], bool]) -> None:
    """Return once it is so; a test that waits in vain fails."""
    for _ in range(500):
        if done():
            return
        time.sleep(0.01)
    pytest.fail("it did not come about in time")
