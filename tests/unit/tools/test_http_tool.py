"""A tool over HTTP: what each kind of reply says of the effect, and what never leaves the vault."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from arh.canonical import EMPTY, Json
from arh.records.execution import Execution, RawReply, Tool
from arh.records.tools import Effect, Refused, ToolManifest
from arh.security.credentials import CredentialVault
from arh.tools.client import TransactionalClient
from arh.tools.http_tool import HttpTool, header_key
from arh.tools.services import Services
from tests.conformance.desk import CREDENTIAL, Desk, serving
from tests.unit.tools.client_bench import Bench, execution, operation

FILE = HttpTool("POST", "/tickets", wall_ms_max=800)
FIND = HttpTool("GET", "/tickets/by-key/{key}", wall_ms_max=800)


class Caller:
    """Runs calls of a tool that a desk fulfils, as the gateway's client does."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bench = Bench()
        services = Services({"desk": lambda: self.url}, CredentialVault({"desk": CREDENTIAL}))
        self.client = TransactionalClient(
            self.bench.store, self.bench.clock, _Ids(), services=services
        )

    def call(self, handler: Any = FILE, key: str = "k1", **changes: Any) -> RawReply:  # noqa: ANN401 - any field
        """Run one call."""
        return self.client.execute(calling(handler, key, **changes))

    def status(self, key: str = "k1") -> str:
        """Return what is on record of the operation."""
        stored = self.client.look_up("acme", "issue_credit", key)
        return "none" if stored is None else stored.status


class _Ids:
    def next(self, stream: str) -> str:
        """Return an identifier that nobody looks at."""
        return f"{stream}-1"


def calling(handler: Any = FILE, key: str = "k1", **changes: Any) -> Execution:  # noqa: ANN401 - any field
    """Return an authorised call of the desk's tool."""
    effect = changes.pop("effect", Effect.KEYED_REMOTE)
    credential = changes.pop("credential", None)
    manifest = ToolManifest("issue_credit", "1.1", "", effect, EMPTY, EMPTY)
    manifest = replace(manifest, service="desk", credential=credential)
    arguments = changes.pop("arguments", {"account_id": "A1"})
    plain = execution(tool=Tool(manifest, handler, changes.pop("lookup", FIND)), resources=())
    return replace(plain, operation=operation(key), arguments=Json.of(arguments), **changes)


@pytest.fixture
def desk() -> Desk:
    """Return a desk without defects."""
    return Desk()


@pytest.fixture
def caller(desk: Desk) -> Iterator[Caller]:
    """Return a caller of the desk while it is served."""
    with serving(desk) as url:
        yield Caller(url)


def test_a_success_is_committed_with_its_result(desk: Desk, caller: Caller) -> None:
    """A 2xx reply is the result, the key went out as a header, and the operation is settled."""
    reply = caller.call()

    assert (reply.delivery, reply.commit, reply.body) == (
        "delivered",
        "committed",
        b'{"ok":{"revision":1,"ticket_id":"D-001"}}',
    )
    assert desk.tickets == [{"ticket_id": "D-001", "key": "k1", "account_id": "A1"}]
    assert desk.seen[0][2]["Idempotency-Key"] == "k1"
    assert caller.status() == "committed"


