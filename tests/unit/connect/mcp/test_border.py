"""Who may speak to the gateway over HTTP: each check refuses its own kind, and spares the twin."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arh.connect.mcp.border import Border, Refusal
from arh.connect.mcp.credentials import SCOPES, TASK, TOOLS, Credential, Credentials, Principal
from arh.connect.mcp.messages import BODY_BYTES_MAX, Taken

ANNA = Principal("anna", "support-agent", "tenant-a")
PORT = 4711
PATH = "/runs/one/mcp"
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
ACCOUNT = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account",'
    b'"arguments":{"account_id":"A-1007"}}}'
)


@dataclass
class Site:
    """A border with a clock that stands still, and one run with a credential."""

    now_ms: float = 0.0
    credentials: Credentials = field(init=False)
    border: Border = field(init=False)
    token: str = field(init=False)

    def __post_init__(self) -> None:
        """Issue the credential of the run."""
        self.credentials = Credentials(lambda: self.now_ms)
        self.border = Border(self.credentials, PORT)
        self.token = self.issue("one")

    def issue(self, run: str, scopes: frozenset[str] = SCOPES) -> str:
        """Return a token of a run that is good for a second."""
        audience = self.border.resource(f"/runs/{run}/mcp")
        return self.credentials.issue(ANNA, run=run, audience=audience, life_ms=1000, scopes=scopes)

    def admit(
        self, method: str = "POST", path: str = PATH, **headers: str | None
    ) -> Credential | Refusal:
        """Ask with the usual headers, changed; `None` leaves one out."""
        usual: dict[str, str | None] = {
            "host": f"127.0.0.1:{PORT}",
            "authorization": f"Bearer {self.token}",
            "content-length": "10",
        }
        given = {**usual, **{name.replace("_", "-"): text for name, text in headers.items()}}
        pairs = [(name.encode(), text.encode()) for name, text in given.items() if text is not None]
        return self.border.admit(method, path, pairs)


def status(answer: Credential | Refusal) -> int:
    """Return the status of a refusal, 200 if there is none."""
    return answer.status if isinstance(answer, Refusal) else 200


def test_a_request_with_the_runs_credential_is_admitted() -> None:
    """Its credential says who acts for whom, in which tenant, in which run."""
    known = Site().admit()

    assert isinstance(known, Credential)
    assert (known.principal, known.run, known.scopes) == (ANNA, "one", frozenset({TOOLS, TASK}))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (f"127.0.0.1:{PORT}", 200),
        (f"localhost:{PORT}", 200),
        ("127.0.0.1:80", 421),
        ("127.0.0.1", 421),
        (f"evil.example:{PORT}", 421),
        (f"127.0.0.1.evil.example:{PORT}", 421),
        (None, 421),
    ],
)
def test_only_the_loopback_is_meant(host: str | None, expected: int) -> None:
    """A name that was rebound to this machine is refused, before the credential is looked at."""
    assert status(Site().admit(host=host)) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, 200),
        (f"http://127.0.0.1:{PORT}", 200),
        (f"http://localhost:{PORT}", 200),
        ("http://127.0.0.1:1", 403),
        (f"https://127.0.0.1:{PORT}", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_a_page_of_another_origin_may_not_ask(origin: str | None, expected: int) -> None:
    """A browser names the page that asks, and only our own may."""
    assert status(Site().admit(origin=origin)) == expected


def test_without_a_credential_nothing_opens() -> None:
    """The answer says that one is due, and not which would do."""
    answer = Site().admit(authorization=None)

    assert answer == Refusal(
        401,
        b'{"error":"a credential is due"}',
        {"content-type": "application/json", "www-authenticate": "Bearer"},
    )


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer arh-" + "A" * 43,
        "Bearer ",
        "Bearer",
        "Basic dXNlcjpwYXNz",
        "Bearer arh-" + "A" * 100_000,
        "Bearer \u00e9",
    ],
)
def test_a_wrong_credential_is_none(authorization: str) -> None:
    """A guessed, empty, other or endless one gets 401 with nothing of it in the answer."""
    answer = Site().admit(authorization=authorization)

    assert isinstance(answer, Refusal)
    assert answer.status == 401
    assert authorization.partition(" ")[2][:20].encode() not in answer.body or not authorization[7:]


def test_the_token_of_another_run_is_refused() -> None:
    """A credential is bound to its address: elsewhere it is no credential."""
    site = Site()
    other = site.issue("two")

    assert status(site.admit(authorization=f"Bearer {other}")) == 401
    assert status(site.admit(authorization=f"Bearer {other}", path="/runs/two/mcp")) == 200


@pytest.mark.parametrize("path", ["/", "/mcp", "/runs/one/mcp/", "/runs/one/../one/mcp", "/runs"])
def test_no_other_path_is_an_address(path: str) -> None:
    """Whatever else is asked for, the credential is not for it."""
    assert status(Site().admit(path=path)) == 401


def test_a_credential_expires() -> None:
    """It is good until its time is up, and not a moment longer."""
    site = Site()
    site.now_ms = 999
    before = status(site.admit())
    site.now_ms = 1000

    assert (before, status(site.admit())) == (200, 401)


def test_a_credential_is_revoked_with_its_run() -> None:
    """When the task is over it opens nothing; that of another run still does."""
    site = Site()
    other = site.issue("two")
    site.credentials.revoke("one")

    assert status(site.admit()) == 401
    assert status(site.admit(authorization=f"Bearer {other}", path="/runs/two/mcp")) == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_only_post_is_answered(method: str) -> None:
    """There is no stream to listen to and no session to delete."""
    assert status(Site().admit(method)) == 405


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (str(BODY_BYTES_MAX), 200),
        (str(BODY_BYTES_MAX + 1), 413),
        ("9" * 5000, 413),
        ("-5", 200),
        ("many", 200),
    ],
)
def test_a_body_that_says_it_is_too_long_is_not_read(length: str, expected: int) -> None:
    """The length is believed where it refuses; what comes is counted in any case."""
    assert status(Site().admit(content_length=length)) == expected


@pytest.mark.parametrize("name", [b"Host", b"authorization", b"ORIGIN", b"content-length"])
def test_a_header_that_decides_is_there_once(name: bytes) -> None:
    """Of two that differ, two readers could each take another."""
    site = Site()
    pairs = [
        (b"host", f"127.0.0.1:{PORT}".encode()),
        (b"authorization", f"Bearer {site.token}".encode()),
        (b"origin", f"http://127.0.0.1:{PORT}".encode()),
        (b"content-length", b"10"),
    ]

    once = site.border.admit("POST", PATH, pairs)
    twice = site.border.admit("POST", PATH, [*pairs, (name, b"something")])

    assert (status(once), status(twice)) == (200, 400)


@given(
    method=st.sampled_from(["POST", "GET", "post", ""]),
    path=st.text(max_size=40) | st.just(PATH),
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"host", b"authorization", b"origin", b"content-length", b"x"]),
            st.binary(max_size=60) | st.just(f"127.0.0.1:{PORT}".encode()),
        ),
        max_size=6,
    ),
)
def test_nothing_gets_in_without_the_token(
    method: str, path: str, headers: list[tuple[bytes, bytes]]
) -> None:
    """Whatever a request says of itself, it is refused with a status, and nothing breaks."""
    answer = Site().border.admit(method, path, headers)

    assert isinstance(answer, Refusal)
    assert answer.status in {400, 401, 403, 421}


def test_a_credential_covers_what_it_is_for() -> None:
    """One for the task alone lists and calls nothing; the whole one does both."""
    site = Site()
    known, task_only = site.admit(), site.issue("one", frozenset({TASK}))
    less = site.admit(authorization=f"Bearer {task_only}")
    assert isinstance(known, Credential)
    assert isinstance(less, Credential)

    for body in (LIST, ACCOUNT):
        refused = site.border.read(body, less)
        assert isinstance(refused, Refusal)
        assert refused.status == 403
        assert refused.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", scope="tools"'
        )
        assert isinstance(site.border.read(body, known), Taken)


def test_a_body_that_is_not_strict_is_refused() -> None:
    """It gets the protocol's error, with the status of a bad request."""
    site = Site()
    known = site.admit()
    assert isinstance(known, Credential)

    answer = site.border.read(b'{"jsonrpc":"2.0","id":1,"id":1,"method":"tools/list"}', known)

    assert isinstance(answer, Refusal)
    assert answer.status == 400
    assert b"duplicate key" in answer.body


def test_tokens_are_kept_as_digests_only() -> None:
    """Nothing in the server's memory of credentials is a token."""
    site = Site()

    assert site.token not in repr(vars(site.credentials))
    assert site.issue("one") != site.token
