"""Any caller at the gateway: one attempt a call, one effect, no authority from arguments."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from arh.canonical import Json
from arh.errors import RunStopped
from arh.records.authorization import AuthorizationDecision, AuthorizationRequest, Charge, Resource
from arh.records.execution import Execution, RawReply, StoredOperation
from arh.records.messages import ToolRequest
from arh.records.outcomes import ToolOutcome
from arh.tools.checks import STATUSES
from tests.unit.tools.fakes import Point, allow
from tests.unit.tools.world import CLERK, GRANT, TIMEOUT_MS, World

TEXTS = st.text(st.characters(codec=None), max_size=40)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ACCOUNTS = st.sampled_from(["A-1", "B-1", "S-1", "Z-9"])
KEYS = st.sampled_from(["k1", "k2"])
AMOUNTS = st.sampled_from([1, 5, 1000, 1001, 2000, 10_000, 10_001, 0, -1, True, "5"])
PAYMENTS = st.fixed_dictionaries({"account_id": ACCOUNTS, "amount": AMOUNTS, "key": KEYS})
TOOLS = st.sampled_from(["balance", "send", "ping", "tick", "Send"]) | TEXTS
ARGUMENTS = (
    PAYMENTS
    | st.fixed_dictionaries({"account_id": ACCOUNTS | JSON})
    | st.dictionaries(TEXTS | st.just("amount"), JSON, max_size=4)
    | JSON
)
ARGUMENT_TEXTS = ARGUMENTS.map(json.dumps) | TEXTS
SCOPES = st.lists(
    st.sampled_from(
        ["read:account", "write:payment", "write:note", "read:*", "*:payment", "*:*", "*", "write:"]
    ),
    max_size=3,
).map(tuple)
SPOOFS = st.dictionaries(
    st.sampled_from(["tenant", "role", "user_id", "subject", "scopes", "approval_id", "actor"]),
    st.sampled_from(["north", "south", "admin", "boss", "*:*", True, ["*:*"], {"sub": "boss"}]),
    min_size=1,
)


@given(
    TOOLS,
    ARGUMENT_TEXTS,
    st.integers(-1, 3),
    st.none() | TEXTS,
    st.sampled_from(["", "gateway", "decided"]),
)
def test_every_call_is_exactly_one_attempt(
    tool: str, text: str, timeout_ms: int, key: str | None, stopped_at: str
) -> None:
    """Whatever is asked, in whatever shape, and also if the run is stopped meanwhile."""

    def checkpoint(point: str) -> None:
        if point == stopped_at:
            raise RunStopped("watchdog")

    world = World(checkpoint=checkpoint)
    outcome: ToolOutcome | None = None
    try:
        outcome = world.text(tool, text, timeout_ms=timeout_ms, metadata_key=key)
    except RunStopped as stop:
        assert stop.termination == "watchdog"  # noqa: PT017 - either end is right, with its attempt

    attempt = world.attempt()
    json.dumps(attempt, ensure_ascii=False).encode()
    if outcome is None:
        assert (attempt["status"], attempt["cause"]) == ("error", "interrupted")
    else:
        seen = (outcome.status, outcome.reason, outcome.commit_belief, outcome.delivery)
        told = ("status", "reason", "commit_belief", "delivery")
        assert seen == tuple(attempt[field] for field in told)
        assert (outcome.result is None) or outcome.status == "executed"
        assert attempt["stages"][-1] == ["returned", outcome.status]


@given(st.sampled_from(["balance", "send", "ping", "tick"]), PAYMENTS, SPOOFS, SCOPES, SCOPES)
def test_no_argument_ever_lends_authority(
    tool: str,
    payment: dict[str, Any],
    spoof: dict[str, Any],
    scopes: tuple[str, ...],
    actor_scopes: tuple[str, ...],
) -> None:
    """What names an identity, a tenant, a role or an approval never turns a denial into more."""
    fields = {"balance": ("account_id",), "ping": (), "tick": ()}.get(tool, tuple(payment))
    arguments = {name: payment[name] for name in fields}
    if tool == "ping":
        arguments["text"] = "x"
    context = replace(CLERK, scopes=scopes, actor_scopes=actor_scopes)
    plain = World(context=context).call(tool, **arguments)
    spoofed = World(context=context).call(tool, **{**arguments, **spoof})

    assert spoofed.status != "executed"
    assert plain.status == "executed" or spoofed.reason in {"arguments_invalid", plain.reason}


@given(PAYMENTS, SPOOFS, SCOPES, ACCOUNTS)
def test_no_argument_ever_changes_a_denial_of_the_decision_point(
    payment: dict[str, Any], spoof: dict[str, Any], scopes: tuple[str, ...], owner: str
) -> None:
    """Even where a schema would let such an argument through, the decision does not move."""
    world = World()
    request = AuthorizationRequest(
        "call-0001",
        replace(CLERK, scopes=scopes),
        "send",
        "2.1",
        "transactional",
        Json.of(payment),
        "digest",
        (Resource("accounts", "A-1", owner, 1),),
        0,
        1000,
    )
    plain = world.real_point.decide(request)
    spoofed = world.real_point.decide(replace(request, arguments=Json.of({**payment, **spoof})))

    assert plain == spoofed


@given(PAYMENTS, SCOPES, SCOPES)
def test_fewer_scopes_never_allow_more(
    payment: dict[str, Any], scopes: tuple[str, ...], more: tuple[str, ...]
) -> None:
    """Authority grows with what is held, and with nothing else."""
    fewer = World(context=replace(CLERK, scopes=scopes)).call("send", **payment)
    all_of_them = World(context=replace(CLERK, scopes=scopes + more)).call("send", **payment)

    assert fewer.status != "executed" or all_of_them.status == "executed"


FIELDS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "request_id": st.sampled_from(["call-0001", "call-0002", "", None]),
        "action_digest": st.just("0" * 64) | SCALARS,
        "status": st.sampled_from(["allow", "deny", "indeterminate", "Allow", "", None, True]),
        "reason": SCALARS,
        "decision_id": SCALARS,
        "rule": SCALARS,
        "require_approval": st.booleans() | SCALARS,
        "charges": st.sampled_from([(), [], None, (Charge("l", 1, 5),), (Charge("l", -1, 5),)]),
        "expires_at_ms": st.none() | st.integers(-5, 2000) | SCALARS,
        "latency_ms": st.integers(-5, 2000) | SCALARS,
    },
)


@given(FIELDS | JSON)
def test_only_a_well_formed_allowance_of_this_very_action_lets_a_call_through(made: Any) -> None:  # noqa: ANN401
    """Any other answer blocks, and never raises."""
    answers: list[AuthorizationDecision] = []

    def answer(request: AuthorizationRequest) -> Any:  # noqa: ANN401
        if not isinstance(made, dict) or not set(made) <= set(allow(request).__dataclass_fields__):
            return made
        answers.append(allow(request, **cast("dict[str, Any]", made)))
        return answers[0]

    world = World(point=Point(answer))
    outcome = world.call("ping", text="x")
    decision = world.attempt()["decision"]

    assert decision["status"] in STATUSES
    if outcome.status == "executed":
        (given_,) = answers
        assert (given_.status, given_.request_id) == ("allow", "call-0001")
        assert given_.require_approval is False
        assert 0 <= given_.latency_ms <= TIMEOUT_MS


class Unsteady:
    """The real client, which loses, garbles or fails replies as a plan says, before or after."""

    def __init__(self, plan: list[str]) -> None:
        """Follow the plan, then work."""
        self.plan = plan
        self.inner: Any = None

    def execute(self, execution: Execution) -> RawReply:
        """Execute as planned."""
        step = self.plan.pop(0) if self.plan else "work"
        if step == "not sent":
            return RawReply("timeout", "not_started")
        reply: RawReply = self.inner.execute(execution)
        if step == "lost":
            return replace(reply, delivery="timeout")
        return replace(reply, body=reply.body[:-1]) if step == "garbled" else reply

    def look_up(self, tenant: str, tool: str, key: str) -> StoredOperation | None:
        """Look up."""
        found: StoredOperation | None = self.inner.look_up(tenant, tool, key)
        return found


STEPS = st.lists(st.sampled_from(["work", "lost", "garbled", "not sent"]), max_size=8)
PLANS = st.lists(PAYMENTS, min_size=1, max_size=10)


@given(PLANS, STEPS)
def test_an_action_happens_at_most_once_and_only_if_it_was_allowed(
    calls: list[dict[str, Any]], plan: list[str]
) -> None:
    """Over any history of calls and lost replies: one effect a key, each under its allowance.

    Each effect has an approval of its own where it needs one, and limits are never exceeded.
    """
    grants = tuple(replace(GRANT, approval_id=f"approval-{n}") for n in range(2))
    client = Unsteady(plan)
    world = World(grants=grants, client=client)
    client.inner = world.real_client
    for call in calls:
        world.call("send", **call)
    attempts = {entry["call_id"]: cast("dict[str, Any]", entry) for entry in world.log.drain()}
    entries = world.store.reader().changes_since(0)
    amounts = []

    for entry in entries:
        operation = entry.operation
        attempt = attempts[operation.call_id]
        amounts.append(attempt["arguments"]["amount"])
        assert attempt["decision"]["status"] == "allow"
        assert attempt["argument_digest"] == operation.argument_digest
        assert attempt["entered"]
        assert (amounts[-1] > 1000) == (operation.approval_id != "")
    approvals = [entry.operation.approval_id for entry in entries if entry.operation.approval_id]
    assert all(count == 1 for count in Counter(e.operation.key for e in entries).values())
    assert len(set(approvals)) == len(approvals)
    assert sum(amounts) <= 8000
    assert world.payments() == len(entries)


@given(PLANS, STEPS)
def test_what_a_caller_believes_is_never_wrong(
    calls: list[dict[str, Any]], plan: list[str]
) -> None:
    """Committed and replayed mean that it is committed, not committed that this call did not."""
    client = Unsteady(plan)
    world = World(grants=(GRANT,), client=client)
    client.inner = world.real_client
    outcomes = [world.call("send", **call) for call in calls]
    ids = [entry["call_id"] for entry in world.log.drain()]
    committed = {
        entry.operation.operation_id: entry.operation.call_id
        for entry in world.store.reader().changes_since(0)
    }

    for call_id, outcome in zip(ids, outcomes, strict=True):
        if outcome.commit_belief in {"committed", "replayed"}:
            assert outcome.operation_id in committed
        if outcome.commit_belief in {"not_started", "not_committed"}:
            assert call_id not in committed.values()


def own_or(hidden: str, call: dict[str, Any]) -> str:
    """Return the caller's own account where the call names it, else the hidden one."""
    return "A-1" if call["account_id"] == "A-1" else hidden


@given(PLANS, st.booleans())
def test_a_foreign_record_is_never_told_from_an_absent_one(
    calls: list[dict[str, Any]],
    approved: bool,  # noqa: FBT001
) -> None:
    """A history with accounts of another tenant reads like one with accounts of nobody."""
    told = []
    for hidden in ("B-1", "Z-9"):
        world = World(grants=(replace(GRANT, scope=Json.of({"key": "k1"})),) if approved else ())
        history = [
            world.call(
                "send", **{**call, "account_id": "A-1" if call["account_id"] == "A-1" else hidden}
            )
            for call in calls
        ]
        told.append([replace(outcome, operation_id="") for outcome in history])

    assert told[0] == told[1]


def test_the_same_request_twice_is_two_attempts() -> None:
    """The count is of calls, not of ids that an agent made up."""
    world = World()
    request = ToolRequest("x", "balance", '{"account_id": "A-1"}')
    for _ in range(2):
        world.gateway.call(request, timeout_ms=TIMEOUT_MS)

    assert len(world.log.drain()) == 2
