"""Remote tools: the intent comes first, and what nobody knows is looked up or stays unresolved."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.errors import DependencyFailure
from arh.records.authorization import Charge
from arh.records.execution import Execution, RawReply, StoredOperation
from arh.records.state import Failed, Unknown
from arh.records.tools import Effect, Refused
from tests.unit.tools.client_bench import (
    SAW_ACCOUNT,
    Bench,
    Faulty,
    execution,
    grant,
    operation,
    refused,
    tool,
)

DONE = b'{"ok":{"id":"R1"}}'


class Remote:
    """A remote that honours keys: what it did, and how its next answers go wrong."""

    def __init__(self) -> None:
        self.done: dict[str, JsonValue] = {}
        self.sent: list[str] = []
        self.fails_before: BaseException | None = None
        self.fails_after: BaseException | None = None
        self.refuses: Refused | None = None
        self.lookup_fails: BaseException | None = None

    def send(self, _arguments: object, tx: Any, call: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
        """Do it once for each key, answering as the test wants."""
        tx.get("accounts", "A1")
        self.sent.append(call.key)
        if self.fails_before is not None:
            raise self.fails_before
        if self.refuses is not None:
            return self.refuses
        self.done.setdefault(call.key, {"id": f"R{len(self.done) + 1}"})
        if self.fails_after is not None:
            raise self.fails_after
        return self.done[call.key]

    def find(self, _arguments: object, _tx: object, call: Any) -> JsonValue | Refused:  # noqa: ANN401 - as a pack writes it
        """Say what became of the key."""
        if self.lookup_fails is not None:
            raise self.lookup_fails
        return self.done.get(call.key, Refused("not_found"))


def keyed(remote: Remote, **changes: Any) -> Execution:  # noqa: ANN401 - any field
    """Return an authorised call of a tool that can look its keys up."""
    changed = {"grant": grant(), "charges": (Charge("daily", 60, 100),), **changes}
    return execution(tool=tool(remote.send, Effect.KEYED_REMOTE, remote.find), **changed)


def plain(remote: Remote) -> Execution:
    """Return an authorised call of a tool that cannot."""
    return execution(tool=tool(remote.send, Effect.REMOTE), grant=grant())


@pytest.mark.parametrize("make", [keyed, plain])
def test_intent_and_outcome_are_two_commits(make: Any) -> None:  # noqa: ANN401 - either maker
    """The redeemed intent is committed before the call goes out, its outcome after."""
    bench, remote = Bench(), Remote()
    seen: list[object] = []

    class Watching(Remote):
        def send(self, arguments: object, tx: Any, call: Any) -> JsonValue | Refused:  # noqa: ANN401 - as above
            seen.append(bench.rows("_redemptions"))
            seen.append(bench.client.look_up("acme", "issue_credit", "k1"))
            return super().send(arguments, tx, call)

    remote = Watching()
    reply = bench.client.execute(make(remote))
    stored = StoredOperation("op-k1", "d1", "in_flight")

    assert reply == RawReply("delivered", "committed", DONE, entry=2, reads=SAW_ACCOUNT)
    assert seen == [[{"approver": "boss", "operation_id": "op-k1"}], stored]
    assert bench.client.look_up("acme", "issue_credit", "k1") == replace(
        stored, status="committed", body=DONE
    )


def test_a_lost_answer_stays_an_intent_and_is_looked_up() -> None:
    """After a lost answer the repeat asks the remote; it sends, redeems and charges nothing."""
    bench, remote = Bench(), Remote()
    remote.fails_after = DependencyFailure("timeout")
    first = bench.client.execute(keyed(remote))
    stored = bench.client.look_up("acme", "issue_credit", "k1")
    second = bench.client.execute(keyed(remote, grant=None, charges=()))

    assert first == RawReply("timeout", "unknown", reason="timeout", reads=SAW_ACCOUNT)
    assert stored == StoredOperation("op-k1", "d1", "intent")
    assert second == RawReply("delivered", "committed", DONE, entry=2)
    assert (remote.sent, len(remote.done)) == (["k1"], 1)
    assert bench.rows("_limits") == [{"total": 60}]


def test_a_call_that_never_came_goes_out_again() -> None:
    """If the remote does not know the key, the repeat is sent, on the first attempt's approval."""
    bench, remote = Bench(), Remote()
    remote.fails_before = ConnectionError()
    first = bench.client.execute(keyed(remote))
    remote.fails_before = None
    second = bench.client.execute(keyed(remote))

    assert first == RawReply(
        "error", "unknown", reason="tool_error", cause="ConnectionError", reads=SAW_ACCOUNT
    )
    assert (second.commit, remote.sent, len(remote.done)) == ("committed", ["k1", "k1"], 1)
    assert bench.rows("_limits") == [{"total": 60}]


