"""The tool client: one transaction holds the effect and all that it stands on, or nothing of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from arh.canonical import Json, JsonValue
from arh.errors import DependencyFailure, HarnessError, RunStopped
from arh.records.authorization import Charge, Resource
from arh.records.execution import Execution, RawReply, Read, StoredOperation
from arh.records.state import CommitResult, Failed, Unknown
from arh.records.tools import Refused
from tests.unit.tools.client_bench import (
    SAW_ACCOUNT,
    Bench,
    Faulty,
    execution,
    grant,
    issue_credit,
    operation,
    reading,
    refused,
    tool,
)

# -- the whole of a write


def test_a_write_commits_its_effect_with_its_operation() -> None:
    """The effect and the operation's row are in one commit entry, and the reply names it."""
    bench = Bench()
    reply = bench.client.execute(execution())
    entry = bench.store.reader().changes_since(0)

    assert reply == RawReply(
        "delivered", "committed", b'{"ok":{"credit_id":"CR-0001"}}', entry=1, reads=SAW_ACCOUNT
    )
    assert [(c.collection, c.key) for c in entry[0].changes] == [
        ("_operations", "issue_credit\x1fk1"),
        ("credits", "CR-0001"),
    ]
    assert entry[0].operation == operation()
    assert bench.points == ["before_commit", "after_commit"]


def test_look_up_finds_the_committed_operation() -> None:
    """After a commit the look-up returns the operation with its reply, to its tenant alone."""
    bench = Bench()
    bench.client.execute(execution())
    found = [bench.client.look_up(tenant, "issue_credit", "k1") for tenant in ("acme", "rival")]

    assert found == [
        StoredOperation("op-k1", "d1", "committed", b'{"ok":{"credit_id":"CR-0001"}}'),
        None,
    ]


def test_look_up_is_by_tool_and_key() -> None:
    """Another key or another tool is another operation."""
    bench = Bench()
    bench.client.execute(execution())

    assert bench.client.look_up("acme", "issue_credit", "k2") is None
    assert bench.client.look_up("acme", "create_ticket", "k1") is None


def test_a_refused_write_leaves_nothing() -> None:
    """A handler's refusal rolls everything back: no operation, no redemption, no charge."""
    bench = Bench()
    before = bench.store.reader().digest()
    reply = bench.client.execute(
        execution(
            arguments=Json.of({"account": "A9"}),
            resources=(),
            grant=grant(),
            charges=(Charge("daily", 1, 10),),
        )
    )

    assert reply == refused("not_found", detail="account")
    assert bench.store.reader().digest() == before
    assert bench.points == []


# -- the handler is foreign code


def raising(_arguments: object, tx: Any, _call: object) -> JsonValue:  # noqa: ANN401 - as a pack writes it
    """Write, then break."""
    tx.put("credits", "C", {})
    raise KeyError("secret")


@pytest.mark.parametrize(
    ("handler", "cause"),
    [
        (raising, "KeyError"),
        (lambda _a, _t, _c: {1, 2}, "Refused"),
        (lambda _a, _t, _c: {"x": float("nan")}, "Refused"),
        (lambda _a, _t, _c: Refused("authorization_denied"), "ValueError"),
        (lambda _a, _t, _c: Refused("x-pack:"), "ValueError"),
        (lambda _a, _t, _c: Refused(cast("str", None)), "TypeError"),
        (lambda _a, _t, _c: Refused("not_found", cast("str", {1})), "Refused"),
        (lambda _a, t, _c: t.put("_limits", "daily", {"total": 0}), "PermissionError"),
        (lambda _a, t, _c: t.remove("_redemptions", "AP1"), "PermissionError"),
        (lambda _a, t, _c: t.put("credits", "C", [1]), "ValueError"),
        (lambda _a, t, _c: t.put("credits", "\ud800", {}), "UnicodeEncodeError"),
        (lambda a, _t, _c: a["no such argument"], "KeyError"),
        (lambda _a, _t, _c: (_ for _ in ()).throw(SystemExit), "SystemExit"),
    ],
)
def test_a_handler_that_breaks_changes_nothing(handler: object, cause: str) -> None:
    """What is no answer of the contract is a tool error, named by type, with nothing changed."""
    bench = Bench()
    before = bench.store.reader().digest()
    reply = bench.client.execute(execution(tool=tool(handler), grant=grant()))

    assert reply == RawReply("error", "not_committed", reason="tool_error", cause=cause)
    assert bench.store.reader().digest() == before


