"""One call through the whole gateway: what its caller gets, and what is on record."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from arh.canonical import Json
from arh.errors import DependencyFailure, RunStopped
from arh.records.authorization import ApprovalAnswer, ApprovalRequest
from arh.records.identity import SecurityContext
from arh.records.messages import ToolRequest
from arh.records.outcomes import Mark, ToolOutcome
from tests.unit.tools.fakes import (
    Client,
    DeadTelemetry,
    Point,
    Spans,
    allow,
    broken_reader,
    replying,
)
from tests.unit.tools.test_arguments import HOSTILE
from tests.unit.tools.world import CLERK, GRANT, TIMEOUT_MS, World, told

PASSED = [["resolved", "ok"], ["parsed", "ok"], ["validated", "ok"]]


def test_a_read_is_executed_and_told_in_full() -> None:
    """The outcome of a read, whole."""
    outcome = World().call("balance", account_id="A-1")

    assert outcome == ToolOutcome(
        call_id="asked-1",
        tool="balance",
        version="1.0",
        status="executed",
        reason="ok",
        result=Json.of({"account_id": "A-1", "balance": 5000}),
        operation_id="",
        commit_belief="not_applicable",
        delivery="delivered",
        marks=(Mark("read", '"A-1"', justified=True), Mark("rich")),
    )


def test_a_write_is_executed_and_on_record_in_full() -> None:
    """The attempt of a write, whole, down to its stages."""
    world = World(grants=(GRANT,))
    world.clock.advance(40)
    outcome = world.call("send", account_id="A-1", amount=2000, key="k-1", memo="private")

    assert world.attempt() == {
        "actor": "teller",
        "call_id": "call-0001",
        "requested_id": "asked-1",
        "tool": "send",
        "version": "2.1",
        "arguments": {"account_id": "A-1", "amount": 2000, "key": "k-1", "memo": "[masked]"},
        "arguments_text": "",
        "argument_digest": Json.of(
            {
                "tool": "send",
                "version": "2.1",
                "arguments": {"account_id": "A-1", "amount": 2000, "key": "k-1", "memo": "private"},
            }
        ).digest,
        "key": "k-1",
        "key_source": "argument",
        "operation_id": outcome.operation_id,
        "requested_ms": 40,
        "returned_ms": 40,
        "decision": {
            "status": "allow",
            "reason": "scope_granted",
            "decision_id": "decision-call-0001",
            "policy": "bank@1.0",
            "policy_digest": world.real_point.digest,
            "rule": "send",
            "cause": "",
            "resources": [
                {"collection": "accounts", "key": "A-1", "tenant": "north", "revision": 1}
            ],
        },
        "approval": {
            "result": "granted",
            "reason": "",
            "approval_id": "approval-1",
            "approver": "boss",
        },
        "lookup": "absent",
        "entered": True,
        "status": "executed",
        "reason": "ok",
        "cause": "",
        "commit_belief": "committed",
        "delivery": "delivered",
        "result": {"payment_id": "payment-0001"},
        "reads": [["accounts", "A-1", 1]],
        "marks": [["sent", '"A-1"|2000|"payment-0001"', False]],
        "stages": [
            *PASSED,
            ["decided", "allow"],
            ["looked_up", "absent"],
            ["approved", "granted"],
            ["entered", "ok"],
            ["committed", "committed"],
            ["returned", "executed"],
        ],
        "refused_by_budget": False,
    }


def test_what_was_authorised_is_what_runs_and_what_is_committed() -> None:
    """Decision, execution and commit entry speak of the same bytes."""
    point = Point(allow)
    world = World(point=point)
    world.text("send", '{ "key":"k", "amount":5,\n"account_id":"\\u0041-1" }')
    (entry,) = world.store.reader().changes_since(0)
    (asked,) = point.asked

    assert asked.arguments == Json.of({"account_id": "A-1", "amount": 5, "key": "k"})
    assert entry.operation.argument_digest == asked.action_digest
    assert (entry.operation.call_id, entry.operation.subject) == ("call-0001", "clerk")
    assert (asked.request_id, asked.deadline_ms) == ("call-0001", TIMEOUT_MS)


@pytest.mark.parametrize(
    "name", ["Balance", "balance ", " balance", "bаlance", "ｂalance", "balance\n", "", "x" * 500]
)
def test_a_tool_is_known_by_its_exact_name_only(name: str) -> None:
    """No folding, no trimming, no look-alikes."""
    world = World()

    assert told(world.call(name, account_id="A-1"))[:2] == ("rejected", "unknown_tool")
    assert world.attempt()["arguments"] == {"account_id": "A-1"}


def test_a_tool_that_is_not_offered_does_not_exist() -> None:
    """The caller cannot tell a tool that it may not use from one that nobody has."""
    world = World(offered=("balance",))
    hidden, unheard = world.call("send", amount=1), world.call("sent", amount=1)

    assert replace(hidden, tool="") == replace(unheard, tool="")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_before_anybody_is_asked(name: str) -> None:
    """It ends as unparsable, with one attempt on record that can be written as UTF-8."""
    point = Point(allow)
    world = World(point=point)

    assert told(world.text("balance", HOSTILE[name]))[:2] == ("rejected", "arguments_unparsable")
    assert point.asked == []
    attempt = world.attempt()
    assert attempt["arguments"] is None
    assert len(json.dumps(attempt, ensure_ascii=False).encode()) < 10_000


def test_the_text_of_a_tool_with_sensitive_fields_is_not_kept() -> None:
    """A text that nobody could read cannot be masked."""
    world = World()
    world.text("send", '{"memo": "private"')

    assert "private" not in json.dumps(world.attempt())


@pytest.mark.parametrize(
    "arguments",
    [
        {"account_id": "A-1", "amount": "1", "key": "k"},
        {"account_id": "A-1", "amount": True, "key": "k"},
        {"account_id": "A-1", "amount": None, "key": "k"},
        {"account_id": "A-1", "amount": [1], "key": "k"},
        {"account_id": "A-1", "amount": 1.5, "key": "k"},
        {"account_id": "A-1", "amount": 0, "key": "k"},
        {"account_id": "A-1", "amount": -50, "key": "k"},
        {"account_id": "A-1", "amount": 1},
        {"account_id": "A-1", "amount": 1, "key": ""},
        {"account_id": "A-1", "amount": 1, "key": "k" * 256},
        {"account_id": "", "amount": 1, "key": "k"},
        {"account_id": 1, "amount": 1, "key": "k"},
        {"account_id": "A-1", "amount": 1, "key": "k", "tenant": "south"},
        {"account_id": "A-1", "amount": 1, "key": "k", "role": "admin"},
        {},
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any]) -> None:
    """Nothing is converted, defaulted or ignored, and nothing is started."""
    world = World()

    assert told(world.call("send", **arguments)) == (
        "rejected",
        "arguments_invalid",
        "not_started",
        "delivered",
    )
    assert world.payments() == 0


def test_an_integral_float_is_no_amount() -> None:
    """1.0 is refused as text, before a schema could take it for an integer."""
    outcome = World().text("send", '{"account_id": "A-1", "amount": 1.0, "key": "k"}')

    assert outcome.reason == "arguments_unparsable"


def test_a_record_of_another_tenant_looks_like_one_that_does_not_exist() -> None:
    """Status, reason, shape and times are the same; only the attempt log knows."""
    world = World()
    foreign = world.call("balance", account_id="B-1")
    seen = world.attempt()
    absent = world.call("balance", account_id="Z-9")

    assert foreign == absent
    assert told(foreign) == ("error", "not_found", "not_applicable", "delivered")
    assert (seen["decision"]["status"], seen["decision"]["reason"]) == ("deny", "cross_tenant")
    assert seen["decision"]["resources"][0]["tenant"] == "south"


@pytest.mark.parametrize(
    ("amount", "key"), [(5, "new"), (2000, "new"), (20_000, "new"), (5, "used"), (6, "used")]
)
def test_no_write_tells_a_foreign_record_from_an_absent_one(amount: int, key: str) -> None:
    """Not by its amount, not by a missing approval, not by a key that was used before."""
    world = World()
    world.call("send", account_id="A-1", amount=5, key="used")
    outcomes = [
        world.call("send", account_id=account, amount=amount, key=key) for account in ("B-1", "Z-9")
    ]

    assert replace(outcomes[0], operation_id="") == replace(outcomes[1], operation_id="")
    assert world.payments() == 1


def test_a_shared_record_is_everybodys_to_read() -> None:
    """A record of the shared tenant is not foreign."""
    assert World().call("balance", account_id="S-1").status == "executed"


@pytest.mark.parametrize(("tenant", "balance"), [("north", 1), ("south", 2)])
def test_a_key_that_two_tenants_use_is_ones_own_record(tenant: str, balance: int) -> None:
    """Owner and revision are those of the caller's record, whoever else has one of that key."""
    world = World(context=replace(CLERK, tenant=tenant))
    outcome = world.call("balance", account_id="C-1")

    assert outcome.result == Json.of({"account_id": "C-1", "balance": balance})
    assert world.attempt()["decision"]["resources"][0]["tenant"] == tenant


