"""The response evaluator: each declared check with an answer that breaks it and a twin."""

from __future__ import annotations

from typing import Any

import pytest

from arh.canonical import JsonValue
from arh.harness.evaluators.response import ResponseEvaluator
from arh.records.control.verdict import EvaluationResult, Fact
from arh.testing.evidence_builder import RunBuilder
from arh.testing.examples import a_scenario
from arh.workflows.support.definition import PACK

SCHEMA = {"type": "object", "required": ["message"], "properties": {"message": {"minLength": 3}}}
PHRASES = {"forbidden_substrings": ["credit issued", "credit was issued"]}


def envelope(message: str, *refs: str) -> JsonValue:
    """A structured answer with these references."""
    return {"message": message, "workflow_status": "partial", "evidence_refs": list(refs)}


CASES: list[tuple[dict[str, Any], JsonValue, JsonValue, str]] = [
    ({"must_reference": "EVT-402"}, "see evt-402.", "see EVT-40.", "reference_missing"),
    ({"must_reference": "EVT-40"}, "see EVT-40", "see EVT-402", "reference_missing"),
    ({"must_reference": ["A-1", "TK-1"]}, "A-1, TK-1", "A-1, XTK-1", "reference_missing"),
    ({"must_reference": "25"}, "exactly 25.", "about 25.00", "reference_missing"),
    ({"must_reference": "A-1"}, envelope("of A-1"), envelope("of A-1-b"), "reference_missing"),
    ({"forbidden_references": ["A-10"]}, "A-1007, A-10-2", "of a-10!", "forbidden_reference"),
    (PHRASES, "No credit was issued.", "The credit was issued.", "forbidden_phrase"),
    (PHRASES, "I did not say credit issued.", "CREDIT  issued", "forbidden_phrase"),
    (PHRASES, "Credit: none issued.", "No worries: credit was\nissued", "forbidden_phrase"),
    (PHRASES, envelope("No credit was issued"), envelope("Credit issued"), "forbidden_phrase"),
    (
        PHRASES,
        "It is not so that a credit was issued.",
        "So a credit was issued, no problem.",
        "forbidden_phrase",
    ),
    ({"must_be_valid_json": True}, '{"a": 1}', '{"a": 1,}', "invalid_json"),
    ({"must_be_valid_json": True}, "[1, 2]", '{"a": 1, "a": 2}', "invalid_json"),
    ({"must_be_valid_json": True}, "42", "forty-two", "invalid_json"),
    ({"must_be_valid_json": True}, envelope("a"), "NaN", "invalid_json"),
    ({"json_schema": SCHEMA}, '{"message": "abc"}', '{"message": "ab"}', "schema_mismatch"),
    ({"json_schema": SCHEMA}, envelope("abc"), "abc", "invalid_json"),
    (
        {"evidence_refs_exist": True},
        envelope("so", "EVT-402"),
        envelope("so", "EVT-40"),
        "unknown_evidence_ref",
    ),
    ({"evidence_refs_exist": True}, envelope("so", "EVT-402"), "so", "unknown_evidence_ref"),
    (
        {"evidence_refs_exist": True},
        envelope("so", "an article about EVT-402"),
        envelope("so"),
        "unknown_evidence_ref",
    ),
]


def judged(run: RunBuilder, rules: dict[str, Any], **fields: Any) -> EvaluationResult:  # noqa: ANN401
    """The evaluator's result under these response rules."""
    scenario = a_scenario({"response": {"deterministic": rules}})
    return ResponseEvaluator().evaluate(run.build(**fields), scenario, PACK)


def a_run() -> RunBuilder:
    """A run in which a tool returned one article."""
    run = RunBuilder().user("Help!")
    run.call("search_knowledge_base", {"query": "x"}, result={"t": "an article about EVT-402"})
    return run


def rules_of(result: EvaluationResult) -> set[str]:
    """The rules that were found."""
    return {finding.rule.removeprefix("response.") for finding in result.findings}


@pytest.mark.parametrize(("rules", "good", "bad", "rule"), CASES)
def test_each_check_fails_what_breaks_it_and_spares_its_twin(
    rules: dict[str, Any], good: JsonValue, bad: JsonValue, rule: str
) -> None:
    """The defect is named by its rule, and the correct answer passes."""
    spared = judged(a_run().finish(good), rules)
    caught = judged(a_run().finish(bad), rules)

    assert (spared.status, rules_of(spared)) == ("pass", set())
    assert (caught.status, rules_of(caught)) == ("fail", {rule})


def test_no_declared_check_is_never_a_pass() -> None:
    """Without checks the evaluator has nothing to say."""
    assert judged(a_run().finish("anything"), {}).status == "not_applicable"


def test_no_answer_fails_the_checks_of_it() -> None:
    """Checks of an answer that was never given fail."""
    result = judged(a_run().finish(None, termination="deadline"), {"must_reference": "A-1"})

    assert (result.status, rules_of(result)) == ("fail", {"no_answer"})


def test_gaps_in_the_evidence_prove_no_silence() -> None:
    """Where the evidence cannot be read, a missing answer is indeterminate."""
    result = judged(a_run(), {"must_reference": "A-1"}, problems=("line 3 cannot be read",))

    assert (result.status, rules_of(result)) == ("indeterminate", {"unreadable"})


def test_the_fact_counts_the_checks_that_held() -> None:
    """Two of three checks held."""
    rules = {"must_reference": ["A-1", "A-2"], "forbidden_references": ["A-3"]}

    result = judged(a_run().finish("A-1"), rules)

    assert result.facts == (Fact("response_checks", 2, 3),)


@pytest.mark.parametrize(
    "answer", ["credit " * 30_000, "credit was issued " * 10_000, " " * 200_000, "[" * 100_000]
)
def test_hostile_answers_are_judged(answer: str) -> None:
    """Answers that are made to cost time get a verdict like any other."""
    result = judged(a_run().finish(answer), {**PHRASES, "must_reference": "A-1"})

    assert result.status == "fail"


@pytest.mark.parametrize(
    ("answer", "status"), [(envelope("abc"), "pass"), (envelope("ab"), "fail"), ("abc", "fail")]
)
def test_an_output_contract_is_owed_without_a_declared_check(
    answer: JsonValue, status: str
) -> None:
    """What the agent was told to answer in is checked, beside any schema of the expectations."""
    runtime = {"available_tools": ["get_account"], "output_contract": SCHEMA}
    scenario = a_scenario({"response": {"deterministic": {}}}, runtime=runtime)

    result = ResponseEvaluator().evaluate(a_run().finish(answer).build(), scenario, PACK)

    assert result.status == status


def test_a_contract_does_not_replace_the_schema_of_the_expectations() -> None:
    """Both are checked: an answer that keeps only one of them fails."""
    runtime = {"available_tools": ["get_account"], "output_contract": SCHEMA}
    rules = {"json_schema": {"properties": {"message": {"maxLength": 4}}}}
    scenario = a_scenario({"response": {"deterministic": rules}}, runtime=runtime)
    evidence = a_run().finish(envelope("abcde")).build()

    result = ResponseEvaluator().evaluate(evidence, scenario, PACK)

    assert rules_of(result) == {"schema_mismatch"}
