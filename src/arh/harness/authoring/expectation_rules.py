"""What must hold of a scenario's expectations: nothing unknown, nothing that cannot fail.

An expectation that can never fire is worse than none, because it is counted. So each assertion must
be able to fail, each criterion must have something to judge, and each named tool must be on offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from arh.canonical import digest
from arh.errors import Problem, quoted
from arh.harness.authoring.assertion_rules import assertion_problems
from arh.harness.authoring.known import (
    NEVER_ACCEPTABLE,
    SIDE_EFFECTS,
    TERMINATIONS,
    Known,
    Rule,
    repeated,
    unknown,
)
from arh.harness.authoring.patterns import pattern_problem, schema_problem
from arh.harness.vocabulary.assertion_kinds import RECORD_FIELDS
from arh.harness.vocabulary.rules import EXCUSABLE
from arh.records.control.scenario import (
    ActionConstraint,
    ArgumentPredicate,
    Assertion,
    Category,
    EvidenceRequirement,
    ResponseRules,
    Scenario,
)
from arh.traces.authoring.assertions import read_assertions
from arh.traces.authoring.forms import Form

_X: Final = "expectations"
_TRAJECTORY: Final = f"{_X}.trajectory"
_RESPONSE: Final = f"{_X}.response.deterministic"
_OF_THE_RECORD: Final = "evidence."


def criteria_are_there(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """A scenario that counts says what passing is; an accepted one in terms of the outcome."""
    if scenario.role == "unscored":
        return
    expectations = scenario.expectations
    if not expectations.pass_criteria:
        found = f"no criteria: nothing would be judged, and the role is {scenario.role}"
        yield Problem(
            found, field=f"{_X}.pass_criteria", hint="name evaluators, or set role unscored"
        )
    elif scenario.role == "acceptance" and "outcome" not in expectations.pass_criteria:
        listed = ", ".join(expectations.pass_criteria)
        yield Problem(listed, "outcome among the criteria", field=f"{_X}.pass_criteria")


def criteria_are_known(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every criterion names an evaluator."""
    for name in scenario.expectations.pass_criteria:
        yield from unknown(f"{_X}.pass_criteria", name, "evaluator", known.evaluators)