def test_a_denial_says_no_more_than_that() -> None:
    """The caller learns that it may not; why is on record."""
    world = World(context=replace(CLERK, scopes=("read:*",)))
    outcome = world.call("send", account_id="A-1", amount=5, key="k")

    assert told(outcome) == ("rejected", "authorization_denied", "not_started", "delivered")
    assert world.attempt()["cause"] == "insufficient_scope"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DependencyFailure("timeout"), "timeout"),
        (DependencyFailure("rate_limited", 70), "rate_limited"),
        (ValueError("secret"), "dependency_error"),
    ],
)
def test_a_record_that_cannot_be_read_ends_the_call(error: Exception, reason: str) -> None:
    """Nobody decides about a record whose owner is not known."""
    point = Point(allow)
    world = World(reader=broken_reader(error), point=point)
    outcome = world.call("send", account_id="A-1", amount=5, key="k")

    assert told(outcome) == ("error", reason, "not_started", "delivered")
    assert outcome.retry_after_ms == getattr(error, "retry_after_ms", None)
    assert point.asked == []
    assert "secret" not in json.dumps(world.attempt())


def test_a_call_that_names_no_record_needs_no_reader() -> None:
    """A broken reader is nobody's business where nothing is read."""
    assert World(reader=broken_reader(ValueError())).call("ping", text="x").status == "executed"


