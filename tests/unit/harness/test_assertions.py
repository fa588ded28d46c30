"""Each kind of assertion: when it holds, when it does not, when that cannot be told."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from arh.harness.authoring.assertion_rules import KINDS
from arh.harness.vocabulary.assertion_kinds import Holds
from arh.harness.vocabulary.assertions import States, evaluate
from arh.records.control.scenario import Assertion
from arh.testing.evidence_builder import RunBuilder, put, remove

IDENTITIES = frozenset({("support-agent-role", "tenant-a")})


def assertion(kind: str, collection: str = "tickets", **fields: Any) -> Assertion:  # noqa: ANN401
    """The assertion as an author writes it."""
    text = json.dumps({"kind": kind, "collection": collection, **fields})
    return Assertion.model_validate_json(text)


def a_run() -> RunBuilder:
    """Two accounts, an open ticket that gets closed, a new one, and a credit that is taken back."""
    run = RunBuilder()
    run.seed("accounts", "A-1", {"account_id": "A-1", "plan": {"name": "pro", "seats": 3}})
    run.seed("accounts", "A-2", {"account_id": "A-2", "plan": None})
    run.seed("tickets", "T-1", {"account_id": "A-1", "status": "open", "cost": 100})
    closed = put("tickets", "T-1", {"account_id": "A-1", "status": "closed", "cost": 100})
    created = put("tickets", "T-2", {"account_id": "A-2", "status": "open", "cost": 250})
    run.call("close_ticket", {"idempotency_key": "1"}, writes=[closed])
    run.call("create_ticket", {"idempotency_key": "2"}, writes=[created])
    run.call(
        "issue_credit", {"idempotency_key": "3"}, writes=[put("credits", "C-1", {"amount": 5})]
    )
    run.call("undo", {"idempotency_key": "4"}, writes=[remove("credits", "C-1")])
    return run


T1, T2 = {"account_id": "A-1"}, {"account_id": "A-2"}


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        (assertion("count", expected=2), True),
        (assertion("count", expected=1), False),
        (assertion("count", where=T1, expected=1), True),
        (assertion("count", where={"status": "lost"}, expected=0), True),
        (assertion("present", where=T2), True),
        (assertion("present", where={"account_id": "A-3"}), False),
        (assertion("absent", where={"account_id": "A-3"}), True),
        (assertion("absent", where=T1), False),
        (assertion("field_match", where=T1, field="status", expected="closed"), True),
        (assertion("field_match", field="status", expected="closed"), False),
        (assertion("field_match", where={"x": 1}, field="status", expected="closed"), False),
        (assertion("field_match", where=T1, field="lost", expected=None), False),
        (assertion("range", field="cost", minimum=100, maximum=250), True),
        (assertion("range", field="cost", minimum=101), False),
        (assertion("range", field="cost", maximum=249), False),
        (assertion("range", field="status", minimum=0), False),
        (assertion("range", where={"x": 1}, field="cost", minimum=0), False),
        (assertion("set_equals", field="account_id", expected=["A-2", "A-1", "A-1"]), True),
        (assertion("set_equals", field="account_id", expected=["A-1"]), False),
        (assertion("set_equals", field="lost", expected=[]), False),
        (assertion("set_contains", field="account_id", expected=["A-1"]), True),
        (assertion("set_contains", field="account_id", expected=["A-1", "A-3"]), False),
        (
            assertion(
                "cross_match",
                field="account_id",
                other_collection="accounts",
                other_field="account_id",
            ),
            True,
        ),
        (
            assertion(
                "cross_match", field="status", other_collection="accounts", other_field="account_id"
            ),
            False,
        ),
        (
            assertion(
                "cross_match",
                where={"x": 1},
                field="account_id",
                other_collection="accounts",
                other_field="account_id",
            ),
            False,
        ),
        (assertion("total", field="cost", expected=350), True),
        (assertion("total", field="cost", expected=349), False),
        (assertion("total", field="cost", minimum=350, maximum=350), True),
        (assertion("total", field="cost", maximum=349), False),
        (assertion("total", field="status", expected=0), False),
        (assertion("total", where={"x": 1}, field="cost", expected=0), True),
        (
            assertion("transition", where=T1, field="status", before="open", expected="closed"),
            True,
        ),
        (
            assertion("transition", where=T2, field="status", before="open", expected="open"),
            False,
        ),
        (
            assertion("transition", where=T1, field="status", before="new", expected="closed"),
            False,
        ),
        (
            assertion("transition", where={"x": 1}, field="status", before="a", expected="b"),
            False,
        ),
        (assertion("revision", where=T1, expected=2), True),
        (assertion("revision", where=T1, expected=1), False),
        (assertion("revision", where={"x": 1}, expected=0), True),
        (assertion("revision", where=T1, expected=0), False),
        (assertion("tenant_isolated"), True),
        (assertion("ever_committed", "credits", where={"amount": 5}), True),
        (assertion("ever_committed", "credits", where={"amount": 6}), False),
        (assertion("never_committed", "credits", where={"amount": 6}), True),
        (assertion("never_committed", "credits"), False),
        (assertion("never_committed", "accounts"), True),
    ],
)
def test_a_kind_holds_exactly_when_it_says_so(given: Assertion, holds: object) -> None:
    """True or false over a state that can be read, and never true over nothing by default."""
    assert answer(given).holds is holds


def test_every_kind_of_the_vocabulary_is_judged() -> None:
    """No kind that an author may write is unknown to the rules or to the evaluator."""
    kinds = set(get_args(Assertion.model_fields["kind"].annotation))

    assert kinds == set(KINDS)
    assert all(answer(assertion(kind)).expected for kind in kinds)


@pytest.mark.parametrize(
    ("written", "expected", "holds"),
    [
        (True, 1, False),
        (1, True, False),
        (1, 1, True),
        (1.5, 1.5, True),
        (None, None, True),
        (0, False, False),
        ("1", 1, False),
        ([1, {"a": True}], [1, {"a": True}], True),
        ([1, {"a": True}], [1, {"a": 1}], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ],
)
def test_values_are_compared_as_json(written: Any, expected: Any, holds: object) -> None:  # noqa: ANN401
    """True is not 1, text is not a number, and the order of an object's keys is nothing."""
    run = RunBuilder().seed("tickets", "T-1", {"v": written})
    given = assertion("field_match", field="v", expected=expected)

    assert answer(given, run).holds is holds
    assert answer(assertion("count", where={"v": expected}, expected=1), run).holds is holds