def test_a_pack_may_refuse_for_its_own_reason() -> None:
    """A reason of the pack's own goes through with its detail."""
    reply = Bench().client.execute(
        execution(tool=tool(lambda _a, _t, _c: Refused("x-support:closed", "why")))
    )

    assert reply == refused("x-support:closed", detail="why")


def test_a_handler_that_mutates_its_arguments_changes_nothing() -> None:
    """The handler gets a copy: what was authorised, and what a second run gets, stays."""
    seen: list[JsonValue] = []

    def greedy(arguments: dict[str, JsonValue], tx: object, call: object) -> JsonValue | Refused:
        seen.append(dict(arguments))
        result = issue_credit(arguments, tx, call)
        arguments.clear()
        arguments["account"] = "B1"
        return result

    bench = Bench()
    call = execution(tool=tool(greedy))
    bench.client.execute(call)
    bench.client.execute(replace(call, operation=operation("k2")))

    assert seen == [{"account": "A1"}, {"account": "A1"}]
    assert call.arguments == Json.of({"account": "A1"})


def test_a_result_is_what_it_was_when_it_was_returned() -> None:
    """A handler that changes its result afterwards changes no byte of the reply."""
    bench = Bench()
    result: dict[str, JsonValue] = {"credit_id": "C"}
    bench.at["before_commit"] = result.clear
    reply = bench.client.execute(execution(tool=tool(lambda _a, _t, _c: result)))

    assert reply.body == b'{"ok":{"credit_id":"C"}}'


def test_a_kept_transaction_is_void() -> None:
    """A handler that keeps its transaction and uses it in a later call only breaks itself."""
    kept: list[Any] = []

    def keeping(_arguments: object, tx: object, _call: object) -> JsonValue:
        kept.append(tx)
        kept[0].put("credits", "C", {})
        return {}

    bench = Bench()
    first = bench.client.execute(execution(tool=tool(keeping)))
    second = bench.client.execute(execution("k2", tool=tool(keeping)))

    assert (first.commit, second.commit) == ("committed", "not_committed")
    assert (second.reason, second.cause) == ("tool_error", "PermissionError")


def test_a_handler_knows_who_calls_when_and_under_which_key() -> None:
    """The call's facts are the trusted operation's, not the arguments'."""
    bench = Bench()
    bench.clock.ms = 42
    reply = bench.client.execute(
        execution(
            tool=tool(lambda _a, _t, c: [c.subject, c.tenant, c.key, c.now_ms(), c.new_id("X")])
        )
    )

    assert reply.body == b'{"ok":["ana","acme","k1",42,"X-0001"]}'


def test_our_own_errors_and_stops_pass_through() -> None:
    """A stopped run and a defect of ours are no reply of a tool."""

    def stopping(_arguments: object, _tx: object, _call: object) -> JsonValue:
        raise RunStopped("watchdog")

    def defective(_arguments: object, _tx: object, _call: object) -> JsonValue:
        raise HarnessError("ours")

    for handler, kind in ((stopping, RunStopped), (defective, HarnessError)):
        with pytest.raises(kind):
            Bench().client.execute(execution(tool=tool(handler)))


# -- reading tools


def test_a_reading_tool_sees_its_tenant_and_the_shared_records() -> None:
    """A read is delivered with every record and revision that it was shown, and commits nothing."""
    bench = Bench()

    def look(_arguments: object, tx: Any, _call: object) -> JsonValue:  # noqa: ANN401 - as a pack writes it
        found = [tx.get("accounts", "A1"), *tx.find("policies", {}), tx.get("accounts", "A1")]
        hidden = [tx.get("accounts", "B1"), *tx.find("accounts", {"id": "B1"})]
        return [len(found), len([record for record in hidden if record is not None])]

    reply = bench.client.execute(reading(look))

    assert reply == RawReply(
        "delivered",
        "not_applicable",
        b'{"ok":[3,0]}',
        reads=(Read("accounts", "A1", 1), Read("policies", "credit", 1)),
    )
    assert bench.store.reader().changes_since(0) == ()
    assert bench.points == []