def test_a_refusal_of_the_pack_reaches_the_caller() -> None:
    """A handler's own reason is told, and nothing was committed."""
    world = World()
    outcome = world.call("send", account_id="A-1", amount=666, key="k")

    assert told(outcome) == ("rejected", "x-bank:unlucky", "not_committed", "delivered")
    assert (world.attempt()["stages"][-2], world.payments()) == (
        ["rolled_back", "not_committed"],
        0,
    )


def test_a_record_that_moved_between_decision_and_commit_stops_the_write() -> None:
    """What was decided about revision 1 does not happen to revision 2."""
    world: World

    def move(point: str) -> None:
        if point == "decided":
            other = world.store.transaction(MOVE)
            other.put("accounts", "A-1", {"account_id": "A-1", "balance": 0})
            other.commit()

    world = World(checkpoint=move)
    outcome = world.call("send", account_id="A-1", amount=5, key="k")

    assert told(outcome) == ("rejected", "precondition_failed", "not_committed", "delivered")
    assert (outcome.retryable, world.payments()) == (True, 0)


def _move_operation() -> Any:  # noqa: ANN401
    from arh.records.state import Operation  # noqa: PLC0415

    return Operation("op-move", "m", "other", "1", "d", "somebody", "other", "north")


MOVE = _move_operation()