@pytest.mark.parametrize(
    ("trouble", "expected", "status"),
    [
        ("hang", ("timeout", "unknown", "timeout", None), "intent"),
        ("late", ("timeout", "unknown", "timeout", None), "intent"),
        ("drip", ("timeout", "unknown", "timeout", None), "intent"),
        ("cut", ("error", "unknown", "dependency_error", None), "intent"),
        ("cut_body", ("error", "unknown", "dependency_error", None), "intent"),
        ("garbage", ("delivered", "unknown", "malformed_result", None), "intent"),
        ("no_json", ("delivered", "unknown", "malformed_result", None), "intent"),
        ("twice", ("delivered", "unknown", "malformed_result", None), "intent"),
        ("large", ("delivered", "unknown", "malformed_result", None), "intent"),
        ("packed", ("delivered", "unknown", "malformed_result", None), "intent"),
        ("redirect", ("error", "unknown", "dependency_error", None), "intent"),
        ("broken", ("error", "unknown", "dependency_error", None), "intent"),
        ("limited", ("error", "not_committed", "rate_limited", 2000), "none"),
        ("forbidden", ("error", "not_committed", "dependency_error", None), "none"),
    ],
)
def test_each_trouble_says_what_is_certain(
    desk: Desk, caller: Caller, trouble: str, expected: tuple[object, ...], status: str
) -> None:
    """What came after sending is unknown, what was certainly not done is released."""
    desk.trouble = trouble

    reply = caller.call()

    assert expected == (reply.delivery, reply.commit, reply.reason, reply.retry_after_ms)
    assert caller.status() == status
    assert all(path != "/elsewhere" for _, path, _ in desk.seen)


def test_a_malformed_body_has_nothing_to_decode(desk: Desk, caller: Caller) -> None:
    """A malformed reply is delivered without a body, which the gateway calls malformed."""
    desk.trouble = "twice"

    assert caller.call().body == b""


def test_a_refused_connection_was_not_sent(caller: Caller) -> None:
    """Where nobody listens nothing was done: the intent is released, and the call may go again."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        there, caller.url = caller.url, f"http://127.0.0.1:{unused.getsockname()[1]}"
        reply = caller.call()
    released = caller.status()
    caller.url = there

    assert (reply.delivery, reply.commit, reply.reason) == (
        "error",
        "not_committed",
        "dependency_error",
    )
    assert released == "none"
    assert caller.call().commit == "committed"


def test_a_refusal_of_the_business_changes_nothing(desk: Desk, caller: Caller) -> None:
    """A 409 is the tool's own refusal, with the reason that the tool maps it to."""
    reply = caller.call(arguments={"account_id": "closed"})
    own = replace(FILE, refusals={409: "x-desk:closed"})
    named = caller.call(own, arguments={"account_id": "closed"})

    assert (reply.commit, reply.reason) == ("not_committed", "precondition_failed")
    assert (named.commit, named.reason) == ("not_committed", "x-desk:closed")
    assert desk.tickets == []


def test_a_lost_reply_is_looked_up_by_its_key(desk: Desk, caller: Caller) -> None:
    """The repeat of a call whose reply was lost finds the ticket and files no second one."""
    desk.trouble = "late"
    lost = caller.call()
    desk.trouble = ""

    again = caller.call()

    assert (lost.commit, again.commit) == ("unknown", "committed")
    assert [method for method, _, _ in desk.seen] == ["POST", "GET"]
    assert len(desk.tickets) == 1


def test_a_call_that_never_came_is_sent_once_more(desk: Desk, caller: Caller) -> None:
    """Where the look-up finds nothing the call goes out; a failed look-up sends nothing."""
    desk.trouble = "cut"
    caller.call()
    blind = caller.call()
    desk.trouble = ""

    again = caller.call()

    assert (blind.commit, again.commit) == ("unknown", "committed")
    assert [method for method, _, _ in desk.seen] == ["POST", "GET", "GET", "POST"]


def test_a_look_up_that_is_refused_proves_nothing(desk: Desk, caller: Caller) -> None:
    """An unreachable or limited look-up leaves the intent: it says nothing of the first call."""
    desk.trouble = "late"
    caller.call()
    desk.trouble = "limited"

    again = caller.call()

    assert (again.commit, again.reason) == ("unknown", "rate_limited")
    assert caller.status() == "intent"


def test_what_is_left_of_the_call_bounds_the_request(desk: Desk, caller: Caller) -> None:
    """A call with 50 ms left gives up after 50 ms, whatever the tool would wait."""
    desk.trouble = "hang"

    reply = caller.call(replace(FILE, wall_ms_max=60_000), timeout_ms=50)

    assert reply.delivery == "timeout"


