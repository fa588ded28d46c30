"""A faulty tool leaves in the store what the table says, and its caller with the symptom."""

from __future__ import annotations

import pytest

from arh.canonical import EMPTY, Refused, parse
from arh.records.decisions import ModelReply, Unavailable
from arh.records.execution import Execution, RawReply, Tool
from arh.records.faults import FaultPlan
from arh.sim.faulty_tools import cut
from tests.unit.sim.world import (
    NOTE,
    TIMEOUT_MS,
    World,
    capture,
    note,
    of,
    operation,
    seen,
    tool,
)


def test_a_lost_acknowledgement_then_a_retry_is_one_effect() -> None:
    """The write is committed, its caller cannot know, and the same key finds the same result."""
    world = World((tool("after_commit", "timeout", ms=300),))

    lost = world.write()
    again = world.write()

    assert seen(lost) == ("error", "timeout", "timeout", "unknown")
    assert seen(again) == ("executed", "replayed", "delivered", "replayed")
    assert world.notes() == 1
    assert world.approvals.asked == 1


@pytest.mark.parametrize("phase", ["not_dispatched", "before_commit"])
def test_a_call_that_changed_nothing_takes_effect_once_when_it_is_repeated(phase: str) -> None:
    """Before the commit nothing is kept: neither effect nor operation nor a used approval."""
    world = World((tool(phase, "error"),))

    failed = world.write()
    nothing = world.notes()
    again = world.write()

    assert failed.status == "error"
    assert nothing == 0
    assert seen(again) == ("executed", "ok", "delivered", "committed")
    assert world.notes() == 1


@pytest.mark.parametrize(
    ("phase", "belief"), [("not_dispatched", "not_started"), ("before_commit", "not_committed")]
)
def test_an_error_is_only_authoritative_where_nothing_was_committed(
    phase: str, belief: str
) -> None:
    """Before the commit an error may say so; the caller believes it."""
    world = World((tool(phase, "error"),))

    outcome = world.write()

    assert seen(outcome) == ("error", "dependency_error", "error", belief)


@pytest.mark.parametrize("phase", ["after_dispatch", "after_commit"])
@pytest.mark.parametrize("effect", ["timeout", "error"])
def test_a_lost_reply_reveals_nothing(phase: str, effect: str) -> None:
    """Body, reads, entry and commit status of the real reply stay behind the port."""
    hidden = "committed" if phase == "after_dispatch" else None
    world = World((tool(phase, effect, ms=5, hidden_outcome=hidden),))
    replies = capture(world)

    world.write()

    (reply,) = replies
    assert (reply.commit, reply.body, reply.reads, reply.entry) == ("unknown", b"", (), None)
    assert world.notes() == 1


def test_a_lost_reply_of_a_read_says_nothing_of_a_commit() -> None:
    """A read commits nothing, so there is nothing to be unsure of."""
    world = World((tool("after_dispatch", "timeout", target_name="look", ms=5),))
    replies = capture(world)

    outcome = world.read()

    assert replies[0].commit == "not_applicable"
    assert seen(outcome) == ("error", "timeout", "timeout", "not_applicable")


def test_a_refused_write_has_no_acknowledgement_to_lose() -> None:
    """A fault after commit does not happen to a call that did not commit."""
    world = World((tool("after_commit", "timeout"),))

    world.write()
    mismatch = world.write(text="other")

    assert mismatch.status == "rejected"
    assert len(world.of("fault_injected")) == 1


def test_a_rate_limit_says_when_to_come_back() -> None:
    """The wait reaches the caller."""
    world = World((tool("not_dispatched", "rate_limit", retry_after_ms=900),))

    outcome = world.write()

    assert (outcome.reason, outcome.retry_after_ms) == ("rate_limited", 900)


@pytest.mark.parametrize(
    ("ms", "spent"), [(None, TIMEOUT_MS), (700, 700), (TIMEOUT_MS * 2, TIMEOUT_MS)]
)
def test_a_timeout_takes_no_longer_than_its_caller_has(ms: int | None, spent: int) -> None:
    """The clock moves by the fault's time, at most by the caller's."""
    world = World((tool("not_dispatched", "timeout", ms=ms),))

    world.write()

    assert world.clock.now_ms() == spent
    assert world.of("fault_injected")[0]["parameters"] == {"ms": spent}


@pytest.mark.parametrize(
    "raw", [None, '{"ok": {"id": "n', "<html>busy</html>", "", "[1]", '{"ok": NaN}']
)
def test_a_malformed_reply_is_rejected_by_the_real_decoder(raw: str | None) -> None:
    """Raw bytes arrive at the decoder; nothing of them becomes a result, and nothing is certain."""
    world = World((tool("after_dispatch", "malformed", raw=raw),))

    outcome = world.write()

    assert seen(outcome) == ("error", "malformed_result", "malformed", "unknown")
    assert outcome.result is None
    assert world.notes() == 1
    assert world.calls[0].reads == ()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"ok":{}}', b'{"ok":{"a":[1,2,{"b":"c"}]}}'])
def test_a_cut_body_is_never_json(body: bytes) -> None:
    """No proper beginning of an object is a value."""
    with pytest.raises(Refused):
        parse(cut(body))


def test_a_partial_reply_lacks_the_other_fields() -> None:
    """Only the fields to keep arrive, and the reply says nothing about it."""
    plan = tool("after_dispatch", "partial", target_name="look", keep_fields=("plan",))
    world = World((plan,))

    outcome = world.read()

    assert outcome.result is not None
    assert outcome.result.value() == {"plan": "pro"}
    assert world.of("fault_injected")[0]["parameters"] == {"removed": ["owner"]}


