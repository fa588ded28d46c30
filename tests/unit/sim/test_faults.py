"""Faults strike when due, happen to the store as declared, and show nothing but symptoms."""

from __future__ import annotations

import pytest

from arh.canonical import EMPTY, Refused, parse
from arh.errors import DependencyFailure, HarnessError
from arh.records.authorization import AuthorizationRequest
from arh.records.decisions import Malformed, ModelReply, Truncated, Unavailable, Usage
from arh.records.execution import Execution, RawReply, Tool
from arh.records.faults import FaultPlan
from arh.records.outcomes import ToolOutcome
from arh.records.state import Conflict, Failed, Receipt, Unknown
from arh.sim.faults import FaultInjector
from arh.sim.faulty_store import Order
from arh.sim.faulty_tools import cut
from tests.unit.sim.world import CONTEXT, NOTE, TIMEOUT_MS, World, note, operation


def tool(phase: str, effect: str, **parameters: object) -> FaultPlan:
    """Return a fault of the writing tool, unless another is named."""
    given: dict[str, object] = {"target_name": "note", **parameters}
    return FaultPlan("f1", "tool", phase, effect, **given)  # type: ignore[arg-type]


def of(target: str, phase: str, effect: str, **parameters: object) -> FaultPlan:
    """Return a fault of another target."""
    return FaultPlan("f1", target, phase, effect, **parameters)  # type: ignore[arg-type]


def seen(outcome: ToolOutcome) -> tuple[str, str, str, str]:
    """Return what the caller was told."""
    return outcome.status, outcome.reason, outcome.delivery, outcome.commit_belief


# --- when ----------------------------------------------------------------------------------------


def test_without_a_fault_a_port_is_the_dependency_itself() -> None:
    """Nothing stands in the way of a run without faults."""
    world = World()

    assert world.client is world.raw_client
    assert world.proxied is world.model
    assert world.injector.wrap_store(world.store) is world.store


@pytest.mark.parametrize(
    ("trigger", "invocation", "struck"),
    [("first", None, [0]), ("nth", 1, [0]), ("nth", 3, [2]), ("always", None, [0, 1, 2])],
)
def test_a_trigger_counts_the_calls_that_match(
    trigger: str, invocation: int | None, struck: list[int]
) -> None:
    """Calls of other tools are not counted; of the named tool, exactly the chosen are struck."""
    plan = tool("not_dispatched", "error", trigger=trigger, invocation=invocation)
    world = World((plan,))

    outcomes = []
    for number in range(3):
        world.read()
        outcomes.append(world.write(f"k{number}"))

    assert [n for n, o in enumerate(outcomes) if o.status == "error"] == struck
    assert world.states() == ["delivered"]


def test_a_fault_of_a_tool_that_nobody_calls_is_not_exposed() -> None:
    """An armed fault without a matching call has shown nothing."""
    world = World((tool("not_dispatched", "timeout"),))

    world.read()

    assert world.states() == ["not_exposed"]


def test_an_invocation_beyond_the_last_call_is_not_injected() -> None:
    """The port was used, and the fault never was due."""
    world = World((tool("not_dispatched", "timeout", trigger="nth", invocation=3),))

    world.write()
    world.write("k2")

    assert world.states() == ["not_injected"]
    assert world.notes() == 2


def test_a_fault_whose_dependency_was_not_passed_through_its_proxy_is_not_armed() -> None:
    """A composer that forgets a port is found out."""
    world = World((tool("not_dispatched", "timeout"), of("model", "not_dispatched", "error")))
    injector = FaultInjector(world.plans, world.clock, world)
    before = len(world.of("fault_armed"))

    injector.wrap_model(world.model, "agent-a")
    injector.arm()

    assert [d["target_type"] for d in world.of("fault_armed")[before:]] == ["model"]


def test_a_fault_inside_the_transaction_needs_the_store_too() -> None:
    """Before commit, the tool's proxy alone could not do what the table says."""
    world = World((tool("before_commit", "error"),), armed=False)
    injector = FaultInjector(world.plans, world.clock, world)

    injector.wrap_tools(world.raw_client)
    injector.arm()

    assert world.of("fault_armed") == []


def test_of_two_faults_due_in_one_call_the_first_declared_happens() -> None:
    """The other one stays unproven, which makes the run unjudgeable rather than half true."""
    first = FaultPlan("f1", "tool", "not_dispatched", "timeout", target_name="note", ms=100)
    second = FaultPlan("f2", "tool", "not_dispatched", "error")
    world = World((first, second))

    outcome = world.write()

    assert outcome.reason == "timeout"
    assert [(d["fault"], d["symptom"]) for d in world.of("port_left")] == [
        ("f1", "timeout"),
        ("f2", "none"),
    ]
    assert world.states() == ["delivered", "not_injected"]


