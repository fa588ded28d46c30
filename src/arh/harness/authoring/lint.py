"""Warns of scenarios that load and still prove little: broad counts, checks that cannot fail.

What is wrong is refused by the loader. Here is what is only weak, one small rule each, with an id
that never changes. A warning decides nothing. The date of today is an argument, like all else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, TypeAlias

from arh import canonical
from arh.errors import quoted, safe
from arh.harness.authoring.content import closed_arguments, judged_names, left_out, written_by
from arh.harness.authoring.datasets import DatasetCatalogue
from arh.harness.authoring.expectation_rules import assertions_of
from arh.harness.authoring.known import properties
from arh.harness.authoring.scenario_loader import LoadedSuite
from arh.harness.vocabulary.assertion_kinds import RECORD_FIELDS
from arh.records.control.plan import Located
from arh.records.control.scenario import (
    Assertion,
    Category,
    ResponseRules,
    Scenario,
    Trajectory,
)
from arh.records.packs import CollectionSpec, WorkflowPack
from arh.records.upgrade import NEVER_REVIEWED

REVIEW_DAYS: Final = 365
IDLE: Final = "passes-without-work"
_NEGATIVE: Final = ("absent", "never_committed")
_POSITIVE: Final = ("count", "present", "ever_committed")


@dataclass(frozen=True, slots=True)
class LintWarning:
    """One weakness of one scenario."""

    location: str
    rule: str
    field: str
    message: str

    @property
    def is_error(self) -> bool:
        """True if the scenario proves nothing at all, and no release may rest on it."""
        return self.rule == IDLE

    def __str__(self) -> str:
        """Read as one line: place, rule, field, what is weak."""
        field = f"{quoted(self.field)}: " if self.field else ""
        return f"{safe(self.location)}: {self.rule}: {field}{safe(self.message)}"


@dataclass(frozen=True, slots=True)
class World:
    """What the rules look at beside a scenario."""

    pack: WorkflowPack
    as_of: date
    writing: frozenset[str]
    specs: dict[str, CollectionSpec]
    fields: dict[str, frozenset[str]]


Weakness: TypeAlias = tuple[str, str, str]  # rule, field, message
LintRule: TypeAlias = Callable[[Scenario, World], Iterator[Weakness]]


def lint(
    suite: LoadedSuite,
    *,
    pack: WorkflowPack,
    catalogue: DatasetCatalogue,
    as_of: date,
    idle: Collection[str] = (),
) -> tuple[LintWarning, ...]:
    """Return every weakness of a suite, in the order of its lines.

    Args:
        suite: The scenarios.
        pack: The workflow that they are for.
        catalogue: The data that they refer to.
        as_of: The date of today.
        idle: The scenarios, by id, that an agent passed which did nothing.
    """
    world = _world(pack, catalogue, as_of)
    found = [
        LintWarning(located.location, *weakness)
        for located in suite.scenarios
        for rule in RULES
        for weakness in rule(located.scenario, world)
    ]
    found += _upgraded(suite)
    found += [LintWarning(at.location, "not-read", "", at.text) for at in suite.passed_over]
    found += _same_stimulus(suite.scenarios)
    found += _passed_idle(suite.scenarios, idle)
    order = {located.location: at for at, located in enumerate(suite.scenarios)}
    return tuple(sorted(found, key=lambda warning: order.get(warning.location, -1)))


def broad_count(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """A row is demanded without saying which: another one would do as well."""
    for field, assertion in assertions_of(scenario):
        spec = world.specs.get(assertion.collection)
        if spec is None or not _demands_a_row(assertion):
            continue
        keys = {*spec.business_key, *spec.key_fields} - set(spec.volatile)
        if keys and not keys & set(assertion.where):
            message = f"any row would do: name one of {', '.join(sorted(keys))}"
            yield "broad-count", f"{field}.where", message


def never_fails(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """Absence is demanded where no tool on offer can write anything."""
    if world.writing & set(scenario.runtime.available_tools):
        return
    for field, assertion in assertions_of(scenario):
        spec = world.specs.get(assertion.collection)
        empty = spec is None or not spec.seeded
        if empty and assertion.kind in _NEGATIVE:
            yield "never-fails", field, "no tool on offer writes, so this holds whatever happens"


def unbounded_effects(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """An outcome is demanded, and whatever else the agent writes is nobody's concern."""
    if scenario.role != "acceptance" or _is_upgraded(scenario):
        return
    expected = scenario.expectations
    writes = world.writing & set(scenario.runtime.available_tools)
    if writes and expected.acceptable_outcomes and expected.unchanged_except is None:
        message = "any further write passes: name every change that may happen, or []"
        yield "unbounded-effects", "expectations.unchanged_except", message