def test_a_partial_reply_that_lacks_nothing_did_not_happen() -> None:
    """Keeping every field is no fault."""
    plan = tool("after_dispatch", "partial", target_name="look", keep_fields=("plan", "owner"))
    world = World((plan,))

    world.read()

    assert world.states() == ["not_injected"]


def test_a_stale_read_shows_an_older_revision_and_does_not_say_so() -> None:
    """The result looks like any other; only the revision that was read tells."""
    world = World((tool("after_dispatch", "stale", target_name="look"),))

    old, current = world.read(), world.read()

    assert [o.result.value() for o in (old, current) if o.result is not None] == [
        {"plan": "free", "owner": "al"},
        {"plan": "pro", "owner": "alice"},
    ]
    assert seen(old) == seen(current)
    assert [call.reads for call in world.calls] == [
        (("accounts", "A1", 1),),
        (("accounts", "A1", 2),),
    ]


@pytest.mark.parametrize(("account", "back"), [("A2", None), ("A1", 2), ("A9", None)])
def test_no_older_revision_is_made_up(account: str, back: int | None) -> None:
    """Without a past that is long enough the read is the current one, and no fault happened."""
    plan = tool("after_dispatch", "stale", target_name="look", revisions_back=back)
    world = World((plan,))

    world.read(account)

    assert world.states() == ["not_injected"]


def test_a_request_that_is_delivered_twice_takes_effect_once() -> None:
    """The store's unique operation holds, and the caller gets the one result."""
    world = World((tool("after_dispatch", "duplicate_delivery"),))

    outcome = world.write()

    assert outcome.status == "executed"
    assert world.notes() == 1
    assert world.states() == ["delivered"]


def test_a_slow_reply_arrives_with_its_latency() -> None:
    """Within the caller's time a slowdown is nothing but slow."""
    world = World((tool("after_dispatch", "slowdown", ms=1_500),))

    outcome = world.write()

    assert seen(outcome) == ("executed", "ok", "delivered", "committed")
    assert world.clock.now_ms() == 1_500


def test_a_slow_request_leaves_the_tool_less_time() -> None:
    """What the way has taken, the tool no longer has."""
    world = World((tool("not_dispatched", "slowdown", ms=1_500),))
    left: list[int] = []
    execute = world.raw_client.execute

    def observed(execution: Execution) -> RawReply:
        left.append(execution.timeout_ms)
        return execute(execution)

    world.client._inner.execute = observed  # type: ignore[attr-defined]
    world.write()

    assert left == [TIMEOUT_MS - 1_500]


class Scripted:
    """A tool client that gives the next of some replies, and counts."""

    def __init__(self, *replies: RawReply) -> None:
        self.replies = list(replies)

    def execute(self, execution: Execution) -> RawReply:
        """Return the next reply."""
        return self.replies.pop(0)

    def look_up(self, tenant: str, tool: str, key: str) -> None:
        """Know nothing."""


EXECUTION = Execution(Tool(NOTE, note), operation(), EMPTY, (), TIMEOUT_MS)
REFUSED = RawReply("delivered", "not_committed", b'{"refused":{}}', reason="not_found")
BROKEN = RawReply("error", "unknown", reason="tool_error")
DONE = RawReply("delivered", "committed", b'{"ok":{"a":1}}')
AGAIN = RawReply("delivered", "replayed", b'{"ok":{"a":1}}')


def executed(plan: FaultPlan, *replies: RawReply) -> tuple[RawReply, int, int]:
    """Return the reply through the proxy, how many were left over, and the injections."""
    world, client = World((plan,)), Scripted(*replies)

    reply = world.injector.wrap_tools(client).execute(EXECUTION)

    return reply, len(client.replies), len(world.of("fault_injected"))


@pytest.mark.parametrize(
    "plan",
    [
        tool("after_dispatch", "timeout", hidden_outcome="committed"),
        tool("after_commit", "error"),
        tool("after_commit", "slowdown", ms=TIMEOUT_MS),
        tool("after_commit", "malformed"),
        tool("after_commit", "partial", keep_fields=()),
        tool("after_dispatch", "partial", keep_fields=()),
        tool("before_commit", "error"),
    ],
)
@pytest.mark.parametrize("reply", [REFUSED, BROKEN])
def test_what_did_not_commit_passes_as_it_is(plan: FaultPlan, reply: RawReply) -> None:
    """A refusal or a failure of the tool's own is neither lost nor counted as the fault."""
    assert executed(plan, reply) == (reply, 0, 0)


@pytest.mark.parametrize("reply", [DONE, AGAIN])
def test_the_acknowledgement_of_a_replay_can_be_lost_too(reply: RawReply) -> None:
    """A repeat that finds its operation is acknowledged, and that can go missing again."""
    lost, left, injected = executed(tool("after_commit", "error"), reply)

    assert (lost.delivery, lost.commit, left, injected) == ("error", "unknown", 0, 1)


def test_of_two_deliveries_the_second_reply_comes_back() -> None:
    """The caller waits on the second; if the first broke, there is no second."""
    plan = tool("after_dispatch", "duplicate_delivery")

    assert executed(plan, DONE, AGAIN) == (AGAIN, 0, 1)
    assert executed(plan, BROKEN, AGAIN) == (BROKEN, 1, 0)


def test_a_model_that_is_down_by_itself_is_not_the_faults_doing() -> None:
    """Its own failure passes as it is."""
    world = World((of("model", "after_dispatch", "malformed"),))
    reply = ModelReply(Unavailable("dependency_error"))
    world.model.complete = lambda _request: reply  # type: ignore[method-assign, assignment]

    assert world.ask() == reply
    assert world.states() == ["not_injected"]
