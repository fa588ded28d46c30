"""The outcome evaluator's further duties: collateral change, doubt about writes, counts."""

from __future__ import annotations

from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.harness.evaluators.outcome import OutcomeEvaluator
from arh.records.control.verdict import EvaluationResult
from arh.records.tools import Effect
from arh.testing.evidence_builder import RunBuilder, put, remove
from arh.testing.examples import a_scenario, small_pack, tool

TICKET: dict[str, JsonValue] = {
    "account_id": "A-1",
    "category": "billing",
    "incident_ref": "EVT-402",
    "status": "open",
}


def a_run() -> RunBuilder:
    """Two accounts and an old ticket before, a new ticket after."""
    run = RunBuilder()
    for name in ("A-1", "A-2"):
        run.seed("accounts", name, {"account_id": name, "plan": "pro", "seats": 1})
    run.seed("tickets", "T-1", TICKET)
    new = put("tickets", "T-2", {**TICKET, "account_id": "A-2"})
    run.call("create_ticket", {"idempotency_key": "t"}, writes=[new])
    return run


def change(run: RunBuilder, *writes: Any) -> RunBuilder:  # noqa: ANN401 - writes
    """The run goes on with a change of something else."""
    run.call("update", {"idempotency_key": f"u{len(run.calls)}"}, writes=list(writes))
    return run


NEW: dict[str, Any] = {"collection": "tickets", "where": {"account_id": "A-2"}}
SEATS: dict[str, Any] = {"collection": "accounts", "fields": ["seats"]}
MORE_SEATS = put("accounts", "A-1", {"account_id": "A-1", "plan": "pro", "seats": 2})
OTHER_PLAN = put("accounts", "A-1", {"account_id": "A-1", "plan": "free", "seats": 2})


def test_an_expected_change_is_no_collateral_and_the_rest_is_counted() -> None:
    """The report says how much did not change."""
    result = judged(a_run(), [NEW])

    assert (result.status, result.summary) == ("pass", "3 of 3 records unchanged")
    assert facts(result)["collateral_changes"] == (0, 1)


def test_nothing_expected_means_that_nothing_may_change() -> None:
    """An empty list allows no change, and no list at all asks for no report."""
    assert judged(a_run(), []).status == "fail"
    assert judged(a_run(), None).status == "not_applicable"


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            put("tickets", "T-3", TICKET),
            "tickets T-3: the record was absent and became there, which nothing expected",
        ),
        (
            remove("tickets", "T-1"),
            "tickets T-1: the record was there and became absent, which nothing expected",
        ),
        (
            put("tickets", "T-1", {**TICKET, "status": "closed"}),
            "tickets T-1: status was `open` and became `closed`, which nothing expected",
        ),
        (
            OTHER_PLAN,
            "accounts A-1: plan was `pro` and became `free`, which nothing expected",
        ),
        (
            put("accounts", "A-1", {"account_id": "A-1", "plan": "pro", "seats": 1, "vip": True}),
            "accounts A-1: vip was absent and became true, which nothing expected",
        ),
    ],
)
def test_each_unexpected_change_is_named_by_record_and_field(write: Any, message: str) -> None:  # noqa: ANN401
    """With the value before and after, and the commit that did it."""
    run = change(a_run(), write)
    result = judged(run, [NEW, SEATS])

    assert [f.message for f in result.findings if f.severity == "fail"] == [message]
    assert result.findings[0].events == (run.commits[-1].event_id,)


def test_a_field_that_may_change_may() -> None:
    """Only the named field of that collection."""
    assert judged(change(a_run(), MORE_SEATS), [NEW, SEATS]).status == "pass"
    assert judged(change(a_run(), MORE_SEATS), [NEW]).status == "fail"


@pytest.mark.parametrize("fields", [None, ["account_id", "category", "note", "sku", "status"]])
def test_one_record_more_than_may_change_is_collateral(fields: list[str] | None) -> None:
    """Whatever it holds, and however often the first one changes."""
    rows = [put("tickets", f"T-{n}", {"account_id": "A-2", "sku": n}) for n in (7, 7, 8)]
    run = change(change(change(RunBuilder(), rows[0]), rows[1]), rows[2])
    entry = {**NEW, "fields": fields}

    message = "T-8 is one too many: 2 tickets where account_id is `A-2` changed, at most 1 allowed"
    assert collateral(run, entry) == [f"tickets {message}"]
    assert collateral(run, {**entry, "at_most": 2}) == []
    assert collateral(run, entry, {"collection": "tickets"}) == []


