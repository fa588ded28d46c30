"""One operation happens once, and a reply is believed only as far as it reached its caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arh.canonical import Json
from arh.errors import DependencyFailure
from arh.records.authorization import Charge
from arh.records.execution import Execution, RawReply, StoredOperation
from tests.unit.tools.fakes import Client, Point, allow, replying
from tests.unit.tools.world import GRANT, TIMEOUT_MS, World, told

PAYMENT: dict[str, Any] = {"account_id": "A-1", "amount": 2000, "key": "k"}
SMALL: dict[str, Any] = {**PAYMENT, "amount": 5}
PAID = b'{"ok":{"payment_id":"payment-0001"}}'


class LossyClient:
    """The real client, whose replies to writes are lost as often as told."""

    def __init__(self, losses: int) -> None:
        """Lose the first replies."""
        self.losses = losses
        self.inner: Any = None

    def execute(self, execution: Execution) -> RawReply:
        """Execute, and perhaps lose the reply."""
        reply: RawReply = self.inner.execute(execution)
        if self.losses == 0:
            return reply
        self.losses -= 1
        return replace(reply, delivery="timeout", body=b"")

    def look_up(self, tenant: str, tool: str, key: str) -> StoredOperation | None:
        """Look up."""
        found: StoredOperation | None = self.inner.look_up(tenant, tool, key)
        return found


def lossy(losses: int, **parts: Any) -> World:  # noqa: ANN401
    """Return a world whose first replies are lost."""
    client = LossyClient(losses)
    world = World(client=client, **parts)
    client.inner = world.real_client
    return world


def test_a_retry_after_a_lost_reply_replays_without_a_new_approval_or_charge() -> None:
    """The effect happened once; its single-use approval and its limit are not touched again."""
    world = lossy(1, grants=(GRANT,))
    outcomes = [world.call("send", **PAYMENT) for _ in range(3)]
    lost, retried, again = outcomes
    limits = world.store.reader().records("_limits")

    assert told(lost) == ("error", "timeout", "unknown", "timeout")
    assert told(retried) == told(again) == ("executed", "replayed", "replayed", "delivered")
    assert retried.result == again.result == Json.of({"payment_id": "payment-0001"})
    assert {outcome.operation_id for outcome in outcomes} == {lost.operation_id}
    assert (world.payments(), [row.value for row in limits]) == (1, [Json.of({"total": 2000})])


def test_a_replay_is_no_progress_and_on_record_as_replay() -> None:
    """Its attempt tells decision and look-up, and that no tool was entered."""
    world = World()
    world.call("send", **SMALL)
    world.log.drain()
    outcome = world.call("send", **SMALL)
    attempt = world.attempt()

    assert outcome.marks == ()
    assert (attempt["lookup"], attempt["entered"], attempt["approval"]) == ("replay", False, None)
    assert attempt["stages"][3:] == [
        ["decided", "allow"],
        ["looked_up", "replay"],
        ["committed", "replayed"],
        ["returned", "executed"],
    ]


def test_a_replay_tells_nobody_what_they_may_no_longer_see() -> None:
    """Authorisation comes before the look-up."""
    statuses = iter(("allow", "deny"))
    world = World(point=Point(lambda r: allow(r, status=next(statuses))))
    outcomes = [world.call("send", **SMALL) for _ in range(2)]

    assert [outcome.reason for outcome in outcomes] == ["ok", "authorization_denied"]
    assert outcomes[1].result is None


@pytest.mark.parametrize("change", [{"amount": 6}, {"memo": "x"}, {"account_id": "S-1"}])
def test_one_key_for_two_actions_is_refused(change: dict[str, Any]) -> None:
    """Same key, other arguments: nothing happens, and the two are not one operation."""
    world = World()
    first = world.call("send", **SMALL)
    second = world.call("send", **{**SMALL, **change})

    assert told(second) == ("rejected", "key_mismatch", "not_started", "delivered")
    assert first.operation_id != second.operation_id
    assert world.payments() == 1


def test_the_spelling_of_the_arguments_is_no_difference() -> None:
    """What is canonically equal is the same action."""
    world = World()
    texts = (
        '{"account_id": "A-1", "amount": 5, "key": "k"}',
        '{"key":"\\u006b","amount":5,"account_id":"A-1"}',
    )

    assert [world.text("send", text).reason for text in texts] == ["ok", "replayed"]


def test_keys_of_two_tenants_and_two_tools_are_apart() -> None:
    """A key is one tenant's and one tool's."""
    world = World()
    other = world.gateway_of(replace(world.context, tenant="south"))
    world.text("ping", '{"text": "x"}', metadata_key="k")
    world.gateway = other

    assert world.text("ping", '{"text": "y"}', metadata_key="k").reason == "ok"
    assert world.text("tick", "{}", metadata_key="k").reason == "ok"
    assert len(world.store.reader().records("notes")) == 3


def test_the_key_is_the_argument_else_of_the_transport_else_derived() -> None:
    """The log says where a key is from."""
    world = World()
    world.text("send", '{"account_id": "A-1", "amount": 5, "key": "k"}', metadata_key="other")
    assert (entry := world.attempt())["key"] == "k"
    assert entry["key_source"] == "argument"

    world.text("ping", '{"text": "x"}', metadata_key="other")
    assert (entry := world.attempt())["key"] == "other"
    assert entry["key_source"] == "metadata"

    world.text("ping", '{"text": "x"}')
    assert (entry := world.attempt())["key"].startswith("derived-")
    assert entry["key_source"] == "derived"

    world.text("balance", '{"account_id": "A-1"}', metadata_key="other")
    assert (entry := world.attempt())["key"] == ""
    assert (entry["key_source"], entry["lookup"]) == ("", "not_applicable")


@pytest.mark.parametrize("key", ["", "k" * 256, "a b", "\x00", "ü", "\ud800", 5])
def test_a_key_of_the_transport_that_is_no_key_is_refused(key: Any) -> None:  # noqa: ANN401
    """Neither empty nor over-long nor unprintable."""
    outcome = World().text("ping", '{"text": "x"}', metadata_key=key)

    assert told(outcome)[:2] == ("rejected", "arguments_invalid")


def test_a_second_equal_write_without_a_key_is_a_replay_unless_repeatable() -> None:
    """A repeatable tool gets a fresh key with every call."""
    world = World()

    assert [world.call("ping", text="x").reason for _ in range(2)] == ["ok", "replayed"]
    assert [world.call("tick").reason for _ in range(2)] == ["ok", "ok"]
    assert world.call("ping", text="y").reason == "ok"


@pytest.mark.parametrize("effect", [PAYMENT, SMALL])
def test_a_limit_counts_every_effect_once(effect: dict[str, Any]) -> None:
    """Charges are taken with the effect, and what would go over the limit is refused."""
    grants = tuple(replace(GRANT, approval_id=f"approval-{n}", single_use=False) for n in range(9))
    world = World(grants=grants)
    reasons = [world.call("send", **{**effect, "key": f"k{n}"}).reason for n in range(5)]

    assert reasons == ["ok"] * 4 + ["limit_exceeded" if effect is PAYMENT else "ok"]
    assert world.payments() == reasons.count("ok")


# --- replies -------------------------------------------------------------------------------------

BAD_BODIES = {
    "nothing": b"",
    "not JSON": b"paid",
    "cut short": b'{"ok":{"payment_id":"pay',
    "not UTF-8": b'{"ok":{"payment_id":"\xff"}}',
    "a list": b'[{"ok":{}}]',
    "null": b"null",
    "neither": b'{"result":{"payment_id":"p"}}',
    "both": b'{"ok":{"payment_id":"p"},"refused":{"reason":"not_found","detail":""}}',
    "more than ok": b'{"ok":{"payment_id":"p"},"_stale":true}',
    "a key twice": b'{"ok":{"payment_id":"p"},"ok":{"payment_id":"q"}}',
    "a missing field": b'{"ok":{}}',
    "a wrong type": b'{"ok":{"payment_id":5}}',
    "a field too many": b'{"ok":{"payment_id":"p","balance":5}}',
    "no result": b'{"ok":null}',
    "a refusal without a reason": b'{"refused":{}}',
    "a refusal that is a text": b'{"refused":"not_found"}',
    "a refusal with more": b'{"refused":{"reason":"not_found","detail":"","ok":{}}}',
    "too deep": b'{"ok":' + b"[" * 100 + b"]" * 100 + b"}",
    "NaN": b'{"ok":{"payment_id":NaN}}',
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_reply_that_cannot_be_decoded_gives_no_result(name: str) -> None:
    """No field is made up, and what was committed is not known."""
    world = World(client=replying(BAD_BODIES[name]))
    outcome = world.call("send", **SMALL)

    assert told(outcome) == ("error", "malformed_result", "unknown", "malformed")
    assert (outcome.result, outcome.marks) == (None, ())
    assert world.attempt()["result"] is None


def test_a_read_whose_reply_is_broken_committed_nothing() -> None:
    """Commits are no question of a read."""
    world = World(client=replying(b"{}", "not_applicable"))

    assert told(world.call("balance", account_id="A-1")) == (
        "error",
        "malformed_result",
        "not_applicable",
        "malformed",
    )


def test_a_reply_that_can_be_decoded_is_the_result() -> None:
    """The twin of the broken bodies."""
    outcome = World(client=replying(PAID)).call("send", **SMALL)

    assert told(outcome) == ("executed", "ok", "committed", "delivered")
    assert outcome.result == Json.of({"payment_id": "payment-0001"})


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("not_found", ("error", "not_found")),
        ("precondition_failed", ("rejected", "precondition_failed")),
        ("limit_exceeded", ("rejected", "limit_exceeded")),
        ("x-bank:closed", ("rejected", "x-bank:closed")),
        ("x-bank:Closed", ("error", "tool_error")),
        ("made_up", ("error", "tool_error")),
        ("ok", ("error", "tool_error")),
        ("replayed", ("error", "tool_error")),
        ("", ("error", "tool_error")),
    ],
)
def test_a_refusal_is_told_in_words_that_exist(reason: str, expected: tuple[str, str]) -> None:
    """A tool cannot coin a reason, nor call its refusal a success."""
    body = Json.of({"refused": {"reason": reason, "detail": "because"}}).data
    outcome = World(client=replying(body, "not_committed")).call("send", **SMALL)

    assert told(outcome) == (*expected, "not_committed", "delivered")


@pytest.mark.parametrize(
    ("commit", "belief"),
    [
        ("not_started", "not_started"),
        ("not_committed", "not_committed"),
        ("committed", "unknown"),
        ("replayed", "unknown"),
        ("unknown", "unknown"),
    ],
)
def test_an_error_is_believed_only_in_what_cannot_have_happened(commit: Any, belief: str) -> None:  # noqa: ANN401
    """What the tool's side knows of a commit does not reach a caller through an error."""
    reply = RawReply("error", commit, reason="dependency_error", retry_after_ms=30)
    outcome = World(client=Client(lambda _: reply)).call("send", **SMALL)

    assert told(outcome) == ("error", "dependency_error", belief, "error")
    assert outcome.retry_after_ms == 30