def test_system_collections_are_hidden_from_handlers() -> None:
    """A handler finds nothing in a system collection, whatever it calls it."""
    bench = Bench()
    bench.client.execute(execution())
    sly = type("Sly", (str,), {"startswith": lambda *_: False})

    def look(_arguments: object, tx: Any, _call: object) -> JsonValue:  # noqa: ANN401 - as a pack writes it
        one = tx.get("_operations", "issue_credit\x1fk1")
        return [one, list(tx.find("_operations", {})), list(tx.find(sly("_operations"), {}))]

    assert bench.client.execute(reading(look)).body == b'{"ok":[null,[],[]]}'


@pytest.mark.parametrize("use", ["put", "remove"])
def test_a_reading_tool_cannot_write(use: str) -> None:
    """A tool that declares reads and writes is a tool error."""
    row: dict[str, JsonValue] = {}
    arguments = ("accounts", "A1", row) if use == "put" else ("accounts", "A1")
    bench = Bench()
    before = bench.store.reader().digest()
    reply = bench.client.execute(reading(lambda _a, tx, _c: getattr(tx, use)(*arguments)))

    assert reply == RawReply(
        "error", "not_applicable", reason="tool_error", cause="PermissionError"
    )
    assert bench.store.reader().digest() == before


def test_own_writes_are_no_evidence() -> None:
    """A record that the handler wrote itself is not among the reads."""

    def write_and_read(_arguments: object, tx: Any, _call: object) -> JsonValue:  # noqa: ANN401 - as a pack writes it
        tx.put("credits", "C", {})
        return [len(tx.find("credits", {})), tx.get("credits", "C").revision]

    reply = Bench().client.execute(execution(tool=tool(write_and_read)))

    assert (reply.body, reply.reads) == (b'{"ok":[1,1]}', ())


# -- what the decision saw


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (Resource("accounts", "A1", "acme", 2), refused("precondition_failed", "resource_moved")),
        (Resource("accounts", "A1", "*", 1), refused("precondition_failed", "resource_moved")),
        (Resource("accounts", "A1", None, None), refused("precondition_failed", "resource_moved")),
        (Resource("accounts", "A9", "acme", 1), refused("precondition_failed", "resource_moved")),
        (Resource("accounts", "B1", "rival", 1), refused("not_found", "resource_not_visible")),
    ],
)
def test_a_resource_that_is_not_as_decided_stops_the_write(
    resource: Resource, expected: RawReply
) -> None:
    """A write on another revision, owner or tenant than the decision saw changes nothing."""
    bench = Bench()
    before = bench.store.reader().digest()

    assert bench.client.execute(execution(resources=(resource,))) == expected
    assert bench.store.reader().digest() == before


def test_a_resource_that_moves_until_the_commit_stops_the_write() -> None:
    """The recheck holds until the commit: a change in between is a failed precondition."""
    bench = Bench()
    bench.at["before_commit"] = lambda: bench.write("accounts", "A1", {"status": "closed"})
    reply = bench.client.execute(execution(tool=tool(lambda _a, _t, _c: {})))

    assert reply == refused("precondition_failed", "conflict:accounts")
    assert bench.rows("credits") == []


def test_shared_and_absent_resources_can_be_as_decided() -> None:
    """A shared record and a record that does not exist are rechecked like any other."""
    resources = (Resource("policies", "credit", "*", 1), Resource("accounts", "A9", None, None))

    assert Bench().client.execute(execution(resources=resources)).commit == "committed"


# -- one operation, one effect


def test_of_two_open_attempts_one_commits() -> None:
    """Of two overlapping attempts at one operation one commits, the other is in flight."""
    bench = Bench()
    inner: list[RawReply] = []
    bench.at["before_commit"] = lambda: inner.append(bench.client.execute(execution()))
    outer = bench.client.execute(execution(grant=grant()))

    assert inner[0].commit == "committed"
    assert outer == RawReply(
        "error", "unknown", reason="in_flight", cause="operation_exists", reads=SAW_ACCOUNT
    )
    assert len(bench.rows("credits")) == 1
    assert bench.rows("_redemptions") == []


def test_overlapping_attempts_with_one_approval_are_in_flight_not_denied() -> None:
    """Where operation and approval both collide, the operation decides: a repeat will replay."""
    bench = Bench()
    call = execution(grant=grant(), charges=(Charge("daily", 1, 10),))
    bench.at["before_commit"] = lambda: cast("None", bench.client.execute(call))

    assert bench.client.execute(call).reason == "in_flight"