@pytest.mark.parametrize(
    "given",
    [
        assertion("count", "nowhere", expected=0),
        assertion("absent", "nowhere"),
        assertion("total", "nowhere", field="x", expected=0),
        assertion("tenant_isolated", "nowhere"),
        assertion(
            "cross_match", field="status", other_collection="nowhere", other_field="account_id"
        ),
        assertion("count", expected=True),
        assertion("count"),
        assertion("field_match", expected=1),
        assertion("range", field="cost"),
        assertion("set_contains", field="cost", expected=[]),
        assertion("set_equals", field="cost", expected=1),
        assertion("total", field="cost"),
        assertion("transition", before=1, expected=2),
        assertion("revision", expected="1"),
        assertion("cross_match", field="status", other_collection="accounts"),
    ],
)
def test_what_cannot_be_read_or_was_not_said_is_undecided(given: Assertion) -> None:
    """A source that is not there, or a comparison with nothing, neither holds nor fails."""
    assert answer(given).holds is None


def test_history_that_cannot_be_read_is_undecided() -> None:
    """One broken change leaves open what was ever committed, but not what is there now."""
    run = a_run()
    evidence = run.build()
    broken = type(run.commits[0])(
        **{n: getattr(run.commits[0], n) for n in run.commits[0].__slots__} | {"changes": ({},)}
    )
    states = States(evidence.initial, evidence.final, (broken, *evidence.commits[1:]))

    for kind in ("ever_committed", "never_committed", "tenant_isolated"):
        assert evaluate(assertion(kind), states).holds is None
    assert evaluate(assertion("absent", "side_effects"), states).holds is None
    assert evaluate(assertion("count", expected=2), states).holds is True