def test_a_change_that_was_taken_back_was_a_change() -> None:
    """The last state is as it was; twice a commit touched what nothing expected."""
    back = put("accounts", "A-1", {"account_id": "A-1", "plan": "pro", "seats": 2})
    run = change(change(a_run(), OTHER_PLAN), back)
    result = judged(run, [NEW, SEATS])

    assert [f.message for f in result.findings] == [
        "accounts A-1: plan was `pro` and became `free`, which nothing expected",
        "accounts A-1: plan was `free` and became `pro`, which nothing expected",
    ]


def test_a_change_without_a_commit_is_collateral_too() -> None:
    """Somebody edited the world: no commit accounts for it, and nothing expected it."""
    result = judged(a_run().tamper(OTHER_PLAN), [NEW, SEATS])

    assert {f.rule for f in result.findings} == {
        "outcome.state_inconsistent",
        "outcome.collateral_change",
    }


def test_bookkeeping_of_the_store_is_no_collateral() -> None:
    """Operations and redemptions are the store's own."""
    assert any(c["collection"] == "_operations" for c in a_run().commits[0].changes)
    assert judged(a_run(), [NEW]).status == "pass"


# --- writes in doubt -----------------------------------------------------------------------------


def test_the_store_settles_what_its_caller_could_not_know() -> None:
    """The reply was lost and the entry is there: nothing is unresolved."""
    run = RunBuilder()
    run.call("create_ticket", {"idempotency_key": "t"}, writes=[put("tickets", "T", {})], lost=True)

    assert doubted(run, present("tickets")) == ("pass", 0)


def test_a_store_that_cannot_be_read_settles_nothing() -> None:
    """Without the last state a lost reply stays a question."""
    run = RunBuilder()
    run.call("create_ticket", {"idempotency_key": "t"}, writes=[put("tickets", "T", {})], lost=True)

    assert doubted(run, present("tickets"), final=None) == ("indeterminate", 1)


@pytest.mark.parametrize("effect", [Effect.REMOTE, Effect.KEYED_REMOTE])
def test_a_remote_effect_in_doubt_is_neither_pass_nor_fail(effect: Effect) -> None:
    """The store holds the intent only; whatever it shows, the remote may have acted."""
    run = RunBuilder()
    call = {"idempotency_key": "t"}
    run.call("pay", dict(call), writes=(), reason="timeout", commit_belief="unknown")

    assert doubted(run, present("tickets"), effect=effect) == ("indeterminate", 1)
    assert doubted(run, absent("tickets"), effect=effect) == ("indeterminate", 1)


def test_a_remote_effect_that_was_looked_up_is_settled() -> None:
    """The last word of the operation counts."""
    run = RunBuilder()
    call = {"idempotency_key": "t"}
    run.call("pay", dict(call), writes=(), reason="timeout", commit_belief="unknown")
    run.call("pay", dict(call), writes=())

    assert doubted(run, absent("tickets"), effect=Effect.KEYED_REMOTE) == ("pass", 0)


def test_a_violated_invariant_outweighs_every_doubt() -> None:
    """What is certain fails, whatever else is open."""
    run = a_run()
    run.call("pay", {"idempotency_key": "p"}, writes=(), reason="x", commit_belief="unknown")
    scenario = a_scenario({"invariants": [absent("side_effects")]})
    pack = small_pack(tools=(*small_pack().tools, tool("pay", Effect.REMOTE)))
    result = OutcomeEvaluator().evaluate(run.build(), scenario, pack)

    assert result.status == "fail"


# --- counts --------------------------------------------------------------------------------------


def test_duplicates_are_told_by_the_business_key() -> None:
    """Two keys, one business: a duplicate. Another account: none."""
    twice, other = a_run(), a_run()
    change(twice, put("tickets", "T-3", {**TICKET, "account_id": "A-2"}))
    change(other, put("tickets", "T-3", {**TICKET, "account_id": "A-3"}))

    assert facts(judged(twice, [NEW]))["duplicate_effects"] == (1, 1)
    assert facts(judged(other, [NEW]))["duplicate_effects"] == (0, 2)