def test_an_operation_on_record_is_not_run_again() -> None:
    """An attempt at a committed operation runs no handler and changes nothing."""
    bench = Bench()
    bench.client.execute(execution())
    before = bench.store.reader().digest()
    again = bench.client.execute(execution(tool=tool(lambda *_: pytest.fail("ran again"))))

    assert again == RawReply("error", "unknown", reason="in_flight", cause="operation_exists")
    assert bench.store.reader().digest() == before


def test_a_key_that_belongs_to_other_arguments_is_refused() -> None:
    """The same key with another digest is a mismatch, also where the gateway did not see it."""
    bench = Bench()
    bench.client.execute(execution())

    reply = bench.client.execute(execution(operation=operation(digest="d2")))

    assert reply == refused("key_mismatch", "key_mismatch")


# -- approvals


def test_an_approval_is_redeemed_with_the_effect() -> None:
    """The redemption is in the commit of the effect, under the approval's id."""
    bench = Bench()
    bench.client.execute(execution(grant=grant()))
    changed = [c.collection for c in bench.store.reader().changes_since(0)[0].changes]

    assert changed == ["_operations", "_redemptions", "credits"]
    assert bench.rows("_redemptions") == [{"approver": "boss", "operation_id": "op-k1"}]


def test_a_used_approval_is_refused_for_another_operation() -> None:
    """A single-use approval that was redeemed approves nothing more, and nothing changes."""
    bench = Bench()
    bench.client.execute(execution(grant=grant()))
    before = bench.store.reader().digest()

    reply = bench.client.execute(execution("k2", grant=grant()))

    assert reply == refused("approval_denied", "approval_replayed")
    assert bench.store.reader().digest() == before


def test_an_approval_redeemed_by_another_meanwhile_is_refused() -> None:
    """Of two operations that use one approval at once, the second to commit is refused."""
    bench = Bench()
    inner = execution("k2", grant=grant())
    bench.at["before_commit"] = lambda: cast("None", bench.client.execute(inner))
    reply = bench.client.execute(execution(grant=grant()))

    assert reply == refused("approval_denied", "approval_replayed", reads=SAW_ACCOUNT)
    assert len(bench.rows("credits")) == 1


@pytest.mark.parametrize(
    "attempt",
    [
        execution(grant=grant(), tool=tool(raising)),
        execution(grant=grant(), tool=tool(lambda _a, _t, _c: Refused("not_found"))),
        execution(grant=grant(), charges=(Charge("daily", 11, 10),)),
        execution(grant=grant(), resources=(Resource("accounts", "A1", "acme", 7),)),
    ],
)
def test_an_attempt_that_came_to_nothing_leaves_the_approval_usable(attempt: Execution) -> None:
    """A rolled-back attempt redeems nothing: the repeat uses the same approval."""
    bench = Bench()
    first = bench.client.execute(attempt)
    second = bench.client.execute(execution(grant=grant()))

    assert (first.commit, second.commit) == ("not_committed", "committed")


def test_an_approval_for_many_uses_is_redeemed_by_each() -> None:
    """An approval that is not single use leaves a row for every operation."""
    bench = Bench()
    replies = [
        bench.client.execute(execution(key, grant=grant(single_use=False))) for key in ("k1", "k2")
    ]

    assert [reply.commit for reply in replies] == ["committed", "committed"]
    assert len(bench.rows("_redemptions")) == 2


# -- limits


def charged(key: str, amount: int, limit_max: int = 100) -> Execution:
    """Return a credit that is charged to the daily limit."""
    return execution(key, charges=(Charge("daily", amount, limit_max),))


def test_a_limit_may_be_used_up_but_not_passed() -> None:
    """A total of exactly the limit is allowed, one more is refused and changes nothing."""
    bench = Bench()
    first = bench.client.execute(charged("k1", 60))
    exact = bench.client.execute(charged("k2", 40))
    before = bench.store.reader().digest()
    over = bench.client.execute(charged("k3", 1))

    assert (first.commit, exact.commit) == ("committed", "committed")
    assert over == refused("limit_exceeded", "limit_exceeded")
    assert bench.store.reader().digest() == before
    assert bench.rows("_limits") == [{"total": 100}]