@pytest.mark.parametrize("timeout_ms", [0, -5])
def test_a_call_without_time_is_not_begun(timeout_ms: int) -> None:
    """No time, no stage."""
    world = World()
    outcome = world.text("balance", '{"account_id": "A-1"}', timeout_ms=timeout_ms)

    assert told(outcome)[:2] == ("error", "timeout")
    assert world.attempt()["stages"] == [["returned", "error"]]


@pytest.mark.parametrize(("ms", "status"), [(999, "executed"), (1000, "error"), (1001, "error")])
def test_time_that_others_took_counts(ms: int, status: str) -> None:
    """A call whose deadline passes before the dispatch is not dispatched."""
    world: World

    def wait(point: str) -> None:
        if point == "decided":
            world.clock.advance(ms)

    world = World(checkpoint=wait)
    outcome = world.call("send", account_id="A-1", amount=5, key="k")

    assert outcome.status == status
    assert world.payments() == (status == "executed")
    if status == "error":
        assert told(outcome)[1:3] == ("timeout", "not_started")


@pytest.mark.parametrize(("ms", "status"), [(999, "executed"), (1000, "error")])
def test_an_approval_that_uses_up_the_time_is_the_last_that_happens(ms: int, status: str) -> None:
    """It came in time, and nothing is left for the tool, which does not run."""
    world: World

    class Slow:
        def grants(self, request: ApprovalRequest) -> ApprovalAnswer:
            world.clock.advance(ms)
            return world.service.grants(request)

    world = World(grants=(GRANT,), approvals=Slow())
    outcome = world.call("send", account_id="A-1", amount=4000, key="k")

    assert (outcome.status, world.payments()) == (status, int(status == "executed"))
    if status == "error":
        attempt = world.attempt()
        assert told(outcome) == ("error", "timeout", "not_started", "delivered")
        assert (attempt["cause"], attempt["entered"]) == ("deadline_passed", False)
        assert attempt["approval"]["result"] == "granted"


@pytest.mark.parametrize(
    ("expires", "status"), [(51, "executed"), (50, "rejected"), (49, "rejected")]
)
def test_an_allowance_that_ran_out_meanwhile_does_not_count(expires: int, status: str) -> None:
    """The decision must still hold when the call is dispatched."""
    world: World

    def wait(point: str) -> None:
        if point == "decided":
            world.clock.advance(50)

    world = World(point=Point(lambda r: allow(r, expires_at_ms=expires)), checkpoint=wait)
    outcome = world.call("send", account_id="A-1", amount=5, key="k")

    assert outcome.status == status
    if status == "rejected":
        assert outcome.reason == "authorization_unavailable"
        assert world.attempt()["cause"] == "decision_expired"


@pytest.mark.parametrize(("point", "entered"), [("gateway", False), ("decided", False)])
def test_a_run_stopped_at_a_checkpoint_leaves_its_attempt(
    point: str,
    entered: bool,  # noqa: FBT001
) -> None:
    """The stop passes through, and the attempt says that nothing was started."""

    def stop(reached: str) -> None:
        if reached == point:
            raise RunStopped("watchdog")

    world = World(checkpoint=stop)
    with pytest.raises(RunStopped):
        world.call("send", account_id="A-1", amount=5, key="k")
    attempt = world.attempt()

    assert attempt["entered"] is entered
    assert (attempt["status"], attempt["cause"]) == ("error", "interrupted")
    assert attempt["commit_belief"] == ("not_applicable" if point == "gateway" else "not_started")


def test_a_run_stopped_under_a_tool_leaves_an_unknown_outcome() -> None:
    """From the dispatch on nobody can say what happened."""

    def stop(_: object) -> None:
        raise RunStopped("watchdog")

    world = World(client=Client(stop))
    with pytest.raises(RunStopped):
        world.call("send", account_id="A-1", amount=5, key="k")
    attempt = world.attempt()

    assert (attempt["entered"], attempt["commit_belief"]) == (True, "unknown")
    assert (attempt["status"], attempt["reason"]) == ("error", "unresolved")


