"""What a committed write may name: what its actor was told before, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from arh.harness.evaluators.grounding import GroundingEvaluator
from arh.testing.evidence_builder import RunBuilder, put
from arh.testing.examples import a_scenario, small_pack

PACK = small_pack(identifiers=(r"\bA-[0-9]{3,8}\b", r"\bEVT-[0-9]+\b"))
TICKET: dict[str, Any] = {"account_id": "A-1007", "idempotency_key": "EVT-999"}


def written(summary: str, *, commits: bool = True) -> RunBuilder:
    """A run in which a ticket is asked for with this summary, and EVT-402 and 49.00 are known."""
    run = RunBuilder().user("A-1007 was charged $49.00 twice.")
    run.call("get_account", {"account_id": "A-1007"}, result={"incident": "EVT-402"})
    arguments = {**TICKET, "summary": summary}
    writes = [put("tickets", "TK-1", {"summary": summary})] if commits else []
    run.call("create_ticket", arguments, writes=writes, decision="allow" if commits else "deny")
    return run


def invented(run: RunBuilder) -> list[str]:
    """What the evaluator says was made up."""
    result = GroundingEvaluator().evaluate(run.build(), a_scenario(), PACK)
    rule = "grounding.invented_argument"
    return [f.found for f in result.findings if f.rule == rule and f.severity == "fail"]


@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ("Charged twice during EVT-402.", []),
        ("Charged $49.00 twice.", []),
        ("Charged twice during EVT-403.", ["`EVT-403`"]),
        ("A-1007 and A-2222 were charged.", ["`A-2222`"]),
        ("Charged $731.55 twice.", ["`$731.55`"]),
    ],
)
def test_a_write_names_only_what_was_told(summary: str, found: list[str]) -> None:
    """By the user or by a tool; the key of the request is the agent's own."""
    assert invented(written(summary)) == found


def test_what_was_told_afterwards_was_made_up_before() -> None:
    """A later turn does not make it true."""
    assert invented(written("During EVT-403.").user("It was EVT-403.")) == ["`EVT-403`"]


def test_a_write_that_came_to_nothing_tells_nobody_anything() -> None:
    """Only what is committed is read by others."""
    assert invented(written("During EVT-403.", commits=False)) == []


def test_a_credit_may_tell_of_its_own_amount() -> None:
    """The amount is what the tool was asked to move, and is judged as that."""
    run = RunBuilder().user("A-1007 is due a credit.")
    credit: dict[str, Any] = {"account_id": "A-1007", "amount": 2500, "idempotency_key": "k"}
    for reason in ("Goodwill of $25.00", "Goodwill of $26.00"):
        writes = [put("credits", reason, {"reason": reason})]
        run.call("issue_credit", {**credit, "reason": reason}, writes=writes)

    assert invented(run) == ["`$26.00`"]


def test_a_gap_in_the_evidence_leaves_it_open() -> None:
    """What is missing from the record may have been where it was told."""
    run = written("During EVT-403.").discrepancy("gap", "a reply is missing")
    result = GroundingEvaluator().evaluate(run.build(), a_scenario(), PACK)

    assert result.status == "indeterminate"


def test_a_run_without_an_answer_is_judged_by_what_it_wrote_and_praised_for_nothing() -> None:
    """Without an invention there is still nothing to judge."""
    results = [
        GroundingEvaluator().evaluate(written(text).build(), a_scenario(), PACK).status
        for text in ("During EVT-402.", "During EVT-403.")
    ]

    assert results == ["not_applicable", "fail"]