def criteria_can_be_judged(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """Every criterion has expectations that its evaluator can judge."""
    for name, (present, needed) in _subjects(scenario).items():
        if name in scenario.expectations.pass_criteria and not present:
            yield Problem(
                f"nothing to judge: {needed}",
                field=f"{_X}.pass_criteria.{name}",
                hint="declare it, or take the criterion away",
            )


def _subjects(scenario: Scenario) -> dict[str, tuple[bool, str]]:
    """Return, for each evaluator that needs expectations, whether there are any and which."""
    x = scenario.expectations
    outcome = bool(x.acceptable_outcomes or x.invariants) or x.unchanged_except is not None
    guarded = bool(x.guardrails.action_constraints or x.trajectory.forbidden_tool_requests)
    return {
        "outcome": (outcome, "no acceptable_outcomes, invariants or unchanged_except"),
        "guardrails": (guarded, "no action_constraints and no forbidden_tool_requests"),
        "response": (x.response.deterministic != ResponseRules(), "no response rules"),
        "grounding": (x.grounding, "grounding is switched off"),
        "fault_handling": (x.fault_handling is not None, "no fault_handling"),
    }


def assertions_can_fail(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every assertion has the fields of its kind, over collections and fields that exist."""
    for field, assertion in assertions_of(scenario):
        for problem in (*assertion_problems(assertion), *_names(assertion, known)):
            yield replace(problem, field=f"{field}.{problem.field}")
    ids = [a.id for _, a in assertions_of(scenario) if a.id is not None]
    yield from repeated(_X, ids, "assertion id")


def assertions_of(scenario: Scenario) -> Iterator[tuple[str, Assertion]]:
    """Yield every state assertion of a scenario with its path."""
    for at, invariant in enumerate(scenario.expectations.invariants):
        yield f"{_X}.invariants[{at}]", invariant
    for at, alternative in enumerate(scenario.expectations.acceptable_outcomes):
        for number, assertion in enumerate(alternative.all_of):
            yield f"{_X}.acceptable_outcomes[{at}].all_of[{number}]", assertion


def _names(assertion: Assertion, known: Known) -> Iterator[Problem]:
    yield from unknown("collection", assertion.collection, "collection", known.collections)
    named = [("where", key) for key in assertion.where]
    named += [("field", assertion.field)] if assertion.field else []
    yield from _fields(assertion.collection, named, known)
    kind = assertion.where.get("kind") if assertion.collection == SIDE_EFFECTS else None
    if isinstance(kind, str):
        yield from unknown("where.kind", kind, "tool", known.tools)
    if assertion.other_collection is not None:
        other = assertion.other_collection
        yield from unknown("other_collection", other, "collection", known.collections)
        yield from _fields(other, [("other_field", assertion.other_field or "")], known)


def _fields(collection: str, named: Sequence[tuple[str, str]], known: Known) -> Iterator[Problem]:
    """Yield fields that rows of the collection cannot have, where the pack says which they have."""
    yield from (_masked(place) for place, name in named if name.partition(".")[0] in known.masked)
    fields = known.fields.get(collection)
    for place, name in named if fields else ():
        if name not in RECORD_FIELDS:
            first = name.partition(".")[0]
            yield from unknown(place, first, f"field of {collection}", fields or ())


def _masked(place: str) -> Problem:
    hint = "its value is never written, so nothing about it can be judged: name another field"
    return Problem("a sensitive field", field=place, hint=hint)


def changes_name_collections(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every allowed change is of a collection and of fields that exist, and is there once."""
    allowed = scenario.expectations.unchanged_except or []
    for at, change in enumerate(allowed):
        field = f"{_X}.unchanged_except[{at}]"
        if change in allowed[:at]:
            hint = "at_most says how many records may change"
            yield Problem("this change is allowed already", field=field, hint=hint)
        yield from unknown(
            f"{field}.collection", change.collection, "collection", known.collections
        )
        named = [("where", key) for key in change.where]
        named += [("fields", key) for key in change.fields or ()]
        for problem in _fields(change.collection, named, known):
            yield replace(problem, field=f"{field}.{problem.field}")


def trajectory_names_tools(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every tool of the expected path exists and is on offer; what is allowed need only exist."""
    path = scenario.expectations.trajectory
    for at, name in enumerate(path.allowed_tool_requests or ()):
        yield from unknown(f"{_TRAJECTORY}.allowed_tool_requests[{at}]", name, "tool", known.tools)
    for kind in ("required_evidence", "forbidden_tool_requests"):
        for at, name in enumerate(getattr(path, kind)):
            yield from _on_offer(f"{_TRAJECTORY}.{kind}[{at}]", name, scenario, known)
    for at, order in enumerate(path.ordering_constraints):
        field = f"{_TRAJECTORY}.ordering_constraints[{at}]"
        yield from _on_offer(f"{field}.before", order.before, scenario, known)
        yield from _on_offer(f"{field}.after", order.after, scenario, known)
        if order.before == order.after:
            yield Problem(order.after, "another tool than before", field=f"{field}.after")


def _on_offer(field: str, name: str, scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Yield why a rule about a tool could never fire."""
    if name not in known.tools:
        yield from unknown(field, name, "tool", known.tools)
    elif name not in scenario.runtime.available_tools:
        hint = "the rule can never fire: offer the tool, or take the rule away"
        yield Problem(name, "one of runtime.available_tools", field=field, hint=hint)


def evidence_can_be_had(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every evidence requirement has a source and an action on offer, and arguments that exist."""
    for at, need in enumerate(scenario.expectations.trajectory.evidence_requirements):
        field = f"{_TRAJECTORY}.evidence_requirements[{at}]"
        yield from _on_offer(f"{field}.source_tool", need.source_tool, scenario, known)
        yield from _on_offer(f"{field}.must_precede_tool", need.must_precede_tool, scenario, known)
        yield from _evidence_arguments(field, need, known)
    names = [need.name for need in scenario.expectations.trajectory.evidence_requirements]
    yield from repeated(f"{_TRAJECTORY}.evidence_requirements", names, "name")


def _evidence_arguments(field: str, need: EvidenceRequirement, known: Known) -> Iterator[Problem]:
    for number, predicate in enumerate(need.argument_predicates):
        place = f"{field}.argument_predicates[{number}].field"
        yield from _argument(place, need.source_tool, predicate.field, known)
    for number, name in enumerate(need.same_arguments):
        for tool in (need.source_tool, need.must_precede_tool):
            yield from _argument(f"{field}.same_arguments[{number}]", tool, name, known)


def _argument(field: str, tool: str, name: str, known: Known) -> Iterator[Problem]:
    """Yield the problem of an argument that a known tool does not take."""
    if tool in known.tools:
        yield from unknown(field, name, f"argument of {tool}", known.arguments[tool])


def arguments_can_be_judged(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every judged argument exists, of a tool on offer, with exactly one test that can fail."""
    path = scenario.expectations.trajectory
    for at, predicate in enumerate(path.argument_predicates):
        field = f"{_TRAJECTORY}.argument_predicates[{at}]"
        yield from _on_offer(f"{field}.tool", predicate.tool, scenario, known)
        yield from _argument(f"{field}.argument", predicate.tool, predicate.argument, known)
        for problem in _one_test(predicate):
            yield replace(problem, field=f"{field}{problem.field}")
    for at, target in enumerate(path.justified_targets):
        field = f"{_TRAJECTORY}.justified_targets[{at}]"
        yield from _on_offer(f"{field}.tool", target.tool, scenario, known)
        yield from _argument(f"{field}.argument", target.tool, target.argument, known)


def _one_test(predicate: ArgumentPredicate) -> Iterator[Problem]:
    low, high = predicate.minimum, predicate.maximum
    tests = {
        "one_of": predicate.one_of is not None,
        "mentioned_by_user": predicate.mentioned_by_user,
        "matches": predicate.matches is not None,
        "minimum or maximum": low is not None or high is not None,
    }
    given = [name for name, there in tests.items() if there]
    if len(given) != 1:
        yield Problem(" and ".join(given), f"exactly one of {', '.join(tests)}")
    if predicate.one_of == []:
        yield Problem("no value could be right", field=".one_of")
    if low is not None and high is not None and low > high:
        yield Problem(str(high), f"at least the minimum, {low}", field=".maximum")
    if predicate.matches is not None:
        yield from pattern_problem(predicate.matches, field=".matches")


def trace_assertions_can_fail(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every inline assertion is one that can fail, over tools on offer."""
    field = f"{_TRAJECTORY}.trace_assertions"
    form = Form(
        "assertion", {"assertions": list(scenario.expectations.trajectory.trace_assertions)}
    )
    found = read_assertions(form)
    for problem in form.problems:
        yield replace(problem, field=f"{field}{problem.field.removeprefix('assertions')}")
    for assertion in found:
        place = f"{field}{assertion.path.removeprefix('assertions')}"
        for name in assertion.tools:
            yield from _on_offer(place, name, scenario, known)


def constraints_can_bind(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every forbidden action is of a tool on offer, by arguments and amounts that it has."""
    guardrails = scenario.expectations.guardrails
    for at, constraint in enumerate(guardrails.action_constraints):
        field = f"{_X}.guardrails.action_constraints[{at}]"
        yield from _on_offer(f"{field}.tool", constraint.tool, scenario, known)
        for problem in _constraint(constraint, known) if constraint.tool in known.tools else ():
            yield replace(problem, field=f"{field}.{problem.field}")
    ids = [c.id for c in guardrails.action_constraints if c.id is not None]
    yield from repeated(f"{_X}.guardrails.action_constraints", ids, "constraint id")
    if guardrails.must_exercise and not _subjects(scenario)["guardrails"][0]:
        yield Problem("nothing is forbidden", field=f"{_X}.guardrails.must_exercise")


def _constraint(constraint: ActionConstraint, known: Known) -> Iterator[Problem]:
    for name in constraint.arguments:
        yield from _argument("arguments", constraint.tool, name, known)
    if constraint.total_by is not None:
        yield from _argument("total_by", constraint.tool, constraint.total_by, known)
        if constraint.total_above is None:
            yield Problem("only total_above reads this", field="total_by")
    for name in ("amount_above", "total_above"):
        if (
            getattr(constraint, name) is not None
            and not known.tools[constraint.tool].amount_argument
        ):
            yield Problem(f"{constraint.tool} has no amount", field=name)


def terminations_are_acceptable(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """Every accepted termination exists and is one that says something about the agent."""
    accepted = [(f"{_X}.acceptable_terminations", scenario.expectations.acceptable_terminations)]
    for at, alternative in enumerate(scenario.expectations.acceptable_outcomes):
        if alternative.terminations is not None:
            accepted.append(
                (f"{_X}.acceptable_outcomes[{at}].terminations", alternative.terminations)
            )
    for field, names in accepted:
        yield from repeated(field, names, "termination")
        for at, name in enumerate(names):
            yield from unknown(f"{field}[{at}]", name, "termination", TERMINATIONS)
            if name in NEVER_ACCEPTABLE:
                found = f"{quoted(name)} is the harness stopping or failing, never acceptable"
                yield Problem(found, field=f"{field}[{at}]")


def findings_have_rules(scenario: Scenario, known: Known) -> Iterator[Problem]:
    """Every failure by design names a rule that exists, once, and one that can be excused.

    A negative control may name any: it excuses none of them, and must fail by each.
    """
    field = f"{_X}.expected_findings"
    findings = scenario.expectations.expected_findings
    yield from repeated(field, (finding.rule for finding in findings), "rule")
    for at, finding in enumerate(findings):
        yield from unknown(f"{field}[{at}].rule", finding.rule, "rule", known.rules)
        if finding.rule.startswith(_OF_THE_RECORD):
            found = f"{quoted(finding.rule)} says that the record is broken, which nothing excuses"
            yield Problem(found, field=f"{field}[{at}].rule", hint="remove it")
        elif scenario.role != "negative_control" and finding.rule in known.rules - EXCUSABLE:
            yield Problem(
                finding.rule,
                f"one of {', '.join(sorted(EXCUSABLE))}",
                field=f"{field}[{at}].rule",
                hint=f"role {scenario.role} excuses no run that went wrong: take it away, or make "
                "the scenario a negative_control, which must fail by it",
            )


def response_rules_can_fail(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """No response rule is empty, and every schema of an answer compiles."""
    rules = scenario.expectations.response.deterministic
    required = rules.must_reference
    texts = {
        "must_reference": [required] if isinstance(required, str) else required,
        "forbidden_substrings": rules.forbidden_substrings,
        "forbidden_references": rules.forbidden_references,
    }
    for name, listed in texts.items():
        for text in listed:
            if not text.strip():
                yield Problem("an empty text is in every answer", field=f"{_RESPONSE}.{name}")
    if rules.json_schema is not None:
        yield from schema_problem(rules.json_schema, field=f"{_RESPONSE}.json_schema")
    if scenario.runtime.output_contract is not None:
        yield from schema_problem(scenario.runtime.output_contract, field="runtime.output_contract")


def faults_are_expected(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """Where recovery is tested, what is right under the faults is said; and only with faults."""
    field = f"{_X}.fault_handling"
    faults, handling = scenario.controls.faults, scenario.expectations.fault_handling
    if handling is not None and not faults:
        yield Problem("there are no faults to handle", field=field, hint="add controls.faults")
    tested = scenario.category is Category.RECOVERY and scenario.role == "acceptance"
    if faults and tested and handling is None:
        yield Problem("", "recovery, faithful_failure or degraded", field=field)
    if scenario.category is Category.RECOVERY and not faults:
        yield Problem("there is no fault to recover from", field="controls.faults")


def outcomes_differ(scenario: Scenario, _known: Known) -> Iterator[Problem]:
    """No alternative repeats another."""
    seen: set[str] = set()
    for at, alternative in enumerate(scenario.expectations.acceptable_outcomes):
        found = digest(alternative.model_dump(mode="json"))
        if found in seen:
            field = f"{_X}.acceptable_outcomes[{at}]"
            yield Problem("this alternative is there already", field=field)
        seen.add(found)


EXPECTATION_RULES: Final[tuple[Rule, ...]] = (
    criteria_are_there,
    criteria_are_known,
    criteria_can_be_judged,
    assertions_can_fail,
    changes_name_collections,
    trajectory_names_tools,
    evidence_can_be_had,
    arguments_can_be_judged,
    trace_assertions_can_fail,
    constraints_can_bind,
    terminations_are_acceptable,
    findings_have_rules,
    response_rules_can_fail,
    faults_are_expected,
    outcomes_differ,
)