@pytest.mark.parametrize(
    "request_",
    [
        ToolRequest(cast("str", None), "balance", '{"account_id": "A-1"}'),
        ToolRequest("x", cast("str", 5), "{}"),
        ToolRequest("x", cast("str", ["balance"]), "{}"),
        ToolRequest("x", "balance", cast("str", {"account_id": "A-1"})),
        ToolRequest("x" * 10_000, "y" * 10_000, "z" * 10_000),
        ToolRequest("\ud800", "\ud800", "\ud800"),
    ],
)
def test_a_request_of_any_shape_is_one_attempt(request_: ToolRequest) -> None:
    """An agent that breaks its types gets a refusal, and the log stays small and writable."""
    world = World()
    outcome = world.gateway.call(request_, timeout_ms=TIMEOUT_MS)

    good = request_.arguments == '{"account_id": "A-1"}'
    assert outcome.status == ("executed" if good else "rejected")
    assert len(json.dumps(world.attempt(), ensure_ascii=False).encode()) < 5000


def test_each_call_has_an_id_of_its_own() -> None:
    """An agent that repeats its own id cannot make two attempts look like one."""
    world = World()
    for _ in range(3):
        world.call("balance", account_id="A-1")
    entries = cast("tuple[dict[str, Any], ...]", world.log.drain())

    assert [entry["call_id"] for entry in entries] == ["call-0001", "call-0002", "call-0003"]
    assert {entry["requested_id"] for entry in entries} == {"asked-1"}


def test_two_actors_act_under_their_own_identity() -> None:
    """Gateways of one run share the log and nothing of their identities."""
    world = World()
    south = world.gateway_of(SecurityContext("ann", "bot", "south", ("read:*",)), actor="other")
    request = ToolRequest("x", "balance", '{"account_id": "B-1"}')

    assert south.call(request, timeout_ms=TIMEOUT_MS).status == "executed"
    assert world.gateway.call(request, timeout_ms=TIMEOUT_MS).reason == "not_found"
    actors = [entry["actor"] for entry in world.log.drain()]
    assert actors == ["other", "teller"]


def test_a_call_is_reported_as_spans_of_bounded_words() -> None:
    """The call and below it whatever it asked others; no digest, no identifier, no argument."""
    spans = Spans()
    world = World(grants=(GRANT,), telemetry=spans)
    world.call("send", account_id="A-1", amount=2000, key="k-1")

    tool = {"tool.name": "send", "tool.version": "2.1"}
    assert spans.seen == [
        ("authorization", 1, {"authorization.decision": "allow"}, ""),
        ("approval", 1, {"approval.result": "granted"}, ""),
        ("tool_execution", 1, tool, ""),
        (
            "tool_call",
            0,
            {
                **tool,
                "tool.status": "executed",
                "tool.reason": "ok",
                "tool.commit_belief": "committed",
                "tool.delivery": "delivered",
            },
            "",
        ),
    ]


def test_a_tool_that_nobody_knows_is_no_attribute() -> None:
    """What a model makes up cannot flood a telemetry backend."""
    spans = Spans()
    World(telemetry=spans).call("made-up-4711")

    assert spans.seen[0][2]["tool.name"] == "unknown"


def test_a_dead_telemetry_changes_nothing() -> None:
    """The outcome and the attempt are the same with and without."""
    worlds = World(), World(telemetry=DeadTelemetry())
    outcomes = [world.call("balance", account_id="A-1") for world in worlds]

    assert outcomes[0] == outcomes[1]
    assert worlds[0].attempt() == worlds[1].attempt()


def test_no_result_means_no_fields() -> None:
    """Whatever does not end as executed carries no result and no milestone."""
    outcome = World(client=replying(b"{", "not_applicable")).call("balance", account_id="A-1")

    assert (outcome.result, outcome.marks) == (None, ())