@pytest.mark.parametrize("effect", [Effect.REMOTE, Effect.KEYED_REMOTE])
def test_without_a_look_up_it_stays_unresolved(effect: Effect) -> None:
    """A call whose answer was lost, and that cannot be looked up, is never sent again."""
    bench, remote = Bench(), Remote()
    remote.fails_after = DependencyFailure("timeout")
    call = execution(tool=tool(remote.send, effect))
    bench.client.execute(call)
    again = [bench.client.execute(call) for _ in range(2)]

    unresolved = RawReply("error", "unknown", reason="unresolved", cause="no_lookup")
    assert again == [unresolved, unresolved]
    assert remote.sent == ["k1"]
    assert bench.client.look_up("acme", "issue_credit", "k1") == StoredOperation(
        "op-k1", "d1", "unresolved"
    )


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (DependencyFailure("timeout"), RawReply("timeout", "unknown", reason="timeout")),
        (OSError(), RawReply("error", "unknown", reason="tool_error", cause="OSError")),
    ],
)
def test_a_failed_look_up_decides_nothing(failure: BaseException, expected: RawReply) -> None:
    """While the remote cannot be asked, nothing is sent and the intent stays."""
    bench, remote = Bench(), Remote()
    remote.fails_after = DependencyFailure("timeout")
    bench.client.execute(keyed(remote))
    remote.lookup_fails = failure

    assert bench.client.execute(keyed(remote)) == expected
    assert remote.sent == ["k1"]


def test_a_refused_call_gives_everything_back() -> None:
    """After a refusal by the remote no operation, redemption or charge is left."""
    bench, remote = Bench(), Remote()
    bench.client.execute(keyed(remote, operation=operation("k0"), grant=None))
    before = bench.rows("_limits")
    remote.refuses = Refused("x-pack:closed")
    reply = bench.client.execute(keyed(remote, charges=(Charge("daily", 40, 100),)))

    assert reply == refused("x-pack:closed", reads=SAW_ACCOUNT)
    assert bench.rows("_redemptions") == []
    assert bench.rows("_limits") == before == [{"total": 60}]
    assert bench.client.look_up("acme", "issue_credit", "k1") is None


def test_a_refused_intent_sends_nothing() -> None:
    """A used approval or a full limit is refused before anything goes out."""
    bench, remote = Bench(), Remote()
    bench.client.execute(keyed(remote))
    used = bench.client.execute(keyed(remote, operation=operation("k2"), charges=()))
    full = bench.client.execute(keyed(remote, operation=operation("k3"), grant=None))

    assert used == refused("approval_denied", "approval_replayed")
    assert full == refused("limit_exceeded", "limit_exceeded")
    assert remote.sent == ["k1"]


def test_a_key_of_other_arguments_is_refused_while_it_is_open() -> None:
    """Another action under the key of an open intent is a mismatch, and nothing is asked."""
    bench, remote = Bench(), Remote()
    remote.fails_after = DependencyFailure("timeout")
    bench.client.execute(keyed(remote))

    other = bench.client.execute(keyed(remote, operation=operation(digest="d2")))

    assert other == refused("key_mismatch", "key_mismatch")


def test_an_attempt_during_the_call_is_in_flight() -> None:
    """While the call is out, a second attempt neither sends nor looks up."""
    bench, remote = Bench(), Remote()
    inner: list[RawReply] = []

    class Reentrant(Remote):
        def send(self, arguments: object, tx: Any, call: Any) -> JsonValue | Refused:  # noqa: ANN401 - as above
            inner.append(bench.client.execute(keyed(self)))
            return super().send(arguments, tx, call)

    remote = Reentrant()
    bench.client.execute(keyed(remote))

    assert inner == [RawReply("error", "unknown", reason="in_flight", cause="operation_exists")]
    assert remote.sent == ["k1"]


def test_a_remote_tool_writes_nothing_here() -> None:
    """The handler of a remote tool that writes to our state breaks its contract."""
    bench = Bench()
    writing = tool(lambda _a, tx, _c: tx.put("credits", "C", {}), Effect.REMOTE)
    reply = bench.client.execute(execution(tool=writing))

    assert (reply.reason, reply.cause, reply.commit) == ("tool_error", "PermissionError", "unknown")
    assert bench.rows("credits") == []


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            Failed(),
            RawReply("error", "unknown", reason="dependency_error", cause="outcome_unrecorded"),
        ),
        (Unknown(), RawReply("timeout", "unknown", reason="timeout")),
        (
            DependencyFailure("rate_limited", 5),
            RawReply("error", "unknown", reason="rate_limited", retry_after_ms=5),
        ),
    ],
)
def test_an_outcome_that_is_not_recorded_is_unknown(result: Any, expected: RawReply) -> None:  # noqa: ANN401 - either kind
    """If the outcome's commit fails, the caller cannot know; the repeat finds it out by look-up."""
    faulty: list[Faulty] = []

    def wrap(store: Any) -> Faulty:  # noqa: ANN401 - the real store
        faulty.append(Faulty(store, commit=result, skip=1))
        return faulty[0]

    bench, remote = Bench(wrap), Remote()
    first = bench.client.execute(keyed(remote))
    faulty[0].commit = None
    second = bench.client.execute(keyed(remote))

    assert first == replace(expected, reads=SAW_ACCOUNT)
    assert (second.commit, remote.sent) == ("committed", ["k1"])


@pytest.mark.parametrize("result", [Failed(), Unknown()])
def test_an_intent_that_is_not_committed_sends_nothing(result: Any) -> None:  # noqa: ANN401 - either kind
    """Without the receipt of its intent a call does not go out."""
    bench, remote = Bench(partial(Faulty, commit=result)), Remote()
    bench.client.execute(keyed(remote))

    assert remote.sent == []


def test_a_store_that_cannot_be_read_sends_nothing() -> None:
    """A store that fails before the intent is the dependency's symptom, with nothing sent."""
    bench, remote = Bench(partial(Faulty, fails_on="get _operations")), Remote()
    reply = bench.client.execute(keyed(remote))

    assert reply == RawReply("error", "not_committed", reason="rate_limited", retry_after_ms=250)
    assert remote.sent == []