def test_the_first_charge_counts_as_well() -> None:
    """One more than the limit at once is refused, exactly the limit is not."""
    assert Bench().client.execute(charged("k1", 101)).reason == "limit_exceeded"
    assert Bench().client.execute(charged("k1", 100)).commit == "committed"


def test_a_negative_charge_gives_nothing_back() -> None:
    """A charge below zero is refused: it would make room for more."""
    bench = Bench()

    assert bench.client.execute(charged("k1", -1)).reason == "limit_exceeded"
    assert bench.rows("_limits") == []


def test_two_charges_at_once_cannot_pass_the_limit() -> None:
    """Of two overlapping charges, the second to commit must try again on the new total."""
    bench = Bench()
    bench.at["before_commit"] = lambda: cast("None", bench.client.execute(charged("k2", 60)))
    reply = bench.client.execute(charged("k1", 60))

    assert reply == refused("precondition_failed", "conflict:_limits", reads=SAW_ACCOUNT)
    assert bench.client.execute(charged("k1", 60)).reason == "limit_exceeded"


def test_charges_of_one_limit_add_up() -> None:
    """Two charges of one call to one limit are both counted."""
    twice = execution(charges=(Charge("daily", 60, 100), Charge("daily", 60, 100)))

    assert Bench().client.execute(twice).reason == "limit_exceeded"


# -- a store that fails


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            Failed(),
            RawReply("error", "not_committed", reason="dependency_error", cause="commit_failed"),
        ),
        (Unknown(), RawReply("timeout", "unknown", reason="timeout")),
        (DependencyFailure("timeout"), RawReply("timeout", "unknown", reason="timeout")),
        (
            DependencyFailure("rate_limited", 9),
            RawReply("error", "unknown", reason="rate_limited", retry_after_ms=9),
        ),
    ],
)
@pytest.mark.parametrize("committed", [False, True])
def test_a_commit_without_a_receipt_is_told_as_it_is(
    result: CommitResult | DependencyFailure,
    expected: RawReply,
    committed: bool,  # noqa: FBT001 - a case
) -> None:
    """A refused commit is certain, any other end is unknown, whichever of the two is true."""
    bench = Bench(lambda store: Faulty(store, commit=result, commits_first=committed))

    assert bench.client.execute(execution()) == replace(expected, reads=SAW_ACCOUNT)


@pytest.mark.parametrize(
    ("where", "reads"),
    [("transaction", ()), ("get _operations", ()), ("get accounts", ()), ("get _limits", ())],
)
def test_a_store_that_fails_before_the_commit_changes_nothing(
    where: str, reads: tuple[Read, ...]
) -> None:
    """A failed read is the dependency's symptom, with its retry-after, and nothing is committed."""
    bench = Bench(lambda store: Faulty(store, fails_on=where))
    reply = bench.client.execute(execution(charges=(Charge("daily", 1, 1),)))

    assert reply == RawReply(
        "error", "not_committed", reason="rate_limited", retry_after_ms=250, reads=reads
    )
    assert bench.store.reader().changes_since(0) == ()


def test_a_failed_read_of_a_reading_tool_is_told() -> None:
    """A reading tool's dependency failure has no bearing on any commit."""
    for where in ("transaction", "get accounts"):
        bench = Bench(partial(Faulty, fails_on=where))
        reply = bench.client.execute(reading(issue_credit))

        assert reply == RawReply(
            "error", "not_applicable", reason="rate_limited", retry_after_ms=250
        )


def test_a_look_up_that_fails_says_so() -> None:
    """A look-up in a store that cannot be read is no `not there`."""
    bench = Bench(lambda store: Faulty(store, fails_on="reader"))

    with pytest.raises(DependencyFailure):
        bench.client.look_up("acme", "issue_credit", "k1")


def test_a_write_that_is_late_is_rolled_back() -> None:
    """A handler that used more than the time it had has no effect; at the limit it has."""
    late, just = Bench(), Bench()

    def slow(ms: int, bench: Bench) -> Execution:
        def handler(_arguments: object, tx: Any, _call: object) -> JsonValue:  # noqa: ANN401 - as a pack writes it
            bench.clock.ms += ms
            tx.put("credits", "C", {})
            return {}

        return execution(tool=tool(handler))

    assert late.client.execute(slow(1001, late)) == RawReply(
        "timeout", "not_committed", reason="timeout"
    )
    assert late.rows("credits") == []
    assert just.client.execute(slow(1000, just)).commit == "committed"