def test_without_any_time_nothing_is_sent(desk: Desk, caller: Caller) -> None:
    """A call whose time is up sends nothing, and leaves no intent behind."""
    reply = caller.call(timeout_ms=0)

    assert (reply.delivery, reply.commit, desk.seen) == ("timeout", "not_committed", [])
    assert caller.status() == "none"


def test_the_credential_goes_out_and_never_comes_back(desk: Desk, caller: Caller) -> None:
    """The service is shown the credential; a reply that shows it is a failure without a body."""
    desk.wants = CREDENTIAL
    fine = caller.call(credential="desk")
    none = caller.call(key="k2")
    desk.trouble = "echo"
    echoed = caller.call(key="k3", credential="desk")

    assert (fine.commit, none.commit) == ("committed", "not_committed")
    assert (echoed.delivery, echoed.commit, echoed.body) == ("error", "unknown", b"")
    assert CREDENTIAL not in repr((fine, none, echoed, caller.bench.rows("_operations")))


@pytest.mark.parametrize("hostile", ["..", ".", "", "a/b", "a?b=c", "a b\r\nX: y"])
def test_an_argument_stays_one_segment_of_the_path(
    desk: Desk, caller: Caller, hostile: str
) -> None:
    """No argument leads to another path, query or header."""
    handler = HttpTool("GET", "/tickets/by-account/{account_id}", wall_ms_max=800)

    reply = caller.call(handler, effect=Effect.READ, arguments={"account_id": hostile})

    paths = [path for _, path, _ in desk.seen]
    assert reply.reason in {"not_found", "precondition_failed"}
    assert all(path.startswith("/tickets/by-account/") for path in paths)
    assert all(path.count("/") == 3 and "?" not in path for path in paths)


@pytest.mark.parametrize("key", ["k-1", "schlüssel", "a b", "100%", "x\r\ny: z"])
def test_a_key_fits_a_header(key: str) -> None:
    """Any key goes out as printable ASCII, and no two keys as the same."""
    sent = header_key(key)

    assert sent.isascii()
    assert sent.isprintable()
    assert " " not in sent
    assert (sent == key) is (key == "k-1")


def test_a_result_of_another_shape_is_malformed(caller: Caller) -> None:
    """What the adapter of a reply cannot read counts as malformed, not as a crash."""
    handler = replace(FILE, result=lambda value: value["number"])  # type: ignore[index,call-overload]

    reply = caller.call(handler)

    assert (reply.delivery, reply.commit, reply.reason) == (
        "delivered",
        "unknown",
        "malformed_result",
    )


def test_without_a_service_nothing_is_sent(desk: Desk, caller: Caller) -> None:
    """A tool whose manifest names no service fails, and its intent stays unresolved."""
    plain = calling()
    lone = replace(plain.tool, manifest=replace(plain.tool.manifest, service=None))

    reply = caller.client.execute(replace(plain, tool=lone))

    assert (reply.delivery, reply.reason, desk.seen) == ("error", "tool_error", [])


def test_arguments_of_a_read_are_its_query(desk: Desk, caller: Caller) -> None:
    """A GET carries what its path does not name as its query."""
    handler = HttpTool("GET", "/tickets/{account_id}", wall_ms_max=800)
    caller.call(handler, effect=Effect.READ, arguments={"account_id": "A1", "page": 2, "q": "a&b"})

    assert desk.seen[0][1] == "/tickets/A1?page=2&q=a%26b"


def test_a_refusal_in_a_look_up_settles_the_operation(desk: Desk, caller: Caller) -> None:
    """Only `not_found` says that a call never came; another refusal is the call's own."""
    desk.trouble = "cut"
    caller.call()
    desk.trouble = ""

    def gone(_arguments: object, _tx: object, _about: object) -> Refused:
        return Refused("precondition_failed")

    assert caller.call(lookup=gone).reason == "precondition_failed"
    assert caller.status() == "none"