@pytest.mark.parametrize("commit", ["committed", "not_committed", "not_started", "unknown"])
def test_a_lost_reply_leaves_every_write_unknown(commit: Any) -> None:  # noqa: ANN401
    """Whatever is true, the caller of a call that timed out does not know it."""
    reply = RawReply("timeout", commit, PAID)
    outcome = World(client=Client(lambda _: reply)).call("send", **SMALL)

    assert told(outcome) == ("error", "timeout", "unknown", "timeout")
    assert outcome.result is None


def test_a_lost_reply_to_a_read_is_a_timeout() -> None:
    """A read that timed out committed nothing, and says so."""
    reply = RawReply("timeout", "not_applicable")
    outcome = World(client=Client(lambda _: reply)).call("balance", account_id="A-1")

    assert told(outcome) == ("error", "timeout", "not_applicable", "timeout")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (RawReply("error", "unknown", reason="made up"), ("error", "tool_error")),
        (RawReply("error", "unknown", reason="ok"), ("error", "tool_error")),
        (RawReply("error", "unknown", reason="unresolved"), ("error", "unresolved")),
        (RawReply("error", "unknown", reason="rate_limited"), ("error", "rate_limited")),
        (RawReply("error", "unknown", reason="limit_exceeded"), ("rejected", "limit_exceeded")),
    ],
)
def test_an_error_is_told_in_words_that_exist(reply: RawReply, expected: tuple[str, str]) -> None:
    """Reasons are a closed list, and none of them makes an error a success."""
    assert told(World(client=Client(lambda _: reply)).call("send", **SMALL))[:2] == expected


