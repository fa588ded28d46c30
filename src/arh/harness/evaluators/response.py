"""Response: whether the final answer has the form and the words that the scenario demands.

Deterministic checks of text and form, and no more: they say nothing about whether the answer is
true, which is for grounding. References are whole tokens in any case of letters. A forbidden phrase
counts only where the sentence does not deny it, so that "No parcel was sent" may be said where
"parcel was sent" may not. JSON is read strictly and schemas are never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from arh import schema
from arh.canonical import Json, Refused
from arh.errors import quoted, safe
from arh.harness.judging.claims import Answer, answers_of
from arh.harness.judging.doubts import capped, doubts, unsettled
from arh.harness.judging.heard import Heard
from arh.harness.vocabulary.rules import conclude, finding
from arh.harness.vocabulary.texts import denies, holds_token, plain, reach, sentences
from arh.harness.vocabulary.wording import plural
from arh.records.control.evidence import Evidence
from arh.records.control.scenario import ResponseRules, Scenario
from arh.records.control.verdict import EvaluationResult, Fact, Finding
from arh.records.packs import WorkflowPack

UNREADABLE: Final = "response.unreadable"
WINDOW_CHARS: Final = 300
_MESSAGE_CHARS_MAX: Final = 160
_BY_ABSENCE: Final = frozenset(
    {"response.no_answer", "response.reference_missing", "response.unknown_evidence_ref"}
)


class ResponseEvaluator:
    """Judges the final answers by declared checks; without any it says nothing."""

    id = "response"
    version = "1.0"
    needs: tuple[str, ...] = ("finishes",)

    def evaluate(
        self, evidence: Evidence, scenario: Scenario, pack: WorkflowPack
    ) -> EvaluationResult:
        """Return pass only if there is an answer and it stands every declared check."""
        rules = _rules(scenario)
        declared = _declared(rules)
        if not declared:
            return EvaluationResult(
                self.id, self.version, "not_applicable", "no check of the answer is declared"
            )
        answers = answers_of(evidence, pack)
        found = _findings(rules, answers, evidence, pack) if answers else [_silent(evidence)]
        open_ = doubts(evidence, UNREADABLE)
        judged = unsettled(found, _BY_ABSENCE, UNREADABLE) if open_ else found
        findings = (*judged, *open_)
        failed = len({(each.rule, each.expected) for each in findings if each.severity == "fail"})
        worst = next((each.message for each in findings), "")
        return EvaluationResult(
            evaluator=self.id,
            version=self.version,
            status=conclude(findings, "pass"),
            summary=worst or f"{plural(declared, 'check')} of the answer held",
            findings=capped(findings),
            facts=(Fact("response_checks", max(0, declared - failed), declared),),
            checks=declared,
            unread=len(open_),
        )


def _rules(scenario: Scenario) -> ResponseRules:
    """Return the declared checks; an answer owes its output contract without being told twice."""
    rules, contract = scenario.expectations.response.deterministic, scenario.runtime.output_contract
    if contract is None:
        return rules
    schemas = [contract, *([] if rules.json_schema is None else [rules.json_schema])]
    return rules.model_copy(update={"json_schema": {"allOf": schemas}})


def _declared(rules: ResponseRules) -> int:
    """Return how many checks are declared."""
    flags = (rules.must_be_valid_json, rules.json_schema is not None, rules.evidence_refs_exist)
    texts = (_references(rules), rules.forbidden_references, rules.forbidden_substrings)
    return sum(flags) + sum(map(len, texts))


def _references(rules: ResponseRules) -> list[str]:
    wanted = rules.must_reference
    return [wanted] if isinstance(wanted, str) else wanted


def _silent(evidence: Evidence) -> Finding:
    ended = safe(evidence.termination) or "nothing known"
    return finding(
        "response.no_answer",
        f"there is no final answer: the run ended as {ended}",
        expected="an answer",
        found="none",
        events=(finish.event_id for finish in evidence.finishes),
    )


def _findings(
    rules: ResponseRules, answers: Sequence[Answer], evidence: Evidence, pack: WorkflowPack
) -> list[Finding]:
    """Return what is wrong with the answers: one must name what is demanded, none may do wrong."""
    found = list(_missing(rules, answers))
    for answer in answers:
        found += _forbidden(rules, answer)
        found += _form(rules, answer)
        if rules.evidence_refs_exist:
            found += _unknown_refs(answer, evidence, pack)
    return found


def _missing(rules: ResponseRules, answers: Sequence[Answer]) -> Iterator[Finding]:
    for wanted in _references(rules):
        if not any(holds_token(answer.text, plain(wanted)) for answer in answers):
            yield finding(
                "response.reference_missing",
                f"the answer does not name {quoted(wanted)}",
                expected=quoted(wanted),
                found="not named",
                events=(answer.event_id for answer in answers),
            )


def _forbidden(rules: ResponseRules, answer: Answer) -> Iterator[Finding]:
    for unwanted in rules.forbidden_references:
        if holds_token(answer.text, plain(unwanted)):
            yield _said("response.forbidden_reference", unwanted, "named", answer)
    for phrase in rules.forbidden_substrings:
        sentence = _asserting(answer.text, phrase)
        if sentence:
            words = quoted(sentence, chars_max=_MESSAGE_CHARS_MAX)
            yield _said("response.forbidden_phrase", phrase, words, answer)


def _said(rule: str, unwanted: str, found: str, answer: Answer) -> Finding:
    return finding(
        rule,
        f"the answer says {quoted(unwanted)}, which it must not: {found}",
        expected=f"no {quoted(unwanted)}",
        found=found,
        events=(answer.event_id,),
    )


def _asserting(text: str, phrase: str) -> str:
    """Return what says the phrase and does not deny it, or nothing."""
    wanted = _phrase(plain(phrase))
    if not wanted.search(text):
        return ""
    within = False
    for sentence in sentences(text):
        for found in wanted.finditer(sentence):
            within = True
            low = max(0, found.start() - WINDOW_CHARS)
            window = sentence[low : found.end() + WINDOW_CHARS]
            if not denies(reach(window, found.start() - low, found.end() - low)):
                return window
    # A phrase that spans sentences has no sentence that could deny it.
    return "" if within else phrase


@lru_cache(maxsize=256)
def _phrase(phrase: str) -> re.Pattern[str]:
    """Return a search for the phrase in any case, with any white space between its words."""
    return re.compile(r"\s+".join(map(re.escape, phrase.split())), re.IGNORECASE)


def _form(rules: ResponseRules, answer: Answer) -> Iterator[Finding]:
    """Yield why the answer is no JSON, or not the JSON that is demanded."""
    if answer.value is None and (rules.must_be_valid_json or rules.json_schema is not None):
        yield finding(
            "response.invalid_json",
            f"the answer is no valid JSON: {quoted(answer.text, chars_max=_MESSAGE_CHARS_MAX)}",
            expected="JSON",
            found="prose",
            events=(answer.event_id,),
        )
    elif rules.json_schema is not None:
        problem = _schema_problem(rules, answer)
        if problem:
            yield finding(
                "response.schema_mismatch",
                f"the answer does not fit its schema: {problem}",
                expected="what the schema demands",
                found=problem,
                events=(answer.event_id,),
            )


def _schema_problem(rules: ResponseRules, answer: Answer) -> str:
    try:
        document = Json.of(rules.json_schema)
    except Refused as refused:
        return f"the schema is no JSON value: {refused.reason}"
    return "; ".join(schema.compiled(document).problems(answer.value))


def _unknown_refs(answer: Answer, evidence: Evidence, pack: WorkflowPack) -> Iterator[Finding]:
    """Yield each evidence reference that no tool returned; an answer without any has none."""
    refs = answer.envelope.evidence_refs if answer.envelope is not None else ()
    heard = Heard(evidence, pack, answer.actor)
    heard.listen(answer.seq)
    known = heard.refs()
    unknown = [quoted(ref) for ref in dict.fromkeys(refs) if ref not in known]
    if not refs:
        unknown = ["no reference at all"]
    for ref in unknown:
        yield finding(
            "response.unknown_evidence_ref",
            f"the answer's evidence is {ref}, which no tool returned"
            if refs
            else "the answer names no evidence",
            expected="references that tools returned",
            found=ref,
            events=(answer.event_id,),
        )