def test_a_plan_that_the_table_lacks_is_our_defect() -> None:
    """Plans were checked at load: one that slips through is no longer the author's mistake."""
    world = World()

    with pytest.raises(HarnessError, match="no fault stale not_dispatched of a model"):
        FaultInjector([of("model", "not_dispatched", "stale")], world.clock, world)


# --- tools ---------------------------------------------------------------------------------------


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


# --- store ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "reason"), [("timeout", "timeout"), ("error", "dependency_error")]
)
def test_a_failing_read_raises_the_symptom(effect: str, reason: str) -> None:
    """A handler's read fails as the store of a production system does."""
    world = World((of("state_store", "not_dispatched", effect, ms=10),))
    tx = world.injector.wrap_store(world.store).transaction(operation())

    with pytest.raises(DependencyFailure, match=reason):
        tx.get("accounts", "A1")
    assert tx.find("accounts", {"owner": "bo"})[0].key == "A2"


def test_a_read_of_the_stores_own_collections_counts_only_by_name() -> None:
    """The first read is the first of a business record; a named system collection is struck."""
    plain = of("state_store", "not_dispatched", "error")
    named = of("state_store", "not_dispatched", "error", target_name="_operations")

    outcomes = [World((plan,)).write() for plan in (plain, named)]
    entered = [World((plan,)) for plan in (plain, named)]
    for world in entered:
        world.read()

    assert [o.status for o in outcomes] == ["error", "error"]
    assert [w.states() for w in entered] == [["delivered"], ["not_exposed"]]


def test_a_fault_of_a_collection_leaves_the_others_alone() -> None:
    """The name filters reads by their collection and commits by what they write."""
    reads = of("state_store", "not_dispatched", "error", target_name="notes")
    commits = of("state_store", "before_commit", "error", target_name="notes")
    unrelated = of("state_store", "before_commit", "error", target_name="accounts")

    assert World((reads,)).read().status == "executed"
    assert World((commits,)).write().status == "error"
    assert World((unrelated,)).write().status == "executed"


def test_a_gateway_that_cannot_read_lets_nothing_happen() -> None:
    """A read outside any transaction fails, the call ends, and the proof finds its call."""
    plan = of("state_store", "not_dispatched", "error", target_name="_operations")
    world = World((plan,))

    outcome = world.write()

    assert outcome.status == "error"
    assert world.notes() == 0
    assert world.deliveries()[0].calls == ("call-0001",)


def test_a_slow_store_only_takes_time() -> None:
    """A slow read and a slow commit still give their results."""
    for phase in ("not_dispatched", "before_commit"):
        world = World((of("state_store", phase, "slowdown", ms=800),))

        outcome = world.write()

        assert (outcome.status, world.clock.now_ms()) == ("executed", 800)