def _raising(error: Exception) -> Callable[[object], Any]:
    def answer(*_: object) -> Any:  # noqa: ANN401
        raise error

    return answer


BROKEN_REPLIES: list[Any] = [
    replace(RawReply("delivered", "committed", PAID), **change)
    for change in (
        {"delivery": "perhaps"},
        {"delivery": None},
        {"commit": "surely"},
        {"commit": None},
        {"body": PAID.decode()},
        {"body": None},
        {"latency_ms": None},
        {"reason": None},
        {"reads": None},
        {"reads": ("accounts",)},
        {"retry_after_ms": "soon"},
    )
]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_raising(ValueError("secret")), ("error", "tool_error", "unknown", "error")),
        (lambda _: None, ("error", "tool_error", "unknown", "error")),
        (lambda _: PAID, ("error", "tool_error", "unknown", "error")),
        *(
            (lambda _, reply=reply: reply, ("error", "tool_error", "unknown", "error"))
            for reply in BROKEN_REPLIES
        ),
        (_raising(DependencyFailure("timeout")), ("error", "timeout", "unknown", "timeout")),
        (
            _raising(DependencyFailure("dependency_error")),
            ("error", "dependency_error", "unknown", "error"),
        ),
    ],
)
def test_a_client_that_breaks_leaves_every_write_unknown(
    answer: Callable[[object], Any], expected: tuple[str, str, str, str]
) -> None:
    """Once dispatched, a call without a reply may have done anything."""
    assert told(World(client=Client(answer)).call("send", **SMALL)) == expected