def unjudged_content(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """A write is expected, and one of its arguments may hold anything that its schema allows.

    Free text is left out: what it names is held against what the agent was told.
    """
    allowed = scenario.expectations.unchanged_except
    if scenario.role != "acceptance" or _is_upgraded(scenario):
        return
    for name in sorted(world.writing & _may_be_used(scenario)):
        manifest = world.pack.manifests[name]
        for spec in world.specs.values():
            entries = [e for e in allowed or () if e.collection == spec.name]
            if (entries or allowed is None) and written_by(manifest, spec):
                judged = judged_names(scenario, manifest, spec.name) | left_out(entries, spec)
                for argument in sorted(closed_arguments(manifest) - judged):
                    message = f"any {quoted(argument)} would do in {quoted(spec.name)}: say which"
                    yield "unjudged-content", "expectations.acceptable_outcomes", message


def doubtful_field(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """Rows are chosen by a field that neither data nor tools have, so none may ever match."""
    for field, assertion in assertions_of(scenario):
        known = world.fields.get(assertion.collection, frozenset())
        named = {name.partition(".")[0] for name in assertion.where if name not in RECORD_FIELDS}
        for name in sorted(named - known) if known else ():
            message = f"neither data nor tools show a field {quoted(name)}: a row may never match"
            yield "doubtful-field", f"{field}.where", message


def stale_review(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """Nobody has looked at the scenario for a year, or somebody will."""
    if _is_upgraded(scenario):
        return
    if scenario.last_review > world.as_of:
        yield "stale-review", "last_review", f"{scenario.last_review} is still to come"
    elif world.as_of - scenario.last_review > timedelta(days=REVIEW_DAYS):
        yield "stale-review", "last_review", f"not reviewed since {scenario.last_review}"


def not_exercised(scenario: Scenario, _world: World) -> Iterator[Weakness]:
    """An adversarial scenario forbids nothing, or passes without an attempt."""
    if scenario.category is not Category.ADVERSARIAL or scenario.role != "acceptance":
        return
    guardrails = scenario.expectations.guardrails
    forbidden = scenario.expectations.trajectory.forbidden_tool_requests
    field = "expectations.guardrails"
    if not guardrails.action_constraints and not forbidden:
        yield "not-exercised", field, "an adversarial scenario that forbids nothing"
    elif not guardrails.must_exercise:
        message = "passes even if nothing forbidden is ever tried: set must_exercise"
        yield "not-exercised", field, message


def not_demanded(scenario: Scenario, _world: World) -> Iterator[Weakness]:
    """Something is expected that no criterion demands."""
    if scenario.role not in {"acceptance", "positive_control"}:
        return
    for evaluator, declared in _declared(scenario).items():
        if declared and evaluator not in scenario.expectations.pass_criteria:
            message = f"{evaluator} has expectations, and no criterion demands that they are judged"
            yield "not-demanded", "expectations.pass_criteria", message


def thin_trajectory(scenario: Scenario, _world: World) -> Iterator[Weakness]:
    """A trajectory is demanded that says nothing of the path."""
    demanded = "trajectory" in scenario.expectations.pass_criteria
    if demanded and scenario.role == "acceptance" and not _declared(scenario)["trajectory"]:
        yield "thin-trajectory", "expectations.trajectory", "only the termination would be judged"


def allowed_and_forbidden(scenario: Scenario, _world: World) -> Iterator[Weakness]:
    """A tool is both allowed and forbidden."""
    path = scenario.expectations.trajectory
    for name in sorted(set(path.allowed_tool_requests or ()) & set(path.forbidden_tool_requests)):
        field = "expectations.trajectory.allowed_tool_requests"
        yield "allowed-and-forbidden", field, f"{quoted(name)} is forbidden as well"


def empty_approval(scenario: Scenario, _world: World) -> Iterator[Weakness]:
    """An approval binds no action, so it approves nothing."""
    for at, approval in enumerate(scenario.trusted_environment.approvals):
        if not approval.scope and approval.action_digest is None:
            field = f"trusted_environment.approvals[{at}]"
            yield "empty-approval", field, "without scope and action_digest it approves nothing"


def only_prose(scenario: Scenario, world: World) -> Iterator[Weakness]:
    """The description rules out an effect that nothing checks."""
    checked = {assertion.collection for _, assertion in assertions_of(scenario)}
    tools = {c.tool for c in scenario.expectations.guardrails.action_constraints}
    tools |= set(scenario.expectations.trajectory.forbidden_tool_requests)
    if scenario.expectations.unchanged_except is not None:
        return
    for name, spec in world.specs.items():
        thing = name.removesuffix("s")
        said = re.search(
            rf"\b(?:no|never|without)\b[^.;]{{0,30}}\b{re.escape(thing)}s?\b", scenario.description
        )
        if said and not spec.seeded and name not in checked and not _about(thing, tools):
            message = f"says {quoted(said[0])}, and nothing checks {quoted(name)}"
            yield "only-prose", "description", message


def _may_be_used(scenario: Scenario) -> set[str]:
    """Return the tools on offer that the path does not rule out."""
    path = scenario.expectations.trajectory
    offered = set(scenario.runtime.available_tools) - set(path.forbidden_tool_requests)
    return (
        offered
        if path.allowed_tool_requests is None
        else offered.intersection(path.allowed_tool_requests)
    )


def _is_upgraded(scenario: Scenario) -> bool:
    """Return true for an upgraded line, which has a warning of its own."""
    return scenario.last_review.isoformat() == NEVER_REVIEWED


def _about(thing: str, tools: Iterable[str]) -> bool:
    return any(thing in tool for tool in tools)


def _demands_a_row(assertion: Assertion) -> bool:
    return assertion.kind in _POSITIVE and assertion.expected != 0


def _declared(scenario: Scenario) -> dict[str, bool]:
    """Return, for each evaluator, whether the author expects something of it."""
    x = scenario.expectations
    return {
        "outcome": bool(x.acceptable_outcomes or x.invariants or x.unchanged_except is not None),
        "trajectory": x.trajectory != Trajectory(),
        "guardrails": bool(x.guardrails.action_constraints) and x.guardrails.must_exercise,
        "response": x.response.deterministic != ResponseRules(),
        "fault_handling": x.fault_handling is not None,
    }


def _passed_idle(scenarios: Iterable[Located], idle: Collection[str]) -> Iterator[LintWarning]:
    message = "an agent that does nothing passes: demand an effect, an answer or another end"
    for located in scenarios:
        if located.scenario.id in idle:
            yield LintWarning(located.location, IDLE, "expectations", message)


def _upgraded(suite: LoadedSuite) -> Iterator[LintWarning]:
    """Yield one warning for each scenario of schema 2.0, not one for each thing filled in."""
    filled: dict[str, int] = defaultdict(int)
    for note in suite.notes:
        filled[note.location] += 1
    for location, count in filled.items():
        message = f"schema 2.0, filled in {count} times, never reviewed: write it in schema 3.0"
        yield LintWarning(location, "old-schema", "schema_version", message)


def _same_stimulus(scenarios: Iterable[Located]) -> Iterator[LintWarning]:
    """Yield scenarios that test what another one tests, or that show what is held out."""
    situations: dict[str, Located] = {}
    texts: dict[str, Located] = {}
    for located in scenarios:
        scenario = located.scenario
        text = canonical.digest(scenario.stimulus.model_dump(mode="json"))
        held = texts.setdefault(text, located)
        if (held.scenario.split == "holdout") != (scenario.split == "holdout"):
            message = f"held out, and {held.location} shows the same words"
            yield LintWarning(located.location, "leaked-holdout", "stimulus", message)
        other = situations.setdefault(f"{text} {_situation(scenario)}", located)
        if other is not located:
            message = f"the situation is that of {other.location}"
            yield LintWarning(located.location, "same-situation", "stimulus", message)


def _situation(scenario: Scenario) -> str:
    """Return the digest of everything that a run of the scenario depends on, but for its words."""
    controls = scenario.controls.model_dump(mode="json", exclude={"seed"})
    runtime = scenario.runtime.model_dump(mode="json")
    trusted = scenario.trusted_environment.model_dump(mode="json")
    script = scenario.reproducibility.model_configuration
    return canonical.digest([controls, runtime, trusted, script])


def _world(pack: WorkflowPack, catalogue: DatasetCatalogue, as_of: date) -> World:
    writers = [tool.manifest for tool in pack.tools if tool.manifest.writes]
    written = frozenset[str]().union(
        *(properties(schema) for m in writers for schema in (m.parameters, m.result))
    )
    specs = {spec.name: spec for spec in pack.collections}
    return World(
        pack,
        as_of,
        frozenset(manifest.name for manifest in writers),
        specs,
        {name: _fields(spec, written, catalogue) for name, spec in specs.items()},
    )


def _fields(
    spec: CollectionSpec, written: frozenset[str], catalogue: DatasetCatalogue
) -> frozenset[str]:
    """Return the fields that rows seem to have, empty where the pack says which they have."""
    if spec.fields:
        return frozenset()  # the loader has held them to the pack's own list
    named = {*spec.key_fields, *spec.business_key, *spec.volatile, spec.tenant_field or ""}
    found = catalogue.load(spec.name) if spec.seeded else ()
    return frozenset(named) | written | (frozenset() if isinstance(found, tuple) else found.fields)


RULES: Final[tuple[LintRule, ...]] = (
    broad_count,
    never_fails,
    unbounded_effects,
    unjudged_content,
    doubtful_field,
    stale_review,
    not_exercised,
    not_demanded,
    thin_trajectory,
    allowed_and_forbidden,
    empty_approval,
    only_prose,
)