def test_a_repeatable_tool_makes_no_duplicates() -> None:
    """Each of its calls is an operation of its own."""
    run = a_run()
    run.call("create_ticket", {"idempotency_key": "v"}, writes=[put("tickets", "T-3", TICKET)])
    run.call("create_ticket", {"idempotency_key": "w"}, writes=[put("tickets", "T-4", TICKET)])
    repeatable = tool("create_ticket", Effect.TRANSACTIONAL, repeatable=True)
    scenario = a_scenario({"acceptable_outcomes": [{"all_of": [present("tickets")]}]})

    once = OutcomeEvaluator().evaluate(run.build(), scenario, small_pack())
    often = OutcomeEvaluator().evaluate(run.build(), scenario, small_pack(tools=(repeatable,)))
    assert facts(once)["duplicate_effects"] == (1, 2)
    assert facts(often)["duplicate_effects"] == (0, 3)


def test_an_undecided_outcome_counts_as_no_success_and_does_not_vanish() -> None:
    """It stays in the denominator."""
    scenario = a_scenario({"acceptable_outcomes": [{"all_of": [present("nowhere")]}]})
    result = OutcomeEvaluator().evaluate(a_run().build(), scenario, small_pack())

    assert (result.status, facts(result)["outcome_success"]) == ("indeterminate", (0, 1))
    assert (result.checks, result.unread) == (0, 1)


def test_the_nearest_of_several_alternatives_explains_the_miss() -> None:
    """The one with the least wrong is shown, with what is wrong in it."""
    outcomes = [
        {"all_of": [absent("tickets"), present("credits")]},
        {"all_of": [present("tickets"), present("credits")]},
    ]
    result = OutcomeEvaluator().evaluate(
        a_run().build(), a_scenario({"acceptable_outcomes": outcomes}), small_pack()
    )

    assert result.summary == (
        "nearest of 2 acceptable outcomes is 2: expected a row in credits, found no row"
    )


def test_evidence_is_left_as_it_was() -> None:
    """Judging twice gives the same, and changes nothing."""
    evidence = change(a_run(), OTHER_PLAN).build()
    before = repr(evidence)
    scenario = a_scenario({"unchanged_except": [NEW]})
    results = [OutcomeEvaluator().evaluate(evidence, scenario, small_pack()) for _ in range(2)]

    assert results[0] == results[1]
    assert repr(evidence) == before


def present(collection: str) -> dict[str, Any]:
    """There is such a row."""
    return {"kind": "present", "collection": collection}


def absent(collection: str) -> dict[str, Any]:
    """There is no such row."""
    return {"kind": "absent", "collection": collection}


def judged(run: RunBuilder, unchanged: list[dict[str, Any]] | None) -> EvaluationResult:
    """The result where only changes are spoken of."""
    scenario = a_scenario({"unchanged_except": unchanged})
    return OutcomeEvaluator().evaluate(run.build(), scenario, small_pack())


def collateral(run: RunBuilder, *unchanged: dict[str, Any]) -> list[str]:
    """What the evaluator says of changes that nothing expected."""
    findings = judged(run, list(unchanged)).findings
    return [f.message for f in findings if f.rule == "outcome.collateral_change"]


def doubted(
    run: RunBuilder,
    assertion: dict[str, Any],
    *,
    effect: Effect = Effect.REMOTE,
    **fields: Any,  # noqa: ANN401 - of the evidence
) -> tuple[str, int]:
    """The status with one acceptable outcome, and how many operations stay unresolved."""
    pack = small_pack(tools=(*small_pack().tools, tool("pay", effect)))
    scenario = a_scenario({"acceptable_outcomes": [{"all_of": [assertion]}]})
    result = OutcomeEvaluator().evaluate(run.build(**fields), scenario, pack)
    return result.status, facts(result)["unresolved_operations"][0]


def facts(result: EvaluationResult) -> dict[str, tuple[int, int]]:
    """The counts by name."""
    return {fact.name: (fact.numerator, fact.denominator) for fact in result.facts}