@pytest.mark.parametrize(("late_ms", "reason"), [(0, "ok"), (1, "timeout")])
def test_a_reply_after_the_deadline_is_lost(late_ms: int, reason: str) -> None:
    """By its own word and by the clock alike."""
    body = RawReply("delivered", "committed", PAID, latency_ms=TIMEOUT_MS + late_ms)
    assert World(client=Client(lambda _: body)).call("send", **SMALL).reason == reason

    world: World

    def slow(_: Execution) -> RawReply:
        world.clock.advance(TIMEOUT_MS + late_ms)
        return RawReply("delivered", "committed", PAID)

    world = World(client=Client(slow))
    assert world.call("send", **SMALL).reason == reason


def test_a_dispatch_gets_what_time_is_left() -> None:
    """What others took is gone."""
    client = replying(PAID)
    world: World

    def wait(point: str) -> None:
        if point == "decided":
            world.clock.advance(300)

    world = World(client=client, checkpoint=wait)
    world.call("send", **SMALL)

    assert [execution.timeout_ms for execution in client.executions] == [700]


# --- what the store already holds ----------------------------------------------------------------


def holding(status: str, *, digest: str = "", reply: RawReply | None = None) -> Client:
    """Return a client whose store holds an operation of this status for every key."""
    world = World()
    world.call("send", **SMALL)
    own = world.attempt()["argument_digest"]
    stored = StoredOperation("op", digest or own, status, PAID)  # type: ignore[arg-type]
    answer = reply or RawReply("delivered", "committed", PAID)
    return Client(lambda _: answer, lambda *_: stored)