def test_a_stale_search_finds_what_matched_then() -> None:
    """Records are found by their older values, and shown with them."""
    world = World((of("state_store", "after_dispatch", "stale", trigger="always"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())

    by_old = [(r.key, r.revision) for r in tx.find("accounts", {"owner": "al"})]
    by_new = tx.find("accounts", {"owner": "alice"})
    by_plan = [(r.key, r.revision) for r in tx.find("accounts", {"plan": "free"})]

    assert by_old == [("A1", 1)]
    assert by_new == ()
    assert by_plan == [("A1", 1), ("A2", 1)]


def test_a_transaction_never_sees_its_own_writes_as_old() -> None:
    """What a handler has just written is not a replica's to lose."""
    world = World((of("state_store", "after_dispatch", "stale", trigger="always"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.put("accounts", "A1", {"plan": "new"})

    found = tx.get("accounts", "A1")

    assert found is not None
    assert found.value.value() == {"plan": "new"}


def commit_of(plan: FaultPlan) -> tuple[object, int]:
    """Return what a commit says under a fault, and how many notes there really are."""
    world = World((plan,))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.put("notes", "n1", {"text": "hi"})
    return tx.commit(), world.notes()


def test_a_reader_is_never_stale() -> None:
    """What the gateway decides by is current, and does not count as a read that could be old."""
    world = World((of("state_store", "after_dispatch", "stale"),))
    reader = world.injector.wrap_store(world.store).reader()

    found = reader.get("tenant-a", "accounts", "A1")

    assert found == world.store.reader().get("tenant-a", "accounts", "A1")
    assert world.of("port_entered") == []


def test_a_stale_tool_does_not_make_the_stores_own_rows_old() -> None:
    """Operations, redemptions and limits are as they are, whatever the handler is shown."""
    world = World((tool("after_dispatch", "stale", target_name="look"),))
    store = world.injector.wrap_store(world.store)
    world.injector._orders["call-0001"] = Order(1)
    for number in range(2):
        tx = world.store.transaction(operation())
        tx.put("_limits", "daily", {"total": number})
        tx.commit()

    faulty = store.transaction(operation())
    found = {
        name: faulty.get(name, key) for name, key in (("_limits", "daily"), ("accounts", "A1"))
    }

    assert {name: record.revision for name, record in found.items() if record is not None} == {
        "_limits": 2,
        "accounts": 1,
    }


def test_a_commit_is_refused_or_its_outcome_is_unknown() -> None:
    """Before the commit nothing is kept; after it, something is that nobody acknowledges."""
    refused = commit_of(of("state_store", "before_commit", "error"))
    lost = commit_of(of("state_store", "after_commit", "error"))
    kept = commit_of(of("state_store", "after_dispatch", "error", hidden_outcome="committed"))
    gone = commit_of(of("state_store", "after_dispatch", "error", hidden_outcome="not_committed"))

    assert refused == (Failed(), 0)
    assert (lost, kept, gone) == ((Unknown(), 1), (Unknown(), 1), (Unknown(), 0))


def test_a_conflict_has_no_acknowledgement_to_lose() -> None:
    """What the store itself refuses passes, and no fault happened."""
    world = World((of("state_store", "after_commit", "error"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.put("accounts", "A1", {"plan": "new"}, expect_revision=1)

    result = tx.commit()

    assert result == Conflict("accounts", "A1", 1, 2)
    assert world.of("fault_injected") == []


def test_a_commit_without_writes_is_none() -> None:
    """A transaction that only read is not a commit that a fault could strike."""
    world = World((of("state_store", "before_commit", "error"),))
    tx = world.injector.wrap_store(world.store).transaction(operation())
    tx.get("accounts", "A1")

    assert isinstance(tx.commit(), Receipt)
    assert world.of("port_entered") == []


def test_the_reader_of_a_faulty_store_reads_the_same_state() -> None:
    """All but single reads pass untouched."""
    world = World((of("state_store", "not_dispatched", "error", target_name="notes"),))
    world.write()
    faulty, true = world.injector.wrap_store(world.store).reader(), world.store.reader()

    assert (faulty.digest(), faulty.collections()) == (true.digest(), true.collections())
    assert faulty.changes_since(0) == true.changes_since(0)
    assert faulty.records("accounts") == true.records("accounts")
    assert faulty.sequence() == true.sequence()
    assert faulty.at(0) is not None
    previous = faulty.previous("tenant-a", "accounts", "A1")
    assert previous == true.previous("tenant-a", "accounts", "A1")


# --- model ---------------------------------------------------------------------------------------


def test_a_model_that_was_not_asked_costs_no_tokens() -> None:
    """Before dispatch nothing is asked, so nothing is used."""
    world = World((of("model", "not_dispatched", "rate_limit", retry_after_ms=50),))

    reply = world.ask()

    assert (reply.decision, reply.usage) == (Unavailable("rate_limited", 50), Usage())
    assert world.model.asked == 0


@pytest.mark.parametrize(
    ("effect", "kind"),
    [("timeout", Unavailable), ("malformed", Malformed), ("truncated_stream", Truncated)],
)
def test_a_lost_or_broken_reply_of_a_model_keeps_its_tokens(effect: str, kind: type) -> None:
    """The model worked, so its tokens count, and nothing of its decision may be acted on."""
    world = World((of("model", "after_dispatch", effect),))

    reply = world.ask()

    assert isinstance(reply.decision, kind)
    assert reply.usage == Usage(10, 5)
    assert world.model.asked == 1


def test_a_slow_model_takes_its_own_time_and_the_faults() -> None:
    """Latency and clock agree."""
    world = World((of("model", "after_dispatch", "slowdown", ms=1_000),))

    reply = world.ask()

    assert (reply.latency_ms, world.clock.now_ms()) == (1_200, 1_200)


def test_models_of_several_actors_share_one_count() -> None:
    """The second call is the second call, whoever makes it."""
    world = World((of("model", "not_dispatched", "error", trigger="nth", invocation=2),))
    other = world.injector.wrap_model(world.model, "agent-b")

    world.ask()
    world.proxied, first = other, world.proxied
    second = world.ask()

    assert first is not other
    assert isinstance(second.decision, Unavailable)


# --- services ------------------------------------------------------------------------------------


def test_an_earlier_decision_does_not_count_for_another_action() -> None:
    """The stale answer of a decision point is a real one, for somebody else's question."""
    plan = of("authorization_service", "after_dispatch", "stale", trigger="nth", invocation=2)
    world = World((plan,))

    world.read("A2")
    outcome = world.read("A1")

    assert seen(outcome)[:2] == ("rejected", "authorization_unavailable")
    assert world.calls[-1].decision is not None
    assert world.calls[-1].decision.status == "indeterminate"
    assert world.states() == ["delivered"]


def test_earlier_approvals_do_not_count_for_another_action() -> None:
    """An answer about one action opens no other."""
    plan = of("approval_service", "after_dispatch", "stale", trigger="nth", invocation=2)
    world = World((plan,))

    world.write("k1")
    outcome = world.write("k2")

    assert seen(outcome)[:2] == ("rejected", "approval_unavailable")
    assert world.notes() == 1
    assert world.states() == ["delivered"]


def test_an_earlier_answer_to_the_same_action_is_not_stale() -> None:
    """A repeat of the same action gets what it would have got: nothing has happened."""
    plan = of("authorization_service", "after_dispatch", "stale", trigger="nth", invocation=2)
    world = World((plan,))

    outcomes = [world.read(), world.read()]

    assert [o.status for o in outcomes] == ["executed", "executed"]
    assert world.states() == ["not_injected"]


@pytest.mark.parametrize("target", ["authorization_service", "approval_service"])
def test_without_an_earlier_answer_nothing_is_stale(target: str) -> None:
    """The first question of a run has no earlier answer to get."""
    world = World((of(target, "after_dispatch", "stale"),))

    world.write()

    assert world.states() == ["not_injected"]


@pytest.mark.parametrize("target", ["authorization_service", "approval_service"])
@pytest.mark.parametrize("effect", ["timeout", "error", "malformed"])
def test_a_security_service_that_fails_blocks_and_denies_nothing(target: str, effect: str) -> None:
    """No effect while a control's health is unknown, and no denial that nobody spoke."""
    world = World((of(target, "after_dispatch", effect),))

    outcome = world.write()
    again = world.write()

    assert outcome.status == "rejected"
    assert outcome.reason.endswith("_unavailable")
    assert again.status == "executed"
    assert world.notes() == 1


def test_a_service_fault_of_another_tool_is_not_exposed() -> None:
    """The name filters the services' questions by the tool that they are about."""
    world = World((of("authorization_service", "not_dispatched", "error", target_name="note"),))

    assert world.read().status == "executed"
    assert world.states() == ["not_exposed"]


def test_a_deadline_that_has_passed_leaves_no_time_to_spend() -> None:
    """Time never runs back for a caller that is late already."""
    world = World((of("authorization_service", "not_dispatched", "timeout"),))
    world.clock.advance(50)
    request = AuthorizationRequest(
        request_id="call-0009",
        context=CONTEXT,
        tool="look",
        version="1.0.0",
        effect="read",
        arguments=EMPTY,
        action_digest="d",
        resources=(),
        at_ms=0,
        deadline_ms=10,
    )

    with pytest.raises(DependencyFailure):
        world.point.decide(request)
    assert world.clock.now_ms() == 50


# --- determinism ---------------------------------------------------------------------------------


def test_equal_runs_leave_equal_traces() -> None:
    """The same plans and calls give the same events, times and ids."""
    plans = (
        tool("after_commit", "timeout", ms=300),
        FaultPlan("f2", "model", "after_dispatch", "slowdown", ms=50, trigger="always"),
        FaultPlan("f3", "state_store", "after_dispatch", "stale", trigger="nth", invocation=2),
    )

    def trace() -> tuple[object, ...]:
        world = World(plans)
        world.ask()
        world.write()
        world.write()
        world.read()
        return tuple((e.kind, e.at_ms, e.data) for e in world.events)

    assert trace() == trace()


def test_every_visit_is_entered_and_left() -> None:
    """Each call through an armed port is on record from beginning to end, struck or not."""
    world = World((tool("not_dispatched", "error", trigger="nth", invocation=2),))

    for number in range(3):
        world.write(f"k{number}")

    kinds = [e.kind for e in world.events if e.source == "fault_proxy"]
    assert kinds == [
        "fault_armed",
        *("port_entered", "port_left"),
        *("port_entered", "fault_injected", "port_left"),
        *("port_entered", "port_left"),
    ]


def capture(world: World) -> list[RawReply]:
    """Return the list that the raw replies of the faulty client will be put on."""
    replies: list[RawReply] = []
    client = world.client
    execute = client.execute

    class Watching:
        """Passes everything on and keeps the replies."""

        def execute(self, execution: Execution) -> RawReply:
            reply = execute(execution)
            replies.append(reply)
            return reply

        def look_up(self, tenant: str, tool: str, key: str) -> object:
            return client.look_up(tenant, tool, key)

    watching = Watching()
    world.client = watching  # type: ignore[assignment]
    object.__setattr__(world.gateway._on, "client", watching)
    return replies