def test_a_dotted_name_walks_into_objects() -> None:
    """A name that is a field as it stands wins; what is not there equals nothing."""
    run = RunBuilder().seed("tickets", "T-1", {"a": {"b": 1}, "c.d": 2, "c": {"d": 3}})

    found = [
        answer(assertion("present", where={name: value}), run).holds
        for name, value in [("a.b", 1), ("a.x", None), ("a.b.c", 1), ("c.d", 2), ("c.d", 3)]
    ]
    assert found == [True, False, False, True, False]


def test_the_records_own_tenant_key_and_revision_can_be_asked_for() -> None:
    """They are the store's, whatever the value says of itself."""
    run = RunBuilder().seed("tickets", "T-1", {"tenant": "tenant-a"}, tenant="tenant-b")
    where = {"record.tenant": "tenant-b", "record.key": "T-1", "record.revision": 1}

    assert answer(assertion("count", where=where, expected=1), run).holds is True


def test_side_effects_are_one_row_a_changed_business_record() -> None:
    """Bookkeeping is none, a removal is one, and the payload is what was written."""
    where = {
        "kind": "issue_credit",
        "entity_id": "C-1",
        "payload.amount": 5,
        "collection": "credits",
    }

    assert answer(assertion("count", "side_effects", expected=4)).holds is True
    assert answer(assertion("count", "side_effects", where=where, expected=1)).holds is True
    undone = assertion(
        "field_match", "side_effects", where={"kind": "undo"}, field="payload", expected={}
    )
    assert answer(undone).holds is True


def test_a_row_written_for_another_tenant_is_found() -> None:
    """By the trusted identities, also where the commit entry lies about its own tenant."""
    run = RunBuilder()
    run.call("create_ticket", {}, writes=[put("tickets", "T-1", {}, tenant="tenant-b")])
    lying = RunBuilder(tenant="tenant-b")
    lying.call("create_ticket", {}, writes=[put("tickets", "T-1", {})])

    assert answer(assertion("tenant_isolated"), run).holds is False
    assert answer(assertion("tenant_isolated"), lying).holds is False
    assert answer(assertion("tenant_isolated"), lying, identities=frozenset()).holds is True


def test_a_row_that_changed_hands_is_found() -> None:
    """The record was one tenant's and is another's, by whatever way."""
    run = RunBuilder().seed("tickets", "T-1", {}, tenant="tenant-b")
    run.tamper(remove("tickets", "T-1", tenant="tenant-b")).tamper(put("tickets", "T-1", {}))

    assert answer(assertion("tenant_isolated"), run).holds is False
    assert answer(assertion("tenant_isolated", where={"x": 1}), run).holds is True


@pytest.mark.parametrize(
    ("given", "expected", "found"),
    [
        (
            assertion("count", where=T1, expected=2),
            "exactly 2 in tickets where account_id is `A-1`",
            "1 row: T-1",
        ),
        (
            assertion("total", field="cost", maximum=0),
            "a sum of cost of at most 0 in tickets",
            "350",
        ),
        (
            assertion("never_committed", "credits"),
            "no commit that ever wrote credits",
            "committed: 1 row: C-1 amount 5 (0.05)",
        ),
        (
            assertion("transition", where=T2, field="status", before="open", expected="closed"),
            "status from `open` to `closed` in every row of tickets where account_id is `A-2`",
            "T-2 from no row to `open`",
        ),
    ],
)
def test_an_answer_reads_as_one_plain_line(given: Assertion, expected: str, found: str) -> None:
    """With values, names and amounts, for a person who has never seen the code."""
    result = answer(given)

    assert (result.expected, result.found) == (expected, found)


def test_hostile_text_cannot_forge_a_line() -> None:
    """Keys and values of the state are shown escaped."""
    run = RunBuilder().seed("tickets", "T\nPASS", {"status": "`\x1b[2J"})
    result = answer(assertion("field_match", field="status", expected="open"), run)

    assert result.found == r"T\nPASS with status `\x60\x1b[2J`"


def answer(
    given: Assertion,
    run: RunBuilder | None = None,
    *,
    identities: frozenset[tuple[str, str]] = IDENTITIES,
) -> Holds:
    """The answer over the states of a run."""
    evidence = (run or a_run()).build()
    states = States(
        evidence.initial,
        evidence.final,
        evidence.commits,
        identities=identities,
        amounts=frozenset({"amount"}),
    )
    return evaluate(given, states)