def test_an_operation_in_flight_is_a_conflict() -> None:
    """Another attempt is at work: this one does nothing."""
    client = holding("in_flight")
    outcome = World(client=client).call("send", **SMALL)

    assert told(outcome) == ("rejected", "in_flight", "not_started", "delivered")
    assert (client.executions, outcome.retryable) == ([], True)


@pytest.mark.parametrize("status", ["intent", "unresolved"])
def test_an_open_intent_goes_to_the_client_without_a_new_approval_or_charge(status: str) -> None:
    """The client alone can find out what became of it; its approval is redeemed already."""
    client = holding(status)
    point = Point(lambda r: allow(r, require_approval=True, charges=(Charge("daily", 5, 9),)))
    outcome = World(client=client, point=point).call("send", **SMALL)
    (execution,) = client.executions

    assert outcome.status == "executed"
    assert (execution.grant, execution.charges) == (None, ())


def test_an_unknown_outcome_that_stays_unknown_is_said_to_be_unresolved() -> None:
    """Nothing is sent again blind."""
    client = holding("unresolved", reply=RawReply("error", "unknown", reason="unresolved"))

    assert told(World(client=client).call("send", **SMALL)) == (
        "error",
        "unresolved",
        "unknown",
        "error",
    )


@pytest.mark.parametrize("status", ["committed", "intent", "in_flight", "unresolved"])
def test_an_operation_of_other_arguments_is_a_mismatch_whatever_its_status(status: str) -> None:
    """A key in flight for something else tells no more than one that is done."""
    client = holding(status, digest="0" * 64)

    assert World(client=client).call("send", **SMALL).reason == "key_mismatch"
    assert client.executions == []


def test_a_stored_reply_that_is_broken_is_no_success() -> None:
    """What is on record is decoded as strictly as what comes in."""
    client = holding("committed")
    stored = client.stored("", "", "")
    client.stored = lambda *_: replace(stored, body=b'{"ok":{}}')

    assert World(client=client).call("send", **SMALL).reason == "malformed_result"


RACED = RawReply("error", "unknown", reason="in_flight", cause="operation_exists")


@pytest.mark.parametrize(
    ("status", "digest", "expected"),
    [
        ("committed", "", ("executed", "replayed", "replayed", "delivered")),
        ("committed", "0" * 64, ("rejected", "key_mismatch", "not_committed", "delivered")),
        ("intent", "", ("rejected", "in_flight", "unknown", "delivered")),
    ],
)
def test_a_call_that_lost_a_race_is_answered_from_the_store(
    status: str, digest: str, expected: tuple[str, str, str, str]
) -> None:
    """The unique row decided; who came second gets the first one's result, if it is the same."""
    winner = holding(status, digest=digest).stored("", "", "")
    looks = iter((None, winner))
    client = Client(lambda _: RACED, lambda *_: next(looks))

    assert told(World(client=client).call("send", **SMALL)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (_raising(DependencyFailure("timeout")), "timeout"),
        (_raising(DependencyFailure("rate_limited")), "rate_limited"),
        (_raising(ValueError("secret")), "dependency_error"),
        (lambda *_: {"status": "committed"}, "dependency_error"),
    ],
)
def test_a_store_that_cannot_be_asked_stops_the_call(
    found: Callable[..., Any], expected: str
) -> None:
    """Who cannot know whether an action happened does not do it."""
    client = Client(lambda _: RawReply("delivered", "committed", PAID), found)
    outcome = World(client=client).call("send", **SMALL)

    assert told(outcome) == ("error", expected, "not_started", "delivered")
    assert client.executions == []
